"""Do the numbers of the arms matter? Each rule on instances listed in three orders: python
benchmarks/relabel.py [--out FILE]

listed: as the paper prints them, the best arm first; reversed: the best arm last; relabelled: in a
new random order in every run (`shuffle_arms=True`). delta = 0.1, stylised threshold (gcb-pe: its
own, with the paper's scale). The three have different seeds, so that they are independent; z is the
largest difference of two of the three means over its standard error, with the chance that it is as
large if the numbers of the arms do not matter.
"""

import argparse
import itertools
import math
import zlib
from pathlib import Path

import numpy as np
from made import save

import combgame as cg
from combgame._display.text import markdown
from combgame.research.campaign import Instance
from combgame.research.instances.alt2021 import grid, line, matroid
from reproduction.experiments import SCALE

RULES = ("hedge", "adahedge", "ofw", "lloo", "frank-wolfe", "product-adahedge", "uniform", "gcb-pe")
HEAD = ["instance", "rule", "runs", "listed", "reversed", "relabelled", "z", "chance"]


def instances() -> dict[str, Instance]:
    five = cg.SpanningTrees(
        [(i, j) for i in range(5) for j in range(i)]
    )  # 125 trees: Hedge enumerates them
    means = np.sort(np.random.default_rng(5).uniform(0.0, 1.0, five.d))[::-1]
    tree = Instance("trees", cg.Problem(five, None, cg.Gaussian(0.05)), tuple(means))
    return {
        "k = 3, d = 10": matroid(10),
        "k = 3, d = 25": matroid(25),
        "grid": grid(6),
        "line": line(2, 5),
        "trees": tree,
    }


def backwards(instance: Instance) -> Instance:
    """The same instance with its arms listed from the last to the first."""
    order = np.arange(instance.problem.d)[::-1]
    problem = instance.problem.permuted(order)
    assert problem is not None
    return Instance(instance.name, problem, tuple(np.array(instance.means)[order]))


def chance(z: float) -> float:
    """That the largest of three differences of means of equal errors is at least z of its standard
    errors: about three times one's.
    """
    return min(1.0, 3.0 * math.erfc(z / math.sqrt(2.0)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rules", nargs="+", default=list(RULES))
    parser.add_argument("--instances", nargs="+", default=list(instances()))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    cells, worst = [], 0.0
    for name, instance in (
        (name, one) for name, one in instances().items() if name in options.instances
    ):
        for rule in options.rules:
            chosen: str | cg.GCBPE = cg.GCBPE(SCALE) if rule == "gcb-pe" else rule
            runs = (
                options.runs
                if rule not in ("hedge", "adahedge") or instance.problem.d < 20
                else min(options.runs, 200)
            )
            found = []
            for way in ("listed", "reversed", "relabelled"):
                given = backwards(instance) if way == "reversed" else instance
                sim = cg.simulate(
                    given.problem,
                    given.means,
                    rule=chosen,
                    delta=0.1,
                    threshold="proved" if rule == "gcb-pe" else "stylised",
                    runs=runs,
                    jobs=options.jobs,
                    seed=zlib.crc32(f"{options.seed} {name} {rule} {way}".encode()),
                    shuffle_arms=way == "relabelled",
                )
                found.append(
                    (float(sim.rounds.mean()), float(sim.rounds.std(ddof=1)) / math.sqrt(runs))
                )
            z = max(
                abs(a - b) / max(math.hypot(e, f), 1e-9)
                for (a, e), (b, f) in itertools.combinations(found, 2)
            )
            worst = max(worst, z)
            cells.append(
                [
                    name,
                    rule,
                    runs,
                    *(f"{mean:,.0f} ± {error:,.0f}" for mean, error in found),
                    f"{z:.1f}",
                    f"{chance(z):.2f}",
                ]
            )
            print(*cells[-1], sep=" | ", flush=True)
    text = (
        markdown(HEAD, cells, left=2)
        + f"\n\nMeans with standard errors. The largest z of {len(cells)} lines is {worst:.1f}.\n"
    )
    print(text.splitlines()[-1])
    save(options.out, text)


if __name__ == "__main__":
    main()
