"""Whether a learner of one's own learns as the rule expects."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..engine.action_table import make_action_table, make_sparse_weights
from ..engine.kernels import copy_into
from ..engine.state import Floats, Random, vector
from ..errors import check_bool
from ..learners.base import LearnerBase, LearnerContext
from ..rules import CombGame
from ..structures import Subsets
from ._report import CheckReport, check_numbers, check_part, named
from .rules import check_plays, check_symmetric

ACTIONS, D = Subsets(6, 2), 6
LESSON = 300  # rounds of a sequence of rewards
LESS = 0.05  # of the range of what actions bring: by so much equal weights may be better
BEST = ((0, 1), (2, 5), (3, 4))  # an action that is clearly the best, in three sequences


def check_learner(
    learner: LearnerBase, rounds: int = 400, seed: int = 0, compiled: bool = False
) -> None:
    """Whether a learner always plays a distribution, survives extreme rewards, plays alike whatever
    the arms are called if it says so (`symmetric`), and gets no less than equal weights would where
    one action is clearly the best and where two take turns; prints what was checked.

    compiled: also whether it agrees in both engines, with more runs; it is compiled first, once.

    >>> from combgame import Hedge
    >>> check_learner(Hedge(), rounds=30)
    Hedge() passes:
       30 x  weights that are a distribution over known actions, after rewards from 1e-8 to 1e8
       30 x  mixture.arms are the marginals of the weights
       30 x  the action is one of all 15, and was observed
       30 x  nothing else was written, bit for bit
        1 x  runs interpreted only: compiled=True compares the engines, and compiles first
        2 x  20 runs of 200 rounds with other numbers for the arms: the same plays
        5 x  no less than equal weights get of 300 given rewards, within 5% of their range
    """
    check_part("learner", learner, LearnerBase, of="check_learner")
    check_numbers("check_learner", seed, rounds=rounds)
    check_bool("compiled", compiled, of="check_learner")
    assert type(learner).kernel is not LearnerBase.kernel, (
        f"{type(learner).__name__} has no method part(seating), which makes what learns."
    )
    tally, rng = CheckReport(named(learner)), np.random.default_rng(seed)
    pupil = LearnerHarness(learner, 2, rng)
    for t in range(rounds):
        pupil.act(t % 2, t)
        tally.add(
            "weights that are a distribution over known actions, after rewards from 1e-8 to 1e8"
        )
        if learner.writes_all_weights:
            tally.add("mixture.arms are the marginals of the weights")
        pupil.update(t % 2, rng.exponential(size=D) * 10.0 ** rng.integers(-8, 9))
    rule = CombGame(learner)
    check_plays(rule, rounds, 0, tally, compiled=compiled)
    check_symmetric(rule, 0, tally, compiled=compiled)
    for what, rewards in reward_sequences(rng):
        _check_lesson(LearnerHarness(learner, 1, rng), what, rewards)
        tally.add(
            f"no less than equal weights get of {LESSON} given rewards, within {LESS:.0%} of their "
            "range"
        )
    tally.tell()


class LearnerHarness:
    """A learner's part with all that the rule gives it."""

    def __init__(self, learner: LearnerBase, seats: int, rng: Random) -> None:
        self.learner, self.structure = learner, ACTIONS.kernel()
        self.table, self.weights = make_action_table(4096, 2), make_sparse_weights(4096, D)
        sets = ACTIONS.to_list() if learner.enumerates_actions else ACTIONS.covering()
        home = np.array([self.table.lookup(vector(s, D)) for s in sets], dtype=np.int64)
        room = len(sets) if learner.enumerates_actions else learner.initial_capacity(D, len(sets))
        self.seating = LearnerContext(ACTIONS, home, np.full(D, 1 / 3), len(sets), seats, room)
        self.kernel: Any = learner.kernel(self.seating)
        for verb in ("act", "update", "needs_resize"):
            assert callable(getattr(self.kernel, verb, None)), (
                f"{type(self.kernel).__name__} has no method {verb}, a verb of every learner."
            )
        learner.reset(self.kernel, rng)

    def act(self, learner: int, t: int) -> None:
        """w_t, and what must be true of it."""
        if self.kernel.needs_resize():
            self.seating = self.seating._replace(capacity=2 * self.seating.capacity)
            self.kernel = copy_into(self.kernel, self.learner.kernel(self.seating))
        weights = self.weights
        self.kernel.act(learner, weights)
        n, room = int(weights.size[0]), self.seating.capacity
        assert n <= room, (
            f"act() wrote {n} actions, but there is room for {room}: override "
            "LearnerBase.room(d, home)."
        )
        weight, ids = weights.values[:n], weights.ids[:n]
        assert n > 0 and np.all(weight >= 0.0) and abs(weight.sum() - 1.0) < 1e-9, (
            f"after {t} rounds act() wrote weights {weight[:5]}... that are not a distribution."
        )
        assert np.all((ids >= 0) & (ids < self.table.size[0])), "act() wrote an unknown action."
        written = weights.arm_weights.copy()
        self.table.add_weights(weights)
        if self.learner.writes_all_weights:
            self._check_whole(written, t)

    def _check_whole(self, written: Floats, t: int) -> None:
        """What `writes_all_weights` says: every action in the order of numbers, and w~_t."""
        weights, number = self.weights, self.seating.n_actions
        every = int(weights.size[0]) == number
        assert every and np.array_equal(weights.ids[:number], np.arange(number)), (
            f"after {t} rounds act() wrote the actions {weights.ids[:5]}..., but `writes_all_weights` says that "
            f"it writes all {number} in the order of numbers: leave `writes_all_weights` out."
        )
        assert np.allclose(written, weights.arm_weights, rtol=0.0, atol=1e-9), (
            f"after {t} rounds act() wrote mixture.arms = {written.round(3).tolist()}, but the "
            f"marginals of its weights are {weights.arm_weights.round(3).tolist()}: write these, or leave "
            "`writes_all_weights` out, and the rule computes them."
        )

    def update(self, learner: int, reward: Floats) -> None:
        self.kernel.update(learner, self.weights, self.table, self.structure, reward)


def reward_sequences(rng: Random) -> Iterator[tuple[str, Floats]]:
    """Sequences of rewards, a row per round."""
    for best in BEST:
        yield f"{best} is the best action", rng.random((LESSON, D)) + vector(best, D)
    for one, other in ((BEST[0], (2, 3)), ((1, 4), (3, 5))):
        rewards = np.zeros((LESSON, D))
        rewards[::2, one], rewards[1::2, other] = 1.0, 1.0
        rewards[0] *= 0.5  # or whoever follows the leader would be right by turns
        yield f"{one} and {other} take turns", rewards


def _check_lesson(pupil: LearnerHarness, what: str, rewards: Floats) -> None:
    """What it gets of a sequence of rewards, against equal weights for all actions."""
    got = 0.0
    for t, reward in enumerate(rewards):
        pupil.act(0, t)
        got += float(pupil.weights.arm_weights @ reward)
        pupil.update(0, reward)
    ranked = np.sort(rewards, axis=1)
    apart = float((ranked[:, -2:].sum(axis=1) - ranked[:, :2].sum(axis=1)).sum())
    equal = float(rewards.sum()) / 3.0
    assert got >= equal - LESS * apart, (
        f"where {what}, it got {got:.1f} in {LESSON} rounds, but equal weights get {equal:.1f}: "
        "the rule needs a learner whose regret grows more slowly than the rounds (rewards are "
        "gains, not losses)."
    )
