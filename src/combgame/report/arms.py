"""Which arms a picture or a table shows, in which order, and what it says of the rest."""

import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple

Row = dict[str, Any]
MOST = 20  # arms whose names can be read in one picture


class Shown(NamedTuple):
    """The best first. `rest`: arms that have values but no room; `silent`: arms without any."""

    arms: list[Row]
    rest: list[Row]
    silent: list[Row]


def shown(arms: Sequence[Row], most: int = MOST, least_first: bool = False) -> Shown:
    """The leading arms, those of the rival that is hardest to rule out, then those with the best
    means, as many as there is room for; sorted by mean.

    >>> rows = [{"arm": x, "n": 1, "mean": m, "leads": x == "b"} for x, m in zip("abc", (3, 1, 2))]
    >>> chosen = shown(rows, most=2)
    >>> [one["arm"] for one in chosen.arms], [one["arm"] for one in chosen.rest]
    (['a', 'b'], ['c'])
    """
    sign = 1.0 if least_first else -1.0

    def place(one: Row) -> tuple[float, str]:
        return sign * one["mean"], str(one["arm"])

    known = sorted((one for one in arms if one["n"]), key=place)
    wanted = sorted(known, key=lambda one: (not one["leads"], not one.get("rival"), *place(one)))
    kept = {id(one) for one in wanted[:most]}
    return Shown(
        [one for one in known if id(one) in kept],
        [one for one in known if id(one) not in kept],
        [one for one in arms if not one["n"]],
    )


def short(name: Any, most: int = 28) -> str:
    """A name that fits beside an axis: on one line, without what cannot be printed, cut in the
    middle.

    >>> short("wild type"), short("a very long name of a varant, number 7")
    ('wild type', 'a very long na…ant, number 7')
    """
    text = "".join(
        " " if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") else c for c in str(name)
    )
    half = most // 2
    return text if len(text) <= most else f"{text[:half]}…{text[len(text) - half + 1 :]}"
