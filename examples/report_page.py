"""A study of two people, and the page that they hand on: python examples/report_page.py report.html

docs/pictures/report.png is a screenshot of it.
"""

import itertools
import sys
import tempfile
from pathlib import Path

import numpy as np

import combgame as cg

TRUTH = {
    "wild type": 0.30,
    "A12G": 0.55,
    "K7R": 0.42,
    "L3P": 0.50,
    "T9S": 0.20,
    "D5N": 0.35,
}


def main(page: Path) -> None:
    problem = cg.Problem(cg.Subsets(6, 3), cg.Arms(6), cg.Gaussian(0.1), names=list(TRUTH))
    plan = cg.plan(problem, list(TRUTH.values()), rules=None)  # what they supposed
    study, lab = cg.Study(problem, name="plate-7"), np.random.default_rng(0)
    turns = itertools.cycle(["ann", "ben"])
    while not study.done:
        who = next(turns)
        plate = study.ask(client=who)
        read = {name: lab.normal(TRUTH[name], 0.1) for name in plate.names}
        study.tell(plate, read, client=who)
    study.report(page, plan=plan, unit="activity (U/mg)")
    print(study.decision)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(Path(folder) / "report.html")
