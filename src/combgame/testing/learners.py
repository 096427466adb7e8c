"""Whether a learner of one's own learns as the rule expects."""

import numpy as np

from ..game.catalogue import make_catalogue, make_mixture
from ..game.records import vector
from ..learners.base import LearnerBase, Seating
from ..rules import CombGame
from ..structures import Subsets
from .rules import check_plays
from .tally import Tally, check_numbers, check_part, named


def check_learner(learner: LearnerBase, rounds: int = 400, seed: int = 0) -> None:
    """Whether a learner always plays a distribution, survives extreme rewards, and agrees in both
    engines; prints what was checked.

    >>> from combgame import Hedge
    >>> check_learner(Hedge(), rounds=30)
    Hedge() passes:
       30 x  weights that are a distribution over known actions, after rewards from 1e-8 to 1e8
       30 x  the action is one of all 15, and was observed
        1 x  the same run of 30 rounds interpreted and compiled, bit for bit
    """
    check_part("learner", learner, LearnerBase, of="check_learner")
    check_numbers("check_learner", seed, rounds=rounds)
    assert type(learner).part is not LearnerBase.part, (
        f"{type(learner).__name__} has no method part(seating), which makes what learns."
    )
    tally = Tally(named(learner))
    actions, rng = Subsets(6, 2), np.random.default_rng(seed)
    catalogue = make_catalogue(4096, 2)
    every = [
        catalogue.find(vector(s, 6))
        for s in (actions.sets() if learner.on_simplex else actions.covering())
    ]
    home = np.array(every, dtype=np.int64)
    room = len(every) if learner.on_simplex else learner.room(6, len(every))
    part = learner.part(Seating(actions, home, np.full(6, 1 / 3), len(every), 2, room))
    for verb in ("act", "feed", "full"):
        assert callable(getattr(part, verb, None)), (
            f"{type(part).__name__} has no method {verb}, a verb of every learner."
        )
    mixture, structure = make_mixture(4096, 6), actions.part()
    for t in range(rounds):
        seat = t % 2
        if part.full():
            break
        part.act(seat, mixture)
        n = int(mixture.size[0])
        assert n <= room, (
            f"act() wrote {n} actions, but there is room for {room}: override "
            "LearnerBase.room(d, home)."
        )
        weight = mixture.weight[:n]
        assert n > 0 and np.all(weight >= 0.0) and abs(weight.sum() - 1.0) < 1e-9, (
            f"after {t} rounds act() wrote weights {weight[:5]}... that are not a distribution."
        )
        assert np.all((mixture.ids[:n] >= 0) & (mixture.ids[:n] < catalogue.size[0])), (
            "act() wrote an unknown action."
        )
        catalogue.enter(mixture)
        reward = rng.exponential(size=6) * 10.0 ** rng.integers(-8, 9)
        part.feed(seat, mixture, catalogue, structure, reward)
        tally.add(
            "weights that are a distribution over known actions, after rewards from 1e-8 to 1e8"
        )
    check_plays(CombGame(learner), rounds, 0, tally)
    tally.tell()
