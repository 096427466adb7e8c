"""Why the published table of P-FWS reads as it does: python benchmarks/public_code.py [--runs 50]

E20, delta = 0.1, ln((1 + ln t)/delta). Its public code differs from its paper in the rule
(`cg.PFWS(n_draws=4999)`) and in the statistic that stops (`cg.SampledAlternatives(4999)`). Each
difference is switched on by itself, and at the end of every run the exact statistic is worked out
at the counts. A table of more runs has those of a smaller one in it. A run of the public code's
rule takes about 40 s of one core.
"""

import argparse
import math
import statistics
from pathlib import Path
from typing import Any, NamedTuple

import made
import numpy as np

import combgame as cg
from combgame._display.text import markdown
from combgame.research import instances
from combgame.rules.base import stopping_of
from combgame.simulation.runner import InitialState, Run, draw_permutation

DELTA, DRAWS, LAST = 0.1, 4999, 100_000
OFW = cg.CombGame(cg.OFW(), tracking="D")
DRAWN = cg.SampledAlternatives(DRAWS)
CASES: dict[str, tuple[Any, Any, str]] = {  # rule, threshold, what is published
    "exact": (cg.PFWS(), "stylised", ""),
    "rule": (cg.PFWS(n_draws=DRAWS), "stylised", ""),
    "stop": (cg.PFWS(), DRAWN, ""),
    "both": (cg.PFWS(n_draws=DRAWS), DRAWN, "1,176 (1 %)"),
    "ofw": (OFW, DRAWN, "1,277 (9 %)"),
    "uniform": (cg.Uniform(), DRAWN, "2,043 (3 %)"),
}
NAMES = {
    "exact": "P-FWS as published, exact statistic",
    "rule": "the code's P-FWS, exact statistic",
    "stop": "P-FWS as published, the code's statistic",
    "both": "the code's P-FWS, the code's statistic",
    "ofw": "CombGame-OFW with D-tracking, the code's statistic",
    "uniform": "uniform, the code's statistic",
}


class One(NamedTuple):
    rounds: int
    right: bool
    stated: float  # the statistic that stopped
    exact: float  # the likelihood ratio at the counts


def played(instance: instances.PublishedInstance, case: str, number: int) -> One:
    rule, threshold, _ = CASES[case]
    mine = draw_permutation(instance.problem, rule, 0, number)
    means = np.array(instance.means)[mine.order]
    stopping = stopping_of(mine.rule, threshold, mine.problem, [DELTA])
    setup = mine.rule.bind(mine.problem)
    run = Run(InitialState(mine.problem, setup, stopping, 1, "compiled"), means, 0, number)
    run.advance(LAST)
    best = mine.problem.answers.argmax(means)
    answer = tuple(np.flatnonzero(run.recommended[0] > 0.5).tolist())
    exact = cg.evidence(mine.problem, run.stats.mean, run.stats.counts, threshold="stylised").value
    return One(
        int(run.stopping_times[0]), answer == tuple(best), float(run.state.evidence[0]), exact
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    instance, rows = instances.find("E20"), list[dict[str, str]]()
    for case in given.cases:
        found = list[One]()
        for number in range(given.runs):
            found.append(played(instance, case, number))
            print(case, number, found[-1], flush=True)
        mean = statistics.mean(one.rounds for one in found)
        error = statistics.stdev(one.rounds for one in found) / math.sqrt(len(found))
        rows.append(
            {
                "rule and statistic": NAMES[case],
                "runs": str(given.runs),
                "rounds": f"{mean:,.0f} +- {error:,.0f}",
                "errors": str(sum(not one.right for one in found)),
                "published": CASES[case][2],
                "its statistic": f"{statistics.mean(one.stated for one in found):.2f}",
                "exact": f"{statistics.mean(one.exact for one in found):.2f}",
                "asked": f"{math.log((1.0 + math.log(mean)) / DELTA):.2f}",
            }
        )
        text = markdown(rows[0], [row.values() for row in rows])
        print(text, flush=True)
        made.save(given.out, text)


if __name__ == "__main__":
    main()
