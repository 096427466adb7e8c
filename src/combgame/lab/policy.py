"""The advisor: the rule and the stopping rule on top of the ledger. What to play next, and whether
it is enough, after every event.

What is chosen is a function of the events before it, so every process that folds the same events
has the same rule in the same state.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from .._fingerprint import foreign
from .._messages import Sentence
from ..engine.dispatch import choose_engine
from ..engine.kernels import copied
from ..engine.protocols import Game, Rule
from ..engine.round import advise, recommend, settle
from ..engine.state import Floats, Ints, Random, Seen, View, arms_of, blank, vector
from ..engine.user_code import own_bounds, own_errors
from ..problem import Problem
from ..rules import Stopping
from ..rules.base import again_larger
from ..rules.checks import check_action, trusted
from ..simulation.runner import own_numbers
from ..stopping.base import check_compared
from ..storage.events import Event
from ..structures.connectivity import exchangeable
from ..theory.evidence import Shown, restricted, shown
from .block_effects import awaited, unfinished
from .corrections import spent
from .diagnostics import Noise, Opening, Squares, noise, typical, unstated
from .estimates import Estimate, Margin, estimates, margin
from .history import Effect, Ledger, Past, new_round
from .outliers import Doubt, doubts, doubts_within
from .settings import Setting
from .versions import certificate, given

COMPILED_FROM = (
    500  # arms; with fewer, the interpreted round is fast enough not to wait for a compiler
)


class Side:
    """A game with what has been seen of it: one for stopping (what was told), one for choosing (and
    what is pending).
    """

    def __init__(self, problem: Problem, stopping: Stopping, seen: Seen, engine: str) -> None:
        d = problem.d
        self.seen = seen
        self.game: Game = stopping.on(problem.game(), seen)
        self.view = View(np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(1), np.zeros(d))
        self._recommend = choose_engine(engine, (self.game,), recommend)

    def recommend(self) -> None:
        self._recommend(self.game, self.seen, self.view)


class Advisor:
    """Ledger, rule and stopping rule after some events. whole: the ledger keeps the rounds that
    have ended.
    """

    def __init__(self, setting: Setting, engine: str = "auto", whole: bool = False) -> None:
        problem, self.setting = setting.problem.maximised, setting
        self.problem = problem  # that of the game
        first = setting.first()
        self.needed = first > 0.0
        group, pivot = problem.rewards.groups(problem.d), setting.problem.pivot
        self.ledger = Ledger(problem.d, whole, group, first, pivot, problem.precision())
        self.opening = Opening()
        self.block: list[int] = []  # where plays have levels: that of the round chosen last
        self.rng: Random = np.random.default_rng(
            np.random.SeedSequence(setting.seed, spawn_key=(0,))
        )  # run 0 of `simulate`
        self.numbers = own_numbers(
            problem, setting.chosen, setting.seed, 0
        )  # rounds are chosen under these
        mine = self.numbers.problem
        self.setup = self.numbers.rule.setup(mine)
        self.rule: Rule
        self.start: Ints
        self.rule, self.start = self.setup.fresh(self.rng)
        self._ours, self._foreign = trusted(self.rule), foreign(setting.chosen)
        self._wrote: Floats | None = None  # by a rule of the user's, when it chose last
        self.engine = "python" if engine == "auto" and problem.d < COMPILED_FROM else engine
        self.largest = problem.actions.largest()
        self.ended: dict[str, Any] | None = (
            None  # what was known when it was certified, or stopped by hand
        )
        self.late = 0  # results that came after that
        self.due = False  # the evidence is enough, and no certificate was given yet
        self._known: dict[str, Any] | None = None  # what is known then, until it is given
        self.differences: list[dict[str, Any]] = []  # asked rounds that it would not have chosen
        self.charge()

    def charge(self) -> None:
        """Judge at the delta that is left after the changes so far."""
        problem, changes = self.problem, self.changes
        self.delta = spent(self.setting.delta, changes) * self.ledger.share
        same = self.delta == self.setting.delta
        self.stopping = self.setting.stopping if same else self.setting.stopping_at(self.delta)
        self.told = Side(problem, self.stopping, self.ledger.seen, self.engine)
        mine = self.numbers.problem
        stopping = self.stopping if mine is problem else self.setting.stopping_at(self.delta, mine)
        ahead = blank(problem.d, mine.rewards.groups(problem.d), mine.precision())
        self.ahead = Side(mine, stopping, ahead, self.engine)
        self._advise = choose_engine(self.engine, (self.ahead.game, self.rule), advise)

    @property
    def changes(self) -> int:
        return self.ledger.retractions + self.ledger.corrections

    def apply(self, event: Event, past: Past | None = None, chosen: bool = False) -> Effect:
        """Go on by one event; `chosen`: `choose` has just chosen what it asks."""
        asked = None if chosen else new_round(event)
        if asked is not None:
            first, size = event.data.get("block") or (0, 1)
            mine = self.choose(size, size) if first == event.round else self.choose()
            if list(mine) != asked:
                self.differences.append({"round": event.round, "asked": tuple(asked), "now": mine})
        before, record = (self.changes, self.ledger.share), self.ledger.open.get(event.round or 0)
        effect = self.ledger.apply(event, past)
        if record is not None and record.over:
            self.opening.keep(record)
        if (self.changes, self.ledger.share) != before:
            self.charge()
        self.late += self.ended is not None and effect is Effect.VALUES
        if event.kind == "certified":
            self.certify(event)
        elif effect is not Effect.NOTHING and not event.data.get("more"):
            self.weigh(event, effect)
            if self.due and not event.version:  # from before certificates were events
                self.certify(event._replace(data=self.certificate()))
        return effect

    # ---- where it stands

    def state(self, at: float) -> str:
        """ "running", "certified", "budget", "deadline" or "by hand", at a moment."""
        if self.ended is not None:
            return str(self.ended["why"])
        if not self.affordable and not self.ledger.open:
            return "budget"
        return "deadline" if self.deadline is not None and at >= self.deadline else "running"

    @property
    def affordable(self) -> bool:
        """Whether one more round may be played."""
        return self.max_rounds is None or self.ledger.plays < self.max_rounds

    @property
    def max_rounds(self) -> int | None:
        """As it is now: it may have been extended."""
        most: int | None = self.ledger.limits.get("max_rounds", self.setting.max_rounds)
        return most

    @property
    def deadline(self) -> float | None:
        end: float | None = self.ledger.limits.get("deadline", self.setting.deadline)
        return end

    # ---- choosing

    def choose(self, wanted: int = 1, most: int | None = None) -> tuple[int, ...]:
        """The action of the next new round. Pending rounds count as seen, with the means that their
        arms have now. wanted: rounds that are asked for together, this one included, which become a
        block if plays have levels; most: what a block may have.
        """
        ledger, side, order = self.ledger, self.ahead, self.numbers.order
        seen, counts, pending, needed = (
            side.seen,
            ledger.seen.counts[order],
            ledger.pending[order],
            self.needed[order],
        )
        seen.counts[:], seen.sums[:], seen.rest[:] = (
            counts,
            ledger.seen.sums[order],
            ledger.seen.rest[order],
        )
        seen.squares[:] = ledger.seen.squares[order]
        seen.weighed[:] = ledger.seen.weighed[:, order]
        if self.setting.problem.rewards.pooled:
            seen.noise[:], seen.start[:] = ledger.seen.noise, ledger.seen.start
        if pending.any():
            seen.counts[:] += pending
            waiting = (pending > 0.0) & (counts > 0.0)
            for now in (seen.sums, seen.rest, seen.squares, seen.weighed[:3]):
                now[..., waiting] *= seen.counts[waiting] / counts[waiting]
        seen.clock[0], self._wrote = ledger.plays, None
        current = self._look_ahead(wanted, most)
        lack = np.where(needed, np.maximum(max(self.setting.min_pulls, 1) - seen.counts, 0.0), 0.0)
        if ledger.starting:  # what came beyond what was asked for changes nothing of the start
            lack = np.maximum(ledger.first - ledger.had, 0.0)[order]
        with own_errors(), own_bounds(side.game, self.rule):
            if ledger.asked < len(self.start) and not ledger.prior:
                self._open()
                side.recommend()  # a judge may remember the last rival
                self._commit(current, max(len(self.start) - ledger.asked, wanted))
                row = [int(a) for a in self.start[ledger.asked] if a >= 0]
                if self._foreign:
                    self._wrote = vector(row, len(order))
                return tuple(sorted(int(order[a]) for a in row))  # line 1: INIT
            if (
                not lack.any() and (counts[needed] == 0.0).any()
            ):  # nothing to go by yet: the first batch goes evenly over the arms
                lack = np.where(needed, seen.counts[needed].max() - seen.counts + 1.0, 0.0)
            if lack.any():  # values that went missing, min_pulls, or a start that old data shorten
                self._open()
                side.game.actions.argmax(lack, side.view.action)
                self._commit(None if ledger.told else current, 1)
            else:
                self.opening.lasts = False
                larger = (0, 0)
                if not self._ours:
                    side.view.action[:] = np.nan
                while not self._advise(side.game, self.rule, seen, side.view, self.rng):
                    larger = again_larger(*larger, 0, self.rule)
                    self.rule = self.setup.enlarge(self.rule)
                if not self._ours:  # plays of a block must be fixed, and who knows
                    seen.blocks.left[0] = 0
                    self._wrote = side.view.action.copy()
                self._commit(current, int(seen.blocks.left[0]))
        return tuple(sorted(order[list(arms_of(side.view.action))].tolist()))

    def check_choice(self) -> None:
        """A sentence where a rule of the user's has just chosen what cannot be played. (What it
        chose before is as it was asked.)
        """
        if self._wrote is not None:
            mine, plays = self.numbers, self.ledger.plays
            check_action(mine.rule, mine.problem.actions, self._wrote, plays)

    def _open(self) -> None:
        """The round that is chosen belongs to the start, if that lasts."""
        if self.opening.lasts:
            self.opening.rounds.add(self.ledger.last + 1)

    def unstated(self) -> Sentence | None:
        """What the start says of levels that nobody stated, once it is over; None also after a
        retraction, when what is left of it was perhaps chosen by its values. Of a study that has
        stopped: what it said then.
        """
        if self.ended is not None and "levels" in self.ended:
            before = self.ended["levels"]
            return before and unstated(self.setting.problem, Squares(*before))
        found = self._squares()
        return None if found is None else unstated(self.setting.problem, found)

    def _squares(self) -> Squares | None:
        """Those of the start, once it is over."""
        return None if self.changes else self.opening.settle(self.setting.problem)

    def _look_ahead(self, wanted: int, most: int | None) -> list[int] | None:
        """Where plays have levels: what the rule is to know of blocks; the one that is being
        asked.
        """
        ledger, order, blocks = self.ledger, self.numbers.order, self.ahead.seen.blocks
        counted = ledger.seen.blocks
        current = unfinished(ledger.blocks)
        if blocks.precision.size == 0 or current is not None:
            return current
        pairs = np.ix_(order, order)
        blocks.lead[:], blocks.sure[:] = counted.lead[pairs], counted.sure[pairs]
        blocks.awaited[:] = awaited(counted, {**ledger.held, **ledger.open})[pairs]
        blocks.offset[:], blocks.piece[:] = counted.offset[order], counted.piece[order]
        blocks.done[0], blocks.left[0] = counted.done[0], 0
        blocks.noise[:], blocks.largest[0] = counted.noise, counted.largest[0]
        if most is None:
            left = math.inf if self.max_rounds is None else self.max_rounds - ledger.plays
            most = int(min(max(left, 1), 10**9))
        blocks.wanted[:] = min(wanted, most), most
        return None

    def _commit(self, current: list[int] | None, size: int) -> None:
        """The block of the round that was chosen: the one that is being asked, or a new one."""
        most = int(self.ahead.seen.blocks.wanted[1])
        if self.ahead.seen.blocks.precision.size == 0:
            return
        fresh = [self.ledger.last + 1, min(max(size, 1), most or 1)]
        self.block = current[:2] if current is not None else fresh

    # ---- stopping

    def weigh(self, event: Event, effect: Effect) -> None:
        """The evidence of what was told; the first time that it is enough is when the study
        stops.
        """
        ledger, side = self.ledger, self.told
        if effect is Effect.CHANGE:
            self.ended, self.late = None, 0
        self.due = False
        t = max(
            ledger.told, math.ceil(float(ledger.seen.counts.sum()) / self.largest)
        )  # t K bounds the number of values
        with own_errors(), own_bounds(side.game):
            for ledger.seen.clock[0] in (
                (t,) if side.view.best.any() else (t - 1, t)
            ):  # a new judge may want to know a rival
                side.recommend()
        if self.ended is None:
            if ledger.stopped is not None:
                self.ended = self.facts("by hand", event)
            elif effect is not Effect.LOOK and self.enough(t):
                self.due = True

    def certificate(self) -> dict[str, Any]:
        """What the certificate says that is due."""
        self._known = self.facts("certified")
        return certificate(self._known)

    def certify(self, event: Event) -> None:
        """A certificate was given, and stays given. What is known beside what it says is computed
        anew; where this version would not have given it, nothing is derived from it.
        """
        known, says = self._known, given(event, self.problem.d)
        if known is None:
            known = self.facts("certified" if self.due else "kept")
        short = None if self.due else {name: known[name] for name in ("evidence", "threshold")}
        rests = set(says["answer"]) ^ set(says["rival"])
        self.ended = {
            **known,
            **says,
            "why": "certified",
            "seq": event.seq,
            "p_value": None,
            "margin": known["margin"] if says["answer"] == known["answer"] else None,
            "single": self.single(rests),
            "version": event.version,
            "short": short,
        }
        self.due, self._known = False, None

    def enough(self, t: int) -> bool:
        if (
            self.setting.min_pulls
            and (self.ledger.seen.counts[self.needed] < self.setting.min_pulls).any()
        ):
            return False
        stops: Ints = np.full(1, -1, np.int64)
        winners: Floats = np.zeros((1, self.setting.problem.d))
        enough = settle(self.told.game.judge, t, self.told.view, stops, winners)
        check_compared(self.stopping, stops)
        return enough

    def p_value(self) -> float:
        """The smallest delta at which the evidence would be enough now; 1 if it would not be at
        any.
        """
        setting, clock = self.setting, int(self.ledger.seen.clock[0])

        def passes(log_delta: float) -> bool:
            left = spent(math.exp(log_delta), self.changes) * self.ledger.share
            stopping = setting.stopping_at(left)
            side = Side(self.problem, stopping, copied(self.ledger.seen), self.engine)
            for side.seen.clock[0] in (
                clock - 1,
                clock,
            ):  # a judge may want to know the rival before
                side.recommend()
            return bool(side.view.evidence[0] > side.game.judge.level(clock, 0))

        low, high = math.log(setting.delta), math.log(1.0 - 1e-9)
        with own_errors(), own_bounds(self.told.game):
            if not passes(high):
                return 1.0
            for _ in range(40):
                middle = 0.5 * (low + high)
                low, high = (low, middle) if passes(middle) else (middle, high)
        return math.exp(high)

    def lacks(self) -> float | None:
        """No answer is better than the leader by more than this, with probability 1 - delta: the
        least epsilon, rounded up to three digits, with which the study would stop now. None if
        there is none, or no theorem, or too many arms to try.
        """
        setting, seen = self.setting, self.ledger.seen
        proved = self.stopping.name == "mixture" and self.stopping.validity.proved
        if not proved or self.problem.d >= COMPILED_FROM:
            return None
        clock = int(seen.clock[0])

        def passes(epsilon: float) -> bool:
            stopping = setting.stopping_at(self.delta, epsilon=epsilon)
            side = Side(self.problem, stopping, copied(seen), self.engine)
            for side.seen.clock[0] in (clock - 1, clock):
                side.recommend()
            return bool(side.view.evidence[0] > side.game.judge.level(clock, 0))

        with own_errors(), own_bounds(self.told.game):
            return least_passing(passes, float(np.ptp(seen.mean[self.needed])))

    @property
    def compared(self) -> bool:
        """Whether anything is known of how arms compare. Where plays have levels, nothing is before
        the first block is complete: which value is the largest says which level is.
        """
        blocks = self.ledger.seen.blocks
        return bool(blocks.precision.size == 0 or blocks.done[0] > 0)

    def comparable(self, rival: Iterable[int]) -> bool:
        """Whether anything is known of how the leader compares with a rival: the arms in which they
        differ have values, and complete blocks join those that could be exchanged.
        """
        seen = self.ledger.seen
        differ = self.told.view.best != vector(rival, self.problem.d)
        if not self.compared or (seen.counts[differ] == 0.0).any():
            return False
        groups = exchangeable(self.problem.answers) if self.problem.rewards.levels() else []
        parts = (seen.blocks.piece[[a for a in one if differ[a]]] for one in groups)
        return all(np.unique(one).size < 2 for one in parts)

    def margin(self, certified: bool = False) -> Margin | None:
        """The lead of the leading answer over the nearest rival, and how much it can lack."""
        side, (_, rival) = self.told, self.weakest()
        if not self.comparable(rival):
            return None
        problem, seen, best = self.problem, side.seen, side.view.best
        surely = certified and self.stopping.validity.proved
        least = 0.0 - self.setting.epsilon if surely else -math.inf  # no -0
        made = margin(problem, side.game, seen, best, vector(rival, best.size), self.delta, least)
        if made is None:
            return None
        within = self.setting.epsilon if surely else self.lacks()
        misfit = self.noise()
        doubted = misfit is not None and misfit.contradicted
        return replace(made, within=within, delta=self.setting.delta, doubted=doubted)

    def estimates(self) -> list[Estimate]:
        """All arms, with intervals that hold at all times."""
        side, given = self.told, self.setting.problem
        best = side.view.best if self.compared else np.zeros(self.problem.d)
        made = estimates(self.problem, side.game, side.seen, best, self.delta)
        if given is self.problem:
            return made

        def turned(x: float | None) -> float | None:
            return None if x is None else float(given.inside(x))

        return [
            one._replace(mean=turned(one.mean), low=turned(one.high), high=turned(one.low))
            for one in made
        ]

    def doubts(self) -> tuple[Doubt, ...]:
        """Values that are hard to believe; nothing depends on them."""
        if self.setting.problem.rewards.levels():
            misfit = self.noise()  # which contradicts sigma also if some values are mistakes
            wrong = misfit is not None and misfit.contradicted
            known = self.setting.problem.rewards.known and not wrong
            return doubts_within(self.setting.problem, self.ledger.within(), known)
        outside = {number for number, *_ in self.ledger.outside}
        problem, ledger = self.setting.problem, self.ledger
        misfit, scale = self.noise(), 1.0
        if misfit is not None and misfit.contradicted:  # good data would be doubted
            scale = typical(problem, ledger.seen, ledger.far)
        doubtful = doubts(problem, ledger.seen, ledger.far, scale=scale)
        return tuple(one._replace(outside=one.round in outside) for one in doubtful)

    def noise(self) -> Noise | None:
        """How the values vary, against what was stated."""
        ledger = self.ledger
        return noise(self.setting.problem, ledger.seen, ledger.late, ledger.early)

    def weakest(self) -> tuple[float, tuple[int, ...]]:
        """The evidence, and the rival that it is least against. (Below the threshold a run may have
        looked at the nearest pair only.)
        """
        view, judge = self.told.view, self.told.game.judge
        rival, alternative = np.zeros((2, view.best.size))
        if view.best.size < COMPILED_FROM:
            with own_errors():
                least = judge.weakest(self.told.game, self.told.seen, view.best, rival, alternative)
            if least < view.evidence[0]:
                return least, arms_of(rival)
            return float(view.evidence[0]), arms_of(view.rival)
        return self.named(), arms_of(view.rival)

    def named(self) -> float:
        """The evidence against the rival that the judge named. (While nothing can stop, what it
        says may be more.)
        """
        side = self.told
        with own_errors():
            value = side.game.judge.versus(side.game, side.seen, side.view.best, side.view.rival)
        return min(float(side.view.evidence[0]), value)

    def shown(self, evidence: float, rival: Iterable[int]) -> Shown:
        """The evidence against a rival on the scale that people see."""
        side, t = self.told, int(self.ledger.seen.clock[0])
        level, best = float(side.game.judge.level(t, 0)), side.view.best
        if self.problem.rewards.levels() and math.isfinite(evidence):
            have = max(self.within_rounds(vector(rival, best.size)), evidence, 0.0)
            return Shown(have, have - (evidence - level))
        return shown(side.game, side.seen, best, vector(rival, best.size), evidence, level)

    def within_rounds(self, rival: Floats) -> float:
        """The likelihood ratio against a rival that is an exchange away, where rounds have
        levels.
        """
        best, blocks = self.told.view.best, self.ledger.seen.blocks
        i, j = (arms_of(one)[:1] for one in (best - rival, rival - best))
        if not (i and j and blocks.sure[i[0], j[0]] > 0.0):
            return 0.0
        lead = float(max(blocks.lead[i[0], j[0]], 0.0))
        ratio = 0.5 * lead * lead / float(blocks.sure[i[0], j[0]])
        if self.problem.rewards.known:
            return ratio
        ahead, after = blocks.noise[:, 0]  # of which `variance` takes one
        degrees = after if after > 0.5 * ahead else ahead
        return restricted(ratio / blocks.variance(), float(degrees))

    def single(self, arms: set[int]) -> list[list[Any]]:
        """Of some arms, those that have one value: the arm, the value, its round, and whether it is
        data from outside.
        """
        one = [a for a in sorted(arms) if self.ledger.seen.counts[a] == 1.0]
        outside = {number for number, *_ in self.ledger.outside} if one else set()
        far, shown = self.ledger.far, self.setting.problem.inside(self.ledger.far[0, 0])
        values = [(a, float(shown[a]), int(far[0, 2, a])) for a in one]
        return [[a, value, number, number in outside] for a, value, number in values]

    def facts(self, why: str, event: Event | None = None) -> dict[str, Any]:
        """What is known now, as plain data."""
        side, t = self.told, int(self.ledger.seen.clock[0])
        evidence, rival = self.weakest()
        have, needed = self.shown(evidence, rival)
        known = self.compared and self.ledger.seen.counts.any()
        ended: dict[str, Any] = {}
        if why != "running":
            lead = self.margin(why == "certified")
            sigma, levels = self.noise(), self._squares()
            ended = {
                "noise": None if sigma is None else sigma._asdict(),
                "doubts": [[*one[:-1], list(one.instead)] for one in self.doubts()],
                "levels": None if levels is None else list(levels),
                "margin": None if lead is None else lead.plain(),
                "estimates": [list(one) for one in self.estimates()],
            }
        return {
            **ended,
            "why": why,
            "answer": list(arms_of(side.view.best)) if known else [],
            "rival": list(rival) if self.compared else [],
            "evidence": have,
            "threshold": needed,
            "rounds": self.ledger.told,
            "values": int(self.ledger.seen.counts.sum()),
            "clock": t,
            "pending": int(self.ledger.pending.sum()),
            "seq": self.ledger.seq if event is None else event.seq,
            "outside": sum(n for _, _, n, _ in self.ledger.outside),
            "unplanned": sum(n for _, _, n, kind in self.ledger.outside if kind == 0),
            "planned": sum(n for _, _, n, kind in self.ledger.outside if kind == 1),
            "single": self.single(set(arms_of(side.view.best)) ^ set(rival)),
            "retractions": self.ledger.retractions,
            "corrections": self.ledger.corrections,
            "delta": self.delta,
            "p_value": None if why in ("certified", "kept", "running") else self.p_value(),
        }


def least_passing(passes: Callable[[float], bool], scale: float) -> float | None:
    """The least number for which a condition holds that holds from some number on, rounded up to
    three digits; None if there is none up to a million times `scale`.

    >>> least_passing(lambda x: x > 0.123321, 1.0), least_passing(lambda x: x >= 7000, 1.0)
    (0.124, 7000.0)
    """
    low, high = 0.0, scale if scale > 0.0 else 1.0
    least, most = 1e-6 * high, 1e6 * high
    while not passes(high):
        low, high = high, 4.0 * high
        if high > most:
            return None
    while high - low > 1e-3 * high and high > least:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if passes(middle) else (middle, high)
    digit = 10.0 ** (math.floor(math.log10(high)) - 2)
    up = math.ceil(high / digit) * digit
    return float(f"{up:.3g}")
