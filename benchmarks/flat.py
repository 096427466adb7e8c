"""Microseconds per round against the number of actions, from 10 to 10^12: python benchmarks/flat.py

Compiled, best arm asked for, Gaussian rewards, a run that does not stop; after --warm rounds,
windows of --rounds, interleaved between the rules; the best one counts. The cost depends on d, and
on the size k of an action or the nodes of a graph, not on |A|: several rows have the same d.
Timings on shared machines are noisy: look at ratios.
"""

import argparse
import itertools
import sys
import time
from pathlib import Path

import numpy as np
from made import PYTHON, save
from tqdm import tqdm

import combgame as cg
from combgame.rules.presets import PRESETS
from combgame.simulation.runner import InitialState, Run
from combgame.stopping.base import NEVER
from combgame.structures import StructureBase

RULES = [name for name in ("product-adahedge", "frank-wolfe", "lloo") if name in PRESETS]
SUBSETS = [
    (5, 2),
    (10, 3),
    (15, 5),
    (20, 8),
    (25, 12),
    (32, 14),
    (40, 1),
    (40, 3),
    (40, 10),
    (40, 20),
    (43, 21),
]
STAGES = [6, 10, 14, 20, 30, 42, 44]  # of grid networks
NODES = [4, 5, 6, 8, 10, 12, 13]  # of complete graphs


def structures() -> list[tuple[str, StructureBase]]:
    found: list[tuple[str, StructureBase]] = [
        (f"subsets, {k} of {d}", cg.Subsets(d, k)) for d, k in SUBSETS
    ]
    found += [(f"paths, grid of {n} stages", cg.grid_network(n)) for n in STAGES]
    return found + [
        (f"trees, {n} nodes", cg.SpanningTrees(list(itertools.combinations(range(n), 2))))
        for n in NODES
    ]


def start(structure: StructureBase, rule: str, warm: int) -> Run:
    d = structure.d
    problem = cg.Problem(structure, cg.Arms(d), cg.Gaussian(0.1))
    run = Run(
        InitialState(problem, PRESETS[rule].bind(problem), NEVER, 1, "compiled"),
        np.linspace(0.3, 0.2, d),
        0,
        0,
    )
    run.advance(warm)
    return run


def window(run: Run, rounds: int) -> float:
    last, begin = int(run.stats.n_rounds[0]) + rounds, time.perf_counter()
    run.advance(last)
    return (time.perf_counter() - begin) / rounds * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--warm", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--windows", type=int, default=5)
    parser.add_argument("--rules", nargs="+", default=RULES, choices=RULES)
    parser.add_argument("--out", type=Path, default=None, help="also write the table to this file")
    options = parser.parse_args()
    head = [f"{rule}, us/round | {rule}, us/round/d" for rule in options.rules]
    lines = [
        f"| actions | \\|A\\| | d | {' | '.join(head)} |",
        "| --- | ---: | ---: |" + " ---: | ---: |" * len(options.rules),
    ]
    for name, structure in tqdm(structures(), desc="flat", file=sys.stderr):
        runs = {rule: start(structure, rule, options.warm) for rule in options.rules}
        fast = dict.fromkeys(runs, float("inf"))
        for _ in range(options.windows):
            for rule, run in runs.items():
                fast[rule] = min(fast[rule], window(run, options.rounds))
        cells = [f"{us:.2f} | {us / structure.d:.3f}" for us in fast.values()]
        lines.append(f"| {name} | {structure.n_sets():,} | {structure.d} | {' | '.join(cells)} |")
    text = "\n".join(lines)
    print(text)
    save(options.out, text, PYTHON + ", two cores")


if __name__ == "__main__":
    main()
