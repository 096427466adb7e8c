"""Best-action identification, errors and rounds beside the limit: python benchmarks/best_action.py

Means drawn once, uniformly from [0, 1], by the seed in the table; sigma = 0.05; delta = 0.1.
"""

import argparse
from pathlib import Path

import numpy as np
from made import save

import combgame as cg

EIGHT = [(i, j) for i in range(8) for j in range(i + 1, 8)][:20]
INSTANCES = {
    "spanning trees, 8 nodes, 20 edges": (cg.SpanningTrees(EIGHT), 2),
    "paths, grid with n_s = 10": (cg.grid_network(10), 1),
    "matchings, 5 x 5": (cg.Matchings(5, 5), 2),
    "top 5 of 30": (cg.Subsets(30, 5), 3),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--max-rounds", type=int, default=100_000)
    parser.add_argument("--out", type=Path, default=None, help="also write the table to this file")
    options = parser.parse_args()
    lines = [
        "| instance | seed | answers | 1/D_nu | threshold | rule | runs | errors | capped | mean "
        "| limit T* beta | mean / limit |",
        "| --- | ---: | ---: | ---: | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    print("\n".join(lines), flush=True)
    for name, (structure, seed) in INSTANCES.items():
        problem = cg.Problem(structure, None, cg.Gaussian(0.05))
        means = np.random.default_rng(seed).uniform(0.0, 1.0, structure.d)
        for threshold in ("stylised", "gaussian"):
            for rule in ("ofw", "lloo", "uniform") if threshold == "stylised" else ("ofw", "lloo"):
                sim = cg.simulate(
                    problem,
                    means,
                    rule=rule,
                    delta=0.1,
                    threshold=threshold,
                    runs=options.runs,
                    jobs=options.jobs,
                    max_rounds=options.max_rounds,
                    shuffle_arms=True,
                )
                row = sim.summary()[0]
                more = ">= " if row["capped"] else ""
                lines.append(
                    f"| {name} | {seed} | {structure.n_sets():,} | {row['time']:.2f} | {threshold} "
                    f"| {rule} | {options.runs} | "
                    f"{row['errors']} | {row['capped']} | {more}{row['mean']:,.0f} | "
                    f"{row['limit']:,.0f} | "
                    f"{more}{row['ratio']:.2f} |"
                )
                print(lines[-1], flush=True)
    save(options.out, "\n".join(lines))


if __name__ == "__main__":
    main()
