"""The same structure with other names, or other numbers, of its arms.

What a structure keeps when its arms get other numbers (`StructureBase.numbered`).

Arms by their names, where a structure is given names instead of a number of arms.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from .._validation import arms, check_size
from ..engine.state import Ints
from ..errors import InputError, must_be, unknown

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


Of = TypeVar("Of")


def renumbered(original: Any, order: Ints, **fields: Any) -> Any:
    """A structure of the same kind with these fields, which knows whose arms it has under other
    numbers: that is its value.
    """
    new = object.__new__(type(original))
    vars(new).update(fields, d=original.d, _original=original, _called=np.argsort(order))
    return new


def originally(structure: Any) -> tuple[Any, Ints | None]:
    """The structure whose arms it has under other numbers, and the number of each of that one's
    arms here; itself and None, if they are its own.
    """
    known = vars(structure)
    return (known["_original"], known["_called"]) if "_original" in known else (structure, None)


def figure(method: Callable[..., Of]) -> Callable[..., Of]:
    """A figure that no numbering changes: computed once, by the original."""
    name = method.__name__

    @wraps(method)
    def look(self: Any) -> Of:
        original = vars(self).get("_original")
        if original is not None:
            return getattr(original, name)()  # type: ignore[no-any-return]
        known = vars(self).setdefault("_figures", {})
        if name not in known:
            known[name] = method(self)
        return known[name]  # type: ignore[no-any-return]

    return look


def some_arms(method: Callable[..., set[int]]) -> Callable[..., set[int]]:
    """A set of arms that is the same under any numbering: found once, by the original."""
    once = figure(method)

    @wraps(method)
    def look(self: Any) -> set[int]:
        arms: set[int] = once(self)
        original = vars(self).get("_original")
        return set(arms) if original is None else set(self._called[sorted(arms)].tolist())

    return look


def per_arm(method: Callable[..., dict[int, Of] | None]) -> Callable[..., dict[int, Of] | None]:
    """Figures of arms that no numbering changes, or None: computed once, by the original."""
    once = figure(method)

    @wraps(method)
    def look(self: Any) -> dict[int, Of] | None:
        known: dict[int, Of] | None = once(self)
        if known is None or vars(self).get("_original") is None:
            return known
        return {int(self._called[a]): x for a, x in known.items()}

    return look
