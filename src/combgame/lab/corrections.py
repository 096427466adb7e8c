"""What changes a study after the fact, and what that costs: values that are taken back, and the
data of an old study in a new one.

The data of an old study in a new one that has more arms: which they are, and what it costs.

docs/thresholds.md#arms-that-arrive-later has the theorem.

What taking values back costs: delta is spent over the changes of what was told
(docs/thresholds.md, Theorem 4).

A change is a retraction, or a correction: values told anew in the place of some that were
retracted. After each of them other values count, and a bound for all times says nothing of another
selection of values. So after k changes the study is judged at

    delta (k = 0),     delta / ((k + 1) (k + 2)) (k >= 1), which add up to delta/2.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .._messages import CallHint, Message
from ..errors import StudyError
from ..problem import Problem
from ..rewards.base import spread_of
from ..structures import Arms, Subsets
from .history import History
from .round import RecordedValue, entry_of, gaps, split


def check_fits(old: Problem, new: Problem, pending: Iterable[int]) -> None:
    """Refuse what is not the same experiment with more arms."""
    names, others = old.names, set(new.names or ())
    if names is None or new.names is None:
        raise _refused("their arms have no names, by which they could be told apart")
    lost = [name for name in names if name not in others]
    if lost:
        raise _refused("the new problem lacks arms of the old one, such as " + lost[0])
    if new.d == old.d:
        raise _refused("the new problem has no arm that the old one lacks")
    mine = [new.arm_index(name) for name in names]
    spreads = [
        spread_of(one.rewards, one.d) if one.rewards.variance_known else None for one in (old, new)
    ]
    alike = (spreads[0] is None) == (spreads[1] is None) and (
        spreads[0] is None or spreads[1] is None or bool((spreads[0] == spreads[1][mine]).all())
    )
    if type(old.rewards) is not type(new.rewards) or old.goal != new.goal or not alike:
        raise _refused("their goals or the rewards of the old arms differ")
    if new.rewards.has_batch_effect():
        raise _refused("values are compared within their own plays, which data from outside lack")
    waiting = list(pending)
    if waiting:
        raise StudyError(
            "rounds-pending",
            "the old study has rounds that are out ({rounds:list 5}), whose values would be lost",
            remedy="tell them there first, or {fail}",
            rounds=waiting[:1000],
            fail=CallHint("fail", "round", "reason", retry=False),
        )


def _refused(why: str) -> StudyError:
    return StudyError(
        "cannot-carry",
        "the data of the old study cannot be carried over: {why}",
        remedy="give a problem that has the same arms, by the same names, and some more",
        why=why,
    )


def observations(history: History, old: Problem, new: Problem) -> list[dict[str, Any]]:
    """The values that count in the old study, by the arms of the new problem, each as the data of
    an event `observed`: those of its start, and then the later ones in the order in which they were
    told, with the weights that they had. history: a whole one.
    """
    arm = [new.arm_index(name) for name in old.names or range(old.d)]
    made: dict[Any, dict[str, Any]] = {}
    # of a part of the start, which it is may have been decided by looking
    complete = not history.starting and all(
        told.entry is not None and not gaps(told.entry, one.replicates)
        for one in history.records.values()
        if one.steady and not one.outside
        for told in (one.told.get(arm, RecordedValue(None, 0, None)) for arm in one.arms)
    )
    for seq, a, told, record in history.standing():
        for beyond, part in enumerate(split(told.entry, record.replicates)):
            if part:
                starts = record.steady and complete and not (beyond or told.anew)
                about = {"planned": not beyond, "later": not starts, "anew": told.anew}
                kept = {key: True for key, holds in about.items() if holds}
                key = (not starts, seq, record.number, *kept)
                one = made.setdefault(key, {"values": {}, "weights": {}, **kept})
                one["values"][str(arm[a])] = entry_of(part)
                one["weights"][str(arm[a])] = record.weight(a)
    return [made[key] for key in sorted(made, key=lambda key: key[:3])]


LASTING = (
    "overtaking",
    "overdue",
    "failed",
    "missing",
    "unplanned",
    "planned",
    "retracted",
    "anew",
)


def happened(history: History) -> dict[str, int]:
    """What touches the guarantee in the old study, counted, and in those whose data it carried: the
    new one's guarantee rests on it, too.
    """
    own = {what: history.happened.get(what, 0) for what in LASTING}
    for kind, what in enumerate(("unplanned", "planned")):
        own[what] = sum(n for _, _, n, which in history.outside if which == kind)
    before = history.carried.get("happened", {})
    return {what: n for what in LASTING if (n := own[what] + before.get(what, 0))}


def covered(old: Problem, new: Problem) -> bool:
    """Whether the theorem allows for any choice of the new arms: single arms or the top of them,
    with one sigma and the same bounds for all.
    """
    same = type(old.answers) is type(new.answers) and (
        isinstance(new.answers, Arms)
        or (isinstance(new.answers, Subsets) and new.answers.chosen == old.answers.max_size())
    )
    spread = spread_of(new.rewards, new.d) if new.rewards.variance_known else np.ones(1)
    even = spread is not None and len(set(spread.tolist())) == 1
    return same and even and len(set(new.low)) == len(set(new.high)) == 1


def share(old: Problem, new: Problem) -> float:
    """The part of delta that is left when m arms are added: 1/(m (m + 1)) for their number, which
    may have been chosen by what the values were, and 1/(min(m, k) + 1) for how many of them are
    among the k best.

    >>> import combgame as cg
    >>> one, two = (cg.Problem(cg.Arms(d), rewards=cg.Gaussian(1.0)) for d in (4, 5))
    >>> share(one, two)
    0.25
    """
    m = new.d - old.d
    places = min(m, new.answers.max_size()) + 1 if covered(old, new) else 1
    return 1.0 / (m * (m + 1) * places)


def assumption(carried: Mapping[str, Any], delta: float) -> Message:
    """What the answer rests on, where data were carried over."""
    text = (
        "{values:count value} {values:was|were} carried over from the study {study!r}, to which "
        "{m:count arm} {m:was|were} added: the answer is judged at delta = {delta:.2g}, "
    )
    if carried["covered"]:
        text += "which pays for choosing the new arms, and their number, by what the values were"
    else:
        text += (
            "which pays for choosing their number by what the values were; the guarantee holds if "
            "which arms they are had nothing to do with the values"
        )
    known = {key: carried[key] for key in ("values", "study", "m")}
    return Message("values-carried", text, **known, delta=delta)


def delta_after_corrections(delta: float, changes: int) -> float:
    """The delta at which a study is judged after so many changes.

    >>> [round(spent(0.05, k), 4) for k in range(4)]
    [0.05, 0.0083, 0.0042, 0.0025]
    """
    # its logarithm is taken
    return max(delta / ((changes + 1) * (changes + 2)), 5e-324) if changes else delta


def correction_note(retractions: int, corrections: int, delta: float) -> Message:
    """At which delta a study is judged that was changed.

    >>> print(level(2, 0, 0.05 / 12))
    after 2 retractions, judged at delta = 0.0042.
    >>> print(level(1, 1, 0.05 / 12))
    after 1 retraction and 1 correction, judged at delta = 0.0042.
    """
    text = "after {retractions:count retraction}"
    if corrections:
        text += " and {corrections:count correction}"
    text += ", judged at delta = {delta:.2g}"
    return Message("level", text, retractions=retractions, corrections=corrections, delta=delta)


def conditions(retractions: int, corrections: int, delta: float, proved: bool) -> Message:
    """What was changed, what the level is good for, and what no level is good for."""
    text = "Data were retracted {retractions:count time}"
    if corrections:
        text += " and told anew {corrections:count time}"
    text += ", so delta is spent over that: {level}. "
    if proved:
        text += (
            "A certificate before the first retraction is wrong with probability at most delta, "
            "one after it with at most delta/2 (so that this one is sure enough by itself, and "
            "both together to 1.5 delta), if "
        )
    else:
        text += "That is of use if "
    text += (
        "nobody looked at any value to choose which are left out, and in which order (one that "
        "was told anew is not left out); if somebody did, no delta makes up for it"
    )
    return Message(
        "retracted",
        text,
        retractions=retractions,
        corrections=corrections,
        level=correction_note(retractions, corrections, delta),
    )
