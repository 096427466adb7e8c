"""Batch effects: differences between arms within plays, block by block.

A value is mu_a + b_t + noise, where the batch effect b_t of play t is unknown and the same for all
arms of the play. A *block* is a number of plays whose arms were fixed before the first value of any
of them. Least squares within its plays gives, for every two arms that the block connects, their
difference d_b and its variance v_b, in which the batch effects cancel. The stopping rule needs only
S, the sum of d_b/v_b, and J, the sum of 1/v_b, over the blocks (docs/plates.md).

Without batch effects nothing is kept (`statistics.IndependentEstimator`).
"""

from typing import NamedTuple

import numpy as np

from .jit import jitable
from .state import Floats, Ints, restore_array, restore_rows


@jitable
def eliminate(rows: Floats, n: int, width: int) -> None:
    """Make the first n columns of n rows the unit matrix by Gauss-Jordan elimination.

    The rows belong to a grounded Laplacian, so that no pivot has to be searched for.
    """
    for p in range(n):
        pivot = float(rows[p, p])
        for j in range(width):
            rows[p, j] /= pivot
        for i in range(n):
            factor = float(rows[i, p])
            if i != p and factor != 0.0:
                for j in range(width):
                    rows[i, j] -= factor * rows[p, j]


OFTEN = 12.0  # a deviation counts if its arm has at least 1/OFTEN of the squares so far
# arrays that rules must not write, in the order of `BatchEstimator.mirror`
MIRRORED = (
    *("precision", "score_matrix", "information", "normal_equations", "pending_equations"),
    *("offset", "component", "arms", "value", "size"),
    *("done", "noise", "about", "trusted", "largest", "lifted"),
)
PAD = 1e-11  # share of the squares of a block; more than rounding can take from the residuals


class BatchEstimator(NamedTuple):
    """Least-squares estimates of the differences between arms, from within plays.

    Attributes
    ----------
    precision : float64[d]
        1/sigma^2 of each arm; 1 if sigma is unknown.
    score_matrix : float64[d, d]
        S of the row's arm over the column's.
    information : float64[d, d]
        J of the two arms.
    normal_equations : float64[d, d + 1]
        Normal equations of the complete blocks: the weights by which plays connect two arms, and
        the sum of weight * (value - other value).
    pending_equations : float64[d, d + 1]
        The same for the block that is being played.
    expected_information : float64[d, d]
        J that requested plays will add, for sampling rules.
    offset : float64[d]
        Estimates of the arms from all complete blocks.
    component : int64[d]
        Connected component of each arm in the complete blocks; -1 if it is in none.
    arms : int64[d]
        Arms of the current play, in ``arms[:size[0]]``.
    value : float64[2, d]
        Their values, and the precisions of these.
    size : int64[1]
        Number of these arms.
    left : int64[1]
        Number of plays of the current block that are still to come.
    wanted : int64[2]
        Number of plays that the study would like the next block to have, and the largest number
        that it may have (0 for any).
    done : int64[1]
        Number of complete blocks.
    noise : float64[2, 2]
        Number of squares of values times their precision, and their sum: first of those that bound
        sigma from above (docs/plates.md), then of the residuals of the least squares of each block.
    about : float64[2, 2]
        The same for the block that is being played: about the estimates of the blocks before it,
        and of its values about the means of their plays.
    trusted : int64[d]
        1 for arms that the blocks before it estimate well enough for that.
    largest : float64[1]
        Largest absolute value.
    lifted : float64[2]
        Mean and standard deviation of simulated batch effects.
    work : float64[d, 2 d + 1]
        Scratch, as are `order` and `mark`, int64[d].
    """

    precision: Floats
    score_matrix: Floats
    information: Floats
    normal_equations: Floats
    pending_equations: Floats
    expected_information: Floats
    offset: Floats
    component: Ints
    arms: Ints
    value: Floats
    size: Ints
    left: Ints
    wanted: Ints
    done: Ints
    noise: Floats
    about: Floats
    trusted: Ints
    largest: Floats
    lifted: Floats
    work: Floats
    order: Ints
    mark: Ints

    def restore_if_written(self, was: "BatchEstimator", back: bool) -> int:
        """Copy the arrays to a backup, or restore them from there.

        Return the number in MIRRORED, from 1, of the last array that had been changed, or 0.
        """
        which = 0
        which = max(which, 1 * restore_array(self.precision, was.precision, back))
        which = max(which, 2 * restore_rows(self.score_matrix, was.score_matrix, back))
        which = max(which, 3 * restore_rows(self.information, was.information, back))
        which = max(which, 4 * restore_rows(self.normal_equations, was.normal_equations, back))
        which = max(which, 5 * restore_rows(self.pending_equations, was.pending_equations, back))
        which = max(which, 6 * restore_array(self.offset, was.offset, back))
        which = max(which, 7 * restore_array(self.component, was.component, back))
        which = max(which, 8 * restore_array(self.arms, was.arms, back))
        which = max(which, 9 * restore_rows(self.value, was.value, back))
        which = max(which, 10 * restore_array(self.size, was.size, back))
        which = max(which, 11 * restore_array(self.done, was.done, back))
        which = max(which, 12 * restore_rows(self.noise, was.noise, back))
        which = max(which, 13 * restore_rows(self.about, was.about, back))
        which = max(which, 14 * restore_array(self.trusted, was.trusted, back))
        which = max(which, 15 * restore_array(self.largest, was.largest, back))
        return max(which, 16 * restore_array(self.lifted, was.lifted, back))

    def draw_effect(self, rng: np.random.Generator) -> float:
        """Return the batch effect of a simulated play."""
        if self.lifted[1] == 0.0:
            return float(self.lifted[0])
        return float(self.lifted[0] + self.lifted[1] * rng.standard_normal())

    def add_value(self, arm: int, value: float, n: float) -> None:
        """Add an arm of the current play, with the mean of n values."""
        k = self.size[0]
        self.largest[0] = max(self.largest[0], abs(value))
        self.arms[k], self.value[0, k] = arm, value
        self.value[1, k] = n * self.precision[arm]
        self.size[0] = k + 1

    def end_play(self) -> None:
        """End the play, and complete its block if it was the last of the block."""
        n, total, d = self.size[0], 0.0, self.precision.size
        for k in range(n):
            total += self.value[1, k]
        for k in range(n):
            a = self.arms[k]
            for m in range(n):
                if m != k:
                    weight = self.value[1, k] * (self.value[1, m] / total)
                    self.pending_equations[a, self.arms[m]] += weight
                    self.pending_equations[a, d] += weight * (self.value[0, k] - self.value[0, m])
        self.scatter(total)
        self.size[0] = 0
        self.left[0] = max(self.left[0] - 1, 0)
        if self.left[0] == 0:
            self.complete()

    def scatter(self, total: float) -> None:
        """Add the squares of the current play, whose precisions add up to `total`.

        The deviations are those from the play's mean and, for arms that are known well enough,
        those from their estimates and the batch effect that fits best.
        """
        n, most, number = self.size[0], 0.0, 0.0
        for k in range(n):
            if self.trusted[self.arms[k]] > 0:
                most += self.value[1, k]
                number += 1.0
        self.about[0, 0] += max(number - 1.0, 0.0)
        self.about[1, 0] += max(n - 1.0, 0.0)
        for k in range(n):
            for m in range(k):
                a, b = self.arms[k], self.arms[m]
                off = self.value[0, k] - self.value[0, m]
                weight = self.value[1, k] * self.value[1, m]
                self.about[1, 1] += off * off * (weight / total)
                if self.trusted[a] > 0 and self.trusted[b] > 0:
                    off -= self.offset[a] - self.offset[b]
                    self.about[0, 1] += off * off * (weight / most)

    def add_squares(self, n: float, squares: float) -> None:
        """Add the squares of replicates within the current play about their own mean.

        `n` is their number of degrees of freedom.
        """
        self.about[0, 0] += n
        self.about[1, 0] += n
        self.about[0, 1] += squares
        self.about[1, 1] += squares

    def variance(self) -> float:
        """Return the estimated variance in units of 1/precision; 1 without squares."""
        which = 1 if self.noise[1, 0] > 0.5 * self.noise[0, 0] else 0
        n, squares = float(self.noise[which, 0]), float(self.noise[which, 1])
        return squares / n if n > 0.0 and squares > 1e-290 else 1.0

    def complete(self) -> None:
        """Add the differences of the block to those of the blocks before it."""
        d, whole = self.precision.size, float(self.about[1, 1])
        for a in range(d):
            self.mark[a] = -1
        for a in range(d):
            if self.mark[a] < 0:
                n = self.reach(self.pending_equations, a, self.mark)
                if n > 1:
                    self.compare(n)
        for a in range(d):
            for b in range(d + 1):
                self.normal_equations[a, b] += self.pending_equations[a, b]
                self.pending_equations[a, b] = 0.0
        rest, squares = float(self.about[1, 0]), max(float(self.about[1, 1]), 0.0)
        self.noise[1, 0] += rest
        self.noise[1, 1] += squares
        if rest >= self.about[0, 0]:  # this choice is made before the values are observed
            self.noise[0, 0] += rest
            self.noise[0, 1] += squares + PAD * whole
        else:
            self.noise[0, 0] += self.about[0, 0]
            self.noise[0, 1] += self.about[0, 1]
        for j in range(self.about.shape[1]):
            self.about[0, j] = self.about[1, j] = 0.0
        self.fit()
        self.mark_estimable()
        self.done[0] += 1

    def mark_estimable(self) -> None:
        """Mark the arms that are estimated well enough.

        Deviations from the estimates of these arms count towards the estimate of sigma.
        """
        d, most, heaviest = self.precision.size, -1.0, 0
        for a in range(d):
            self.work[a, 0] = 0.0
            for b in range(d):
                self.work[a, 0] += self.normal_equations[a, b] / self.precision[a]
            if self.work[a, 0] > most:
                most, heaviest = self.work[a, 0], a
        for a in range(d):
            enough = self.work[a, 0] > 0.0 and OFTEN * self.work[a, 0] >= self.noise[0, 0]
            self.trusted[a] = 1 if enough and self.component[a] == self.component[heaviest] else 0

    def reach(self, joined: Floats, first: int, mark: Ints) -> int:
        """List the arms that are connected with the first one, and return their number.

        The mark of each becomes the first arm. The arm with the largest weight stands last in the
        list.
        """
        d, n, at = self.precision.size, 1, 0
        self.order[0], mark[first] = first, first
        while at < n:
            a = self.order[at]
            for b in range(d):
                if mark[b] < 0 and joined[a, b] > 0.0:
                    self.order[n], mark[b] = b, first
                    n += 1
            at += 1
        most, heaviest = -1.0, 0
        for k in range(n):
            weight = 0.0
            for m in range(n):
                weight += joined[self.order[k], self.order[m]]
            if weight > most:
                most, heaviest = weight, k
        ground = self.order[heaviest]
        self.order[heaviest] = self.order[n - 1]
        self.order[n - 1] = ground
        return n

    def solve(self, joined: Floats, n: int, whole: bool) -> None:
        """Compute the least-squares estimates of the listed arms, of which the last is put at 0.

        Column n - 1 of the scratch array holds the estimates; if `whole` is true, their covariances
        follow.
        """
        d, r, work = self.precision.size, n - 1, self.work
        width = 2 * r + 1 if whole else r + 1
        for k in range(r):
            a = self.order[k]
            for m in range(width):
                work[k, m] = 0.0
            for m in range(n):
                weight = joined[a, self.order[m]]
                work[k, k] += weight
                if m < r:
                    work[k, m] -= weight
            work[k, r] = joined[a, d]
            if whole:
                work[k, r + 1 + k] = 1.0
        eliminate(work, r, width)

    def compare(self, n: int) -> None:
        """Add d_b/v_b and 1/v_b of all pairs of the list."""
        self.solve(self.pending_equations, n, True)
        r, work = n - 1, self.work
        self.about[1, 0] -= r
        for k in range(r):
            a = self.order[k]
            self.about[1, 1] -= self.pending_equations[a, self.precision.size] * work[k, r]
            for m in range(k + 1, n):
                b = self.order[m]
                apart, doubt = work[k, r], work[k, r + 1 + k]
                if m < r:
                    apart -= work[m, r]
                    doubt += work[m, r + 1 + m] - 2.0 * work[k, r + 1 + m]
                if doubt > 0.0:
                    self.score_matrix[a, b] += apart / doubt
                    self.score_matrix[b, a] -= apart / doubt
                    self.information[a, b] += 1.0 / doubt
                    self.information[b, a] += 1.0 / doubt

    def fit(self) -> None:
        """Compute the least-squares estimates over all complete blocks."""
        for a in range(self.precision.size):
            self.component[a] = -1
        for a in range(self.precision.size):
            if self.component[a] < 0:
                n = self.reach(self.normal_equations, a, self.component)
                self.solve(self.normal_equations, n, False)
                for k in range(n):
                    self.offset[self.order[k]] = self.work[k, n - 1] if k < n - 1 else 0.0

    def clear(self) -> None:
        """Forget all values."""
        for kept in (
            self.score_matrix,
            self.information,
            self.normal_equations,
            self.pending_equations,
            self.noise,
            self.about,
        ):
            kept[:] = 0.0
        self.trusted[:], self.largest[0] = 0, 0.0
        self.left[0] = self.done[0] = self.size[0] = 0

    def adjust(self, mean: Floats) -> None:
        """Make the means differ as the complete blocks estimate.

        The average over each connected component stays.
        """
        d = self.precision.size
        if d == 0 or self.done[0] == 0:
            return
        for a in range(d):
            self.order[a] = 0
            self.work[a, 0] = 0.0
        for a in range(d):
            first = self.component[a]
            self.order[first] += 1
            self.work[first, 0] += mean[a] - self.offset[a]
        for a in range(d):
            first = self.component[a]
            mean[a] = self.offset[a] + self.work[first, 0] / self.order[first]


def make_blocks(precision: Floats) -> BatchEstimator:
    """Return the estimator of arms with these 1/sigma^2 before any value is observed.

    >>> blocks = make_blocks(np.ones(3))
    >>> blocks.add_value(0, 7.0, 1.0), blocks.add_value(1, 5.0, 1.0), blocks.end_play()
    (None, None, None)
    >>> blocks.add_value(1, 3.0, 1.0), blocks.add_value(2, 0.0, 1.0), blocks.end_play()
    (None, None, None)
    >>> score, information = blocks.score_matrix[0], blocks.information[0]
    >>> (score / np.maximum(information, 0.1)).tolist(), information.tolist()
    ([0.0, 2.0, 0.0], [0.0, 0.5, 0.0])
    """
    d = precision.size
    lead, sure, awaited = np.zeros((3, d, d))
    joined, fresh = np.zeros((2, d, d + 1))
    arms, piece, items, mark = np.zeros((4, d), np.int64)
    size, left, done = np.zeros((3, 1), np.int64)
    return BatchEstimator(
        precision.copy(),
        lead,
        sure,
        joined,
        fresh,
        awaited,
        np.zeros(d),
        piece,
        arms,
        np.zeros((2, d)),
        size,
        left,
        np.zeros(2, np.int64),
        done,
        np.zeros((2, 2)),
        np.zeros((2, 2)),
        np.zeros(d, np.int64),
        np.zeros(1),
        np.zeros(2),
        np.zeros((d, 2 * d + 1)),
        items,
        mark,
    )
