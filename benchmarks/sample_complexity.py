"""Rounds and errors on the paper's k = 3 instances: python benchmarks/sample_complexity.py

sigma = 0.1, delta = 0.1, stylised bonus. Beside: what an independent implementation measured with
300 runs at d = 5 and 10. Its figures for OFW and LLOO are left out: it plays under the given
numbers, the best arm first, and those fill the covering from which both start.
"""

import argparse
from pathlib import Path
from typing import Any

from made import save

import combgame as cg
from combgame.research.instances.alt2021 import matroid_means as means

REFERENCE = {
    5: {"uniform": 2700, "adahedge": 1850, "hedge": 1900},
    10: {"uniform": 5400, "adahedge": 3200, "hedge": 3250},
}
VARIANTS: dict[str, dict[str, cg.RuleBase]] = {
    "lloo": {
        "lloo": cg.CombGame(cg.LLOO()),
        "lloo, D-tracking": cg.CombGame(cg.LLOO(), tracking="D"),
        "lloo, one learner per answer": cg.CombGame(cg.LLOO(), learner_per_answer=True),
        "lloo, no sparsification": cg.CombGame(cg.LLOO(sparsify=False)),
        "lloo, random covering": cg.CombGame(cg.LLOO(), initialization="random-covering"),
        "lloo, theory bonus": cg.CombGame(cg.LLOO(), bonus="theory"),
    },
    "thompson": {
        f"thompson, width {width:g}": cg.Thompson(posterior_scale=width)
        for width in (1.0, 2.0, 4.0)
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[5, 10])
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--threshold", default="stylised")
    parser.add_argument(
        "--variants",
        nargs="?",
        const="lloo",
        choices=list(VARIANTS),
        help="the options of a rule instead of the learners",
    )
    parser.add_argument("--out", type=Path, default=None, help="also write the table to this file")
    options = parser.parse_args()
    lines = [
        "| d | rule | runs | mean | standard error | median | errors | capped | reference | "
        "difference | mean / limit |",
        "| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    print("\n".join(lines), flush=True)
    for d in options.sizes:
        problem = cg.Problem(cg.Subsets(d, 3), cg.Arms(d), cg.Gaussian(0.1))
        rules: dict[str, Any] = (
            VARIANTS[options.variants]
            if options.variants
            else {name: name for name in ("uniform", "adahedge", "hedge", "ofw", "lloo")}
        )
        for name, rule in rules.items():
            sim = cg.simulate(
                problem,
                means(d),
                rule=rule,
                delta=0.1,
                threshold=options.threshold,
                runs=options.runs,
                seed=options.seed,
                jobs=options.jobs,
                shuffle_arms=True,
            )
            row, told = (
                sim.summary()[0],
                REFERENCE.get(d, {}).get(name) if options.threshold == "stylised" else None,
            )
            error = sim.rounds.std(ddof=1) / options.runs**0.5
            compared = f"{told:,} | {row['mean'] / told - 1:+.1%}" if told else " | "
            lines.append(
                f"| {d} | {name} | {options.runs} | {row['mean']:,.0f} | {error:,.0f} | "
                f"{row['median']:,.0f} | "
                f"{row['errors']} | {row['capped']} | {compared} | {row['ratio']:.2f} |"
            )
            print(lines[-1], flush=True)
    save(options.out, "\n".join(lines))


if __name__ == "__main__":
    main()
