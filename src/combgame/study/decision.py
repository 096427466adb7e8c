"""Why a study stopped, in one sentence, and under which assumptions."""

from dataclasses import asdict, dataclass
from typing import Any

from ..problem import Problem
from ..report.words import count
from .advisor import Advisor
from .doubts import Doubt
from .retractions import conditions, judged


@dataclass(frozen=True)
class Decision:
    """The end of a study. `why`: "certified", "budget", "deadline" or "by hand"; only the first has
    the confidence that was asked for.
    """

    answer: tuple[int, ...]
    names: tuple[str, ...]
    why: str
    sentence: str
    # 1 - delta where it is certified; else the largest at which the evidence would have been enough
    confidence: float
    evidence: float
    threshold: float
    rival: tuple[int, ...]
    rounds: int  # of which something was told, even if it was retracted
    values: int
    assumptions: tuple[str, ...]
    proved: bool  # whether the threshold is; otherwise the confidence is that of a heuristic
    doubts: tuple[
        Doubt, ...
    ] = ()  # values that are hard to believe: look at them before you rely on it
    retractions: int = 0
    corrections: int = 0  # how often retracted values were told anew
    delta: float = 0.0  # at which it was judged: less than was asked for if values were retracted
    head: str = (
        ""  # the number and the seal of the last event, for `replay`; "" for a study in memory
    )

    @property
    def certified(self) -> bool:
        return self.why == "certified"

    def to_dict(self) -> dict[str, Any]:
        """As plain data, which JSON can carry."""
        return {
            **asdict(self),
            "certified": self.certified,
            "doubts": [one._asdict() for one in self.doubts],
        }

    def __str__(self) -> str:
        record = [
            f"The last event is {self.head}: note it; replay(head=...) says whether the record "
            "still has it."
        ] * bool(self.head)
        return "\n".join(
            [self.sentence, *(f"- {one}" for one in (*self.assumptions, *self.doubts, *record))]
        )


REASONS = {
    "budget": "max_rounds was reached",
    "deadline": "the deadline passed",
    "by hand": "it was stopped by hand",
}


def decide(advisor: Advisor, facts: dict[str, Any], head: str = "") -> Decision:
    """The decision that the facts of a study's end make."""
    setting, why = advisor.setting, facts["why"]
    problem, answer, rival = setting.problem, facts["answer"], facts["rival"]
    sure = facts["confidence"]
    best, other = problem.label(answer), problem.label(rival) or "none"
    within = f", to within {setting.epsilon:g}," if setting.epsilon else ""
    numbers = (
        f"evidence {facts['evidence']:.2f} against {other}, threshold {facts['threshold']:.2f}"
    )
    changes = facts["retractions"], facts["corrections"], facts["delta"]
    if facts["retractions"]:
        numbers += f"; {judged(*changes)}"
    spent = f"{count(facts['rounds'], 'round')} and {count(facts['values'], 'value')}"
    proved, heuristic = (
        setting.stopping.validity.proved,
        f"the heuristic threshold {setting.stopping.name}",
    )
    if why == "certified":
        held = (
            f"with confidence {100 * sure:g}%"
            if proved
            else f"by {heuristic} at delta = {setting.delta:g}"
        )
        sentence = f"{best} is the best answer{within} {held}, after {spent} ({numbers})."
    else:
        reached = (
            f"the confidence reached is {100 * sure:.3g}%"
            if sure > 0.0
            else "the evidence is too weak for any confidence"
        )
        if not proved:
            reached += f" by {heuristic}, which is not proved,"
        told = f" ({advisor.ledger.stopped})" if why == "by hand" else ""
        asked = f"{100 * (1.0 - setting.delta):g}% was asked for"
        sentence = (
            f"Not certified: {REASONS[why]}{told} after {spent}; {best} leads, {reached} "
            f"and {asked} ({numbers})."
        )
        if why != "by hand":
            sentence += " Results that still come are counted and may yet certify it."
    names = tuple(problem.label([a]) for a in answer)
    return Decision(
        tuple(answer),
        names,
        why,
        sentence,
        sure,
        facts["evidence"],
        facts["threshold"],
        tuple(rival),
        facts["rounds"],
        facts["values"],
        tuple(assumptions(advisor, facts)),
        proved,
        advisor.doubts(),
        *changes,
        head,
    )


RESTS = "The answer rests on a single value"


def rests_on(problem: Problem, single: list[Any], most: int = 5) -> str:
    """A mistake in a single value would not show, and may be all that the answer is made of."""
    said = [
        f"of {problem.label([arm])}, {value:g} in "
        f"{'the data from outside, number' if outside else 'round'} {number}"
        for arm, value, number, outside in single[:most]
    ]
    if len(single) > most:
        said.append(f"of {count(len(single) - most, 'more arm')}")
    these = said[0] if len(said) == 1 else f"{', '.join(said[:-1])}, and {said[-1]}"
    again = "it" if len(single) == 1 else "them"
    return (
        f"{RESTS} {these}: measure {again} again before you rely on it (min_pulls=2 asks for "
        "two values of every arm)."
    )


LATENESS = "the guarantee holds if how long a value takes has nothing to do with what it is."


def assumptions(advisor: Advisor, facts: dict[str, Any]) -> list[str]:
    """What the answer rests on, in plain sentences: first the threshold's own, then what happened
    in this study.
    """
    setting, notes, pending = advisor.setting, advisor.ledger.notes, facts["pending"]
    single = {arm for arm, _, _, _ in facts["single"]}
    lone = [
        a
        for a in (advisor.needed & (advisor.ledger.seen.counts == 1.0)).nonzero()[0]
        if a not in single
    ]

    def some(what: str, one: str, many: str) -> str:
        return f"1 {one}" if notes[what] == 1 else f"{notes[what]:,} {many}"

    found = [f"The threshold is {setting.stopping.validity}."]
    if pending:
        found.append(
            f"{count(pending, 'value')} {'was' if pending == 1 else 'were'} still out when it "
            f"stopped: {LATENESS}"
        )
    if "overtaking" in notes:
        found.append(
            f"{some('overtaking', 'round was', 'rounds were')} told before others that had been "
            f"asked earlier: {LATENESS}"
        )
    if "overdue" in notes:
        found.append(
            f"{some('overdue', 'round was', 'rounds were')} asked again because a lease had "
            f"ended: {LATENESS}"
        )
    if "failed" in notes:
        found.append(
            f"{some('failed', 'round', 'rounds')} failed: the guarantee holds if failing had "
            "nothing to do with the values."
        )
    if "missing" in notes:
        found.append(
            f"{some('missing', 'value is', 'values are')} missing: the guarantee holds if that "
            "had nothing to do with what they were."
        )
    if facts["retractions"]:
        found.append(
            conditions(
                facts["retractions"],
                facts["corrections"],
                facts["delta"],
                setting.stopping.validity.proved,
            )
        )
    outside = facts["outside"]
    if outside:
        found.append(
            f"{count(outside, 'value')} {'was' if outside == 1 else 'were'} measured outside the "
            "study: the guarantee holds if they "
            "were chosen before anybody saw them, and come from the same arms."
        )
    if "averaged" in notes:
        found.append(
            f"{some('averaged', 'entry was', 'entries were')} told as means of several values: "
            "each counts as that many independent ones."
        )
    if "extended" in notes:
        found.append(
            f"The budget was extended {some('extended', 'time', 'times')}: nothing rests on "
            "that, because the threshold allows for a look "
            "after every round, however many there are."
        )
    if single and facts["why"] == "certified":
        found.append(rests_on(setting.problem, facts["single"]))
    if lone and facts["why"] == "certified":
        more = "more " * bool(single)
        who = (
            f"Arm {setting.problem.label(lone)} has"
            if len(lone) == 1
            else f"{len(lone):,} {more}arms have"
        )
        found.append(
            f"{who} a single value{' each' * (len(lone) > 1)}, so a mistake in it would not "
            "show; min_pulls=2 asks for two."
        )
    if advisor.late:
        found.append(
            f"{advisor.late:,} result{'s' * (advisor.late > 1)} came after the decision: stored, "
            "but not part of it."
        )
    return found
