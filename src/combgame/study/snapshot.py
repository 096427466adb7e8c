"""A fold in bytes, so that opening a study need not decide everything again. It is only a copy: the events are what counts."""

import io
import json
import zlib
from typing import Any

import numpy as np

from ..protocols import Floats
from ..structures.callback import SIGNATURE
from .fold import Fold
from .setting import Setting
from .state import Open

EVERY = 500  # events
PLAIN = ("seq", "seal", "waiting", "last", "asked", "dropped", "told", "closed", "notes")


def dump(fold: Fold) -> bytes | None:
    """All that a fold has become; None if its rule is an object of a kind that cannot be written down."""
    rule = leaves(fold.rule)
    if not all(isinstance(leaf, np.ndarray | bool | int | float | str | np.generic | SIGNATURE) for leaf in rule):
        return None
    state = fold.state
    facts = {
        "state": {name: getattr(state, name) for name in PLAIN},
        "open": [[number, list(vars(one).items())] for number, one in state.open.items()],
        "rng": fold.rng.bit_generator.state, "ended": fold.ended, "late": fold.late, "differences": fold.differences,
    }  # fmt: skip
    arrays = [leaf for leaf in rule if isinstance(leaf, np.ndarray)] + beside(fold)
    file = io.BytesIO()
    named = {f"a{k}": one for k, one in enumerate(arrays)}
    np.savez(file, allow_pickle=False, facts=np.frombuffer(json.dumps(facts).encode(), np.uint8), **named)
    return zlib.compress(file.getvalue(), 1)


def load(setting: Setting, engine: str, kept: tuple[int, bytes] | None) -> Fold:
    """A fold as it was when it was dumped; a new one if there is nothing that fits."""
    fold = Fold(setting, engine)
    if kept is None:
        return fold
    with np.load(io.BytesIO(zlib.decompress(kept[1]))) as file:
        facts = json.loads(file["facts"].tobytes())
        arrays = iter([file[f"a{k}"] for k in range(len(file.files) - 1)])
    fold.rule = rebuilt(fold.rule, arrays)
    for old, new in zip(beside(fold), arrays, strict=True):
        old[...] = new
    for name, value in facts["state"].items():
        setattr(fold.state, name, value)
    for number, fields in facts["open"]:
        known = fold.state.open[number] = Open(**dict(fields))
        known.told = {int(arm): entry for arm, entry in known.told.items()}
    fold.rng.bit_generator.state = facts["rng"]
    fold.ended, fold.late, fold.differences = facts["ended"], facts["late"], facts["differences"]
    return fold


def beside(fold: Fold) -> list[Floats]:
    """The arrays of a fold that are not its rule's: what was seen and what is thought of it. Their sizes never change."""
    parts = (fold.state.seen, fold.told.view, fold.told.game.judge, fold.plan.game.judge)
    return [fold.state.pending, *(leaf for part in parts for leaf in leaves(part) if isinstance(leaf, np.ndarray))]


def leaves(part: Any) -> list[Any]:
    if isinstance(part, tuple) and hasattr(part, "_fields"):
        return [leaf for one in part for leaf in leaves(one)]
    return [part]


def rebuilt(part: Any, arrays: Any) -> Any:
    """The same part with other arrays."""
    if isinstance(part, tuple) and hasattr(part, "_fields"):
        return type(part)(*(rebuilt(one, arrays) for one in part))
    return next(arrays) if isinstance(part, np.ndarray) else part
