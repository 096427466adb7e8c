"""Snapshots of the state of a study, and replays from its events.

A snapshot is a copy of the state in bytes, so that opening a study need not repeat all decisions.
Only the events count.
"""

import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from .._messages import PYTHON, Message, Renderer
from ..engine.kernels import iter_leaves
from ..engine.state import Floats
from ..engine.user_code import SIGNATURE
from ..storage.events import Event, last_hash
from .corrections import correction_note
from .policy import InitialDesign, StudyState
from .settings import StudySettings, not_vouched, version_of


@dataclass(frozen=True)
class Replay:
    """The result of a replay.

    Attributes
    ----------
    events : int
        Number of events.
    rounds : int
        Number of rounds that were chosen.
    differences : tuple of dict
        Rounds that would be chosen differently now: ``round``, the arms that were ``asked``, and
        the arms ``now``.
    sentence : Message
        The result in one sentence.
    head : str
        Number and hash of the last event.
    """

    events: int
    rounds: int
    differences: tuple[dict[str, Any], ...]
    sentence: Message
    head: str = ""

    @property
    def same(self) -> bool:
        """Return True if every round would be chosen as it was."""
        return not self.differences

    def to_dict(self, surface: Renderer = PYTHON) -> dict[str, Any]:
        """Return the attributes as plain data that JSON can represent."""
        return {**asdict(self), "sentence": self.sentence.to_data(surface), "same": self.same}

    def render(self, surface: Renderer = PYTHON) -> str:
        """Return the result as text."""
        return self.sentence.render(surface)

    def __str__(self) -> str:
        return self.render()


def replay(setting: StudySettings, engine: str, events: list[Event]) -> Replay:
    """Process all events anew, choosing every round again."""
    state = StudyState(setting, engine, whole=True)
    for event in events:
        state.apply(event)
    history, differences = state.history, state.differences
    known: dict[str, Any] = {"events": len(events), "rounds": history.asked}
    text = "{events:count event}, {rounds:count round}: "
    if differences:
        text += (
            "{n:,} of the rounds would be chosen otherwise now, the first ones {first:list} (made "
            "with version {version})"
        )
        known["first"] = [one["round"] for one in differences[:5]]
        known |= {"n": len(differences), "version": version_of(events[0].version)}
    else:
        text += "every round is chosen again as it was asked"
    if stays := not_vouched(state.monitor.ended or {}):
        text += ". {stays}"
        known["stays"] = stays
    if state.history.n_changes:
        text += ". {level:capital}"
        known["level"] = correction_note(
            history.retractions, history.corrections, state.monitor.delta
        )
    sentence = Message("differs", text, **known) if differences else Message("same", text, **known)
    return Replay(len(events), history.asked, tuple(differences), sentence, last_hash(events))


EVERY = 500  # events between snapshots


class ArraySnapshot(NamedTuple):
    """A copy of an array: its dtype, its shape, and its bytes."""

    dtype: str
    shape: tuple[int, ...]
    body: bytes

    @classmethod
    def of(cls, array: Any) -> "ArraySnapshot":
        """Copy an array."""
        return cls(array.dtype.str, array.shape, array.tobytes())


def dump(state: StudyState) -> bytes | None:
    """Return a state as bytes; None if its rule is an object of a kind that cannot be stored."""
    taken = capture(state)
    return None if taken is None else pack(*taken)


def capture(state: StudyState) -> tuple[str, list[ArraySnapshot]] | None:
    """Return a state as JSON and copies of its arrays; None if its rule cannot be stored.

    Arrays that share their memory are copied once.
    """
    rule = iter_leaves(state.policy.rule)
    if not all(
        isinstance(leaf, np.ndarray | bool | int | float | str | np.generic | SIGNATURE)
        for leaf in rule
    ):
        return None
    state.policy.initial_design.settle(state.setting.problem)
    facts = {
        "history": state.history.plain(),
        "rng": state.policy.rng.bit_generator.state,
        "ended": state.complete_end(),
        "late": state.monitor.n_late,
        "due": state.monitor.due,
        "differences": state.differences,
        "opening": state.policy.initial_design.plain(),
    }
    copies: dict[Any, Any] = {}
    arrays = [leaf for leaf in rule if isinstance(leaf, np.ndarray)] + beside(state)
    arrays.append(state.policy.initial_design.values())
    for one in arrays:
        place = one.__array_interface__["data"][0], one.dtype.str, one.shape, one.strides
        if place not in copies:
            copies[place] = ArraySnapshot.of(one)
        copies[id(one)] = copies[place]
    return json.dumps(facts), [copies[id(one)] for one in arrays]


def pack(facts: str, arrays: Sequence[ArraySnapshot]) -> bytes:
    """Return plain data, as JSON, and arrays as bytes.

    For speed, equal arrays are written once, and compressed only if most of their bytes are 0.
    """
    known: dict[bytes, int] = {}
    shapes = [(one.dtype, one.shape, known.setdefault(one.body, len(known))) for one in arrays]
    bodies = [(_thin(body), body) for body in known]
    stored = [zlib.compress(body, 1) if thin else body for thin, body in bodies]
    sizes = [(thin, len(body)) for (thin, _), body in zip(bodies, stored, strict=True)]
    head = zlib.compress(f"[{facts},{json.dumps(shapes)},{json.dumps(sizes)}]".encode(), 1)
    return b"".join([len(head).to_bytes(8, "big"), head, *stored])


def _thin(body: bytes) -> bool:
    """Return True if most bytes are 0."""
    return 2 * int(np.count_nonzero(np.frombuffer(body, np.uint8))) < len(body)


def unpack(packed: bytes) -> tuple[Any, list[Any]]:
    """Return the plain data and the arrays that `pack` wrote.

    >>> arrays = [np.zeros((2, 9)), np.arange(3), np.arange(3)]
    >>> facts, arrays = unpack(pack('{"a": 1}', [ArraySnapshot.of(one) for one in arrays]))
    >>> facts, [one.shape for one in arrays], arrays[2]
    ({'a': 1}, [(2, 9), (3,), (3,)], array([0, 1, 2]))
    """
    at = 8 + int.from_bytes(packed[:8], "big")
    facts, shapes, sizes = json.loads(zlib.decompress(packed[8:at]))
    bodies = []
    for thin, size in sizes:
        bodies.append(zlib.decompress(packed[at : at + size]) if thin else packed[at : at + size])
        at += size
    return facts, [
        np.frombuffer(bodies[k], dtype).reshape(shape).copy() for dtype, shape, k in shapes
    ]


def load(setting: StudySettings, engine: str, kept: tuple[int, bytes] | None) -> StudyState:
    """Return the state of a snapshot, or a new one if there is none."""
    state = StudyState(setting, engine)
    if kept is None:
        return state
    facts, bodies = unpack(kept[1])
    arrays = iter(bodies)
    state.history.restore(facts["history"])
    state.policy.rule = rebuilt(state.policy.rule, arrays)
    if state.history.n_changes or state.history.carried:
        state.reset_stopping()
    for old in beside(state):
        old[...] = next(arrays)
    # estimates of variances that are not stated
    state.monitor.told.kernel.rewards.update_variance(state.history.stats)
    state.policy.rng.bit_generator.state = facts["rng"]
    state.monitor.ended, state.monitor.n_late, state.monitor.due, state.differences = (
        facts["ended"],
        facts["late"],
        facts["due"],
        facts["differences"],
    )
    state.policy.initial_design = InitialDesign.of(facts["opening"], next(arrays))
    return state


def beside(state: StudyState) -> list[Floats]:
    """Return the arrays of a state that do not belong to its rule; their sizes never change."""
    parts = (
        state.history.stats,
        state.monitor.told.state,
        state.monitor.told.kernel.stopping,
        state.policy.ahead.kernel.stopping,
    )
    kept = [leaf for part in parts for leaf in iter_leaves(part) if isinstance(leaf, np.ndarray)]
    own = state.history
    own_arrays = [
        own.pending,
        own.n_requested,
        own.n_received,
        own.extremes,
        own.late_stats,
        own.initial_residuals,
        own.begun,
    ]
    return [*own_arrays, *kept]


def rebuilt(kernel: Any, arrays: Any) -> Any:
    """Return the same kernel with other arrays, which are taken from an iterator."""
    if isinstance(kernel, tuple) and hasattr(kernel, "_fields"):
        return type(kernel)(*(rebuilt(one, arrays) for one in kernel))
    return next(arrays) if isinstance(kernel, np.ndarray) else kernel
