"""A stopping rule of one's own: what `threshold=` takes beside a name."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..errors import InputError, must_be, real, unboxed
from ..game.descriptions import Description, is_value, short
from ..game.parts import copied
from ..game.protocols import Game, Judge, Threshold
from ..game.records import Floats, Ints, Seen
from ..game.round import LOST
from ..sentences import Sentence
from .base import Question, Stopping, Validity

LONG = 60  # characters of what is shown of a value
TRIED = (0, 1, 2, 10)  # rounds after which a level is asked for before anything is played


@dataclass(frozen=True, eq=False, repr=False)
class StoppingBase(Description):
    """Describes when a run stops; `part` fits it to a problem and deltas.

    validity: what its author states about its errors, in words. Results print it as *stated by the
    user*, and as *heuristic* where nothing is stated: this package has proved nothing about it.
    """

    validity: ClassVar[str] = ""

    def part(self, problem: Question, deltas: Floats) -> "Threshold | Judge":
        """The verb `level(t, which)`, beta(t, deltas[which]), which the generalised likelihood
        ratio at the counts must exceed; or all verbs of `protocols.Judge`, for evidence of another
        kind.
        """
        raise InputError(
            "no-part",
            "{stopping} has no method part(problem, deltas), which makes its part",
            remedy="write one, as in docs/new-part.md",
            stopping=type(self).__name__,
        )


def own_stopping(asked: StoppingBase, problem: Question, deltas: Sequence[float]) -> Stopping:
    """The stopping rule that a user's object describes, with the validity that its author states.

    >>> import combgame as cg
    >>> from combgame.stopping.theorem2 import StylisedPart
    >>> class Mine(StoppingBase):
    ...     validity = "my Theorem 1"
    ...     def part(self, problem, deltas):
    ...         return StylisedPart(deltas)
    >>> problem = cg.Problem(cg.Subsets(5, 2), cg.Arms(5), cg.Gaussian(0.1))
    >>> print(own_stopping(Mine(), problem, [0.1]).validity)
    stated by the user: my Theorem 1
    """
    part: Any = asked.part(problem, np.array(deltas, dtype=float))
    name = short(asked) if is_value(asked) else type(asked).__name__
    if not callable(getattr(part, "level", None)):
        raise InputError(
            "no-level",
            "threshold = {name}: {part} has no method level, the verb of every threshold",
            remedy="give it level(self, t, which), which returns beta(t, deltas[which])",
            name=name,
            part=type(part).__name__,
        )
    for t in TRIED:
        for which in range(len(deltas)):
            check_level(name, copied(part), t, which)
    judges = callable(getattr(part, "look", None))
    return Stopping(
        name,
        part,
        _in_its_place if judges else None,
        stated(asked),
        likelihood=not judges,
        own=asked,
    )


def check_level(name: str, part: Any, t: int, which: int) -> None:
    """A sentence, unless a threshold is one number after t rounds."""
    try:
        level = part.level(t, which)
    except Exception as error:
        raise no_level(name, part, t, which, f"raised {error!r}") from error
    number: Any = None if isinstance(level, np.ndarray) else unboxed(level)
    if not real(number) or math.isnan(number):
        shown = repr(level) if len(repr(level)) <= LONG else type(level).__name__
        raise no_level(name, part, t, which, f"returned {shown}")


def check_compared(stopping: Stopping, stops: Ints) -> None:
    """A sentence, if a threshold was no number in a run (`round.settle`)."""
    for which in np.flatnonzero(stops <= LOST):
        t = LOST - int(stops[which])
        raise no_level(stopping.name, stopping.threshold, t, int(which), "returned nan")


def no_level(name: str, part: Any, t: int, which: int, did: str) -> InputError:
    """With a level that is no number nothing can be compared."""
    return InputError(
        "level-not-a-number",
        "threshold = {name}: {part}.level(t={t}, which={which}) {did}, but a threshold is one "
        "number for every t from 0 on",
        remedy="look at that call: a logarithm takes max(t, 1), and what is an array of all deltas "
        "is asked for its element [which]",
        name=name,
        part=type(part).__name__,
        t=t,
        which=which,
        did=did,
    )


def _in_its_place(game: Game, threshold: Any, seen: Seen) -> Game:
    """A judge of one's own looks for itself."""
    return game._replace(judge=threshold)


def stated(asked: StoppingBase) -> Validity:
    """What the author of a stopping rule says about it."""
    said: Any = asked.validity
    if not isinstance(said, str):
        raise must_be(
            f"{type(asked).__name__}.validity",
            said,
            "a text: what its author states about its errors, or nothing",
        )
    if not said.strip():
        text = "{name} says nothing about its errors (`validity`)"
        return Validity(False, Sentence("not-stated", text, name=type(asked).__name__))
    reason = Sentence("user-states", "{stated}", stated=said.strip().removesuffix("."))
    return Validity(False, reason, stated=True)
