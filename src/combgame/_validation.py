"""Checks of arguments that give arms and lists: numbers, names, and limits of size.

Without limits, a slip such as `arms = 1000000000` in a file would fill the memory of a machine. The
environment variable COMBGAME_LIMIT raises the limits: it is the number of arms that a structure may
have. Matrices may have a hundred times as many entries.
"""

import os
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np

from .errors import InputError, check_int, invalid_argument, unknown_name

VARIABLE, USUAL = "COMBGAME_LIMIT", 10**6
MATRIX = 100  # entries of a matrix per arm that the limit allows


def limit() -> int:
    """Return the largest number of arms that a structure may have."""
    given = os.environ.get(VARIABLE, "").strip()
    if not given:
        return USUAL
    if not (given.isascii() and given.isdecimal() and len(given) < 16 and int(given)):
        raise invalid_argument(VARIABLE, given, "a whole number, such as {usual}", usual=USUAL)
    return int(given)


def check_size(number: int, what: str, *, of: str, times: int = 1) -> int:
    """Return a number if it is at most `times` the limit; raise an error otherwise.

    The text `what` names what is counted.

    >>> check_size(10**8, "arms", of="Arms")
    Traceback (most recent call last):
    combgame.errors.InputError: Arms: 100,000,000 arms are above the limit of 1,000,000; if that
    many are meant, set the environment variable COMBGAME_LIMIT to 100000000.
    """
    most = times * limit()
    if number > most:
        raise InputError(
            "too-large",
            "{of}: {number:,} {what} are above the limit of {most:,}",
            remedy="if that many are meant, set the environment variable {variable} to {enough}",
            of=of,
            number=number,
            what=what,
            most=most,
            variable=VARIABLE,
            enough=-(-number // times),
        )
    return number


def arms(name: str, value: object, least: int, *, of: str) -> int:
    """Return a number of arms; raise an error if it is too small or above the limit."""
    return check_size(check_int(name, value, least, of=of), "arms", of=of)


Names = tuple[str, ...] | None


def counted(d: Any, least: int, of: str) -> tuple[int, Names]:
    """Return the number of arms, and their names if names were given.

    >>> counted(3, 1, "Arms"), counted(["wt", "K7R"], 1, "Arms")
    ((3, None), (2, ('wt', 'K7R')))
    """
    if not isinstance(d, Sequence | np.ndarray) or isinstance(d, str):
        return arms("d", d, least, of=of), None
    check_size(len(d), "arms", of=of)
    names = tuple(d.tolist() if isinstance(d, np.ndarray) else d)
    if len(names) < least or not all(isinstance(one, str) and one.strip() for one in names):
        what = "a number of arms of at least {least}, or a list of so many names"
        raise invalid_argument("d", d, what, of=of, least=least)
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
    """Return the indices of arms that may be given by name."""
    if names is None:
        return list(given)
    known = {name: a for a, name in enumerate(names)}
    some = list(given)
    for one in some:
        if isinstance(one, str) and one not in known:
            raise unknown_name("arm", one, names, of=of)
    return [known[one] if isinstance(one, str) else one for one in some]


def check_list(name: str, value: Any, what: str, *, of: str = "", **more: Any) -> list[Any]:
    """Return the items of a collection that is not a text; raise an error for other values.

    >>> check_list("sets", ([0], [1]), "a list of sets")
    [[0], [1]]
    >>> check_list("sets", 3, "a list of sets", of="Listed")
    Traceback (most recent call last):
    combgame.errors.InputError: Listed: sets = 3 must be a list of sets.
    """
    most = 10 * limit()
    try:
        some = None if isinstance(value, str | bytes | bytearray) else iter(value)
        listed = None if some is None else list(islice(some, most + 1))
    except Exception:  # from a class of the user
        listed = None
    if listed is None:
        raise invalid_argument(name, value, what, of=of, **more)
    check_size(len(listed), "items", of=of or name, times=10)
    return listed
