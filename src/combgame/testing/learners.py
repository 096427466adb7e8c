"""Whether a learner of one's own learns as the rule expects."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..engine.action_table import make_catalogue, make_mixture
from ..engine.kernels import grown
from ..engine.state import Floats, Random, vector
from ..errors import either
from ..learners.base import LearnerBase, Seating
from ..rules import CombGame
from ..structures import Subsets
from ._report import Tally, check_numbers, check_part, named
from .rules import check_impartial, check_plays

ACTIONS, D = Subsets(6, 2), 6
LESSON = 300  # rounds of a sequence of rewards
LESS = 0.05  # of the range of what actions bring: by so much equal weights may be better
BEST = ((0, 1), (2, 5), (3, 4))  # an action that is clearly the best, in three sequences


def check_learner(
    learner: LearnerBase, rounds: int = 400, seed: int = 0, compiled: bool = False
) -> None:
    """Whether a learner always plays a distribution, survives extreme rewards, plays alike whatever
    the arms are called if it says so (`impartial`), and gets no less than equal weights would where
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
    either("compiled", compiled, of="check_learner")
    assert type(learner).part is not LearnerBase.part, (
        f"{type(learner).__name__} has no method part(seating), which makes what learns."
    )
    tally, rng = Tally(named(learner)), np.random.default_rng(seed)
    pupil = Pupil(learner, 2, rng)
    for t in range(rounds):
        pupil.act(t % 2, t)
        tally.add(
            "weights that are a distribution over known actions, after rewards from 1e-8 to 1e8"
        )
        if learner.whole:
            tally.add("mixture.arms are the marginals of the weights")
        pupil.feed(t % 2, rng.exponential(size=D) * 10.0 ** rng.integers(-8, 9))
    rule = CombGame(learner)
    check_plays(rule, rounds, 0, tally, compiled=compiled)
    check_impartial(rule, 0, tally, compiled=compiled)
    for what, rewards in lessons(rng):
        _check_lesson(Pupil(learner, 1, rng), what, rewards)
        tally.add(
            f"no less than equal weights get of {LESSON} given rewards, within {LESS:.0%} of their "
            "range"
        )
    tally.tell()


class Pupil:
    """A learner's part with all that the rule gives it."""

    def __init__(self, learner: LearnerBase, seats: int, rng: Random) -> None:
        self.learner, self.structure = learner, ACTIONS.part()
        self.catalogue, self.mixture = make_catalogue(4096, 2), make_mixture(4096, D)
        sets = ACTIONS.sets() if learner.on_simplex else ACTIONS.covering()
        home = np.array([self.catalogue.find(vector(s, D)) for s in sets], dtype=np.int64)
        room = len(sets) if learner.on_simplex else learner.room(D, len(sets))
        self.seating = Seating(ACTIONS, home, np.full(D, 1 / 3), len(sets), seats, room)
        self.part: Any = learner.part(self.seating)
        for verb in ("act", "feed", "full"):
            assert callable(getattr(self.part, verb, None)), (
                f"{type(self.part).__name__} has no method {verb}, a verb of every learner."
            )
        learner.begin(self.part, rng)

    def act(self, seat: int, t: int) -> None:
        """w_t, and what must be true of it."""
        if self.part.full():
            self.seating = self.seating._replace(room=2 * self.seating.room)
            self.part = grown(self.part, self.learner.part(self.seating))
        mixture = self.mixture
        self.part.act(seat, mixture)
        n, room = int(mixture.size[0]), self.seating.room
        assert n <= room, (
            f"act() wrote {n} actions, but there is room for {room}: override "
            "LearnerBase.room(d, home)."
        )
        weight, ids = mixture.weight[:n], mixture.ids[:n]
        assert n > 0 and np.all(weight >= 0.0) and abs(weight.sum() - 1.0) < 1e-9, (
            f"after {t} rounds act() wrote weights {weight[:5]}... that are not a distribution."
        )
        assert np.all((ids >= 0) & (ids < self.catalogue.size[0])), "act() wrote an unknown action."
        written = mixture.arms.copy()
        self.catalogue.enter(mixture)
        if self.learner.whole:
            self._check_whole(written, t)

    def _check_whole(self, written: Floats, t: int) -> None:
        """What `whole` says: every action in the order of numbers, and w~_t."""
        mixture, number = self.mixture, self.seating.number
        every = int(mixture.size[0]) == number
        assert every and np.array_equal(mixture.ids[:number], np.arange(number)), (
            f"after {t} rounds act() wrote the actions {mixture.ids[:5]}..., but `whole` says that "
            f"it writes all {number} in the order of numbers: leave `whole` out."
        )
        assert np.allclose(written, mixture.arms, rtol=0.0, atol=1e-9), (
            f"after {t} rounds act() wrote mixture.arms = {written.round(3).tolist()}, but the "
            f"marginals of its weights are {mixture.arms.round(3).tolist()}: write these, or leave "
            "`whole` out, and the rule computes them."
        )

    def feed(self, seat: int, reward: Floats) -> None:
        self.part.feed(seat, self.mixture, self.catalogue, self.structure, reward)


def lessons(rng: Random) -> Iterator[tuple[str, Floats]]:
    """Sequences of rewards, a row per round."""
    for best in BEST:
        yield f"{best} is the best action", rng.random((LESSON, D)) + vector(best, D)
    for one, other in ((BEST[0], (2, 3)), ((1, 4), (3, 5))):
        rewards = np.zeros((LESSON, D))
        rewards[::2, one], rewards[1::2, other] = 1.0, 1.0
        rewards[0] *= 0.5  # or whoever follows the leader would be right by turns
        yield f"{one} and {other} take turns", rewards


def _check_lesson(pupil: Pupil, what: str, rewards: Floats) -> None:
    """What it gets of a sequence of rewards, against equal weights for all actions."""
    got = 0.0
    for t, reward in enumerate(rewards):
        pupil.act(0, t)
        got += float(pupil.mixture.arms @ reward)
        pupil.feed(0, reward)
    ranked = np.sort(rewards, axis=1)
    apart = float((ranked[:, -2:].sum(axis=1) - ranked[:, :2].sum(axis=1)).sum())
    equal = float(rewards.sum()) / 3.0
    assert got >= equal - LESS * apart, (
        f"where {what}, it got {got:.1f} in {LESSON} rounds, but equal weights get {equal:.1f}: "
        "the rule needs a learner whose regret grows more slowly than the rounds (rewards are "
        "gains, not losses)."
    )
