"""The demonstration: a study of ten variants, three on a plate, with all options at default."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .._display import plotting
from .._display.plotting import figure, save, shown
from ..lab.report import figures as experiment
from ..lab.report.content import drawn
from ..lab.status import Status
from ..lab.study import Study
from ..problem import Problem
from ..rewards import Gaussian
from ..simulation.api import simulate
from ..structures import Arms, Subsets

NAMES = ("wild type", "A12G", "K7R", "L3P", "T9S", "D5N", "F8Y", "S2C", "Q4E", "R6K")
MEANS = np.array([0.34, 0.52, 0.40, 0.495, 0.36, 0.485, 0.30, 0.38, 0.28, 0.33])
SIGMA, DELTA, RUNS = 0.1, 0.05, 100
SEED = 7  # of the first few, the one that needs most nearly as many plates as the average study
CODE = """\
plates, asked, noise = cg.Subsets(10, 3), cg.Arms(10), cg.Gaussian(0.1)
study = cg.Study(cg.Problem(plates, asked, noise, names), delta=0.05)
while not study.done:
    plate = study.ask()                  # which three to measure next
    study.tell(plate, measure(plate))    # what came out
print(study.decision)"""
OTHERS = {  # rules for comparison, with their thresholds
    "equal replication": ("uniform", "mixture"),
    "2021 paper: AdaHedge": ("adahedge", "proved"),
    "2021 paper: LLOO": ("lloo", "proved"),
}


def the_problem() -> Problem:
    """Return the problem of the demonstration."""
    return Problem(actions=Subsets(10, 3), answers=Arms(10), rewards=Gaussian(SIGMA), names=NAMES)


def the_study(seed: int) -> tuple[Study, Iterator[Status]]:
    """Return a study, and an iterator over its status every few rounds until it has stopped."""
    study = Study(the_problem(), delta=DELTA, name="demo", seed=seed)
    return study, _watched(study, np.random.default_rng(seed))


def _watched(study: Study, rng: np.random.Generator, step: int = 10) -> Iterator[Status]:
    while not study.done:
        for _ in range(step):
            plate = study.ask()
            study.tell(plate, {arm: rng.normal(MEANS[arm], SIGMA) for arm in plate.arms})
            if study.done:
                break
        yield study.status


def needed(rule: str, threshold: str = "mixture") -> float:
    """Return the mean number of plates that a rule needs for the same problem (compiled)."""
    runs = simulate(the_problem(), MEANS, rule=rule, threshold=threshold, delta=DELTA, runs=RUNS)
    return float(runs.rounds.mean())


def sentence(end: Status, equal: float) -> str:
    """Return the result as text."""
    return (
        f"The best variant is {end.leader_name}, with confidence {1 - DELTA:.0%} (proved for "
        f"normal noise of {SIGMA:g}); the rival hardest to rule out was "
        f"{end.rivals[0].name}. This one study took {end.rounds:,} plates of 3; with other "
        f"readings (--seed) it takes more or fewer, and --plot draws the average of {RUNS} "
        f"studies. Equal replication needs {equal:,.0f} on "
        "average."
    )


def picture(study: Study) -> Any:
    """Draw the estimates of a study beside the plates of other rules, as in the README."""
    with study.view(history=True) as now:
        data = drawn(now, "estimates", "activity")
    made, (left, right) = figure(1, 2, 5.6, 3.9)
    experiment.estimates(left, shown(data["arms"]), data["unit"], data["interval"])
    left.set_title(f"One such study, after {study.status.rounds:,} plates", fontsize=11)
    rows = [{"label": "combgame", "mean": needed("frank-wolfe"), "ours": True}]
    rows += [{"label": label, "mean": needed(*how)} for label, how in OTHERS.items()]
    plotting.bars(right, rows, "plates")
    right.set_xlabel(f"plates (mean of {RUNS} simulated studies)")
    right.set_title("Plates of three until the best is certain to 95%", fontsize=11)
    left.legend(fontsize=8, frameon=False, loc="lower right")
    return made


def draw(study: Study, path: Path) -> list[Path]:
    """Save the picture of a study and return its files."""
    return save(picture(study), path)
