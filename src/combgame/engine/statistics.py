"""Sufficient statistics of the values observed so far, and the one place where a value is added."""

from typing import Any, NamedTuple

import numpy as np

from .block_effects import BatchEstimator, make_blocks
from .numerics import two_sum
from .state import Floats, Ints, Random

# a later value tells of the spread if its arm has 1/OFTEN of what tells of it so far
OFTEN = 12.0


class IndependentEstimator(NamedTuple):
    """Stands in for `BatchEstimator` where plays have no level of their own: its methods do nothing.

    Every array is handed on at every call, so that these few take less time to compile.
    """

    precision: Floats  # float64[0]
    left: Ints  # int64[1]
    wanted: Ints  # int64[2]
    lifted: Floats  # float64[2]

    def mirror(self, was: "IndependentEstimator", back: bool) -> int:
        return 0

    def lift(self, rng: Random) -> float:
        return 0.0

    def put(self, arm: int, value: float, n: float) -> None:
        pass

    def pass_play(self) -> None:
        pass

    def variance(self) -> float:
        return 1.0

    def adjust(self, mean: Floats) -> None:
        pass


class Statistics(NamedTuple):
    """What has been observed."""

    counts: Floats  # N~_{t-1}: values seen per arm
    sums: Floats  # their sums
    mean: Floats  # mu_{t-1}
    projected_mean: Floats  # mu~_{t-1}: its projection on M
    n_rounds: Ints  # int64[1]: t - 1, the rounds played
    squares: Floats  # sums of (value - mean)^2
    compensation: Floats  # what rounding has left out of the sums
    # what the counts are worth to the stopping rule, written by its judge; the counts where there
    # is none
    effective_counts: Floats
    # float64[4, d], of values x with weights v that were fixed before x was seen: sum v, sum v^2,
    # sum v (x - origin), and the origin, which is the first value
    weighted_sums: Floats
    variance_group: Ints  # int64[d]: arms that vary alike have the same number
    # float64[3, groups], how the values of a group vary (`add_residual`): how many squares of
    # deviations were added up, their sum, and how many there were when the play was chosen
    residuals: Floats
    # int64[1]: 1 while what is played was fixed before any value was seen
    in_initial_design: Ints
    batch: BatchEstimator  # differences within plays, where every play has a level of its own

    def begin_play(self) -> None:
        """Begin a play, or values told together: the order among them decides nothing."""
        for g in range(self.residuals.shape[1]):
            self.residuals[2, g] = self.residuals[0, g]

    def add_value(
        self, arm: int, mean: float, n: float, total: float, weight: float, residual: bool
    ) -> None:
        """Add n values of an arm to everything that is summed up.

        Parameters
        ----------
        arm : int
            Index of the arm.
        mean : float
            Mean of the new values.
        n : float
            Number of new values. The sum of squares takes single values only.
        total : float
            Sum of the new values.
        weight : float
            Weight of each value, fixed before the values were seen; see `add_weighted`.
        residual : bool
            Whether the deviation from the arm's earlier mean tells of the spread; see
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
        self.compensation[arm] += lost  # so that means are right to their last digit
        self.counts[arm] += n

    def add_weighted(self, arm: int, mean: float, n: float, weight: float) -> None:
        """Add n values of an arm to its weighted sums.

        With the number of values of all arms, divided by that of this arm, for a weight, the total
        weights of all arms grow at the same rate.
        """
        weighed = self.weighted_sums
        if weighed[0, arm] == 0.0:
            weighed[3, arm] = mean
        weighed[0, arm] += n * weight
        weighed[1, arm] += n * weight * weight
        weighed[2, arm] += n * weight * (mean - weighed[3, arm])

    def add_residual(self, arm: int, off: float, n: float, before: float, had: float) -> None:
        """Add the deviation of new values to the residuals of their arm's group.

        Parameters
        ----------
        arm : int
            Index of the arm.
        off : float
            Deviation of the mean of the new values from that of the earlier ones.
        n, before : float
            Number of new and of earlier values.
        had : float
            Number of residuals that the group had when the play was chosen.

        Notes
        -----
        During the start, plays do not depend on values, and the square, times nN/(n + N) for N
        earlier values, is sigma^2 chi^2. Later on plays do depend on values; the square is then
        taken without the factor N/(n + N), which makes it larger.
        """
        g = self.variance_group[arm]
        if self.in_initial_design[0] > 0:
            self.residuals[0, g] += 1.0
            self.residuals[1, g] += off * off * n * (before / (before + n))
        elif OFTEN * before >= n * had:
            self.residuals[0, g] += 1.0
            self.residuals[1, g] += off * off * n


def blank(d: int, group: Ints | None = None, precision: Floats | None = None) -> Statistics:
    """Nothing seen yet of d arms. group: see `Statistics`; precision: their 1/sigma^2, where plays have
    levels.
    """
    counts, sums, mean, feasible, squares, rest, worth = np.zeros((7, d))
    clock, weighed = np.zeros(1, np.int64), np.zeros((4, d))
    alike = np.zeros(d, np.int64) if group is None else group.copy()
    noise, start = np.zeros((3, int(alike.max(initial=0)) + 1)), np.ones(1, np.int64)
    blocks: Any = (
        IndependentEstimator(np.zeros(0), np.zeros(1, np.int64), np.zeros(2, np.int64), np.zeros(2))
        if precision is None
        else make_blocks(precision)
    )
    return Statistics(
        counts,
        sums,
        mean,
        feasible,
        clock,
        squares,
        rest,
        worth,
        weighed,
        alike,
        noise,
        start,
        blocks,
    )
