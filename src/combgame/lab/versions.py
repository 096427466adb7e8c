"""Which versions of combgame have written a study, and what that means for it.

A certificate is an event. Once it is given it stays given, whatever another version computes; of a
certificate that it would not have given, a version says so and vouches for nothing.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from .. import _version as version
from .._display.text import weighed
from .._fingerprint import digest
from .._messages import CallHint, Message
from ..storage.events import Event

ANOTHER = "of another version"  # the label of a threshold that this one does not vouch for


FIRST = "0.2.0.dev0"  # which wrote events before they said which version did


def here() -> str:
    """The version that runs. While it is being developed, its sources tell it apart from others of
    the same name: `0.2.0.dev0+1a2b3c4d`.
    """
    name = version.__version__
    return f"{name}+{digest()[:8]}" if ".dev" in name else name


def named(version: str) -> str:
    """The version that an event says."""
    return version or FIRST


def released(version: str) -> str:
    """A version, whatever its sources.

    >>> released("0.2.0.dev0+1a2b3c4d"), released("")
    ('0.2.0.dev0', '0.2.0.dev0')
    """
    return named(version).partition("+")[0]


def same_release(versions: Iterable[str]) -> bool:
    """Whether these are the version that runs, perhaps with other sources. Whoever develops it
    changes them all the time, so that this is said where somebody looks for it, and nowhere else.
    """
    return {released(one) for one in versions} <= {released(here())}


def mixed(versions: Mapping[str, int], turns: int) -> Message | None:
    """That other versions wrote a part of a study, if they did. versions: how many events each;
    turns: how often another one wrote on.
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
    """The same of sources that are not those which run, of the same version."""
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
    """That a study was made by another version, if it was. event: its first."""
    if same_release([event.version]):
        return None
    text = "it was made with combgame {version}; this is version {here}"
    return Message("other-version-made", text, version=named(event.version), here=here())


def not_vouched(facts: Mapping[str, Any]) -> Message | None:
    """Of a certificate that this version would not have given: whose it is, in the place of what a
    certificate rests on. facts: what is known of the end.
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
    """Of a certificate that another version gave, and this one would have given, too."""
    given_by = facts.get("version", here())
    if same_release([given_by]) or not_vouched(facts) is not None:
        return []
    text = "The certificate was given by combgame {version}; version {here} would have given it too"
    return [Message("certificate-alike", text, version=given_by, here=here())]


def due() -> Message:
    """What another version did not find enough."""
    text = (
        "By version {here} the evidence is enough, and by the version that wrote it, it was not: "
        "whatever is stored next, but for a retraction, certifies it"
    )
    return Message("certificate-due", text, here=here())
