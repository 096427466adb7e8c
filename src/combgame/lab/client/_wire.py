"""Results, messages and errors as plain data between a service and its clients.

Every message travels twice: as text (code, arguments, text, remedy) for programs in other
languages, and as `parts`, from which the receiver builds the same message again and renders it for
its own surface. No text is ever parsed.
"""

import math
from collections.abc import Mapping
from typing import Any

from ... import errors
from ..._messages import CallHint, Message, OptionHint, PhraseHint, ReprText
from ...errors import CombGameError, InputError, error_from
from ...storage.events import Event
from ..decision import Decision
from ..diagnostics import NoiseCheck
from ..estimates import Estimate, LeadInterval
from ..outliers import Outlier
from ..round import Round
from ..snapshot import Replay
from ..status import Rival, Status

ERRORS: dict[str, type[CombGameError]] = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, CombGameError)
}
NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def finite(data: Any) -> Any:
    """Return the data with numbers that JSON lacks (inf, -inf, nan) as tables, like `to_data`.

    >>> finite({"a": (1.0, math.inf)})
    {'a': [1.0, {'kind': 'float', 'value': 'inf'}]}
    """
    if isinstance(data, Mapping):
        return {str(name): finite(one) for name, one in data.items()}
    if isinstance(data, list | tuple):
        return [finite(one) for one in data]
    if isinstance(data, float) and not math.isfinite(data):
        return {"kind": "float", "value": str(float(data))}
    return data


def infinite(data: Any) -> Any:
    """Return the data that `finite` was given, except that tuples have become lists."""
    if isinstance(data, dict):
        if data.get("kind") == "float" and data.get("value") in NOT_FINITE:
            return NOT_FINITE[data["value"]]
        return {name: infinite(one) for name, one in data.items()}
    return [infinite(one) for one in data] if isinstance(data, list) else data


# ---- messages


def sentence_data(sentence: Message) -> dict[str, Any]:
    """Return a message as plain data."""
    arguments = {name: _packed(one) for name, one in sentence.arguments.items()}
    parts = {"text": sentence.text, "remedy": sentence.advice, "arguments": arguments}
    return {**finite(sentence.to_data()), "parts": parts}


def sentence_from(data: Mapping[str, Any]) -> Message:
    """Return the message of plain data.

    >>> late = Message("late", "{n:count round}: {do}", n=2, do=CallHint("stop", "reason"))
    >>> again = sentence_from(sentence_data(late))
    >>> again == late, str(again)
    (True, '2 rounds: stop(reason).')
    """
    parts = data["parts"]
    arguments = {name: _unpacked(one) for name, one in parts["arguments"].items()}
    return Message(data["code"], parts["text"], remedy=parts["remedy"], **arguments)


def _packed(value: Any) -> Any:
    """Return an argument of a message as plain data; other types become tables with a `kind`."""
    if value is ...:
        return {"kind": "choice"}
    if isinstance(value, ReprText):
        return {"kind": "shown", "text": str(value)}
    if isinstance(value, Message):
        return {"kind": "sentence", **sentence_data(value)}
    if isinstance(value, CallHint):
        given, named = [_packed(one) for one in value.given], _packed(value.named)
        return {"kind": "call", "verb": value.verb, "given": given, "named": named}
    if isinstance(value, OptionHint):
        return {"kind": "option", "name": value.name, "value": _packed(value.value)}
    if isinstance(value, PhraseHint):
        return {"kind": "phrase", "key": value.key, "arguments": _packed(value.arguments)}
    if isinstance(value, tuple):
        return {"kind": "tuple", "items": [_packed(one) for one in value]}
    if isinstance(value, list):
        return [_packed(one) for one in value]
    if isinstance(value, dict):
        return {"kind": "table", "items": [[_packed(a), _packed(b)] for a, b in value.items()]}
    return finite(value)


def _unpacked(data: Any) -> Any:
    if isinstance(data, list):
        return [_unpacked(one) for one in data]
    if not isinstance(data, dict):
        return data
    kind = data["kind"]
    if kind == "float":
        return NOT_FINITE[data["value"]]
    if kind == "choice":
        return ...
    if kind == "shown":
        return ReprText(data["text"])
    if kind == "sentence":
        return sentence_from(data)
    if kind == "call":
        return CallHint(data["verb"], *_unpacked(data["given"]), **_unpacked(data["named"]))
    if kind == "option":
        return OptionHint(data["name"], _unpacked(data["value"]))
    if kind == "phrase":
        return PhraseHint(data["key"], **_unpacked(data["arguments"]))
    if kind == "tuple":
        return tuple(_unpacked(data["items"]))
    return {_unpacked(a): _unpacked(b) for a, b in data["items"]}


def error_data(error: CombGameError) -> dict[str, Any]:
    """Return an error as plain data, with the name of its class as `kind`."""
    kind = type(error).__name__ if type(error).__name__ in ERRORS else "CombGameError"
    return {"kind": kind, **sentence_data(error.sentence)}


def error_from_response(data: Mapping[str, Any]) -> CombGameError:
    """Return the error of plain data."""
    return error_from(ERRORS.get(data.get("kind", ""), CombGameError), sentence_from(data))


# ---- results


# fields of a status that are messages, or None
SENTENCES = (
    "batch_warning",
    "early_stop",
    "proof_so_far",
    "threshold_note",
    "validity",
    "compared",
)


def status_data(status: Status) -> dict[str, Any]:
    """Return a status as `Status.to_dict` does, with the parts of every message."""
    said = {name: getattr(status, name) for name in SENTENCES}
    return {
        **finite(status.to_dict()),
        "next_step": sentence_data(status.next_step),
        "notes": [sentence_data(one) for one in status.notes],
        **{name: None if one is None else sentence_data(one) for name, one in said.items()},
    }


def status_from(data: Mapping[str, Any]) -> Status:
    """Return the status of plain data."""
    said = {name: data[name] for name in SENTENCES}
    known = infinite({**data, "next_step": None, "notes": [], **dict.fromkeys(SENTENCES)})
    return Status(
        **{
            **{name: _tupled(known[name]) for name in Status.__dataclass_fields__},
            "rivals": tuple(
                Rival(**{**one, "answer": tuple(one["answer"])}) for one in known["rivals"]
            ),
            "next_step": sentence_from(data["next_step"]),
            "notes": tuple(sentence_from(one) for one in data["notes"]),
            **{name: None if one is None else sentence_from(one) for name, one in said.items()},
            **_shared(known),
        }
    )


def decision_data(decision: Decision | None) -> dict[str, Any] | None:
    """Return a decision as plain data."""
    if decision is None:
        return None
    return {
        **finite(decision.to_dict()),
        "headline": sentence_data(decision.headline),
        "assumptions": [sentence_data(one) for one in decision.assumptions],
    }


def decision_from(data: Mapping[str, Any] | None) -> Decision | None:
    """Return the decision of plain data."""
    if data is None:
        return None
    known = infinite({**data, "headline": None, "assumptions": None})
    return Decision(
        **{
            **{name: _tupled(known[name]) for name in Decision.__dataclass_fields__},
            "headline": sentence_from(data["headline"]),
            "assumptions": tuple(sentence_from(one) for one in data["assumptions"]),
            **_shared(known),
        }
    )


def _shared(known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that a status and a decision have in common."""
    lead, noise = known["lead"], known["noise_check"]
    return {
        "outliers": tuple(
            Outlier(**{name: _tupled(one[name]) for name in Outlier._fields})
            for one in known["outliers"]
        ),
        "lead": None
        if lead is None
        else LeadInterval.of({name: lead[name] for name in LeadInterval.__dataclass_fields__}),
        "estimates": tuple(Estimate(**one) for one in known["estimates"]),
        "noise_check": None
        if noise is None
        else NoiseCheck(**{name: noise[name] for name in NoiseCheck._fields}),
    }


def _tupled(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def round_data(one: Round) -> dict[str, Any]:
    """Return a round as plain data."""
    return dict(vars(one))


def round_from(data: Mapping[str, Any]) -> Round:
    """Return the round of plain data."""
    return Round(**{name: _tupled(one) for name, one in data.items()})


def event_data(event: Event) -> dict[str, Any]:
    """Return an event as plain data."""
    return finite(event._asdict())  # type: ignore[no-any-return]


def event_from(data: Mapping[str, Any]) -> Event:
    """Return the event of plain data."""
    return Event(**infinite(data))


def replay_data(replay: Replay) -> dict[str, Any]:
    """Return the result of a replay as plain data."""
    return {**finite(replay.to_dict()), "sentence": sentence_data(replay.sentence)}


def replay_from(data: Mapping[str, Any]) -> Replay:
    """Return the result of a replay from plain data."""
    found = tuple(
        {name: _tupled(value) for name, value in one.items()} for one in data["differences"]
    )
    sentence = sentence_from(data["sentence"])
    return Replay(data["events"], data["rounds"], found, sentence, data["head"])


# ---- values


def told_from(value: Any) -> Any:
    """Return a value as `Study.tell` takes it: {"mean": ..., "n": ...} becomes (mean, n)."""
    if isinstance(value, dict):
        if set(value) != {"mean", "n"}:
            text = "value = {value!r} must be a number, a list of numbers, null, or a mean with n"
            remedy = 'a mean of n values is {{"mean": 0.5, "n": 4}}'
            raise InputError("bad-value", text, remedy=remedy, value=value)
        return (value["mean"], value["n"])
    return value
