"""Deciding everything again, from the events alone."""

from dataclasses import dataclass
from typing import Any

from ..report.words import count
from ..storage.events import Event, head_of
from .advisor import Advisor
from .retractions import judged
from .settings import Setting


@dataclass(frozen=True)
class Replay:
    """What a replay found. `differences`: rounds that would be chosen otherwise now, with what was
    `asked` and what it would be `now`.
    """

    events: int
    rounds: int
    differences: tuple[dict[str, Any], ...]
    sentence: str
    head: str = ""  # the number and the seal of the last event

    @property
    def same(self) -> bool:
        return not self.differences

    def __str__(self) -> str:
        return self.sentence


def replay(setting: Setting, engine: str, events: list[Event]) -> Replay:
    """Fold all events anew, choosing every round again."""
    advisor = Advisor(setting, engine, whole=True)
    for event in events:
        advisor.apply(event)
    made, found = events[0].data["version"], advisor.differences
    told = f"{count(len(events), 'event')}, {count(advisor.ledger.asked, 'round')}"
    if found:
        first = ", ".join(str(one["round"]) for one in found[:5])
        sentence = (
            f"{told}: {len(found):,} of the rounds would be chosen otherwise now, the "
            f"first ones {first} (made with version {made})."
        )
    else:
        sentence = f"{told}: every round is chosen again as it was asked."
    if advisor.changes:
        level = judged(advisor.ledger.retractions, advisor.ledger.corrections, advisor.delta)
        sentence += f" {level.capitalize()}."
    return Replay(len(events), advisor.ledger.asked, tuple(found), sentence, head_of(events))
