"""What must hold after any faults: the naive model of a study is what its workers were told."""

from collections import Counter
from dataclasses import dataclass, field

from combgame.storage.events import Event

from .workers import CERTAIN, Call, Worker

Calls = list[tuple[Worker, Call]]


@dataclass
class Tally:
    """What has happened, and what is wrong."""

    faults: Counter[str] = field(default_factory=Counter)
    acknowledged: Counter[str] = field(default_factory=Counter)  # by call
    refusals: Counter[str] = field(default_factory=Counter)  # by code
    unheard: int = 0  # asks and tells that were cut off, or whose refusal leaves open what became
    stored: int = 0  # of them
    waits: list[tuple[float, str, str]] = field(default_factory=list)  # seconds, call, result
    wrong: list[str] = field(default_factory=list)

    def add(self, other: "Tally") -> None:
        self.faults += other.faults
        self.acknowledged += other.acknowledged
        self.refusals += other.refusals
        self.unheard += other.unheard
        self.stored += other.stored
        self.waits += other.waits
        self.wrong += other.wrong


def judge(calls: Calls, events: list[Event], longest: float, tally: Tally) -> None:
    """longest: seconds that no call takes."""
    for worker, call in calls:
        _count(worker, call, longest, tally)
    asked = {one.round: one for one in events if one.kind == "asked"}
    told = {one.round: one for one in events if one.kind == "told"}
    wrong = tally.wrong
    if [one.seq for one in events] != list(range(1, len(events) + 1)):
        wrong.append("events are missing")
    if len(asked) + len(told) + 1 != len(events) or not set(told) <= set(asked):
        wrong.append("a round was asked twice, told twice, or told without being asked")
    heard = set()
    given = {}
    for worker, call in calls:
        if call.what == "ask" and call.result == "done":
            number, arms = call.value
            found = asked.get(number)
            heard.add(("ask", number))
            if found is None or (found.client, found.data["arms"]) != (worker.client, arms):
                wrong.append(f"round {number} was given to {worker.client}, and is not there")
        if call.what == "tell":
            number, values = call.given
            found = told.get(number)
            there = found is not None and found.data["values"] == values
            given[number, tuple(values.items())] = worker.client
            if call.result == "done":
                heard.add(("tell", number))
                if not there:
                    wrong.append(f"round {number} was acknowledged, and is not there")
            elif call.result in CERTAIN and there:
                wrong.append(f"round {number} was refused ({call.result}), and is there")
    for number, one in told.items():
        if given.get((number, tuple(one.data["values"].items()))) != one.client:
            wrong.append(f"round {number} has values that nobody has told")
    out = Counter(asked[number].client for number in set(asked) - set(told))
    if any(count > 1 for count in out.values()):
        wrong.append("somebody has two open rounds, and asked for one at a time")
    _check_looks(calls, tally)
    tally.stored += len(asked) + len(told) - len(heard)


def _count(worker: Worker, call: Call, longest: float, tally: Tally) -> None:
    if call.result == "done":
        tally.acknowledged[call.what] += 1
    elif call.result not in CERTAIN:
        tally.unheard += call.what in ("ask", "tell")
    if call.result is None:
        return
    if call.result != "done":
        tally.refusals[call.result] += 1
    if call.result not in ("done", "interrupted", "unreachable", *CERTAIN):
        tally.wrong.append(f"{call.what} ended with {call.result}: {call.value}")
    waited = worker.waited(call)
    tally.waits.append((waited, call.what, call.result))
    if waited > longest:
        tally.wrong.append(f"{call.what} took {waited:.1f} s ({call.result})")


def _check_looks(calls: Calls, tally: Tally) -> None:
    """A look shows at least what had been acknowledged before it began, to whomever."""
    ends = [call.ended for _, call in calls if call.what == "tell" and call.result == "done"]
    for _, call in calls:
        if call.what == "read" and call.result == "done":
            before = sum(end < call.began for end in ends)
            if call.value < before:
                tally.wrong.append(f"a look shows {call.value} of {before} rounds")
