"""LLOO's original sparsification beside the exact one: python benchmarks/projection.py [--runs 100]

The paper's k = 3 instances, sigma = 0.1, delta = 0.1, stylised threshold and bonus; every run
numbers the arms for itself. support: actions with weight at the end; met: actions that were ever
looked at; as without: runs that stopped in the same round as without any projection.
"""

import argparse
import math
import statistics
from pathlib import Path

import made

import combgame as cg
from combgame._display.text import markdown
from combgame.research.instances.alt2021 import matroid_means
from combgame.simulation.runner import Runner, RunSpec

LEARNERS = {
    "none": cg.LLOO(sparsify=False),
    "approximate": cg.LLOO(projection="approximate"),
    "coarse": cg.LLOO(projection="coarse"),
    "exact": cg.LLOO(),
}
HEAD = ["d", "projection", "runs", "rounds", "errors", "support", "met", "as without"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 20])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rows, plain = list[list[object]](), dict[int, object]()
    for d in given.sizes:
        problem = cg.Problem(cg.Subsets(d, 3), cg.Arms(d), cg.Gaussian(0.1))
        for name, learner in LEARNERS.items():
            runner = Runner(
                RunSpec(problem, matroid_means(d), cg.CombGame(learner), 0.1, "stylised", 0, 10**6)
            )
            found = [runner.run(number) for number in range(given.runs)]
            sim = runner.gather(name, found)
            error = sim.rounds.std(ddof=1) / math.sqrt(given.runs)
            met = [
                f"{statistics.mean(one.figures[key] for one in found):.0f}"
                for key in ("support", "met")
            ]
            errors = int((~sim.correct).sum())
            mean = f"{sim.rounds.mean():,.0f} +- {error:,.0f}"
            same = int((sim.rounds == plain[d]).sum()) if d in plain else given.runs
            plain.setdefault(d, sim.rounds)
            rows.append([d, name, given.runs, mean, errors, *met, same])
            text = markdown(HEAD, rows, left=2)
            print(text, flush=True)
            made.save(given.out, text)


if __name__ == "__main__":
    main()
