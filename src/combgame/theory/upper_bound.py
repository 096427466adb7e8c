"""Theorem 3 of the paper with all its constants: E[tau_delta] <= T_0(delta) + 2 e d / c^2.

T_0(delta) = max {t: t <= beta(t, delta) / D_nu + C_nu (R_t + h(t))}, where C_nu, h(t) and their
terms are those of the paper's appendix on the stopping time, for independent Gaussian values and
means in a box M, with b = 1. One constant is not the printed one: ch(x, y) = inf_u d(u, x) + d(u,
y) is (x - y)^2 / (4 sigma^2), at u halfway, where the text ends in 8 sigma^2. R_t is the bound on
the learner's regret (`LearnerBase.regret_bound`) at the largest rewards that the paper's lemma on
||r_t|| allows: max(f(t), D_M) per arm.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError, check_positive, invalid_argument, is_real
from ..learners.base import LearnerBase, RegretStatistics
from ..learners.sftpl import SFTPL
from ..problem import Problem, check_deltas
from ..rewards import Gaussian
from ..rules import CombGame, RuleBase
from ..rules.bonuses import theory_bonus
from ..rules.presets import make_rule
from ..stopping.registry import make_stopping
from ..structures import PolytopeGeometry
from .complexity import complexity
from .stopping_time import root

OF_TIME = ("proved", "gaussian", "sub-gaussian", "stylised")  # functions beta(t, delta)
B = 1.0
SHARE = 1.0 / (3.0 * (1.0 + B))  # C_b: f(t_b) / f(t) is at least this


@dataclass(frozen=True)
class UpperBound:
    r"""The constants of Theorem 3 for a learner on an instance, and its terms as functions of t.

    Attributes
    ----------
    learner : LearnerBase
        The learner whose regret bound is used.
    geometry : PolytopeGeometry
        Geometry of the action polytope.
    arms : int
        d, the number of arms.
    largest : int
        K, the size of the largest action.
    actions, answers : float
        Number of actions and of answers.
    variance : float
        The largest :math:`\sigma_a^2`.
    time : float
        :math:`1/D_\nu`.
    chernoff : float
        :math:`\epsilon_\nu`.
    lipschitz : float
        :math:`L_M`, the Lipschitz constant of :math:`x \mapsto d_{KL}(x, y)` on M.
    width : float
        :math:`D_M`, the largest :math:`\|d_{KL}(\phi, \lambda)\|_1` on M.
    c : float
        Constant of the exploration bonus.
    threshold : Threshold
        The threshold :math:`\beta(t, \delta)`.
    """

    learner: LearnerBase
    geometry: PolytopeGeometry
    arms: int
    largest: int
    actions: float
    answers: float
    variance: float
    time: float
    chernoff: float
    lipschitz: float
    width: float
    c: float
    threshold: Any

    @property
    def constant(self) -> float:
        """C_nu."""
        return self.time + 2.0 * (self.answers - 1.0) / (SHARE * self.chernoff)

    def bonus(self, t: float) -> float:
        """Return the exploration bonus f(t)."""
        return max(theory_bonus(B, self.c).bonus_at(max(t, 2.0)), 0.0)  # type: ignore[arg-type]

    def regret(self, t: float) -> float:
        """Return an upper bound on R_t."""
        most = max(self.bonus(t), self.width)
        wide = self.largest * most
        return self.learner.regret_bound(
            RegretStatistics(
                t,
                self.arms,
                self.actions,
                self.geometry,
                math.sqrt(self.arms) * most,
                wide,
                t * wide**2,
                t / 2.0,
            )
        )

    def ratios(self, t: float) -> float:
        """Return an upper bound on sum_s <w~_s, 1 / N~_{s-1}>."""
        d = self.arms
        return d * self.actions**2 + 2.0 * d * math.log(max(t * self.largest / d, 1.0))

    def roots(self, t: float) -> float:
        """Return an upper bound on sum_s <w~_s, 1 / sqrt(N~_{s-1})>."""
        d = self.arms
        return d * self.actions**2 + 2.0 * math.sqrt(2.0 * d * t * self.largest)

    def slack(self, t: float) -> float:
        """Return an upper bound on sum_s <w~_s, C_s>, the cost of optimism."""
        f = self.bonus(t)
        drift = 2.0 * self.lipschitz * math.sqrt(2.0 * self.variance * f)
        return f * self.ratios(t) + drift * self.roots(t)

    def correct(self, t: float) -> float:
        """Return c_t, the term of the rounds in which the answer is right."""
        f = self.bonus(t)
        drift = self.lipschitz * math.sqrt(2.0 * self.variance * f)
        return (
            drift * self.roots(t)
            + self.actions**2 * self.width
            + drift * math.sqrt(t * self.arms * self.largest)
            + self.slack(t)
        )

    def approximation(self, t: float) -> float:
        """Return h(t)."""
        wrong = 2.0 / (SHARE * self.chernoff)
        wrong *= self.slack(t) + self.bonus(t) * self.ratios(t)
        return (self.correct(t) * self.time + 2.0 * math.sqrt(t) + 1.0 + wrong) / self.constant

    def critical_value(self, t: float) -> float:
        """Return beta(t, delta)."""
        return float(self.threshold.critical_value(t, 0))

    @property
    def last(self) -> float:
        """T_0(delta), to within half a round or a billionth of it."""

        def passed(t: float) -> bool:
            rest = self.constant * (self.regret(t) + self.approximation(t))
            return self.critical_value(t) * self.time + rest < t

        return root(passed)

    @property
    def rounds(self) -> float:
        """The upper bound on E[tau_delta]."""
        return self.last + 2.0 * math.e * self.arms / self.c**2


def upper_bound(
    problem: Problem,
    means: Any,
    *,
    rule: str | RuleBase = "adahedge",
    delta: float = 0.1,
    threshold: str = "proved",
    bounds: tuple[float, float] = (0.0, 1.0),
    c: float = 1.0,
) -> UpperBound:
    """Evaluate Theorem 3 of the paper on an instance.

    The theorem is on CombGame with the learner of `rule`, C-tracking and the theorem's exploration
    bonus, whatever bonus the rule has.

    Parameters
    ----------
    problem : Problem
        A problem with Gaussian rewards of known sigma.
    means : array_like, shape (d,)
        The true means.
    rule : str or RuleBase, default="adahedge"
        A CombGame rule whose learner has a regret bound and plays first.
    delta : float, default=0.1
        Error probability.
    threshold : {"proved", "gaussian", "sub-gaussian", "stylised"}, default="proved"
        Name of a threshold that is a function of t and delta.
    bounds : (float, float), default=(0.0, 1.0)
        The box M, for arms whose means the problem does not bound.
    c : float, default=1.0
        Constant of the exploration bonus.

    Returns
    -------
    UpperBound
        The constants; ``rounds`` is the bound on the expected stopping time.

    Raises
    ------
    InputError
        If the theorem does not cover the rule or the rewards, or an argument is not valid.

    Notes
    -----
    For AdaHedge all constants are stated. The regret of Hedge is that of a horizon known in
    advance, and those of LLOO and OFW are orders of magnitude, with the constant 1; so are their
    bounds.

    Examples
    --------
    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Subsets(5, 3), cg.Arms(5), cg.Gaussian(0.1))
    >>> bound = upper_bound(problem, [0.3, 0.29, 0.28, 0.23, 0.2], rule="adahedge")
    >>> round(bound.time), f"{bound.chernoff:.4g}", f"{bound.lipschitz:.6g}"
    (400, '0.000625', '100')
    >>> bound.rounds > 1e9
    True
    """
    if not isinstance(problem, Problem):
        raise invalid_argument(
            "problem", problem, "a Problem", remedy="it comes first", of="upper_bound"
        )
    chosen = make_rule(rule)
    if not isinstance(chosen, CombGame):
        raise InputError(
            "not-a-game",
            "Theorem 3 is on the CombGame rules, and {rule} is none",
            remedy="give 'hedge', 'adahedge', 'ofw', 'lloo' or a CombGame(...)",
            rule=str(rule),
        )
    if (
        chosen.first_mover != "learner"
        or chosen.tracking == "sample"
        or isinstance(chosen.learner, SFTPL)
        or getattr(chosen.learner, "projection", "exact") == "coarse"
    ):
        raise InputError(
            "not-covered",
            "Theorem 3 says nothing of {rule}",
            remedy="it is on a learner with a bound on its regret that plays first, and on a "
            "tracking that follows it: give 'adahedge', or CombGame(tracking='C')",
            rule=str(rule),
        )
    if not isinstance(problem.rewards, Gaussian) or not problem.rewards.variance_known:
        raise invalid_argument(
            "rewards", problem.rewards, "Gaussian with a known sigma", of="upper_bound"
        )
    if not isinstance(threshold, str) or threshold not in OF_TIME:
        raise invalid_argument(
            "threshold", threshold, "one of {known:quoted}", of="upper_bound", known=OF_TIME
        )
    if not _is_box(bounds):
        raise invalid_argument(
            "bounds", bounds, "a pair of numbers, the lower one first", of="upper_bound"
        )
    if not is_real(delta):
        raise invalid_argument("delta", delta, "a number between 0 and 1", of="upper_bound")
    deltas, c = check_deltas(delta), float(check_positive("c", c, of="upper_bound"))
    truth = problem.check_means(means)
    low, high = np.array(problem.low), np.array(problem.high)
    low = np.where(np.isfinite(low), low, bounds[0])
    high = np.where(np.isfinite(high), high, bounds[1])
    if ((truth < low) | (truth > high)).any():
        what = "inside bounds = {bounds}, where Theorem 3 holds"
        given, box = truth.tolist(), list(bounds)
        raise invalid_argument(
            "means", given, what, "give wider bounds", of="upper_bound", bounds=box
        )
    sigma = problem.rewards.sub_gaussian_scale(problem.d)
    best = set(problem.best_two(truth)[0])
    size, answers = problem.actions.n_sets(), problem.answers.to_list(250_000)
    stopping = make_stopping(threshold, problem, deltas)
    return UpperBound(
        chosen.learner,
        getattr(chosen.learner, "geometry", None) or problem.actions.geometry(),
        problem.d,
        problem.actions.max_size(),
        float(size if size is not None else len(problem.actions.to_list(250_000))),
        float(len(answers)),
        float(sigma.max() ** 2),
        complexity(problem, truth).characteristic_time,
        min(_chernoff(truth, sigma, best, set(rival)) for rival in answers if set(rival) != best),
        float(((high - low) / sigma**2).max()),
        float(((high - low) ** 2 / (2.0 * sigma**2)).sum()),
        c,
        stopping.threshold,
    )


def _is_box(bounds: Any) -> bool:
    pair = isinstance(bounds, list | tuple) and len(bounds) == 2 and all(map(is_real, bounds))
    return pair and -math.inf < bounds[0] < bounds[1] < math.inf


def _chernoff(truth: Any, sigma: Any, best: set[int], rival: set[int]) -> float:
    """Return the least, over means at which `rival` is as good, of max_a ch(lambda_a, mu_a).

    At the minimum all arms in which the answers differ move equally far in units of their sigma.

    ch(x, y) = inf_u d(u, x) + d(u, y) = (x - y)^2 / (4 sigma^2). The text prints 8 sigma^2, which
    is half of its own definition. The proof needs no such half: where the leader is wrong, x = mu_a
    and y = mu~_a both lie within f(t) / N_a of the estimate, so that ch <= 2 f(t) / N_a, and the 2
    of f(t) / N_a >= epsilon_nu / 2 is in C_nu and h(t) already.
    """
    ours, theirs = sorted(best - rival), sorted(rival - best)
    gap = truth[ours].sum() - truth[theirs].sum()
    return float((gap / sigma[ours + theirs].sum()) ** 2 / 4.0)
