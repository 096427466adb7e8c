"""Deciding everything again, from the events alone."""

from dataclasses import asdict, dataclass
from typing import Any

from ..sentences import PYTHON, Sentence, Surface
from ..storage.events import Event, head_of
from .advisor import Advisor
from .retractions import level
from .settings import Setting
from .versions import named, not_vouched


@dataclass(frozen=True)
class Replay:
    """What a replay found. `differences`: rounds that would be chosen otherwise now, with what was
    `asked` and what it would be `now`.
    """

    events: int
    rounds: int
    differences: tuple[dict[str, Any], ...]
    sentence: Sentence
    head: str = ""  # the number and the seal of the last event

    @property
    def same(self) -> bool:
        return not self.differences

    def to_dict(self, surface: Surface = PYTHON) -> dict[str, Any]:
        """As plain data, which JSON can carry."""
        return {**asdict(self), "sentence": self.sentence.to_data(surface), "same": self.same}

    def said(self, surface: Surface = PYTHON) -> str:
        """What it found, as a surface says it."""
        return self.sentence.said(surface)

    def __str__(self) -> str:
        return self.said()


def replay(setting: Setting, engine: str, events: list[Event]) -> Replay:
    """Fold all events anew, choosing every round again."""
    advisor = Advisor(setting, engine, whole=True)
    for event in events:
        advisor.apply(event)
    ledger, differences = advisor.ledger, advisor.differences
    known: dict[str, Any] = {"events": len(events), "rounds": ledger.asked}
    text = "{events:count event}, {rounds:count round}: "
    if differences:
        text += (
            "{n:,} of the rounds would be chosen otherwise now, the first ones {first:list} (made "
            "with version {version})"
        )
        known["first"] = [one["round"] for one in differences[:5]]
        known |= {"n": len(differences), "version": named(events[0].version)}
    else:
        text += "every round is chosen again as it was asked"
    if stays := not_vouched(advisor.ended or {}):
        text += ". {stays}"
        known["stays"] = stays
    if advisor.changes:
        text += ". {level:capital}"
        known["level"] = level(ledger.retractions, ledger.corrections, advisor.delta)
    sentence = (
        Sentence("differs", text, **known) if differences else Sentence("same", text, **known)
    )
    return Replay(len(events), ledger.asked, tuple(differences), sentence, head_of(events))
