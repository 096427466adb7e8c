"""Sufficient statistics of the values observed so far, and the one place where a value is added."""

from typing import Any, NamedTuple

import numpy as np

from .block_effects import BatchEstimator, make_blocks
from .numerics import two_sum
from .state import Floats, Ints, Random

# a later residual counts if its arm has at least 1/OFTEN of the residuals so far
OFTEN = 12.0


class IndependentEstimator(NamedTuple):
    """Stand-in for `BatchEstimator` in problems without batch effects; its methods do nothing.

    Every array is passed on at every call, so that these few take less time to compile.
    """

    precision: Floats  # float64[0]
    left: Ints  # int64[1]
    wanted: Ints  # int64[2]
    lifted: Floats  # float64[2]

    def restore_if_written(self, was: "IndependentEstimator", back: bool) -> int:
        """Return 0: there is nothing to copy."""
        return 0

    def draw_effect(self, rng: Random) -> float:
        """Return 0, the batch effect of a simulated play."""
        return 0.0

    def add_value(self, arm: int, value: float, n: float) -> None:
        """Do nothing."""

    def end_play(self) -> None:
        """Do nothing."""

    def variance(self) -> float:
        """Return 1."""
        return 1.0

    def adjust(self, mean: Floats) -> None:
        """Do nothing: the means stay."""


class Statistics(NamedTuple):
    """Sufficient statistics of the values observed so far.

    Attributes
    ----------
    counts : float64[d]
        N~_{t-1}: number of values of each arm.
    sums : float64[d]
        Sums of the values.
    mean : float64[d]
        mu_{t-1}: the estimated means.
    projected_mean : float64[d]
        mu~_{t-1}: their projection onto M, the set of possible means.
    n_rounds : int64[1]
        t - 1, the number of rounds played.
    squares : float64[d]
        Sums of the squared deviations of the values from their mean.
    compensation : float64[d]
        What rounding has left out of the sums.
    effective_counts : float64[d]
        What the counts are worth to the stopping rule, which writes them; otherwise the counts.
    weighted_sums : float64[4, d]
        For values x whose weights v were fixed in advance: the sums of v, of v^2 and of
        v (x - origin), and the origin, which is the first value.
    variance_group : int64[d]
        Arms with the same variance have the same number.
    residuals : float64[3, groups]
        Residuals of each variance group (see `add_residual`): number of the squared residuals,
        their sum, and their number when the current play was chosen.
    in_initial_design : int64[1]
        1 while the actions were fixed before any value was observed.
    batch : BatchEstimator or IndependentEstimator
        Differences within plays, if every play has a batch effect.
    """

    counts: Floats
    sums: Floats
    mean: Floats
    projected_mean: Floats
    n_rounds: Ints
    squares: Floats
    compensation: Floats
    effective_counts: Floats
    weighted_sums: Floats
    variance_group: Ints
    residuals: Floats
    in_initial_design: Ints
    batch: BatchEstimator

    def begin_play(self) -> None:
        """Begin a play, or a set of values reported together.

        The order of the values within it has no effect on what counts as a residual.
        """
        for g in range(self.residuals.shape[1]):
            self.residuals[2, g] = self.residuals[0, g]

    def add_value(
        self, arm: int, mean: float, n: float, total: float, weight: float, residual: bool
    ) -> None:
        """Add n values of an arm to all statistics.

        Parameters
        ----------
        arm : int
            Index of the arm.
        mean : float
            Mean of the new values.
        n : float
            Number of new values. Only single values are added to the sum of squares.
        total : float
            Sum of the new values.
        weight : float
            Weight of each value, fixed before the values were observed; see `add_weighted`.
        residual : bool
            Whether the deviation from the arm's earlier mean is added to the residuals; see
            `add_residual`.
        """
        self.add_weighted(arm, mean, n, weight)
        before = self.counts[arm]
        if before > 0.0:
            off = mean - (self.sums[arm] + self.compensation[arm]) / before
            if residual:
                self.add_residual(arm, off, n, before, self.residuals[2, self.variance_group[arm]])
            if n == 1.0:
                self.squares[arm] += off * off * before / (before + 1.0)
        rounded, lost = two_sum(self.sums[arm], total)
        self.sums[arm] = rounded
        self.compensation[arm] += lost  # so that means are correct to the last digit
        self.counts[arm] += n

    def add_weighted(self, arm: int, mean: float, n: float, weight: float) -> None:
        """Update the weighted sums of an arm with values whose weight was fixed in advance.

        Parameters
        ----------
        arm : int
            Index of the arm.
        mean : float
            Mean of the new values.
        n : float
            Number of new values.
        weight : float
            Weight of each value. It must not depend on the values themselves.

        Notes
        -----
        If the weight is the number of values observed on all arms divided by the number observed on
        this one, the total weights of all arms grow at the same rate.
        """
        weighed = self.weighted_sums
        if weighed[0, arm] == 0.0:
            weighed[3, arm] = mean
        weighed[0, arm] += n * weight
        weighed[1, arm] += n * weight * weight
        weighed[2, arm] += n * weight * (mean - weighed[3, arm])

    def add_residual(self, arm: int, off: float, n: float, before: float, had: float) -> None:
        r"""Update the residual sum of squares of an arm's variance group.

        Call this before the values are added to the arm's sum.

        Parameters
        ----------
        arm : int
            Index of the arm.
        off : float
            Deviation of the mean of the new values from the mean of the earlier ones.
        n, before : float
            Number of new and of earlier values.
        had : float
            Number of residuals that the group had when the play was chosen.

        Notes
        -----
        During the initial design, actions do not depend on the values, so that :math:`off^2 \,
        nN/(n + N)`, with :math:`N` earlier values, is :math:`\sigma^2 \chi^2_1` and is added as it
        is. Later, actions do depend on the values; the square is then added without the factor
        :math:`N/(n + N)`, which makes it larger. Residuals of arms with few values are skipped: an
        arm must have at least 1/`OFTEN` of the residuals that the group had when the play was
        chosen.
        """
        g = self.variance_group[arm]
        if self.in_initial_design[0] > 0:
            self.residuals[0, g] += 1.0
            self.residuals[1, g] += off * off * n * (before / (before + n))
        elif OFTEN * before >= n * had:
            self.residuals[0, g] += 1.0
            self.residuals[1, g] += off * off * n


def blank(d: int, group: Ints | None = None, precision: Floats | None = None) -> Statistics:
    """Return the statistics of d arms before any value is observed.

    Parameters
    ----------
    d : int
        Number of arms.
    group : int64[d], optional
        Variance group of each arm. Defaults to one group.
    precision : float64[d], optional
        1/sigma^2 of each arm if plays have batch effects.
    """
    counts, sums, mean, projected_mean, squares, compensation, effective_counts = np.zeros((7, d))
    groups = np.zeros(d, np.int64) if group is None else group.copy()
    batch: Any = (
        IndependentEstimator(np.zeros(0), np.zeros(1, np.int64), np.zeros(2, np.int64), np.zeros(2))
        if precision is None
        else make_blocks(precision)
    )
    return Statistics(
        counts,
        sums,
        mean,
        projected_mean,
        np.zeros(1, np.int64),
        squares,
        compensation,
        effective_counts,
        np.zeros((4, d)),
        groups,
        np.zeros((3, int(groups.max(initial=0)) + 1)),
        np.ones(1, np.int64),
        batch,
    )
