"""Record the regret of a learner: R_t = max_A sum_{s<=t} <1_A, r_s> - sum_{s<=t} <w~_s, r_s>.

It is recorded beside the paper's bound on it.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..engine.state import Floats, Ints, vector
from ..errors import SEED, InputError, check_int, invalid_argument
from ..learners.base import RegretStatistics
from ..problem import Problem
from ..rules import CombGame, RuleBase
from ..rules.base import describe
from ..rules.combgame import LONGEST, ROUNDS, SQUARES, TAKEN, TOPS, WIDEST
from ..rules.presets import make_rule
from ..stopping.base import NEVER
from ..structures.base import PolytopeGeometry
from .runner import InitialState, Run, draw_permutation


@dataclass(frozen=True)
class Regret:
    """The regret of a learner at some rounds of one run.

    Rounds are those of the learner, after the initial design.

    Attributes
    ----------
    rule : str
        The name of the rule.
    rounds : ndarray of int64, shape (n,)
        The recorded rounds.
    regret : ndarray of float64, shape (n,)
        The cumulative regret.
    bound : ndarray of float64, shape (n,)
        The paper's bound, computed from the rewards of the run; NaN if there is none.
    support : ndarray of int64, shape (n,)
        The number of actions that w_t mixes.
    met : ndarray of int64, shape (n,)
        The number of different actions met so far.
    """

    rule: str
    rounds: Ints
    regret: Floats
    bound: Floats
    support: Ints
    met: Ints

    def __repr__(self) -> str:
        last = f"{self.regret[-1]:,.2f} at round {self.rounds[-1]:,}"
        return (
            f"<regret of {self.rule}: {last}, bound {self.bound[-1]:,.2f}, growing like "
            f"t^{self.exponent:.2f}>"
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per recorded round."""
        names = ("rounds", "regret", "bound", "support", "met")
        return [
            dict(zip(names, row, strict=True))
            for row in zip(*(getattr(self, name).tolist() for name in names), strict=True)
        ]

    def plot(self) -> Any:
        """Plot the regret and the paper's bound against t, both on logarithmic scales.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        from .._display.plotting import figure

        made, axis = figure()
        axis.plot(
            self.rounds,
            np.maximum(self.regret, 1e-3),
            marker="o",
            markersize=3,
            label=f"regret of {self.rule}",
        )
        axis.plot(
            self.rounds, self.bound, linestyle="--", label="the paper's bound (for LLOO: its order)"
        )
        axis.set(
            xscale="log", yscale="log", xlabel="rounds t of the learner", ylabel="cumulative regret"
        )
        axis.legend(fontsize=8, frameon=False)
        return made

    @property
    def exponent(self) -> float:
        """Return the slope of ln R_t against ln t over the second half of the rounds.

        The half is taken on the logarithmic scale. The result is NaN if R_t <= 0 there.
        """
        half = self.rounds >= np.sqrt(float(self.rounds[0]) * float(self.rounds[-1]))
        if np.any(self.regret[half] <= 0.0):
            return float("nan")
        return float(np.polyfit(np.log(self.rounds[half]), np.log(self.regret[half]), 1)[0])


def regret(
    problem: Problem,
    means: Any,
    *,
    rule: str | RuleBase = "lloo",
    rounds: int = 10_000,
    points: int = 40,
    seed: int = 0,
    run: int = 0,
    engine: str = "auto",
) -> Regret:
    """Play a run without stopping and record the regret of its learner.

    Parameters
    ----------
    problem : Problem
        The problem.
    means : array_like of float, shape (d,)
        The true means.
    rule : str or RuleBase, default="lloo"
        A rule with a learner.
    rounds : int, default=10_000
        The number of rounds of the learner.
    points : int, default=40
        The approximate number of recorded rounds, evenly spaced on a logarithmic scale.
    seed, run : int, default=0
        The seed, and the number of the run.
    engine : {"auto", "compiled", "python"}, default="auto"
        What plays the rounds.

    Returns
    -------
    Regret
        The recorded regret.

    Raises
    ------
    InputError
        If the rule has no learner, or an argument is wrong.

    Examples
    --------
    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1))
    >>> means = [0.5, 0.3, 0.2, 0.1]
    >>> kept = cg.regret(problem, means, rule="adahedge", rounds=300, points=5, engine="python")
    >>> bool((kept.regret <= kept.bound).all())
    True
    """
    if not isinstance(problem, Problem):
        raise invalid_argument(
            "problem", problem, "a Problem", remedy="it comes first", of="regret"
        )
    chosen, means = make_rule(rule), problem.to_internal(problem.check_means(means))
    problem = problem.as_maximisation
    if not isinstance(chosen, CombGame):
        raise InputError(
            "no-learner",
            "regret: rule = {rule!r} has no learner",
            remedy="use 'hedge', 'adahedge', 'ofw', 'lloo' or a CombGame",
            rule=rule,
        )
    rounds, points = (
        check_int("rounds", rounds, 10, of="regret"),
        check_int("points", points, 1, of="regret"),
    )
    seed, run = (
        check_int("seed", seed, 0, of="regret", most=SEED),
        check_int("run", run, 0, of="regret"),
    )
    mine = draw_permutation(problem, chosen, seed, run)
    problem, setup = mine.problem, replace(chosen, track_regret=True).bind(mine.problem)
    played = Run(InitialState(problem, setup, NEVER, 1, engine), means[mine.order], seed, run)
    began, geometry, number = (
        len(played.start),
        _geometry(chosen, problem),
        problem.actions.n_sets() or float("nan"),
    )
    recorded = []
    for t in np.unique(np.geomspace(10, rounds, points).round().astype(int)):
        played.advance(began + int(t))
        kernel: Any = played.rule
        kept, figures = kernel.regret, kernel.regret.figures
        best = kept.total @ vector(problem.actions.argmax(kept.total), problem.d)
        loss = figures[TOPS] - kept.scaled @ vector(problem.actions.argmax(kept.scaled), problem.d)
        record = RegretStatistics(
            figures[ROUNDS],
            problem.d,
            number,
            geometry,
            figures[LONGEST],
            figures[WIDEST],
            figures[SQUARES],
            loss,
        )
        own = setup.diagnostics(kernel)
        recorded.append(
            (
                t,
                best - figures[TAKEN],
                chosen.learner.regret_bound(record),
                own["support"],
                own["met"],
            )
        )
    label = rule if isinstance(rule, str) else describe(rule)
    t, regrets, bounds, support, met = (np.array(column) for column in zip(*recorded, strict=True))
    return Regret(label, t, regrets, bounds, support, met)


def _geometry(rule: CombGame, problem: Problem) -> PolytopeGeometry:
    """Return the geometry that the learner uses."""
    own: PolytopeGeometry | None = getattr(rule.learner, "geometry", None)
    return problem.actions.geometry() if own is None else own
