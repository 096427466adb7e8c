"""Arms by their names, where a structure is given names instead of a number of arms."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..errors import InputError, must_be, unknown
from ..limits import arms, check_size

Names = tuple[str, ...] | None


def counted(d: Any, least: int, of: str) -> tuple[int, Names]:
    """The number of arms, and their names if those were given.

    >>> counted(3, 1, "Arms"), counted(["wt", "K7R"], 1, "Arms")
    ((3, None), (2, ('wt', 'K7R')))
    """
    if not isinstance(d, Sequence | np.ndarray) or isinstance(d, str):
        return arms("d", d, least, of=of), None
    check_size(len(d), "arms", of=of)
    names = tuple(d.tolist() if isinstance(d, np.ndarray) else d)
    if len(names) < least or not all(isinstance(one, str) and one.strip() for one in names):
        what = "a number of arms of at least {least}, or a list of so many names"
        raise must_be("d", d, what, of=of, least=least)
    if len(set(names)) < len(names):
        raise InputError(
            "arm-named-twice",
            "{of}: the name {name!r} is given twice",
            remedy="give each arm a name of its own",
            of=of,
            name=next(one for k, one in enumerate(names) if one in names[:k]),
        )
    return len(names), tuple(str(one) for one in names)


def numbers_of(given: Iterable[Any], names: Names, of: str) -> list[Any]:
    """Arms by their numbers, where names may stand for them."""
    if names is None:
        return list(given)
    known = {name: a for a, name in enumerate(names)}
    some = list(given)
    for one in some:
        if isinstance(one, str) and one not in known:
            raise unknown("arm", one, names, of=of)
    return [known[one] if isinstance(one, str) else one for one in some]
