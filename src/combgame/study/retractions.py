"""What taking values back costs: delta is spent over the changes of what was told
(docs/thresholds.md, Theorem 4).

A change is a retraction, or a correction: values told anew in the place of some that were
retracted. After each of them other values count, and a bound for all times says nothing of another
selection of values. So after k changes the study is judged at

    delta (k = 0),     delta / ((k + 1) (k + 2)) (k >= 1), which add up to delta/2.
"""

from ..sentences import Sentence


def spent(delta: float, changes: int) -> float:
    """The delta at which a study is judged after so many changes.

    >>> [round(spent(0.05, k), 4) for k in range(4)]
    [0.05, 0.0083, 0.0042, 0.0025]
    """
    # its logarithm is taken
    return max(delta / ((changes + 1) * (changes + 2)), 5e-324) if changes else delta


def level(retractions: int, corrections: int, delta: float) -> Sentence:
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
    return Sentence("level", text, retractions=retractions, corrections=corrections, delta=delta)


def conditions(retractions: int, corrections: int, delta: float, proved: bool) -> Sentence:
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
    return Sentence(
        "retracted",
        text,
        retractions=retractions,
        corrections=corrections,
        level=level(retractions, corrections, delta),
    )
