"""What elimination saves on the paper's k = 3 instances: python benchmarks/elimination.py

sigma = 0.1, delta = 0.1; the same seeds with and without.
"""

import argparse
from pathlib import Path

from made import save

import combgame as cg
from combgame.research.instances.alt2021 import matroid_means as means


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[5, 10, 20])
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=None, help="also write the table to this file")
    options = parser.parse_args()
    lines = [
        "| d | threshold | rule | runs | mean without | mean with | saved | errors without | "
        "errors with |",
        "| ---: | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    print("\n".join(lines), flush=True)
    for d in options.sizes:
        problem = cg.Problem(cg.Subsets(d, 3), cg.Arms(d), cg.Gaussian(0.1))
        for threshold in ("stylised", "gaussian"):
            for rule in ("uniform", "ofw"):
                settings = {
                    "rule": rule,
                    "delta": 0.1,
                    "threshold": threshold,
                    "runs": options.runs,
                    "jobs": options.jobs,
                    "shuffle_arms": True,
                }
                plain = cg.simulate(problem, means(d), **settings)
                shorter = cg.simulate(problem, means(d), elimination="always", **settings)
                before, after = plain.rounds.mean(), shorter.rounds.mean()
                wrong = [round(sim.error_rate * options.runs) for sim in (plain, shorter)]
                lines.append(
                    f"| {d} | {threshold} | {rule} | {options.runs} | {before:,.0f} | "
                    f"{after:,.0f} | {1 - after / before:.1%} | "
                    f"{wrong[0]} | {wrong[1]} |"
                )
                print(lines[-1], flush=True)
    save(options.out, "\n".join(lines))


if __name__ == "__main__":
    main()
