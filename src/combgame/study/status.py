"""Where a study stands, and what to do next."""

import math
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from ..errors import CombGameError
from ..game.callback import own_errors
from ..game.records import arms_of
from ..report.words import count
from ..theory.complexity import complexity
from ..theory.limit import limit
from .advisor import Advisor
from .doubts import Doubt
from .retractions import judged

# arms; above, only the closest rival is looked at, and the forecast follows the evidence so far
MANY = 300
CLEAR = 2.5  # the leader's lead in standard errors, below which a forecast would be a guess


class Rival(NamedTuple):
    """An answer that could still be the best, and the evidence against it."""

    answer: tuple[int, ...]
    name: str
    evidence: float


@dataclass(frozen=True)
class Status:
    """Print it to read it. `forecast`: rounds still to come, at least and at most; None while there
    is too little data to say.
    """

    name: str
    state: str  # "running", "certified", "budget", "deadline" or "by hand"
    leader: tuple[int, ...]
    leader_name: str
    evidence: float
    threshold: float
    rivals: tuple[Rival, ...]  # the closest first
    rounds: int  # of which something was told, even if it was retracted
    values: int
    pending: tuple[int, ...]  # rounds that are out
    expired: tuple[int, ...]  # of them, those whose lease has ended
    waiting: tuple[int, ...]  # rounds that failed and are asked again next
    forecast: tuple[int, int] | None
    next: str  # what to do now
    clients: tuple[str | None, ...] = ()  # who has the pending rounds
    doubts: tuple[Doubt, ...] = ()  # values that are hard to believe, as a heuristic has it
    settings: dict[str, Any] = field(
        default_factory=dict, hash=False
    )  # the limits as they are now; the deadline in local time
    # results that came after it had stopped: everything above is without them, but for `doubts`
    late: int = 0
    retractions: int = 0
    corrections: int = 0  # how often retracted values were told anew
    delta: float = 0.0  # at which it is judged: less than the settings' if values were retracted
    head: str = (
        ""  # the number and the seal of the last event, for `replay`; "" for a study in memory
    )

    def to_dict(self) -> dict[str, Any]:
        """As plain data, which JSON can carry."""
        told = {
            name: [one._asdict() for one in getattr(self, name)] for name in ("rivals", "doubts")
        }
        return {**asdict(self), **told}

    def __str__(self) -> str:
        left = (
            "too early to say"
            if self.forecast is None
            else f"about {self.forecast[0]:,} to {self.forecast[1]:,}"
        )
        lines = [
            f"study {self.name}: {self.state}",
            f"  settings     {said(self.settings)}",
            *(
                [f"  level        {judged(self.retractions, self.corrections, self.delta)}"]
                if self.retractions
                else []
            ),
            f"  leading      {self.leader_name} (evidence {self.evidence:.2f} of "
            f"{self.threshold:.2f})",
            *(
                f"  {'rivals' if k == 0 else '':<11}  {one.name} (evidence {one.evidence:.2f})"
                for k, one in enumerate(self.rivals)
            ),
            f"  spent        {count(self.rounds, 'round')}, {count(self.values, 'value')}",
            *(
                [f"  later        {count(self.late, 'result')}: stored, but not part of this"]
                if self.late
                else []
            ),
            f"  pending      {count(len(self.pending), 'round')}{self._who()}"
            + (f"; {len(self.expired)} of them overdue" if self.expired else "")
            + (
                f"; {len(self.waiting)} that failed and "
                f"{'is' if len(self.waiting) == 1 else 'are'} to be asked again"
                if self.waiting
                else ""
            ),
            *([f"  last event   {self.head}"] if self.head else []),
            *([f"  rounds left  {left}"] if self.state == "running" else []),
            *(f"  {'doubtful' if k == 0 else '':<11}  {one}" for k, one in enumerate(self.doubts)),
            self.next,
        ]
        return "\n".join(lines)

    def _who(self, most: int = 10) -> str:
        """The first pending rounds, and who has them."""
        pairs = list(zip(self.pending, self.clients, strict=False))
        said = [
            f"{number}" if client is None else f"{number} ({client})"
            for number, client in pairs[:most]
        ]
        return (": " + ", ".join(said) + ", ..." * (len(pairs) > most)) if said else ""


def settings(advisor: Advisor) -> dict[str, Any]:
    """What the study was made with, as plain data; max_rounds and deadline as they are now."""
    setting, end = advisor.setting, advisor.deadline
    rule = setting.rule if isinstance(setting.rule, str) else repr(setting.rule)
    return {
        "delta": setting.delta,
        "rule": rule,
        "threshold": setting.threshold,
        "seed": setting.seed,
        "epsilon": setting.epsilon,
        "min_pulls": setting.min_pulls,
        "max_rounds": advisor.max_rounds,
        "deadline": None if end is None else local(end),
    }


def local(at: float) -> str:
    """A moment in the time zone of this machine.

    >>> local(1e99)
    '1e+99 seconds after 1970'
    """
    try:
        return datetime.fromtimestamp(at).astimezone().isoformat(timespec="seconds")
    except (OverflowError, OSError, ValueError):
        return f"{at:g} seconds after 1970"


def said(settings: dict[str, Any]) -> str:
    """
    >>> how = {"delta": 0.05, "rule": "lloo", "threshold": "mixture", "epsilon": 0.0}
    >>> said({**how, "min_pulls": 2, "max_rounds": 40, "deadline": None})
    'delta 0.05, rule lloo, threshold mixture, at least 2 values of every arm, at most 40 rounds'
    """
    words = {
        "epsilon": "epsilon {:g}",
        "min_pulls": "at least {} values of every arm",
        "max_rounds": "at most {} rounds",
        "deadline": "until {}",
    }
    words = {"delta": "delta {:g}", "rule": "rule {}", "threshold": "threshold {}", **words}
    return ", ".join(text.format(settings[key]) for key, text in words.items() if settings.get(key))


def rivals(advisor: Advisor, most: int = 5) -> tuple[Rival, ...]:
    """The closest rivals. Another answer lacks an arm of the leader or has one more, so forcing
    each arm in turn meets them.
    """
    problem, side = advisor.setting.problem, advisor.told
    seen, best, game, trial = advisor.ledger.seen, side.view.best, side.game, np.zeros(problem.d)
    least, nearest = advisor.weakest()
    found = {nearest: least}
    if problem.d <= MANY:
        force = 1.0 + 2.0 * np.abs(seen.feasible).sum()
        with own_errors():
            for arm in np.flatnonzero(advisor.needed):
                score = seen.feasible.copy()
                score[arm] = -force if best[arm] > 0.5 else force
                game.answers.argmax(score, trial)
                if (trial != best).any() and arms_of(trial) not in found:
                    found[arms_of(trial)] = float(game.judge.versus(game, seen, best, trial))
    order = sorted(found.items(), key=lambda pair: pair[1])[:most]
    return tuple(Rival(answer, problem.label(answer), value) for answer, value in order)


def forecast(advisor: Advisor) -> tuple[int, int] | None:
    """Rounds still to come: where a run stops that plays optimally for the estimates, if the lead
    is 1.3 standard errors more or less.

    The likelihood ratio is the square of the lead in standard errors, halved; and rounds go with 1
    / lead^2.
    """
    setting, seen, side = advisor.setting, advisor.ledger.seen, advisor.told
    with own_errors():
        ratio = side.game.answers.nearest(
            side.game.rewards,
            seen.mean,
            seen.counts,
            side.view.best,
            np.zeros(setting.problem.d),
            np.zeros(setting.problem.d),
        )
    lead = math.sqrt(2.0 * max(ratio, 0.0))
    if not CLEAR <= lead < math.inf:
        return None
    end = (
        float(seen.clock[0])
        * (side.game.judge.level(int(seen.clock[0]), 0) + ratio - advisor.named())
        / ratio
    )
    if setting.problem.d <= MANY and setting.problem.rewards.known:
        try:
            found = complexity(setting.problem, seen.feasible, tolerance=1e-2, steps=100)
        except CombGameError:
            return None
        end = limit(advisor.stopping, setting.problem, seen.feasible, found)
    ends = [end / (1.0 + sign * 1.3 / lead) ** 2 - float(seen.clock[0]) for sign in (1.0, -1.0)]
    low = max(int(ends[0]), 1)
    return low, max(math.ceil(ends[1]), low + 1)


def standing(advisor: Advisor, name: str, state: str, now: float, head: str) -> Status:
    """The status of a study at a moment."""
    problem, facts = advisor.setting.problem, advisor.facts(state)
    known = advisor.ledger.open
    out = tuple(number for number, one in known.items() if not one.waiting)
    overdue = tuple(number for number in out if known[number].expired(now))
    waiting = tuple(number for number, one in known.items() if one.waiting)
    left = forecast(advisor) if state == "running" else None
    if state != "running":
        facts = advisor.ended or facts
    leader = tuple(facts["answer"])
    close = rivals(advisor) if facts["values"] else ()
    if advisor.late and close:  # what is known now is not what it stopped with
        close = (Rival(tuple(facts["rival"]), problem.label(facts["rival"]), facts["evidence"]),)
    return Status(
        name,
        state,
        leader,
        problem.label(leader) if facts["values"] else "nobody yet",
        facts["evidence"],
        facts["threshold"],
        close,
        facts["rounds"],
        facts["values"],
        out,
        overdue,
        waiting,
        left,
        advice(advisor, state, out, overdue, left, advisor.max_rounds),
        tuple(known[number].client for number in out),
        advisor.doubts(),
        settings(advisor),
        advisor.late,
        facts["retractions"],
        facts["corrections"],
        facts["delta"],
        head,
    )


def advice(
    advisor: Advisor,
    state: str,
    out: tuple[int, ...],
    overdue: tuple[int, ...],
    left: tuple[int, int] | None,
    most: int | None,
) -> str:
    """One sentence."""
    these = "pending round" if len(out) == 1 else count(len(out), "pending round")
    problem, counts = advisor.setting.problem, advisor.ledger.seen.counts
    if state == "certified":
        doubtful = len(advisor.doubts())
        but = (
            f", but {count(doubtful, 'value')} {'is' if doubtful == 1 else 'are'} hard to "
            "believe: look there first"
        )
        return f"Stop: the answer is certified{but * (doubtful > 0)}; `decision` says why." + (
            f" The {these} {'is' if len(out) == 1 else 'are'} not needed." if out else ""
        )
    if state != "running":
        more = {
            "budget": " extend(max_rounds=..., reason) gives it more rounds.",
            "deadline": " extend(deadline=..., reason) gives it more time.",
        }
        return (
            "It has stopped without a certified answer; `decision` says how sure it is."
            + more.get(state, "")
        )
    silent = np.flatnonzero(advisor.needed & (counts == 0.0))
    if silent.size and advisor.ledger.told >= 2 * len(advisor.start):
        arm = problem.label([int(silent[0])])
        return (
            f"Look at arm {arm}: no value of it counts (they are missing, or were retracted); "
            "without one nothing can be certified."
        )
    if overdue:
        which, them = ("Round {} is", "it") if len(overdue) == 1 else ("Rounds {} are", "them")
        said = ", ".join(map(str, overdue[:5])) + ", ..." * (len(overdue) > 5)
        return (
            f"{which.format(said)} overdue: ask again to give {them} to somebody else, or "
            f"tell {them}."
        )
    if most is not None and advisor.ledger.plays >= most and out:
        return f"The budget of {most:,} rounds is out: tell the {these}."
    if left is not None and most is not None and advisor.ledger.told + left[0] > most:
        return (
            f"At this rate max_rounds = {most:,} will not be enough: expect {left[0]:,} to "
            f"{left[1]:,} more; extend() can change it."
        )
    if out:
        return f"Measure and tell the {these}; ask for more if you have capacity."
    return "Ask for the next round, measure it, tell it."
