"""What it costs to watch a rule of somebody else's: python benchmarks/guard.py [--times 9]

The same rule plays the same rounds as ours, and as if it were not; interleaved, the best of so many
times, in microseconds a round.
"""

import argparse
import time
from pathlib import Path

import made
import numpy as np

import combgame as cg
from combgame._display.text import markdown
from combgame.rules.checks import CheckedBoundRule
from combgame.simulation.runner import InitialState, Run
from combgame.stopping.registry import make_stopping

PLACES = {
    "one of 20": (cg.Arms(20), None),
    "3 of 20": (cg.Subsets(20, 3), cg.Arms(20)),
    "3 of 50": (cg.Subsets(50, 3), cg.Arms(50)),
    "matchings of 5 and 5": (cg.Matchings(5, 5), None),
    "paths in a grid of 10": (cg.grid_network(10), None),
}
RULES = {"uniform": cg.Uniform(), "top-two": cg.TopTwo(), "frank-wolfe": cg.FrankWolfe()}
ROUNDS = 4000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=9)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rows = list[list[object]]()
    for place, (actions, answers) in PLACES.items():
        problem = cg.Problem(actions, answers, cg.Gaussian(0.3))
        means = np.cos(1.0 + np.arange(actions.d))
        stopping = make_stopping("mixture", problem, [1e-300])  # nothing stops
        for name, rule in RULES.items():
            setups = rule.bind(problem), CheckedBoundRule(rule, problem)
            best = [float("inf")] * 2
            for number in range(given.times):
                for which, setup in enumerate(setups):
                    run = Run(
                        InitialState(problem, setup, stopping, 1, "compiled"), means, 0, number
                    )
                    run.advance(0)
                    began = time.perf_counter()
                    run.advance(ROUNDS)
                    spent = (time.perf_counter() - began) / ROUNDS * 1e6
                    best[which] = min(best[which], spent)
            ours, watched = best
            rows.append([place, name, *(f"{x:.2f}" for x in (ours, watched, watched - ours))])
        text = markdown(["structure", "rule", "ours", "watched", "difference"], rows, left=2)
        print(text, flush=True)
        made.save(given.out, text)


if __name__ == "__main__":
    main()
