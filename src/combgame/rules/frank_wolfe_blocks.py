"""Frank-Wolfe with batch effects: evidence from within plays, in blocks.

Arms are compared inside a play, so a play adds a sum over its pairs: with the weights of a soft
minimum over the evidence of all pairs, exp(-evidence), a pair is worth the square of its lead. The
play that is worth most is built greedily. Plays come in blocks of 5 % of the rounds so far, whose
arms are fixed before their first value: least squares inside a block also compares arms that never
were in the same play (docs/plates.md).
"""

import math
from typing import NamedTuple

import numpy as np

from ..engine.kernels import FixedSizeDefaults, LazyTemplate, kernel
from ..engine.protocols import ProblemKernel
from ..engine.state import Floats, Ints, Random, RoundState
from ..engine.statistics import Statistics
from ..stopping.base import ProblemLike
from ..stopping.block_effects import SCALES, contrast
from ..structures.partition import exchangeable
from ._exploration import joining, padded

SHARE = 0.05  # length of a block as a share of the rounds so far
ROOM = 256  # largest number of plays of a block
LEAST = -2.0  # lower limit of evidence
FAR = 500.0  # upper limit of the excess of evidence over the least
SLIGHT = 1e-3  # worth of a pair without a lead, in units of sigma^2
NEAR = 0.05  # lower limit of a lead, in units of sigma
MORE = 1.0  # evidence beyond the threshold at which a block aims
EXPLORE, EASE = 1.2, 20.0  # floor of the comparisons of an arm: as in `FrankWolfe`


@kernel(FixedSizeDefaults)
class FrankWolfeBlocksKernel(NamedTuple):
    """Kernel of `FrankWolfe` for problems with batch effects.

    Attributes
    ----------
    variance_known : bool
        Whether sigma is known.
    group : int64[d]
        Answers differ by exchanges of arms in the same group; -1 for arms in none.
    scales : float64[...]
        Scales of the mixture; see `stopping.block_effects`.
    queue : int64[room, K]
        The plays of the block, filled up with -1.
    turn : int64[2]
        Index of the next of them, and their number.
    have : float64[d, d]
        Evidence of pairs.
    worth : float64[d, d]
        Worth of a pair in a play.
    extra : float64[d, d]
        J that the plays of the block so far are expected to add.
    forced : float64[d]
        Arms that a play must contain.
    score, need : float64[d]
        Scratch.
    """

    variance_known: bool
    group: Ints
    scales: Floats
    queue: Ints
    turn: Ints
    have: Floats
    worth: Floats
    extra: Floats
    forced: Floats
    score: Floats
    need: Floats

    def choose(
        self, problem: ProblemKernel, stats: Statistics, state: RoundState, rng: Random
    ) -> None:
        """Play the next action of the block; plan a block first if there is none."""
        if self.turn[0] >= self.turn[1]:
            self.commit(problem, stats, state, rng)
        for a in range(state.action.size):
            state.action[a] = 0.0
        for k in range(self.queue.shape[1]):
            if self.queue[self.turn[0], k] >= 0:
                state.action[self.queue[self.turn[0], k]] = 1.0
        self.turn[0] += 1

    def commit(
        self, problem: ProblemKernel, stats: Statistics, state: RoundState, rng: Random
    ) -> None:
        """Plan the plays of the next block."""
        t, blocks, best = stats.n_rounds[0], stats.batch, state.leader
        plays = min(max(1, int(SHARE * t), blocks.wanted[0]), self.queue.shape[0])
        if blocks.wanted[1] > 0:
            plays = min(plays, blocks.wanted[1])
        blocks.left[0] = plays
        self.turn[0], self.turn[1] = 0, plays
        leaders = 0
        for i in range(best.size):
            if best[i] > 0.5 and self.group[i] >= 0:
                leaders += 1
            for j in range(best.size):
                self.extra[i, j] = blocks.expected_information[i, j]
                if self.rivals(best, i, j):
                    unit = self.per_play(stats, i, j)
                    lead = float(blocks.score_matrix[i, j])
                    if not self.variance_known:
                        lead /= math.sqrt(blocks.variance())
                    one = contrast(self.scales, lead, blocks.information[i, j], unit)
                    self.have[i, j] = max(one, LEAST)
        if leaders == 1 and plays > 1:
            self.schedule_block(problem, stats, state, rng, plays)
            return
        for p in range(plays):
            self.weigh(stats, best)
            self.build(problem, stats, state)
            self.enter(stats, state, p)

    def gap(self, stats: Statistics, i: int, j: int) -> float:
        """Return the estimated lead of an arm over another, in the units of J."""
        lead = float(stats.mean[i] - stats.mean[j])
        return lead if self.variance_known else lead / math.sqrt(stats.batch.variance())

    def rivals(self, best: Floats, i: int, j: int) -> bool:
        """Return whether arm i, of the leader, could be exchanged for arm j."""
        same = self.group[i] == self.group[j] and self.group[i] >= 0
        return bool(same and best[i] > best[j])

    def per_play(self, stats: Statistics, i: int, j: int) -> float:
        """Return the information of one play on a pair that it contains."""
        first, second = float(stats.batch.precision[i]), float(stats.batch.precision[j])
        return first / (first + second) * second

    def weigh(self, stats: Statistics, best: Floats) -> None:
        """Compute the worth of each pair, by a soft minimum over the evidence after the block."""
        least, blocks = math.inf, stats.batch
        for i in range(best.size):
            for j in range(best.size):
                self.worth[i, j] = 0.0
                if self.rivals(best, i, j):
                    gap = self.gap(stats, i, j)
                    least = min(least, self.have[i, j] + 0.5 * gap * gap * self.extra[i, j])
        for i in range(best.size):
            for j in range(best.size):
                if self.rivals(best, i, j):
                    gap = self.gap(stats, i, j)
                    over = self.have[i, j] + 0.5 * gap * gap * self.extra[i, j] - least
                    self.worth[i, j] = math.exp(-min(over, FAR)) * (
                        gap * gap + SLIGHT / blocks.precision[i]
                    )
                    self.worth[j, i] = self.worth[i, j]

    def met(self, stats: Statistics, best: Floats, a: int) -> float:
        """Return the equivalent number of plays that compare an arm with one of the leader."""
        most, blocks = 0.0, stats.batch
        for i in range(best.size):
            if best[i] > 0.5 and self.group[i] == self.group[a]:
                known = blocks.information[i, a] + self.extra[i, a]
                most = max(most, known / self.per_play(stats, i, a))
        return float(most)

    def floor(self, t: int) -> float:
        """Return the least value that `met` must have.

        An arm that looks bad by chance must be compared again.
        """
        even = t * self.queue.shape[1] / self.score.size
        return float(EXPLORE * math.sqrt(even) * even / (even + EASE))

    def build(self, problem: ProblemKernel, stats: Statistics, state: RoundState) -> None:
        """Write the play that is worth most, built greedily.

        It begins with the arm that was compared too rarely, or else with the best pair, and adds
        the arm that adds most.
        """
        d, most, total, first, second = state.leader.size, -1.0, 0.0, -1, -1
        least = self.floor(stats.n_rounds[0])
        for a in range(d):
            if state.leader[a] < 0.5 and self.group[a] >= 0:
                known = self.met(stats, state.leader, a)
                if known < least:
                    first, second, least = a, a, known
        lags = first >= 0
        for i in range(d):
            for j in range(d):
                total += self.worth[i, j]
                if not lags and state.leader[i] > state.leader[j] and self.worth[i, j] > most:
                    most, first, second = self.worth[i, j], i, j
        for a in range(d):
            self.forced[a] = 1.0 if a in (first, second) else 0.0
            self.need[a] = self.worth[a, first] + self.worth[a, second]
        while True:
            for a in range(d):
                self.score[a] = 2.0 * total if self.forced[a] > 0.5 else self.need[a]
            problem.actions.argmax(self.score, state.action)
            more = -1
            for a in range(d):
                fresh = state.action[a] > 0.5 and self.forced[a] < 0.5
                if fresh and (more < 0 or self.need[a] > self.need[more]):
                    more = a
            if more < 0:
                return
            self.forced[more] = 1.0
            for a in range(d):
                self.need[a] += self.worth[a, more]

    def enter(self, stats: Statistics, state: RoundState, p: int) -> None:
        """Add the play to the queue, and what it is expected to add to `extra`."""
        n = 0
        for k in range(self.queue.shape[1]):
            self.queue[p, k] = -1
        for a in range(state.action.size):
            if state.action[a] > 0.5:
                self.queue[p, n] = a
                n += 1
        for k in range(n):
            for m in range(n):
                if m != k:
                    a, b = self.queue[p, k], self.queue[p, m]
                    self.extra[a, b] += self.per_play(stats, a, b)

    def schedule_block(
        self, problem: ProblemKernel, stats: Statistics, state: RoundState, rng: Random, plays: int
    ) -> None:
        """Plan a block around a single leader.

        The leader is in every play; the other arms take turns, as often as they need.
        """
        best, d, total = state.leader, state.leader.size, 0.0
        leader = 0
        for a in range(d):
            if best[a] > 0.5 and self.group[a] >= 0:
                leader = a
        goal = problem.stopping.critical_value(stats.n_rounds[0], 0) + MORE
        floor = self.floor(stats.n_rounds[0])
        for j in range(d):
            self.need[j] = 0.0
            if j != leader and self.group[j] == self.group[leader]:
                gap = max(self.gap(stats, leader, j), NEAR / math.sqrt(stats.batch.precision[j]))
                have = self.have[leader, j] + 0.5 * gap * gap * self.extra[leader, j]
                self.need[j] = max(goal - have, 1e-3) / (gap * gap)
                total += self.need[j]
        room = float(self.queue.shape[1] - 1)
        for j in range(d):
            self.need[j] *= room / total
        for _ in range(20):  # no arm is in a play twice
            free, left = 0.0, room
            for j in range(d):
                if self.need[j] >= 1.0:
                    self.need[j] = 1.0
                    left -= 1.0
                else:
                    free += self.need[j]
            if free > 0.0:
                for j in range(d):
                    if self.need[j] < 1.0:
                        self.need[j] *= left / free
        for j in range(d):
            self.forced[j] = rng.random() * self.need[j]  # here, the plays that each arm is behind
        for p in range(plays):
            for j in range(d):
                self.forced[j] += self.need[j]
                self.score[j] = self.forced[j]
                if j != leader and self.group[j] >= 0 and self.met(stats, best, j) < floor:
                    self.score[j] += float(d * plays)
            self.score[leader] = 4.0 * d * (plays + 2.0)
            problem.actions.argmax(self.score, state.action)
            for j in range(d):
                if state.action[j] > 0.5:
                    self.forced[j] -= 1.0
            self.enter(stats, state, p)


class BoundFrankWolfeBlocks:
    """`FrankWolfe` bound to a problem with batch effects."""

    alike = True

    def __init__(self, problem: ProblemLike) -> None:
        self.problem, d = problem, problem.actions.d
        group = np.full(d, -1, np.int64)
        for g, arms in enumerate(exchangeable(problem.answers)):
            group[list(arms)] = g
        have, worth, extra = np.zeros((3, d, d))
        forced, score, need = np.zeros((3, d))
        queue = np.full((ROOM, problem.actions.max_size()), -1, np.int64)
        kernel = FrankWolfeBlocksKernel(
            problem.rewards.variance_known,
            group,
            SCALES.copy(),
            queue,
            np.zeros(2, np.int64),
            have,
            worth,
            extra,
            forced,
            score,
            need,
        )
        self._original = LazyTemplate(kernel)

    def start_run(self, rng: Random) -> tuple[FrankWolfeBlocksKernel, Ints]:
        """Return a fresh kernel, and plays that connect all arms."""
        plays = joining(self.problem.actions, self.problem.answers, rng)
        return self._original.copy(), padded(plays)

    def resize(self, rule: FrankWolfeBlocksKernel) -> FrankWolfeBlocksKernel:
        """Return the kernel itself."""
        return rule

    def diagnostics(self, rule: FrankWolfeBlocksKernel) -> dict[str, int]:
        """Return no figures."""
        return {}
