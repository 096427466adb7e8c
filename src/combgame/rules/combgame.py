"""The CombGame rule: the game between a learner (the A-player) and nature (the lambda-player),
lines 5 to 9 of Algorithm 1.

What a learner was offered and what it took: the figures of its regret and of the bounds on it,
kept if asked for.
"""

import math
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from .._values import impartial
from ..engine.action_table import (
    Catalogue,
    Mixture,
    enlarge_catalogue,
    fill_catalogue,
    make_catalogue,
    make_mixture,
)
from ..engine.jit import jitable
from ..engine.kernels import Original, copied, grown
from ..engine.protocols import Bonus, Game, Learner, Rewards, Structure, Tracker
from ..engine.state import Floats, Ints, Random, View, vector
from ..engine.statistics import Seen
from ..errors import InputError, either, must_be, unknown
from ..learners import LLOO, LearnerBase
from ..learners.base import Seating
from ..stopping.base import Question
from ._exploration import FULL_LIMIT, check_start, in_order, padded, start_sets
from ._trackers import TRACKERS, make_tracker
from .base import RuleBase
from .bonuses import make_bonus

ROUNDS, TAKEN, LONGEST, WIDEST, SQUARES, TOPS = range(6)  # the places of `figures`


class NoLedger(NamedTuple):
    """In the place of `Ledger`, where nothing is kept."""

    kept: bool

    def book(self, actions: Structure, mixture: Mixture, reward: Floats) -> None:
        pass


class Ledger(NamedTuple):
    total: (
        Floats  # sum_s r_s: max_A <1_A, total> is what the best action in hindsight would have got
    )
    scaled: Floats  # sum_s r_s / b_s, b_s = max_A <1_A, r_s> - min_A <1_A, r_s>
    # t; sum_s <w~_s, r_s>; max ||r_s||; max b_s; sum b_s^2; sum_s max_A <1_A, r_s> / b_s
    figures: Floats
    score: Floats  # scratch
    vertex: Floats

    def book(self, actions: Structure, mixture: Mixture, reward: Floats) -> None:
        actions.argmax(reward, self.vertex)
        top, low, taken, length = 0.0, 0.0, 0.0, 0.0
        for a in range(reward.size):
            top += self.vertex[a] * reward[a]
            taken += mixture.arms[a] * reward[a]
            length += reward[a] * reward[a]
            self.score[a] = -reward[a]
        actions.argmax(self.score, self.vertex)
        for a in range(reward.size):
            low += self.vertex[a] * reward[a]
        span = top - low
        figures = self.figures
        figures[ROUNDS] += 1.0
        figures[TAKEN] += taken
        figures[LONGEST] = max(figures[LONGEST], math.sqrt(length))
        figures[WIDEST] = max(figures[WIDEST], span)
        figures[SQUARES] += span * span
        # a round in which every action gets the same: no loss
        share = 1.0 / span if span > 0.0 else 0.0
        figures[TOPS] += top * share
        for a in range(reward.size):
            self.total[a] += reward[a]
            self.scaled[a] += reward[a] * share


def make_ledger(d: int, kept: bool) -> Ledger | NoLedger:
    if not kept:
        return NoLedger(False)
    return Ledger(np.zeros(d), np.zeros(d), np.zeros(6), np.zeros(d), np.zeros(d))


ORDERS = ("learner", "nobody", "nature")


@jitable
def optimism(
    rewards: Rewards, seen: Seen, alternative: Floats, bonus: float, visible: Floats, reward: Floats
) -> None:
    """r_a = max(f / N_a, max over phi in {alpha_a, beta_a} of d(phi, lambda_a)), [alpha, beta] =
    {N_a d(mu_a, .) <= f}.

    An arm that no action observes has none: it would look attractive for ever, and nobody can do
    anything about it.
    """
    for a in range(reward.size):
        reward[a] = 0.0
        if visible[a] < 0.5:
            continue
        level = bonus / max(seen.counts[a], 1.0)
        low = rewards.divergence(rewards.lower(seen.mean[a], level, a), alternative[a], a)
        high = rewards.divergence(rewards.upper(seen.mean[a], level, a), alternative[a], a)
        reward[a] = max(level, low, high)


class OneSeat(NamedTuple):
    """In the place of the catalogue of candidate answers, where all have the same learner."""

    number: int

    def find(self, answer: Floats) -> int:
        return self.number

    def full(self) -> bool:
        return False


class CombGamePart(NamedTuple):
    learner: Learner
    tracker: Tracker
    bonus: Bonus
    catalogue: Catalogue  # the actions met so far
    mixture: Mixture  # w_t
    seats: Catalogue | OneSeat  # the candidate answers met so far, if each has its own learner
    whole: bool  # the learner writes w~_t itself
    order: int  # who plays first: 0 the learner, as in the paper; 1 nobody; 2 nature
    past: Floats  # sum_s w~_s, with the start's
    new: int  # how many actions a round may meet that were not in the catalogue
    visible: Floats  # 1 for arms that some action observes
    reward: Floats  # r_t
    home: Ints  # the numbers of the start's actions
    centre: Floats  # w~_{n_0}
    ledger: Ledger | NoLedger  # the learner's regret, if it is recorded

    def choose(self, game: Game, seen: Seen, view: View, rng: Random) -> None:
        number, weight = -1, self.mixture.arms
        seat = self.seats.find(view.best)
        if self.order < 2:
            self.learner.act(seat, self.mixture)  # line 5: w_t
            if self.whole:
                self.catalogue.owe(self.mixture)  # sum_s w_s
            else:
                self.catalogue.enter(self.mixture)  # w~_t, and sum_s w_s
            number = self.tracker.track(self.catalogue, self.mixture, rng)  # line 6: A_t
        if self.order > 0:
            weight = self.past  # nature does not know w_t: it follows the leader
        game.answers.nearest(  # line 7: lambda_t
            game.rewards, seen.mean, weight, view.best, view.rival, view.alternative
        )
        f = self.bonus.explore(seen.clock[0])
        optimism(game.rewards, seen, view.alternative, f, self.visible, self.reward)  # line 8: r_t
        if self.order == 2:  # the best answer to r_t: a learner without regret
            game.actions.argmax(self.reward, view.action)
            number = self.catalogue.find(view.action)
            for a in range(self.past.size):
                self.past[a] += view.action[a]
        else:
            for a in range(self.past.size):
                self.past[a] += self.mixture.arms[a]
            self.ledger.book(game.actions, self.mixture, self.reward)
            self.learner.feed(  # line 9
                seat, self.mixture, self.catalogue, game.actions, self.reward
            )
        self.catalogue.played[number] += 1.0
        self.catalogue.write(number, view.action)

    def full(self) -> bool:
        return (
            self.catalogue.size[0] + self.new > self.catalogue.length.size
            or self.learner.full()
            or self.seats.full()
        )


class CombGameSetup:
    """CombGame on a problem: makes the parts of a run, and larger ones when a run needs them."""

    def __init__(self, rule: "CombGame", problem: Question) -> None:
        self.rule, self.problem, self.d = rule, problem, problem.actions.d
        self.start = rule.start or rule.learner.start
        self._visible = vector(problem.actions.observable(), self.d)
        self._every = problem.actions.sets(FULL_LIMIT) if rule.learner.on_simplex else None
        self._original: tuple[Original[CombGamePart], Ints] | None = None
        if self.start != "random-covering":
            part, start = self._make(self._begin(None))
            self._original = Original(part), start

    def fresh(self, rng: Random) -> tuple[CombGamePart, Ints]:
        if self._original is None:
            made, start = self._make(self._begin(rng))
            part = copied(made)
        else:
            original, rows = self._original
            part, start = original.copy(), in_order(self.start, rows, rng)
        self.rule.learner.begin(part.learner, rng)
        return part, start

    @property
    def alike(self) -> bool:
        return self._original is not None

    def _begin(self, rng: Random | None) -> list[tuple[int, ...]]:
        return start_sets(self.start, self.problem.actions, rng)

    def _make(self, sets: list[tuple[int, ...]]) -> tuple[CombGamePart, Ints]:
        known = self._every or sets
        room = len(known) + (2 if self._every else 4 * self.d + 64 + self.rule.learner.met())
        catalogue = fill_catalogue(known, room, self.problem.actions.largest())
        number = {chosen: i for i, chosen in enumerate(known)}
        home = np.array([number[chosen] for chosen in sets], dtype=np.int64)
        catalogue.played[home] = catalogue.owed[home] = (
            1.0  # each action of the start is played once, with weight 1
        )
        centre = np.bincount([a for chosen in sets for a in chosen], minlength=self.d) / len(sets)
        return self._part(catalogue, home, centre, 4 if self.rule.per_answer else 1, 0), padded(
            sets
        )

    def _part(
        self, catalogue: Catalogue, home: Ints, centre: Floats, seats: int, support: int
    ) -> CombGamePart:
        learner, number = self.rule.learner, int(catalogue.size[0])
        support = max(support, number if learner.on_simplex else learner.room(self.d, home.size))
        return CombGamePart(
            learner.part(Seating(self.problem.actions, home, centre, number, seats, support)),
            make_tracker(self.rule.tracking, catalogue.played.size, learner.on_simplex),
            make_bonus(self.rule.bonus),
            catalogue,
            make_mixture(support, self.d),
            make_catalogue(seats, self.problem.answers.largest())
            if self.rule.per_answer
            else OneSeat(0),
            learner.whole,
            ORDERS.index(self.rule.order),
            len(home) * centre,
            learner.met(),
            self._visible.copy(),
            np.zeros(self.d),
            home,
            centre,
            make_ledger(self.d, self.rule.record),
        )

    def enlarge(self, rule: CombGamePart) -> CombGamePart:
        """Double what is full."""
        room, support = rule.catalogue.played.size, rule.mixture.ids.size
        catalogue, seated, seats = rule.catalogue, rule.seats, 1
        if catalogue.size[0] + rule.new > room:
            catalogue = enlarge_catalogue(catalogue, 4 * room)
        if isinstance(seated, Catalogue):
            seats = seated.length.size
            if seated.full():
                seats *= 2
                seated = enlarge_catalogue(seated, seats)
        larger = self._part(
            catalogue,
            rule.home,
            rule.centre,
            seats,
            2 * support if rule.learner.full() else support,
        )
        return larger._replace(
            learner=grown(rule.learner, larger.learner),
            tracker=grown(rule.tracker, larger.tracker),
            mixture=grown(rule.mixture, larger.mixture),
            seats=seated,
            past=rule.past,
            ledger=rule.ledger,
        )

    def figures(self, rule: CombGamePart) -> dict[str, int]:
        met = {"support": int(rule.mixture.size[0]), "met": int(rule.catalogue.size[0])}
        if isinstance(rule.seats, Catalogue):
            met["learners"] = int(rule.seats.size[0])
        return met


@dataclass(frozen=True, eq=False, repr=False)
class CombGame(RuleBase):
    """The paper's meta-algorithm.

    learner: Hedge(), AdaHedge(), OFW(), LLOO() or one of your own; tracking: "C", "D" or "sample";
    bonus: "stylised" (ln t) or "theory"; per_answer: one learner per candidate answer, made when it
    first leads, instead of one for all; order: who plays first in a round, the "learner", as in the
    paper, so that nature answers w_t; "nobody": nature answers the sum of all w_s so far, and does
    not know w_t; "nature": likewise, and the action is the best answer to nature's move, without
    learner and tracking; start: "covering", "full" or "random-covering" (None: the
    one that the paper gives the learner); record: keep the figures of the learner's regret (see
    `combgame.regret`), at the price of two oracle calls a round.
    """

    impartial: ClassVar[bool] = True
    learner: LearnerBase = field(default_factory=LLOO)
    tracking: str = "C"
    bonus: str | Bonus = "stylised"
    per_answer: bool = False
    start: str | None = None
    record: bool = False
    order: str = "learner"

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.learner, type) or not hasattr(self.learner, "part"):
            raise must_be(
                "learner",
                self.learner,
                "a learner, such as LLOO() (with the brackets)",
                of="CombGame",
            )
        if not isinstance(self.tracking, str) or self.tracking not in TRACKERS:
            raise unknown("tracking", self.tracking, TRACKERS, of="CombGame")
        if not isinstance(self.order, str) or self.order not in ORDERS:
            raise unknown("order", self.order, ORDERS, of="CombGame")
        if self.start is not None:
            check_start("CombGame", self.start)
        for name, value in (("per_answer", self.per_answer), ("record", self.record)):
            either(name, value, of="CombGame")
        if self.record and self.per_answer:
            raise InputError(
                "one-learner-recorded",
                "CombGame: record=True keeps the regret of one learner",
                remedy="drop it, or per_answer=True",
            )
        if self.order == "nature" and (self.record or self.per_answer):
            raise InputError(
                "no-learner-plays",
                "CombGame: with order='nature' no learner plays, so there is nothing to record, "
                "nor one per answer",
                remedy="drop record=True and per_answer=True",
            )
        make_bonus(self.bonus)

    def numbered(self, order: Ints) -> "CombGame | None":
        return self if impartial(self) and impartial(self.learner) else None

    def setup(self, problem: Question) -> CombGameSetup:
        return CombGameSetup(self, problem)
