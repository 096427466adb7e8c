"""What goes wrong at the boundary, in sentences: the argument, the value, the remedy."""

import numpy as np


class CombGameError(Exception):
    """The base of every error that combgame raises on purpose."""


class InputError(CombGameError, ValueError):
    """A value that cannot be used, with the remedy."""


class UnknownNameError(CombGameError, LookupError):
    """A name (of a rule, an arm, a threshold) that does not exist."""


class TieError(InputError):
    """Two answers are equally good, so that no number of plays can tell them apart."""


class OracleError(CombGameError, RuntimeError):
    """A user's oracle returned something that is not a set of its structure."""


class TooManySetsError(InputError):
    """An enumeration that was asked for is larger than its limit."""


class EngineError(CombGameError, RuntimeError):
    """A part cannot run on the engine that was asked for."""


class StoreError(CombGameError, OSError):
    """A file of results that cannot be read or written; what was stored is kept."""


class StudyError(CombGameError, RuntimeError):
    """What a study cannot do now, with what it can."""


def whole(name: str, value: object, least: int) -> int:
    """A whole number of at least `least`, or a sentence."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or int(value) < least:
        raise InputError(f"{name} = {value!r} must be a whole number of at least {least}.")
    return int(value)
