"""How near to the limit rules stop, on every instance of the paper and for best actions: python benchmarks/limit.py [--out FILE]

limit: the root of t = beta(t, delta)/D_nu; delta = 0.1, stylised threshold. p99: the 99th percentile of the stopping round.
"""

import argparse
from pathlib import Path

import numpy as np
from best_action import INSTANCES
from made import save

import combgame as cg
from combgame.campaign import Instance
from combgame.campaign.report import markdown
from combgame.paper.experiments import experiments

FAMILIES = ("figure1", "uniform-matroid-k2", "grid", "line2", "line3", "almost-all")


def instances() -> list[tuple[str, Instance]]:
    found = [(name, instance) for name in FAMILIES for instance in experiments()[name].instances]
    for name, (structure, seed) in INSTANCES.items():
        means = np.random.default_rng(seed).uniform(0.0, 1.0, structure.d)
        for sigma in (0.05, 0.2):
            problem = cg.Problem(structure, None, cg.Gaussian(sigma))
            found.append(("best action", Instance(f"{name}, sigma = {sigma}", problem, tuple(means))))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--rules", nargs="+", default=["frank-wolfe"])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    cells = []
    for family, instance in instances():
        for rule in options.rules:
            sim = cg.simulate(instance.problem, instance.means, rule, 0.1, "stylised", options.runs, jobs=options.jobs)
            row, late = sim.report()[0], float(np.percentile(sim.rounds, 99))
            cells.append([
                family, instance.name, rule, f"{row['mean']:,.0f}", f"{row['limit']:,.0f}", f"{row['ratio']:.2f}",
                f"{row['median']:,.0f}", f"{late / row['median']:.1f}", f"{sim.rounds.max():,}", row["errors"], row["capped"],
            ])  # fmt: skip
            print(*cells[-1], sep=" | ", flush=True)
    head = ["family", "instance", "rule", "mean", "limit", "mean/limit", "median", "p99/median", "longest", "errors", "capped"]
    text = f"{options.runs} runs each.\n\n" + markdown(head, cells, left=3) + "\n"
    save(options.out, text)


if __name__ == "__main__":
    main()
