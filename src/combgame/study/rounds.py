"""What is stored of a round that is no longer open."""

from ..errors import UnknownNameError
from .session import Batch
from .ledger import Open, entries


def look_up(batch: Batch, number: int, what: str) -> tuple[Open, str]:
    """A round, and how it stands: "open", "told", "given up", "observed" (data from outside, under the number of a round)."""
    state = batch.advisor.ledger
    if number in state.open:
        return state.open[number], "open"
    events = [event for event, _ in batch.log.events(round=number)]
    first = next((event for event in events if event.round == number), None)
    if first is None:
        told = f"the last one is {state.last}" if state.last else "none was asked yet"
        raise UnknownNameError(f"{what}: round {number} is not known; {told}.")
    if first.kind == "observed":
        gone = any(event.round == number and event.kind == "retracted" for event in events)
        return Open([], None, None, {} if gone else entries(first)), "observed"
    known, closed = Open(list(first.data["arms"]), None, None), False
    for event in events:
        if event.round is None:  # an arm was retracted: an open round wants it again, a finished one takes it if it is told anew
            arm = event.data["arm"]
            if not closed:
                known.told.pop(arm, None)
            elif known.told.get(arm) is not None and arm not in known.again:
                known.again.append(arm)
        elif event.kind == "retracted":
            known.told, known.again, closed = {}, [], False
        else:
            known.told.update(entries(event))
            known.again = [arm for arm in known.again if arm not in entries(event)]
            ends = event.data.get("final") or event.data.get("retry") is False
            closed = bool(ends) or not known.left
            if event.data.get("final") or (ends and known.told):
                known.told.update(dict.fromkeys(known.left))
    return known, "told" if known.told else "given up"
