"""What the tests of studies share: problems, measurements, tables, commands, a look inside."""

import csv
from pathlib import Path

from typer.testing import CliRunner

import combgame as cg
from combgame.cli.app import app
from combgame.lab.history import History
from combgame.rules.presets import PRESETS

MEANS = (0.5, 0.3, 0.2, 0.1, 0.0)
NAMES = ("ann", "bob", "cid", "dee", "eve")
PROBLEM = cg.Problem(cg.Subsets(5, 2), cg.Arms(5), cg.Gaussian(0.1), names=NAMES)
HARD = cg.Problem(cg.Subsets(6, 2), cg.Arms(6), cg.Gaussian(1.0))
COINS = cg.Problem(cg.Arms(3), rewards=cg.Bernoulli())
UNKNOWN = cg.Problem(
    cg.Subsets(6, 2), cg.Arms(6), cg.Gaussian(simulation_sigma=1.0, shared_sigma=False)
)
SAME = [(HARD, "mixture"), (HARD, "proved"), (COINS, "mixture"), (UNKNOWN, "mixture")]
OWN = ("gcb-pe", "clucb", "csar")  # have a stopping rule of their own
LIKE = ("ttucb", "ttts", "fws", "p-fws", "thompson")  # to a study, what "top-two" is
RULES = [name for name in PRESETS if name not in OWN + LIKE]
TOML = """
names = ["ann", "bob", "cid", "dee", "eve"]
actions = {kind = "subsets", arms = 5, size = 2}
answers = {kind = "arms"}
rewards = {kind = "gaussian", sigma = 0.1}
"""


def measure(round, rng, means=MEANS, sigma=0.1):
    return {a: means[a] + sigma * rng.standard_normal() for a in round.remaining}


def state_of(study):
    with study._session.reading() as (state, _):
        return state


class Past:
    """What was before an event, for a state that looks back."""

    def __init__(self, state, events):
        self.state, self.events = state, events

    def full_history(self, event):
        return History.of(self.state.problem.d, self.events, self.state.history.required)


def command(*words):
    """A command of `combgame study`, in this process; a refusal is raised as it is."""
    return CliRunner().invoke(app, ["study", *map(str, words)], catch_exceptions=False)


def fill(path, rng, lost=()):
    """Writes a value into every line of a table, but for the (round, arm) that are lost."""
    lines = list(csv.reader(Path(path).read_text().splitlines()))
    for line in lines[1:]:
        line[3] = (
            ""
            if tuple(line[1:3]) in lost
            else str(MEANS[NAMES.index(line[2])] + 0.1 * rng.standard_normal())
        )
    with Path(path).open("w", newline="") as file:
        csv.writer(file).writerows(lines)
