"""Microseconds per oracle call and per nearest alternative, beside other libraries in the same run:
python benchmarks/structures.py

Every candidate for a task is timed in turn, several times over; the best time of each counts. Ours
are compiled, called from Python with arrays that exist already, a thousand calls at a time; the
others get their graph ready-made and are timed on the same scores.
"""

import argparse
import resource
import time
from pathlib import Path

import networkx
import numpy as np
import rustworkx
import scipy.optimize
import scipy.sparse
from made import PYTHON, save
from numba import njit
from scipy.sparse.csgraph import minimum_spanning_tree

import combgame as cg
from combgame.engine.numba import register_kernels
from combgame.engine.state import vector
from combgame.simulation.runner import InitialState, Run
from combgame.stopping.base import NEVER


def many_argmax(part, score, out, n):
    for _ in range(n):
        part.argmax(score, out)


def many_nearest(part, rewards, mean, weight, best, rival, alternative, n):
    for _ in range(n):
        part.nearest_alternative(rewards, mean, weight, best, rival, alternative)


register_kernels()
ARGMAX, NEAREST = (
    njit(nogil=True, error_model="numpy")(function) for function in (many_argmax, many_nearest)
)


def race(candidates, repeats=7):
    """The best time of each candidate, in microseconds, interleaved."""
    best = dict.fromkeys(candidates, float("inf"))
    for call, _ in candidates.values():
        call()
    for _ in range(repeats):
        for name, (call, times) in candidates.items():
            begin = time.perf_counter()
            call()
            best[name] = min(best[name], (time.perf_counter() - begin) / times * 1e6)
    return best


def ours(structure, score, n=1000):
    part, out = structure.kernel(), np.zeros(structure.d)
    return (lambda: ARGMAX(part, score, out, n)), n


def dense_trees(rng):
    """The complete graph with 50 nodes: 1,225 edges."""
    return trees(rng, 50, [(i, j) for i in range(50) for j in range(i + 1, 50)])


def sparse_trees(rng):
    """400 nodes and 1,225 edges."""
    every = [(i, j) for i in range(400) for j in range(i + 2, 400)]
    more = [every[k] for k in sorted(rng.choice(len(every), 1225 - 399, replace=False))]
    return trees(rng, 400, [(i, i + 1) for i in range(399)] + more)


def trees(rng, nodes, edges):
    structure, score = cg.SpanningTrees(edges), rng.uniform(0.1, 1.0, len(edges))
    rows, columns = np.array(edges).T
    sparse = scipy.sparse.csr_matrix((2.0 - score, (rows, columns)), shape=(nodes, nodes))
    rust = rustworkx.PyGraph()
    rust.add_nodes_from(range(nodes))
    rust.add_edges_from([(i, j, 2.0 - s) for (i, j), s in zip(edges, score, strict=True)])
    graph = networkx.Graph()
    graph.add_weighted_edges_from([(i, j, 2.0 - s) for (i, j), s in zip(edges, score, strict=True)])
    total = 2.0 * (nodes - 1) - score[list(structure.argmax(score))].sum()
    assert abs(minimum_spanning_tree(sparse).sum() - total) < 1e-9
    return {
        "combgame": ours(structure, score),
        "scipy minimum_spanning_tree": (lambda: minimum_spanning_tree(sparse), 1),
        "rustworkx minimum_spanning_edges": (
            lambda: rustworkx.minimum_spanning_edges(rust, weight_fn=float),
            1,
        ),
        "networkx minimum_spanning_edges": (
            lambda: list(networkx.minimum_spanning_edges(graph, data=False)),
            1,
        ),
    }


def paths(rng):
    """The best path of the grid network with 38 stages: 760 edges, some scores negative."""
    structure = cg.grid_network(38)
    score = rng.normal(0.2, 1.0, structure.d)
    tails = [structure.nodes[v] for v in range(len(structure.nodes))]
    edges = [
        (u, v) for u, v in (tuple(eval(x) for x in name.split("->")) for name in structure.names)
    ]
    number = {node: i for i, node in enumerate(tails)}
    # all paths have 38 edges: adding a constant to every cost keeps the order, and makes costs
    # positive
    shift = 10.0
    cost = shift - score
    sparse = scipy.sparse.csr_matrix(
        (cost, ([number[u] for u, _ in edges], [number[v] for _, v in edges])),
        shape=(len(tails),) * 2,
    )
    source, sink = number[(0, 0)], number[(19, 19)]
    rust = rustworkx.PyDiGraph()
    rust.add_nodes_from(range(len(tails)))
    rust.add_edges_from(
        [(number[u], number[v], float(c)) for (u, v), c in zip(edges, cost, strict=True)]
    )
    rust_score = rustworkx.PyDiGraph()
    rust_score.add_nodes_from(range(len(tails)))
    rust_score.add_edges_from(
        [(number[u], number[v], float(shift - c)) for (u, v), c in zip(edges, cost, strict=True)]
    )
    graph = networkx.DiGraph()
    graph.add_weighted_edges_from(
        [(u, v, float(s)) for (u, v), s in zip(edges, score, strict=True)]
    )
    found = scipy.sparse.csgraph.dijkstra(sparse, indices=source)[sink]
    assert abs(38 * shift - score[list(structure.argmax(score))].sum() - found) < 1e-9
    return {
        "combgame": ours(structure, score),
        "scipy dijkstra": (
            lambda: scipy.sparse.csgraph.dijkstra(sparse, indices=source, return_predecessors=True),
            1,
        ),
        "rustworkx dijkstra": (
            lambda: rustworkx.dijkstra_shortest_paths(rust, source, sink, weight_fn=float),
            1,
        ),
        "rustworkx dag_weighted_longest_path": (
            lambda: rustworkx.dag_weighted_longest_path(rust_score, lambda u, v, w: w),
            1,
        ),
        "networkx dag_longest_path": (lambda: networkx.dag_longest_path(graph), 1),
    }


def matchings(rng):
    """The best of 20 x 20 perfect matchings."""
    structure = cg.Matchings(20, 20)
    score = rng.normal(size=400)
    table = score.reshape(20, 20)
    rows, columns = scipy.optimize.linear_sum_assignment(-table)
    assert abs(table[rows, columns].sum() - score[list(structure.argmax(score))].sum()) < 1e-9
    graph = networkx.Graph()
    graph.add_weighted_edges_from(
        [(i, 20 + j, float(10 + table[i, j])) for i in range(20) for j in range(20)]
    )
    return {
        "combgame": ours(structure, score, 200),
        "scipy linear_sum_assignment": (lambda: scipy.optimize.linear_sum_assignment(-table), 1),
        "networkx max_weight_matching": (
            lambda: networkx.max_weight_matching(graph, maxcardinality=True),
            1,
        ),
    }


def nearest_calls(rng):
    """Ours alone: nobody else has a nearest alternative."""
    eight = [(i, j) for i in range(8) for j in range(i + 1, 8)][:20]
    cases = {
        "arms, 50": (cg.Arms(50), 1000),
        "top 5 of 30": (cg.Subsets(30, 5), 1000),
        "trees, 8 nodes, 20 edges": (cg.SpanningTrees(eight), 1000),
        "trees, 50 nodes, 1,225 edges": (
            cg.SpanningTrees([(i, j) for i in range(50) for j in range(i + 1, 50)]),
            20,
        ),
        "paths, n_s = 10, d = 60": (cg.grid_network(10), 200),
        "paths, n_s = 30, d = 480": (cg.grid_network(30), 50),
        "matchings, 5 x 5": (cg.Matchings(5, 5), 200),
        "matchings, 8 x 8": (cg.Matchings(8, 8), 20),
    }
    rows = []
    for name, (structure, n) in cases.items():
        d = structure.d
        for family, rewards in (("Gaussian", cg.Gaussian(1.0)), ("Bernoulli", cg.Bernoulli())):
            if family == "Bernoulli" and (d > 400):
                continue
            low, high = rewards.mean_range(d)
            parts = (structure.kernel(), rewards.kernel(low, high))
            times = []
            for _ in range(5):
                mean, weight = rng.uniform(0.2, 0.8, d), rng.exponential(size=d) * 50 + 1
                best = vector(structure.argmax(mean), d)
                arguments = (*parts, mean, weight, best, np.zeros(d), np.zeros(d))
                NEAREST(*arguments, 1)
                fewer = n if family == "Gaussian" else max(n // 10, 3)
                begin = time.perf_counter()
                NEAREST(*arguments, fewer)
                times.append((time.perf_counter() - begin) / fewer * 1e6)
            rows.append((name, family, float(np.median(times)), max(times)))
    return rows


def large_rounds():
    """A whole round of OFW and LLOO with many arms, ten on a plate, and the memory of the
    process.
    """
    rows = []
    for d in (10_000, 100_000):
        for name, answers in (("the best arm", cg.Arms(d)), ("the top 5", cg.Subsets(d, 5))):
            for rule in (cg.CombGame(cg.OFW()), cg.CombGame(cg.LLOO())):
                problem = cg.Problem(cg.Subsets(d, 10), answers, cg.Gaussian(0.1))
                run = Run(
                    InitialState(problem, rule.bind(problem), NEVER, 1, "compiled"),
                    np.linspace(1.0, 0.0, d),
                    0,
                    0,
                )
                run.advance(d // 10 + 5)
                best = float("inf")
                for k in range(4):
                    begin = time.perf_counter()
                    run.advance(d // 10 + 5 + 40 * (k + 1))
                    best = min(best, (time.perf_counter() - begin) / 40 * 1e3)
                size = sum(a.nbytes for a in arrays(run.rule)) + run.start.nbytes
                rows.append((d, name, type(rule.learner).__name__, best, size / d))
    return rows


def arrays(part):
    if isinstance(part, np.ndarray):
        return [part]
    return [x for field in part for x in arrays(field)] if isinstance(part, tuple) else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=None, help="also write the tables to this file")
    options = parser.parse_args()
    rng, lines = np.random.default_rng(0), []

    def say(line=""):
        lines.append(line)
        print(line, flush=True)

    say("| task | who | us per call | times ours |\n| --- | --- | ---: | ---: |")
    tasks = {
        "spanning tree, 50 nodes, 1,225 edges": dense_trees,
        "spanning tree, 400 nodes, 1,225 edges": sparse_trees,
        "path, 760 edges": paths,
        "assignment, 20 x 20": matchings,
    }
    for task, make in tasks.items():
        found = race(make(rng))
        for who, took in found.items():
            say(f"| {task} | {who} | {took:,.1f} | {took / found['combgame']:.1f} |")
    say(
        "\n| nearest alternative | rewards | us per call, median of 5 instances | slowest |\n| "
        "--- | --- | ---: | ---: |"
    )
    for name, family, middle, slowest in nearest_calls(rng):
        say(f"| {name} | {family} | {middle:,.1f} | {slowest:,.1f} |")
    say(
        "\n| arms | question | learner | ms per round | bytes of state per arm |\n| ---: | --- | "
        "--- | ---: | ---: |"
    )
    for d, name, learner, took, size in large_rounds():
        say(f"| {d:,} | {name} | {learner} | {took:.2f} | {size:,.0f} |")
    say(
        "\nPeak memory of this process: "
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB."
    )
    save(options.out, "\n".join(lines), PYTHON)


if __name__ == "__main__":
    main()
