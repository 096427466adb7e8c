"""How near to the limit rules stop, on every instance of the paper and for best actions: python
benchmarks/limit.py [--out FILE]

limit: the root of t = beta(t, delta)/D_nu; delta = 0.1, stylised threshold. p99: the 99th
percentile of the stopping round over its median. informed: told the means, it follows the optimal
allocation from the first round. AdaHedge is "product-adahedge" beyond 1,000 actions.
"""

import argparse
from pathlib import Path

import numpy as np
from best_action import INSTANCES
from made import save

import combgame as cg
from combgame._display.text import markdown
from combgame.research.campaign import Instance
from reproduction.experiments import experiments

FAMILIES = ("figure1", "uniform-matroid-k2", "grid", "line2", "line3", "almost-all")
HEAD = [
    "family",
    "instance",
    "limit",
    "mean",
    "mean/limit",
    "p99",
    "longest",
    "errors",
    "informed",
    "over informed",
    "lloo",
    "adahedge",
    "uniform",
]


def instances() -> list[tuple[str, Instance]]:
    found = [(name, instance) for name in FAMILIES for instance in experiments()[name].instances]
    for name, (structure, seed) in INSTANCES.items():
        means = np.random.default_rng(seed).uniform(0.0, 1.0, structure.d)
        for sigma in (0.05, 0.2):
            problem = cg.Problem(structure, None, cg.Gaussian(sigma))
            found.append(
                ("best action", Instance(f"{name}, sigma = {sigma}", problem, tuple(means)))
            )
    return found


def ratio(sim: cg.Simulation) -> str:
    """Mean over limit; a capped run counts with the cap."""
    row = sim.summary()[0]
    return (">= " if row["capped"] else "") + f"{row['ratio']:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument(
        "--others", type=int, default=100, help="runs of lloo, adahedge and uniform"
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    cells = []
    for family, instance in instances():
        problem, means = instance.problem, instance.means
        one = {"delta": 0.1, "threshold": "stylised", "jobs": options.jobs, "shuffle_arms": True}
        ours = cg.simulate(problem, means, rule="frank-wolfe", runs=options.runs, **one)
        told = cg.simulate(
            problem,
            means,
            rule=cg.FixedAllocation(ours.complexity.support),
            runs=options.runs,
            **one,
        )
        big = (problem.actions.n_sets() or 10**9) > 1000
        rest = ["lloo", "product-adahedge" if big else "adahedge", "uniform"]
        others = (
            [cg.simulate(problem, means, rule=rule, runs=options.others, **one) for rule in rest]
            if options.others
            else []
        )
        row, late = ours.summary()[0], float(np.percentile(ours.rounds, 99))
        cells.append(
            [
                family,
                instance.name,
                f"{row['limit']:,.0f}",
                f"{row['mean']:,.0f}",
                ratio(ours),
                f"{late / row['median']:.1f}",
                f"{ours.rounds.max():,}",
                row["errors"],
                ratio(told),
                f"{row['mean'] / told.rounds.mean():.2f}",
                *map(ratio, others),
            ]
        )
        print(*cells[-1], sep=" | ", flush=True)
    text = (
        f"frank-wolfe and informed: {options.runs} runs each; lloo, adahedge and uniform: "
        f"{options.others}. Mean, p99, longest, errors: "
        "frank-wolfe; the last columns are mean/limit of the others.\n\n"
        + markdown(HEAD, cells, left=2)
        + "\n"
    )
    save(options.out, text)


if __name__ == "__main__":
    main()
