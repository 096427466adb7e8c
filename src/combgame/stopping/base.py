"""What a stopping rule is, and what it may claim.

A stopping rule of one's own: what `threshold=` takes beside a name.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from .._messages import PYTHON, Message
from .._values import Description, is_value, short_repr
from ..engine.kernels import deep_copy
from ..engine.likelihood_ratio import NEVER as NOTHING
from ..engine.likelihood_ratio import ratio
from ..engine.protocols import ProblemKernel, StoppingKernel, Threshold
from ..engine.round import NAN_THRESHOLD
from ..engine.state import Floats, Ints
from ..engine.statistics import Statistics
from ..errors import InputError, invalid_argument, is_real, to_python_scalar
from ..rewards.base import Assumption, RewardsBase, not_convex, valid_assumptions
from ..structures import Oracle, StructureBase

STATED = "stated by the user"  # the label of what nobody here has checked


class ProblemLike(Protocol):
    """What a threshold must know of a problem."""

    @property
    def actions(self) -> StructureBase: ...
    @property
    def answers(self) -> StructureBase: ...
    @property
    def rewards(self) -> RewardsBase: ...


class Validity(NamedTuple):
    """Whether stopping at a threshold keeps the error probability below delta, and why."""

    proved: bool
    reason: Message  # its code names the theorem, or what is missing
    # what the proof takes for granted of a user's parts: its arguments are the part, whose, verbs
    conditions: tuple[Message, ...] = ()
    user_stated: bool = False  # by the author of a part of one's own, which nobody has checked

    @property
    def label(self) -> str:
        """In a word or two."""
        if not self.proved:
            return STATED if self.user_stated else "heuristic"
        if not self.conditions:
            return "proved"
        return "proved if " + " and ".join(one.render_inline(PYTHON) for one in self.conditions)

    def __str__(self) -> str:
        return f"{self.label}: {self.reason.render().removesuffix('.')}"


class ProofRequirements(NamedTuple):
    """What a proof takes from the parts of a problem, as they say it: methods, by part. The first
    of a structure always counts, the others where they are not this package's.
    """

    answers: tuple[str, ...] = ("nearest_alternative", "n_sets_bound", "max_difference_bound")
    actions: tuple[str, ...] = ("max_size",)
    rewards: tuple[str, ...] = ("assumptions", "divergence")


# what distances are made of, besides the divergence: verbs of what `RewardsBase.part` makes
GEOMETRY = (
    "project",
    "best_shift_with_gradient",
    "quadratic_variance",
    "cheapest_challenger",
    "cheapest_exchange",
    "transportation_cost",
    "update_variance",
)


class Stopping(NamedTuple):
    """When a run stops: its evidence passes the threshold."""

    name: str
    threshold: Threshold
    make_kernel: (
        Callable[[ProblemKernel, Threshold, Statistics], ProblemKernel] | None
    )  # gives the game a judge of its own; None: the likelihood ratio
    validity: Validity
    # the evidence is the generalised likelihood ratio, so that t = beta(t, delta) / D_nu is its
    # limit
    likelihood: bool = True
    rests: ProofRequirements = ProofRequirements()
    epsilon: float = 0.0  # an answer that is worse than the best by no more counts as correct
    own: Any = None  # the user's description, where it has one instead of a name

    @property
    def asked(self) -> Any:
        """What `threshold=` was given."""
        return self.name if self.own is None else self.own

    def on(self, problem: ProblemKernel, stats: Statistics) -> ProblemKernel:
        """The game with this stopping rule as its judge, at its beginning."""
        threshold = deep_copy(self.threshold)
        if self.make_kernel is None:
            return problem._replace(stopping=ratio(threshold, stats.counts.size))
        return self.make_kernel(problem, threshold, stats)


class ConstantPenalty(NamedTuple):
    """ln(M / delta), or what stands for it."""

    constant: Floats

    def critical_value(self, t: int, index: int) -> float:
        return float(self.constant[index])


def log_union(problem: ProblemLike, epsilon: float = 0.0) -> float:
    """ln M. (Of a whole number that may be too large for a float.)"""
    answers = problem.answers
    return math.log(
        max(
            answers.n_gaining_differences()
            if epsilon > 0.0
            else answers.neighbourhood().n_differences,
            1,
        )
    )


def with_note(valid: Validity, text: str, **arguments: Any) -> Validity:
    """The same validity, for the same reason, of which more is to be said."""
    why = valid.reason
    more = Message(why.code, f"{why.text}; {text}", **why.arguments, **arguments)
    return valid._replace(reason=more)


def validity_from_assumptions(
    what: str, theorems: Mapping[Assumption, Message], rewards: RewardsBase
) -> Validity:
    """The validity of a stopping rule: proved where the rewards have a licence that a theorem
    needs, and heuristic otherwise.

    theorems: what each licence proves, the best first.
    """
    held, kind = valid_assumptions(rewards), type(rewards).__name__
    for licence, reason in theorems.items():
        if licence in held:
            return Validity(True, reason)
    if not held:
        why = Message(
            "no-licence",
            "no theorem covers {rewards}, a class that does not say what is known of its values "
            "(`assumptions`)",
            rewards=kind,
        )
        return Validity(False, why)
    why = Message(
        "licence-missing",
        "{what} needs {needs:or}, which {rewards} does not have",
        what=what,
        needs=list(theorems),
        rewards=kind,
    )
    return Validity(False, why)


def ours(kernel: object) -> bool:
    """Whether a class is this package's, and tested; one derived from it may do anything."""
    return type(kernel).__module__.partition(".")[0] == "combgame"


LISTED = 5000  # sets that `combgame.testing.check_structure` lists
# what a method is made of, unless a class has its own
MADE_OF = {
    "neighbourhood": ("n_sets_bound", "max_difference_bound"),
    "n_sets_bound": ("n_sets",),
    "max_difference_bound": ("max_difference",),
}


def _foreign(kernel: object, verb: str) -> bool:
    """Whether a method is not this package's."""
    module = getattr(getattr(kernel, verb, None), "__module__", None) or ""
    return module.partition(".")[0] != "combgame"


def _trusted(structure: StructureBase, verb: str) -> tuple[str, ...]:
    """The methods of a user's class that stand behind a verb: itself or what it is made of."""
    if _foreign(structure, verb):
        return (verb,)
    if getattr(type(structure), verb) is getattr(StructureBase, verb):
        return tuple(one for of in MADE_OF.get(verb, ()) for one in _trusted(structure, of))
    return (verb,) if verb == "neighbourhood" else ()  # of other sets, where a subclass has others


def _of_structure(structure: StructureBase, rests: tuple[str, ...]) -> tuple[str, ...]:
    """What is taken from a structure that is a user's, or asks a user's function."""
    asked = isinstance(structure, Oracle)
    if not rests or (ours(structure) and not asked):
        return ()
    first, *others = rests
    if asked:
        own = first == "nearest_alternative" and (
            _foreign(structure, "kernel") or _foreign(structure, "answer_kernel")
        )
        named = ("argmax", "nearest_alternative") if own else ("argmax",)
    else:
        named = (first,)
    more = (one for verb in others for one in _trusted(structure, verb))
    return tuple(dict.fromkeys((*named, *more)))


def _taken(stopping: Stopping, problem: ProblemLike) -> dict[str, tuple[str, ...]]:
    """What the proof takes from a user's parts, by part."""
    answers, actions, rewards = problem.answers, problem.actions, problem.rewards
    rests = stopping.rests
    if actions == answers:  # what one method says of both is said once
        taken = {"answers": _of_structure(answers, (*rests.answers, *rests.actions))}
    else:
        taken = {
            "answers": _of_structure(answers, rests.answers),
            "actions": _of_structure(actions, rests.actions),
        }
    if not ours(rewards):
        always, more = ProofRequirements().rewards, rests.rewards
        taken["rewards"] = tuple(v for v in more if v in always or _foreign(rewards, v))
        if "divergence" in more:
            try:
                kernel = rewards.kernel(*rewards.mean_range(answers.d))
            except Exception:  # the run says so
                kernel = None
            taken["rewards"] += tuple(v for v in GEOMETRY if _foreign(kernel, v))
    return {kernel: verbs for kernel, verbs in taken.items() if verbs}


def with_conditions(stopping: Stopping, problem: ProblemLike) -> Validity:
    """The validity of a stopping rule on a problem whose parts may be a user's: proved if what they
    say of themselves is right.
    """
    valid, rewards = stopping.validity, problem.rewards
    taken = _taken(stopping, problem) if valid.proved else {}
    if "divergence" in taken.get("rewards", ()):
        bent = not_convex(rewards, problem.answers.d)
        if bent is not None:
            text = (
                "y -> divergence({x:g}, y) of {rewards} is not convex at y = {y:g}, so that a "
                "distance may be larger than what is enough for a rival to be the best"
            )
            about: dict[str, Any] = {"x": bent[0], "y": bent[1], "rewards": type(rewards).__name__}
            return Validity(False, Message("not-convex", text, **about))
    if not taken:
        return valid
    kinds = {kernel: type(getattr(problem, kernel)).__name__ for kernel in taken}
    conditions = []
    for kernel, verbs in taken.items():
        given: dict[str, Any] = {"part": kernel, "whose": kinds[kernel], "verbs": list(verbs)}
        given["number"] = len(verbs) + verbs[0].endswith("s")  # its sets are, its nearest is
        if len(taken) == 1:
            text = "its {verbs:by  and its } {number:is|are} right"
            if len(verbs) > 2:
                text = "its {verbs:and} are right"
        else:
            text = "the {verbs:by  and the } of the {part} ({whose}) {number:is|are} right"
            if len(verbs) > 2:
                text = "the {verbs:and} of the {part} ({whose}) are right"
        conditions.append(Message("part-right", text, **given))
    whose = list(dict.fromkeys(kinds.values()))
    tried = list(dict.fromkeys(kind for kernel, kind in kinds.items() if kernel != "rewards"))
    text = "what {whose} {number:says of itself|say of themselves} is taken as it is"
    facts: dict[str, Any] = {"whose": " and ".join(whose), "number": len(whose)}
    if tried:
        text += " (combgame.testing.check_structure tries {tried}"
        many = problem.answers.n_sets()
        untried = "neighbourhood" in taken.get("answers", ()) and (many is None or many > LISTED)
        text += ", but not an exchange of so many sets)" if untried else ")"
        facts["tried"] = "it" if tried == whose and len(tried) == 1 else " and ".join(tried)
    if "divergence" in taken.get("rewards", ()):
        text += "; that the divergence is convex was looked at on a grid of means only"
    return with_note(valid, text, **facts)._replace(conditions=tuple(conditions))


NEVER = Stopping(
    "never",
    NOTHING,
    None,
    Validity(False, Message("never-stops", "a run that does not stop, for tests and timings")),
)


LONG = 60  # characters of what is shown of a value
TRIED = (0, 1, 2, 10)  # rounds after which a level is asked for before anything is played


@dataclass(frozen=True, eq=False, repr=False)
class StoppingBase(Description):
    """Describes when a run stops; `part` fits it to a problem and deltas.

    validity: what its author states about its errors, in words. Results print it as *stated by the
    user*, and as *heuristic* where nothing is stated: this package has proved nothing about it.
    """

    validity: ClassVar[str] = ""

    def kernel(self, problem: ProblemLike, deltas: Floats) -> "Threshold | StoppingKernel":
        """The verb `critical_value(t, index)`, beta(t, deltas[index]), which the generalised
        likelihood ratio at the counts must exceed; or all verbs of `protocols.StoppingKernel`, for
        evidence of another kind.
        """
        raise InputError(
            "no-part",
            "{stopping} has no method kernel(problem, deltas), which makes its kernel",
            remedy="write one, as in docs/new-part.md",
            stopping=type(self).__name__,
        )


def own_stopping(asked: StoppingBase, problem: ProblemLike, deltas: Sequence[float]) -> Stopping:
    """The stopping rule that a user's object describes, with the validity that its author states.

    >>> import combgame as cg
    >>> from combgame.stopping.glr import StylisedThreshold
    >>> class Mine(StoppingBase):
    ...     validity = "my Theorem 1"
    ...     def kernel(self, problem, deltas):
    ...         return StylisedThreshold(deltas)
    >>> problem = cg.Problem(cg.Subsets(5, 2), cg.Arms(5), cg.Gaussian(0.1))
    >>> print(own_stopping(Mine(), problem, [0.1]).validity)
    stated by the user: my Theorem 1
    """
    kernel: Any = asked.kernel(problem, np.array(deltas, dtype=float))
    name = short_repr(asked) if is_value(asked) else type(asked).__name__
    if not callable(getattr(kernel, "critical_value", None)):
        raise InputError(
            "no-level",
            "threshold = {name}: {kernel} has no method critical_value, the verb of every "
            "threshold",
            remedy="give it critical_value(self, t, index), which returns beta(t, deltas[index])",
            name=name,
            kernel=type(kernel).__name__,
        )
    for t in TRIED:
        for index in range(len(deltas)):
            check_level(name, deep_copy(kernel), t, index)
    judges = callable(getattr(kernel, "evaluate", None))
    return Stopping(
        name,
        kernel,
        _in_its_place if judges else None,
        stated(asked),
        likelihood=not judges,
        own=asked,
    )


def check_level(name: str, kernel: Any, t: int, index: int) -> None:
    """A sentence, unless a threshold is one number after t rounds."""
    try:
        level = kernel.critical_value(t, index)
    except Exception as error:
        raise no_level(name, kernel, t, index, f"raised {error!r}") from error
    number: Any = None if isinstance(level, np.ndarray) else to_python_scalar(level)
    if not is_real(number) or math.isnan(number):
        shown = repr(level) if len(repr(level)) <= LONG else type(level).__name__
        raise no_level(name, kernel, t, index, f"returned {shown}")


def check_compared(stopping: Stopping, stops: Ints) -> None:
    """A sentence, if a threshold was no number in a run (`round.settle`)."""
    for index in np.flatnonzero(stops <= NAN_THRESHOLD):
        t = NAN_THRESHOLD - int(stops[index])
        raise no_level(stopping.name, stopping.threshold, t, int(index), "returned nan")


def no_level(name: str, kernel: Any, t: int, index: int, did: str) -> InputError:
    """With a level that is no number nothing can be compared."""
    return InputError(
        "level-not-a-number",
        "threshold = {name}: {kernel}.critical_value(t={t}, index={index}) {did}, but a threshold "
        "is one number for every t from 0 on",
        remedy="look at that call: a logarithm takes max(t, 1), and what is an array of all deltas "
        "is asked for its element [index]",
        name=name,
        kernel=type(kernel).__name__,
        t=t,
        index=index,
        did=did,
    )


def _in_its_place(problem: ProblemKernel, threshold: Any, stats: Statistics) -> ProblemKernel:
    """A judge of one's own looks for itself."""
    return problem._replace(stopping=threshold)


def stated(asked: StoppingBase) -> Validity:
    """What the author of a stopping rule says about it."""
    said: Any = asked.validity
    if not isinstance(said, str):
        raise invalid_argument(
            f"{type(asked).__name__}.validity",
            said,
            "a text: what its author states about its errors, or nothing",
        )
    if not said.strip():
        text = "{name} says nothing about its errors (`validity`)"
        return Validity(False, Message("not-stated", text, name=type(asked).__name__))
    reason = Message("user-states", "{stated}", stated=said.strip().removesuffix("."))
    return Validity(False, reason, user_stated=True)
