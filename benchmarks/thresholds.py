"""What a proved threshold costs on the paper's instances: python benchmarks/thresholds.py [--runs
100] [--out FILE]

Mean rounds of frank-wolfe with delta = 0.1, and the share of those that Theorem 2 ("gaussian")
needs.
"""

import argparse
from pathlib import Path

from limit import instances
from made import save

import combgame as cg
from combgame.report.tables import markdown

THRESHOLDS = ("stylised", "mixture", "gaussian-counts", "gaussian")
HEAD = [
    "family",
    "instance",
    *THRESHOLDS,
    "mixture / gaussian",
    "mixture with unknown variances",
    "errors",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    cells, shares = [], []
    for family, instance in instances():
        rounds, errors = [], 0
        problem, means = instance.problem, instance.means
        unknown = cg.Problem(
            problem.actions,
            problem.answers,
            cg.Gaussian(supposed=problem.rewards.sigma, shared=False),
        )
        for question, name in [*((problem, name) for name in THRESHOLDS), (unknown, "mixture")]:
            sim = cg.simulate(
                question,
                means,
                rule="frank-wolfe",
                delta=0.1,
                threshold=name,
                runs=options.runs,
                jobs=options.jobs,
                relabel=True,
            )
            rounds.append(sim.rounds.mean())
            errors += sim.report()[0]["errors"] if name != "stylised" else 0
        shares.append((family, rounds[1] / rounds[3]))
        cells.append(
            [
                family,
                instance.name,
                *(f"{x:,.0f}" for x in rounds[:4]),
                f"{shares[-1][1]:.2f}",
                f"{rounds[4]:,.0f}",
                errors,
            ]
        )
        print(*cells[-1], sep=" | ", flush=True)
    paper = [share for family, share in shares if family != "best action"]
    text = (
        f"{options.runs} runs each; errors: of the proved thresholds together. On the paper's "
        "instances mixture / gaussian is "
        f"{min(paper):.2f} to {max(paper):.2f}.\n\n"
    )
    save(options.out, text + markdown(HEAD, cells, left=2))


if __name__ == "__main__":
    main()
