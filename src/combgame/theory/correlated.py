"""Correlated Gaussian values with a known covariance, for listed actions.

This is the second extension in the paper's outlook. A play of A gives a Gaussian vector with mean
mu_A and covariance Sigma_AA, independent of other plays. Its information is V_A = S_A^T
Sigma_AA^{-1} S_A, where S_A selects the arms of A. After plays with V = sum_s V_{A_s} the
likelihood ratio of means lambda is ||mu^ - lambda||_V^2 / 2 at the weighted least squares estimate
mu^. The nearest alternative is exact: for a rival J of the best I and z = 1_I - 1_J it is mu^ -
V^{-1} z <z, mu^> / (z^T V^{-1} z), at the cost <z, mu^>^2 / (2 z^T V^{-1} z), and the rivals are
listed. The paper has no efficient oracle over the V_A, and neither has this module: actions and
answers are enumerated, in NumPy, and a round costs of the order |A| d^2 + |I| d^2.
"""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .._messages import Message
from ..engine.state import Floats, arms_of
from ..errors import (
    SEED,
    InputError,
    TooManySetsError,
    check_int,
    check_positive,
    invalid_argument,
    is_real,
)
from ..problem import Problem
from ..rewards import Gaussian
from ..structures import StructureBase

MOST = 2_000  # largest number of actions, and of answers
LARGEST = 1e200  # largest entry of a matrix; the largest must be at least 1 / LARGEST
ROUNDING = 1e-9  # tolerated asymmetry of a matrix, relative to its largest entry
STEPS = 20_000  # steps of the game that gives the characteristic time


class NearestAlternative(NamedTuple):
    """The best answer at some estimates, its nearest rival and the evidence between them.

    Attributes
    ----------
    best, rival : tuple of int
        Arms of the best answer and of its nearest rival.
    alternative : numpy.ndarray, shape (d,)
        Nearest means at which the rival is as good.
    value : float
        Evidence against these means.
    """

    best: tuple[int, ...]
    rival: tuple[int, ...]
    alternative: Floats
    value: float


class CorrelatedTime(NamedTuple):
    """The characteristic time of a correlated problem.

    Attributes
    ----------
    time : float
        1/D_nu, from above; D_nu is at most ``(1 + gap) / time``.
    weights : numpy.ndarray, shape (n_actions,)
        Weights of the actions that attain it.
    gap : float
        Relative gap.
    missed : Message, optional
        A message if the tolerance was not reached.

    Examples
    --------
    >>> str(CorrelatedTime(40.0, np.ones(1), 0.0))
    '1/D_nu = 40, at most 0.0% too long'
    """

    time: float
    weights: Floats
    gap: float
    missed: Message | None = None

    def __str__(self) -> str:
        text = f"1/D_nu = {self.time:,.6g}, at most {self.gap:.1%} too long"
        return text if self.missed is None else f"{text}. {self.missed}"


class CorrelatedRuns(NamedTuple):
    """Simulated runs of a correlated problem.

    Attributes
    ----------
    rounds : numpy.ndarray, shape (n_runs,)
        Stopping times, infinite for runs that reached the cap.
    answers : list of tuple of int
        Recommended answers.
    """

    rounds: Floats
    answers: list[tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class CorrelatedProblem:
    """A problem with listed actions and answers and Gaussian values of known covariance.

    Parameters
    ----------
    actions : StructureBase
        The sets of arms that can be measured together; at most 2,000.
    answers : StructureBase
        The sets of arms among which the best one is sought, at most 2,000; None for the actions.
    covariance : array_like, shape (d, d)
        Covariance of the values of a play; symmetric and positive definite.

    Raises
    ------
    InputError
        If the covariance is not valid, or an arm is in no action.
    TooManySetsError
        When the sets are listed, if there are too many of them.

    Examples
    --------
    >>> import combgame as cg
    >>> both = [[1.0, 0.8], [0.8, 1.0]]
    >>> problem = CorrelatedProblem(cg.Listed([(0, 1), (0,)], 2), cg.Arms(2), both)
    >>> found = problem.nearest_alternative(10.0 * problem.information[0], [0.5, 0.2])
    >>> found.best, round(found.value, 6)  # 10 * 0.3^2 / (2 * (1 + 1 - 2 * 0.8))
    ((0,), 1.125)
    """

    actions: StructureBase
    answers: StructureBase
    covariance: Any = field(repr=False)

    def __post_init__(self) -> None:
        problem = Problem(self.actions, self.answers, Gaussian(1.0))
        object.__setattr__(self, "answers", problem.answers)
        d = problem.d
        sigma = _definite("covariance", self.covariance, d, of="CorrelatedProblem")
        object.__setattr__(self, "covariance", sigma)
        if self.actions.observable_arms() != set(range(d)):
            raise InputError(
                "arms-unseen",
                "some arms are in no action, so nothing is ever learned of their means",
                remedy="add an action that has them, or leave them out",
            )

    @cached_property
    def _independent(self) -> Problem:
        """The same problem for uncorrelated values with the same variances."""
        sigma = np.sqrt(np.diag(self.covariance)).tolist()
        return Problem(self.actions, self.answers, Gaussian(sigma))

    @cached_property
    def plays(self) -> list[tuple[int, ...]]:
        """The actions as tuples of arms."""
        return _listed(self.actions)

    @cached_property
    def asked(self) -> Floats:
        """The answers as 0/1 vectors, of shape (n_answers, d)."""
        sets = _listed(self.answers)
        out = np.zeros((len(sets), self.actions.d))
        for row, chosen in zip(out, sets, strict=True):
            row[list(chosen)] = 1.0
        return out

    @cached_property
    def information(self) -> Floats:
        """The information matrices V_A, of shape (n_actions, d, d)."""
        d = self.actions.d
        out = np.zeros((len(self.plays), d, d))
        for matrix, chosen in zip(out, self.plays, strict=True):
            at = np.ix_(chosen, chosen)
            matrix[at] = np.linalg.inv(self.covariance[at])
        return out

    def nearest_alternative(self, information: Any, estimates: Any) -> NearestAlternative:
        """Return the nearest alternative, exactly.

        Parameters
        ----------
        information : array_like, shape (d, d)
            The information V, such as counts times `information`.
        estimates : array_like, shape (d,)
            Estimated means.

        Returns
        -------
        NearestAlternative
            The best answer, its nearest rival and the evidence between them.
        """
        total = _definite("information", information, self.actions.d, of="nearest_alternative")
        return self._nearest(total, self._independent.check_vector(estimates, "estimates"))

    def _nearest(self, information: Floats, mean: Floats) -> NearestAlternative:
        inverse = np.linalg.inv(information)
        best = int(np.argmax(self.asked @ mean))
        z = self.asked[best] - np.delete(self.asked, best, axis=0)
        gaps, turned = z @ mean, z @ inverse
        spread = np.einsum("ij,ij->i", turned, z)
        values = gaps**2 / (2.0 * spread)
        at = int(np.argmin(values))
        alternative = mean - turned[at] * gaps[at] / spread[at]
        rival = self.asked[best] - z[at]
        return NearestAlternative(
            arms_of(self.asked[best]), arms_of(rival), alternative, float(values[at])
        )

    def gains(self, moves: Floats) -> Floats:
        """Return ||moves||_{V_A}^2 / 2 for each action A, its information against mu + moves.

        Parameters
        ----------
        moves : numpy.ndarray, shape (d,)
            Differences of the means.

        Returns
        -------
        numpy.ndarray, shape (n_actions,)
            The gains.
        """
        out: Floats = 0.5 * np.einsum("i,aij,j->a", moves, self.information, moves)
        return out

    def characteristic_time(
        self, means: Any, tolerance: float = 0.01, steps: int = STEPS
    ) -> CorrelatedTime:
        """Compute the characteristic time 1/D_nu.

        Parameters
        ----------
        means : array_like, shape (d,)
            The true means.
        tolerance : float, default=0.01
            Relative gap at which the computation stops.
        steps : int, default=20000
            Largest number of steps.

        Returns
        -------
        CorrelatedTime
            The time and its gap. If the tolerance is not reached, `missed` is a message.

        Raises
        ------
        InputError
            If an argument is not valid, or the two best answers are tied.

        Notes
        -----
        D_nu = max over weights of min over alternatives of ||mu - lambda||_V^2 / 2. AdaHedge plays
        against the nearest alternative. The weights of the best round bound D_nu from below, and
        the mean gains bound it from above.
        """
        tolerance = check_positive("tolerance", tolerance, of="characteristic_time")
        steps = check_int("steps", steps, 1, of="characteristic_time")
        mean, n = self._independent.check_means(means), len(self.plays)
        gain, delta, past, best = np.zeros(n), 0.0, np.zeros(n), (0.0, np.full(n, 1.0 / n))
        high = math.inf
        for step in range(1, steps + 1):
            w = _weights(gain, delta)
            past += w
            found = self._nearest(np.tensordot(w, self.information, 1), mean)
            got = self.gains(found.alternative - mean)
            delta += _mixability(w, got, delta)
            gain += got
            if step % 50 == 0 or step == steps:
                shares, high = past / step, min(high, float(gain.max()) / step)
                low = self._nearest(np.tensordot(shares, self.information, 1), mean).value
                best = max(best, (low, shares), key=lambda one: one[0])
                if best[0] > 0.0 and high <= best[0] * (1.0 + tolerance):
                    break
        if best[0] == 0.0:
            raise InputError(
                "tied-means", "the two best answers are tied", remedy="give other means"
            )
        gap, missed = max(high / best[0] - 1.0, 0.0), None
        if high > best[0] * (1.0 + tolerance):
            missed = Message(
                "tolerance-missed",
                "after {steps:,} steps the gap is {gap:.2%}, and {tolerance:.2%} was asked for",
                remedy="give more steps, or a larger tolerance",
                steps=steps,
                gap=gap,
                tolerance=tolerance,
            )
        return CorrelatedTime(1.0 / best[0], best[1], gap, missed)

    def simulate(
        self, means: Any, *, delta: float = 0.1, runs: int = 10, seed: int = 0, cap: int = 10**5
    ) -> CorrelatedRuns:
        """Simulate CombGame with AdaHedge and C-tracking.

        Parameters
        ----------
        means : array_like, shape (d,)
            The true means.
        delta : float, default=0.1
            Error probability.
        runs : int, default=10
            Number of runs.
        seed : int, default=0
            Seed of the random numbers.
        cap : int, default=100000
            Largest number of rounds of a run.

        Returns
        -------
        CorrelatedRuns
            Stopping times and answers.

        Raises
        ------
        InputError
            If an argument is not valid.

        Notes
        -----
        Bonus and threshold are the stylised ones, which no theorem covers. The optimistic gain of A
        is (||mu^ - lambda||_{V_A} + sqrt(2 f(t) tr(V_A V^{-1})))^2 / 2, which is not below the true
        one where ||mu^ - mu||_V^2 <= 2 f(t).
        """
        if not is_real(delta) or not 0.0 < delta < 1.0:
            raise invalid_argument("delta", delta, "between 0 and 1", of="simulate")
        runs, cap = (
            check_int("runs", runs, 1, of="simulate"),
            check_int("cap", cap, 1, of="simulate"),
        )
        seed = check_int("seed", seed, 0, of="simulate", most=SEED)
        truth = self._independent.check_means(means)
        made = [self._run(truth, delta, seed, i, cap) for i in range(runs)]
        return CorrelatedRuns(np.array([t for t, _ in made]), [answer for _, answer in made])

    def _run(
        self, truth: Floats, delta: float, seed: int, number: int, cap: int
    ) -> tuple[float, tuple[int, ...]]:
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
        root, n = np.linalg.cholesky(self.covariance), len(self.plays)
        index = {chosen: i for i, chosen in enumerate(self.plays)}
        # Each run permutes arms and plays, so that their order in the problem does not matter.
        order, shuffled = rng.permutation(self.actions.d), rng.permutation(n)
        mine = self.actions.permuted(order)
        if mine is None:  # a structure that cannot be permuted
            mine, order = self.actions, np.arange(self.actions.d)
        start = [index[tuple(sorted(order[list(one)].tolist()))] for one in mine.covering()]
        counts, owed, gain, gap = np.zeros(n), np.zeros(n), np.zeros(n), 0.0
        owed[start] = 1.0
        total, right = np.zeros_like(self.covariance), np.zeros(self.actions.d)
        found = None
        for t in range(cap):
            if t < len(start):
                action = start[t]
            else:
                inverse = np.linalg.inv(total)
                mean = inverse @ right
                found = self._nearest(total, mean)
                if found.value > math.log((1.0 + math.log(t)) / delta):
                    return float(t), found.best
                w = _weights(gain, gap)
                owed += w
                share = np.where(owed > 0.0, counts / np.maximum(owed, 1e-300), 9e9)
                action = int(shuffled[np.argmin(share[shuffled])])
                answer = self._nearest(np.tensordot(w, self.information, 1), mean)
                known = np.sqrt(2.0 * self.gains(answer.alternative - mean))
                trace = np.einsum("aij,ji->a", self.information, inverse)
                got = 0.5 * (known + np.sqrt(2.0 * math.log(max(t, 1)) * trace)) ** 2
                gap += _mixability(w, got, gap)
                gain += got
            counts[action] += 1.0
            values = truth + root @ rng.standard_normal(self.actions.d)
            total = total + self.information[action]
            right = right + self.information[action] @ values
        return math.inf, found.best if found else ()


def _listed(structure: StructureBase) -> list[tuple[int, ...]]:
    try:
        return structure.to_list(MOST)
    except TooManySetsError as error:
        raise TooManySetsError(
            "correlated-lists",
            "CorrelatedProblem lists all actions and answers, and {structure} has more than "
            "{limit:,}",
            remedy="choose a smaller structure, or list the sets that matter with Listed",
            structure=str(structure),
            limit=MOST,
        ) from error


def _definite(name: str, given: Any, d: int, *, of: str) -> Floats:
    """Return an invertible matrix of shape (d, d), or raise an `InputError`."""
    try:
        matrix = np.array(given, dtype=float)
    except Exception:  # not convertible to an array
        matrix = np.zeros(0)
    right = matrix.shape == (d, d) and bool((np.abs(matrix) <= LARGEST).all())
    if not right or not _invertible(matrix):
        what = "a symmetric, positive definite matrix of as many rows and columns as arms"
        raise invalid_argument(name, given, what, of=of)
    return matrix


def _invertible(matrix: Floats) -> bool:
    size = np.abs(matrix).max()
    if size < 1.0 / LARGEST or (np.abs(matrix - matrix.T) > ROUNDING * size).any():
        return False
    values = np.linalg.eigvalsh(matrix / size)
    return bool(values[0] > np.finfo(float).eps * values[-1])


def _weights(gain: Floats, gap: float) -> Floats:
    """Return the weights of AdaHedge at the rate ln n / gap."""
    if gap == 0.0:
        return np.full(gain.size, 1.0 / gain.size)
    w: Floats = np.exp(math.log(gain.size) / gap * (gain - gain.max()))
    w /= w.sum()
    return w


def _mixability(w: Floats, got: Floats, gap: float) -> float:
    """Return the increase of AdaHedge's mixability gap."""
    top, mean = float(got.max()), float(w @ got)
    if gap == 0.0 or got.size == 1:
        return max(0.0, top - mean)
    rate = math.log(got.size) / gap
    return max(0.0, top + math.log(float(w @ np.exp(rate * (got - top)))) / rate - mean)
