"""The versions of combgame that wrote a study.

A certificate is an event. Once given it stays given, whatever another version computes. If a
version would not have given a certificate, it says so and derives nothing from it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from .. import _version as version
from .._display.text import weighed
from .._fingerprint import digest
from .._messages import CallHint, Message
from ..storage.events import Event

ANOTHER = "of another version"  # label of a threshold that this version does not confirm
FIRST = "0.2.0.dev0"  # version of events that do not name one


def here() -> str:
    """Return the running version, with a hash of the sources during development.

    The hash distinguishes sources of the same version: ``0.2.0.dev0+1a2b3c4d``.
    """
    name = version.__version__
    return f"{name}+{digest()[:8]}" if ".dev" in name else name


def named(version: str) -> str:
    """Return the version of an event; early events do not name one."""
    return version or FIRST


def released(version: str) -> str:
    """Return a version without the hash of its sources.

    >>> released("0.2.0.dev0+1a2b3c4d"), released("")
    ('0.2.0.dev0', '0.2.0.dev0')
    """
    return named(version).partition("+")[0]


def same_release(versions: Iterable[str]) -> bool:
    """Return True if all of these are the running version, whatever their sources.

    Sources change all the time during development, so this difference is only mentioned in the
    status and the replay of a study.
    """
    return {released(one) for one in versions} <= {released(here())}


def mixed(versions: Mapping[str, int], turns: int) -> Message | None:
    """Return a message if other versions wrote some events of a study, otherwise None.

    Parameters
    ----------
    versions : mapping of str to int
        Number of events that each version wrote.
    turns : int
        Number of times that an event was written by another version than the one before it.
    """
    if same_release(versions):
        return None
    known, mine = [named(one) for one in versions], here()
    if turns >= len(known) > 1:
        text = (
            "versions {versions:and} of combgame write to this study by turns: they may choose "
            "other rounds, and stop elsewhere"
        )
        remedy = "let everybody use the same version"
        return Message("versions-by-turns", text, remedy=remedy, versions=known)
    others = [one for one in known if one != mine]
    n = sum(number for one, number in versions.items() if one != mine)
    text = (
        "{n:count event} of this study {n:was|were} written by combgame {others:and}; this is "
        "version {here}"
    )
    remedy = "{replay} says whether it would have asked for the same rounds"
    replay = CallHint("replay")
    return Message(
        "other-versions", text, remedy=remedy, n=n, others=others, here=mine, replay=replay
    )


def other_sources(versions: Mapping[str, int], turns: int) -> Message | None:
    """Return a message if other sources of the same version wrote some events, otherwise None.

    The parameters are those of `mixed`.
    """
    mine, known = here(), len(versions)
    n = sum(number for one, number in versions.items() if one != mine)
    if n == 0 or not same_release(versions):
        return None
    if turns >= known > 1:
        text = (
            "{n} sources of combgame {version} write to this study by turns: they may choose other "
            "rounds, and stop elsewhere"
        )
        remedy = "let everybody use the same sources"
        about: dict[str, Any] = {"n": known, "version": released(mine)}
        return Message("sources-by-turns", text, remedy=remedy, **about)
    text = (
        "{n:count event} of this study {n:was|were} written by other sources of the same version "
        "than those that run ({here})"
    )
    remedy = "{replay} says whether these would have asked for the same rounds"
    return Message(
        "sources-changed", text, remedy=remedy, n=n, here=mine, replay=CallHint("replay")
    )


def made_by(event: Event) -> Message | None:
    """Return a message if another version wrote the first event of a study, otherwise None."""
    if same_release([event.version]):
        return None
    text = "it was made with combgame {version}; this is version {here}"
    return Message("other-version-made", text, version=named(event.version), here=here())


def not_vouched(facts: Mapping[str, Any]) -> Message | None:
    """Return a message about a certificate that this version would not have given, otherwise None.

    It replaces the statement on what the certificate rests on. ``facts`` describes the end of the
    study.
    """
    short = facts.get("short")
    if short is None:
        return None
    text = (
        "The certificate is {label} of combgame ({version}), and stays given; version {here} would "
        "not have stopped there: its evidence was {weighed}"
    )
    return Message(
        "certificate-stays",
        text,
        version=named(facts["version"]),
        here=here(),
        label=ANOTHER,
        weighed=weighed(short["evidence"], short["threshold"]),
    )


def by_another(facts: Mapping[str, Any]) -> list[Message]:
    """Return a message if another version gave a certificate that this one confirms."""
    given_by = facts.get("version", here())
    if same_release([given_by]) or not_vouched(facts) is not None:
        return []
    text = "The certificate was given by combgame {version}; version {here} would have given it too"
    return [Message("certificate-alike", text, version=given_by, here=here())]


def due() -> Message:
    """Return a message about evidence that is enough now, but was not for another version."""
    text = (
        "By version {here} the evidence is enough, and by the version that wrote it, it was not: "
        "whatever is stored next, but for a retraction, certifies it"
    )
    return Message("certificate-due", text, here=here())
