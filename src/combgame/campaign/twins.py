"""Configurations of one file that have the same names and are different all the same, as after the
means in a campaign file were edited.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from ..sentences import Sentence

SHORT = 6  # characters of a key


def marked(configurations: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same, but where two lines of a report would look alike the label says which is which: by
    the first characters of its key.

    >>> how = {"threshold": "t", "seed": 0, "deltas": [0.1]}
    >>> one = {"key": "1a2b3c4d", "instance": "five", "label": "lloo", "description": how}
    >>> others = [{**one, "key": "5e6f7a8b"}, {**one, "key": "9c0d1e2f", "label": "ofw"}]
    >>> [c["label"] for c in marked([one, *others])]
    ['lloo [1a2b3c]', 'lloo [5e6f7a]', 'ofw']
    """
    alike = {one["key"] for group in groups(configurations) for one in group}
    return [
        {**c, "label": f"{c['label']} {mark(c)}"} if c["key"] in alike else c
        for c in configurations
    ]


def mark(c: Mapping[str, Any]) -> str:
    return f"[{c['key'][:SHORT]}]"


def groups(configurations: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Those that would share a line: the same names, threshold, seed and one of the deltas."""
    lines: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for c in configurations:
        described = c["description"]
        for delta in described["deltas"]:
            lines.setdefault(
                (c["instance"], c["label"], described["threshold"], described["seed"], delta), []
            ).append(c)
    several = {
        tuple(one["key"] for one in group): group for group in lines.values() if len(group) > 1
    }
    return list(several.values())


def remarks(configurations: Sequence[dict[str, Any]], most: int = 3) -> list[Sentence]:
    """A sentence for each group: in what they differ, and when the last run of each was stored; of
    many groups, the first.
    """
    said, alike = [], groups(configurations)
    for group in alike[:most]:
        first, *others = (one["description"] for one in group)
        places = sorted({place for other in others for place in differing(first, other)}) or [
            "nothing that is known"
        ]
        when = "; ".join(f"{mark(one)} {stored(one.get('last'))}" for one in group)
        text = (
            "{label} on {instance} stands there {times} times, because the campaign was changed "
            "between runs: {places} ({when})"
        )
        remedy = "All are kept, and marked in reports; a new file keeps them apart"
        names = {"label": group[0]["label"], "instance": group[0]["instance"], "when": when}
        about = {**names, "places": ", ".join(places), "times": len(group)}
        said.append(Sentence("same-names", text, remedy=remedy, **about))
    if len(alike) > most:
        said.append(Sentence("more-alike", "the same holds for {n:,} more", n=len(alike) - most))
    return said


def stored(at: float | None) -> str:
    if at is None:
        return "without runs"
    try:
        return f"last stored {datetime.fromtimestamp(at).isoformat(' ', 'seconds')}"
    except (OverflowError, OSError, ValueError):  # a clock beyond all calendars
        return f"last stored {at:g} seconds after 1970"


def differing(one: Any, other: Any, place: str = "") -> Iterator[str]:
    """Where two descriptions differ.

    >>> three, four = ({"seed": 0, "problem": {"actions": {"d": d}}} for d in (3, 4))
    >>> list(differing(three, four))
    ['problem.actions.d']
    """
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in sorted({*one, *other}, key=str):
            yield from differing(
                one.get(key), other.get(key), f"{place}.{key}" if place else str(key)
            )
    elif one != other:
        yield place
