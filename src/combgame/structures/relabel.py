"""The same structure with other names, or other numbers, of its arms.

What a structure keeps when its arms get other numbers (`StructureBase.numbered`).
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from ..engine.state import Ints

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
