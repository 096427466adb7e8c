"""Conformance check of learners."""

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
LESS = 0.05  # margin by which equal weights may be better, as a share of the range of the rewards
BEST = ((0, 1), (2, 5), (3, 4))  # the clearly best action in each of three sequences


def check_learner(
    learner: LearnerBase, rounds: int = 400, seed: int = 0, compiled: bool = False
) -> None:
    """Check a learner and print what was checked.

    The learner must always play a distribution, survive extreme rewards, not depend on the order of
    the arms if it says so (``symmetric``), and earn no less than equal weights would if one action
    is clearly the best and if two actions are the best in turn.

    Parameters
    ----------
    learner : LearnerBase
        The learner.
    rounds : int, default=400
        Number of rounds with extreme rewards.
    seed : int, default=0
        Seed of the rewards.
    compiled : bool, default=False
        If True, the learner is compiled, both engines are compared, and more runs are made.

    Raises
    ------
    AssertionError
        If the learner fails a check.

    Examples
    --------
    >>> from combgame import Hedge
    >>> check_learner(Hedge(), rounds=30)
    Hedge() passes:
       30 x  weights that are a distribution over known actions, after rewards from 1e-8 to 1e8
       30 x  weights.arm_weights are the marginals of the weights
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
        f"{type(learner).__name__} has no method kernel(context), which makes what learns."
    )
    report, rng = CheckReport(named(learner)), np.random.default_rng(seed)
    harness = LearnerHarness(learner, 2, rng)
    for t in range(rounds):
        harness.act(t % 2, t)
        report.add(
            "weights that are a distribution over known actions, after rewards from 1e-8 to 1e8"
        )
        if learner.writes_all_weights:
            report.add("weights.arm_weights are the marginals of the weights")
        harness.update(t % 2, rng.exponential(size=D) * 10.0 ** rng.integers(-8, 9))
    rule = CombGame(learner)
    check_plays(rule, rounds, 0, report, compiled=compiled)
    check_symmetric(rule, 0, report, compiled=compiled)
    for what, rewards in reward_sequences(rng):
        _check_lesson(LearnerHarness(learner, 1, rng), what, rewards)
        report.add(
            f"no less than equal weights get of {LESSON} given rewards, within {LESS:.0%} of their "
            "range"
        )
    report.show()


class LearnerHarness:
    """A learner's kernel with everything that the rule passes to it."""

    def __init__(self, learner: LearnerBase, n_learners: int, rng: Random) -> None:
        self.learner, self.structure = learner, ACTIONS.kernel()
        self.table, self.weights = make_action_table(4096, 2), make_sparse_weights(4096, D)
        sets = ACTIONS.to_list() if learner.enumerates_actions else ACTIONS.covering()
        initial_actions = np.array([self.table.lookup(vector(s, D)) for s in sets], dtype=np.int64)
        capacity = (
            len(sets) if learner.enumerates_actions else learner.initial_capacity(D, len(sets))
        )
        self.context = LearnerContext(
            ACTIONS, initial_actions, np.full(D, 1 / 3), len(sets), n_learners, capacity
        )
        self.kernel: Any = learner.kernel(self.context)
        for verb in ("act", "update", "needs_resize"):
            assert callable(getattr(self.kernel, verb, None)), (
                f"{type(self.kernel).__name__} has no method {verb}, a verb of every learner."
            )
        learner.reset(self.kernel, rng)

    def act(self, learner: int, t: int) -> None:
        """Make the learner write its weights w_t, and check them."""
        if self.kernel.needs_resize():
            self.context = self.context._replace(capacity=2 * self.context.capacity)
            self.kernel = copy_into(self.kernel, self.learner.kernel(self.context))
        weights = self.weights
        self.kernel.act(learner, weights)
        n, capacity = int(weights.size[0]), self.context.capacity
        assert n <= capacity, (
            f"act() wrote {n} actions, but there is room for {capacity}: override "
            "LearnerBase.initial_capacity(d, n)."
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
        """Check `writes_all_weights`: every action in the order of its index, and w~_t."""
        weights, number = self.weights, self.context.n_actions
        every = int(weights.size[0]) == number
        assert every and np.array_equal(weights.ids[:number], np.arange(number)), (
            f"after {t} rounds act() wrote the actions {weights.ids[:5]}..., but "
            f"`writes_all_weights` says that it writes all {number} in the order of numbers: leave "
            "`writes_all_weights` out."
        )
        assert np.allclose(written, weights.arm_weights, rtol=0.0, atol=1e-9), (
            f"after {t} rounds act() wrote weights.arm_weights = {written.round(3).tolist()}, "
            f"but the marginals of its weights are {weights.arm_weights.round(3).tolist()}: write "
            "these, or leave `writes_all_weights` out, and the rule computes them."
        )

    def update(self, learner: int, reward: Floats) -> None:
        """Pass the reward of a round to the learner."""
        self.kernel.update(learner, self.weights, self.table, self.structure, reward)


def reward_sequences(rng: Random) -> Iterator[tuple[str, Floats]]:
    """Yield sequences of rewards, each with its description and a row per round."""
    for best in BEST:
        yield f"{best} is the best action", rng.random((LESSON, D)) + vector(best, D)
    for one, other in ((BEST[0], (2, 3)), ((1, 4), (3, 5))):
        rewards = np.zeros((LESSON, D))
        rewards[::2, one], rewards[1::2, other] = 1.0, 1.0
        rewards[0] *= 0.5  # otherwise a learner that follows the leader would alternate correctly
        yield f"{one} and {other} take turns", rewards


def _check_lesson(harness: LearnerHarness, what: str, rewards: Floats) -> None:
    """Check that the learner earns as much as equal weights for all actions."""
    got = 0.0
    for t, reward in enumerate(rewards):
        harness.act(0, t)
        got += float(harness.weights.arm_weights @ reward)
        harness.update(0, reward)
    ranked = np.sort(rewards, axis=1)
    apart = float((ranked[:, -2:].sum(axis=1) - ranked[:, :2].sum(axis=1)).sum())
    equal = float(rewards.sum()) / 3.0
    assert got >= equal - LESS * apart, (
        f"where {what}, it got {got:.1f} in {LESSON} rounds, but equal weights get {equal:.1f}: "
        "the rule needs a learner whose regret grows more slowly than the rounds (rewards are "
        "gains, not losses)."
    )
