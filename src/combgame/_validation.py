"""How large something may be before it is asked whether that is meant.

A slip of the pen, `arms = 1000000000` in a file, would otherwise fill the memory of a machine.
COMBGAME_LIMIT, an environment variable, raises the limits: it is the number of arms that a
structure may have; matrices may have a hundred times as many entries.
"""

import os
from itertools import islice
from typing import Any

from .errors import InputError, must_be, whole

VARIABLE, USUAL = "COMBGAME_LIMIT", 10**6
MATRIX = 100  # entries of a matrix for each arm that is allowed


def limit() -> int:
    """The number of arms that a structure may have."""
    given = os.environ.get(VARIABLE, "").strip()
    if not given:
        return USUAL
    if not (given.isascii() and given.isdecimal() and len(given) < 16 and int(given)):
        raise must_be(VARIABLE, given, "a whole number, such as {usual}", usual=USUAL)
    return int(given)


def check_size(number: int, what: str, *, of: str, times: int = 1) -> int:
    """The number, if it is within `times` the limit, or a sentence; what: of what there are so
    many.

    >>> check_size(10**8, "arms", of="Arms")
    Traceback (most recent call last):
    combgame.errors.InputError: Arms: 100,000,000 arms are above the limit of 1,000,000; if that\
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
    """A number of arms, or a sentence."""
    return check_size(whole(name, value, least, of=of), "arms", of=of)


def items_of(name: str, value: Any, what: str, *, of: str = "", **more: Any) -> list[Any]:
    """What is in a list or another collection, but not in a text; or a sentence.

    >>> items_of("sets", ([0], [1]), "a list of sets")
    [[0], [1]]
    >>> items_of("sets", 3, "a list of sets", of="Listed")
    Traceback (most recent call last):
    combgame.errors.InputError: Listed: sets = 3 must be a list of sets.
    """
    most = 10 * limit()
    try:
        some = None if isinstance(value, str | bytes | bytearray) else iter(value)
        listed = None if some is None else list(islice(some, most + 1))
    except Exception:  # whatever its class does
        listed = None
    if listed is None:
        raise must_be(name, value, what, of=of, **more)
    check_size(len(listed), "items", of=of or name, times=10)
    return listed
