"""Structures under a permutation of their arms, and what they share with the original."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from ..engine.state import Ints

Of = TypeVar("Of")


def renumbered(original: Any, order: Ints, **fields: Any) -> Any:
    """Return a structure of the same kind with these fields and a reference to the original.

    The original structure and the permutation are its value (see `StructureBase.permuted`).
    """
    new = object.__new__(type(original))
    vars(new).update(fields, d=original.d, _original=original, _called=np.argsort(order))
    return new


def originally(structure: Any) -> tuple[Any, Ints | None]:
    """Return the original of a permuted structure, and where each of its arms went.

    A structure that is not permuted is returned itself, with None.
    """
    known = vars(structure)
    return (known["_original"], known["_called"]) if "_original" in known else (structure, None)


def figure(method: Callable[..., Of]) -> Callable[..., Of]:
    """Cache a result that does not depend on the permutation; the original computes it once."""
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
    """Cache a set of arms that is the same under any permutation; the original finds it once."""
    once = figure(method)

    @wraps(method)
    def look(self: Any) -> set[int]:
        arms: set[int] = once(self)
        original = vars(self).get("_original")
        return set(arms) if original is None else set(self._called[sorted(arms)].tolist())

    return look


def per_arm(method: Callable[..., dict[int, Of] | None]) -> Callable[..., dict[int, Of] | None]:
    """Cache values by arm that no permutation changes, or None; the original computes them once."""
    once = figure(method)

    @wraps(method)
    def look(self: Any) -> dict[int, Of] | None:
        known: dict[int, Of] | None = once(self)
        if known is None or vars(self).get("_original") is None:
            return known
        return {int(self._called[a]): x for a, x in known.items()}

    return look
