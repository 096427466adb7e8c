"""Rounds a second on an NVIDIA card, beside one core and all cores of the same machine: python
benchmarks/card.py [--warm] [--case NUMBER] [--registers N] [--per-unit N] [--out FILE]

--warm: compile only, which is kept on disk. card: all runs from call to result, without compiling;
the rest of a line is in the same run. alike: of 200 runs, how many are the same to the last
round on the card and on the processor (the others part at the first rounding difference that
decides something). KS: the p-value of a Kolmogorov-Smirnov test that stopping times on the card and
those of the compiled engine, whose noise is another, have the same distribution. --registers:
what a thread may have at most; --per-unit: runs at a time on a multiprocessor. frank-wolfe wants
102 registers, so that 512 threads fit; with 80, 768 fit and hardly anything is spilled; with 64,
1,024. (That is what ptxas says; whether it pays is to be measured.)
"""

import argparse
import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from made import save
from scipy.stats import ks_2samp

import combgame as cg
from combgame._display.text import markdown
from combgame.engine import cuda
from combgame.engine.cuda import _compile as compiling
from combgame.research.instances.alt2021 import matroid_means
from combgame.simulation.cuda import CudaSimulation
from combgame.simulation.runner import Runner, RunSpec, ordered_results

HEAD = [
    "instance",
    "rule",
    "threshold",
    "runs",
    "mean rounds",
    "bytes a run",
    "seconds on the card",
    "million rounds a second",
    "one core",
    "card / core",
    "all cores",
    "alike",
    "KS",
]


def cases():
    """(name, problem, means, rule, threshold, runs on the card, on the processor)."""
    gaussian = cg.Gaussian(0.1)
    k3 = {d: cg.Problem(cg.Subsets(d, 3), cg.Arms(d), gaussian) for d in (10, 20, 50)}
    for d, rule, threshold, runs in (
        (20, "frank-wolfe", "stylised", 1_000_000),
        (50, "frank-wolfe", "stylised", 300_000),
        (20, "frank-wolfe", "mixture", 200_000),
        (20, "uniform", "stylised", 100_000),
        (20, "top-two", "stylised", 200_000),
        (20, "clucb", "stylised", 100_000),
        (20, "ofw", "stylised", 50_000),
        (20, "lloo", "stylised", 50_000),
        (20, "product-adahedge", "stylised", 50_000),
        (10, "gcb-pe", "proved", 100_000),
    ):
        yield f"k = 3, d = {d}", k3[d], matroid_means(d), rule, threshold, runs
    means = np.linspace(0.9, 0.1, 8)
    links = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (1, 3), (3, 4), (4, 0)]
    for name, actions in (
        ("top 3 of 8", cg.Subsets(8, 3)),
        ("two of each four", cg.Partition([[0, 1, 2, 3], [4, 5, 6, 7]], [2, 2])),
        ("trees, 8 links", cg.SpanningTrees(links)),
        ("matchings 3 x 3", cg.Matchings(3, 3)),
        ("all pairs of 8, listed", cg.Listed(cg.Subsets(8, 2).to_list(), 8)),
    ):
        problem, mine = (
            cg.Problem(actions, None, cg.Gaussian(0.5)),
            np.linspace(0.9, 0.1, actions.d),
        )
        yield name, problem, mine, "frank-wolfe", "stylised", 100_000
    eight = cg.Problem(cg.Subsets(8, 3), cg.Arms(8), cg.Bernoulli())
    yield "coins, k = 3, d = 8", eight, means, "frank-wolfe", "mixture", 100_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--warm", action="store_true")
    parser.add_argument("--case", type=int, default=None, help="only the case of this number")
    parser.add_argument("--registers", type=int, default=None)
    parser.add_argument("--per-unit", type=int, default=cuda.PER_UNIT)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    compiling.REGISTERS, cuda.PER_UNIT = options.registers, options.per_unit
    cells, cores = [], os.cpu_count() or 1
    for number, (name, problem, means, rule, threshold, runs) in enumerate(cases()):
        if options.case not in (None, number):
            continue
        cap = 50_000
        runner = Runner(RunSpec(problem, means, rule, 0.1, threshold, 0, cap, "cuda"))
        plain = Runner(RunSpec(problem, means, rule, 0.1, threshold, 0, cap, "compiled"))
        began = time.perf_counter()
        try:
            played = CudaSimulation(runner, runs)
        except cg.CombGameError as error:
            print(name, rule, threshold, error, sep=" | ", flush=True)
            continue
        compiled = time.perf_counter() - began
        if options.warm:
            plain.run(0)
            Runner(replace(runner.spec, cpu_engine="compiled")).run(0)
            print(number, name, rule, threshold, f"{compiled:.1f} s", sep=" | ", flush=True)
            continue
        began = time.perf_counter()
        found = played.batch(0, runs)
        card = time.perf_counter() - began
        plain.run(0)
        began = time.perf_counter()
        few = 0
        while time.perf_counter() - began < 1.0:
            few += plain.run(few).rounds
        one = few / (time.perf_counter() - began)
        rate = float(found.rounds.sum()) / card
        number = int(min(100_000, max(2_000, 8.0 * one * cores / found.rounds.mean() / 2)))
        began = time.perf_counter()
        made = np.array([result.rounds for result in ordered_results(plain, number, cores)])
        all_cores = float(made.sum()) / (time.perf_counter() - began)
        twin = Runner(replace(runner.spec, cpu_engine="compiled"))
        alike = sum(twin.run(k).rounds == found.rounds[k] for k in range(200))
        cells.append(
            [
                name,
                rule,
                threshold,
                f"{runs:,}",
                f"{found.rounds.mean():,.1f}",
                f"{played._player.plan.bytes:,}",
                f"{card:.2f}",
                f"{rate / 1e6:.1f}",
                f"{one / 1e6:.3f}",
                f"{rate / one:.0f}",
                f"{all_cores / 1e6:.2f}",
                f"{alike} of 200",
                f"{ks_2samp(found.rounds[:100_000], made).pvalue:.2f} ({number:,})",
            ]
        )
        print(*cells[-1], f"compile or load {compiled:.1f} s", sep=" | ", flush=True)
    text = f"{cuda.name()}, {cores} cores, double precision, delta = 0.1.\n\n"
    save(options.out, text + markdown(HEAD, cells, left=3))


if __name__ == "__main__":
    main()
