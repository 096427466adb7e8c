"""Changes of the data of a study: retractions, corrections, and data of an old study.

A change is a retraction, or a correction: values that replace retracted ones. After each change
another set of values counts, and a bound for all times does not cover another selection of values.
So delta is spent over the changes (docs/thresholds.md, Theorem 4): after k of them the study is
evaluated at

    delta (k = 0),     delta / ((k + 1) (k + 2)) (k >= 1), which add up to delta/2.

Data of an old study can also be transferred to a new one with more arms; the theorem for its cost
is in docs/thresholds.md#arms-that-arrive-later.
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
    """Refuse a new problem that is not the old one with more arms.

    Parameters
    ----------
    old, new : Problem
        Problems of the two studies.
    pending : iterable of int
        Pending rounds of the old study.
    """
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
    """Return the values of an old study that count, as data of `observed` events.

    Arms are those of the new problem. The values of the initial design come first, then the later
    ones in the order in which they were reported, with the weights that they had. ``history`` must
    be a whole one.
    """
    arm = [new.arm_index(name) for name in old.names or range(old.d)]
    made: dict[Any, dict[str, Any]] = {}
    # the choice of a part of the initial design may have been decided by looking
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
    """Return counts of what affects the guarantee in the old study, and in those before it.

    The guarantee of the new study rests on it, too.
    """
    own = {what: history.happened.get(what, 0) for what in LASTING}
    for kind, what in enumerate(("unplanned", "planned")):
        own[what] = sum(n for _, _, n, which in history.outside if which == kind)
    before = history.carried.get("happened", {})
    return {what: n for what in LASTING if (n := own[what] + before.get(what, 0))}


def covered(old: Problem, new: Problem) -> bool:
    """Return True if the theorem allows any choice of the new arms.

    It does for single arms or the top m of them, with one sigma and the same bounds for all.
    """
    same = type(old.answers) is type(new.answers) and (
        isinstance(new.answers, Arms)
        or (isinstance(new.answers, Subsets) and new.answers.chosen == old.answers.max_size())
    )
    spread = spread_of(new.rewards, new.d) if new.rewards.variance_known else np.ones(1)
    even = spread is not None and len(set(spread.tolist())) == 1
    return same and even and len(set(new.low)) == len(set(new.high)) == 1


def share(old: Problem, new: Problem) -> float:
    """Return the share of delta that is left when m arms are added.

    It is 1/(m (m + 1)) for their number, which may depend on the values, times 1/(min(m, k) + 1)
    for the number of them that are among the k best.

    >>> import combgame as cg
    >>> one, two = (cg.Problem(cg.Arms(d), rewards=cg.Gaussian(1.0)) for d in (4, 5))
    >>> share(one, two)
    0.25
    """
    m = new.d - old.d
    places = min(m, new.answers.max_size()) + 1 if covered(old, new) else 1
    return 1.0 / (m * (m + 1) * places)


def assumption(carried: Mapping[str, Any], delta: float) -> Message:
    """Return a message about what the answer rests on if data were transferred."""
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
    """Return the delta at which a study is evaluated after a number of changes.

    >>> [round(delta_after_corrections(0.05, k), 4) for k in range(4)]
    [0.05, 0.0083, 0.0042, 0.0025]
    """
    # positive, because its logarithm is taken
    return max(delta / ((changes + 1) * (changes + 2)), 5e-324) if changes else delta


def correction_note(retractions: int, corrections: int, delta: float) -> Message:
    """Return a message about the delta at which a changed study is evaluated.

    >>> print(correction_note(2, 0, 0.05 / 12))
    after 2 retractions, judged at delta = 0.0042.
    >>> print(correction_note(1, 1, 0.05 / 12))
    after 1 retraction and 1 correction, judged at delta = 0.0042.
    """
    text = "after {retractions:count retraction}"
    if corrections:
        text += " and {corrections:count correction}"
    text += ", judged at delta = {delta:.2g}"
    return Message("level", text, retractions=retractions, corrections=corrections, delta=delta)


def conditions(retractions: int, corrections: int, delta: float, proved: bool) -> Message:
    """Return a message about the changes, and the conditions of the guarantee after them."""
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
