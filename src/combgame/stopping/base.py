"""Stopping rules, what their validity rests on, and the base class for a user's own rules."""

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

STATED = "stated by the user"  # label of a validity that is not checked


class ProblemLike(Protocol):
    """The attributes of a problem on which a threshold depends."""

    @property
    def actions(self) -> StructureBase:
        """The sets of arms that can be played."""

    @property
    def answers(self) -> StructureBase:
        """The sets of arms among which the best one is sought."""

    @property
    def rewards(self) -> RewardsBase:
        """The model of the measurements."""


class Validity(NamedTuple):
    """Whether stopping at a threshold keeps the error probability below delta, and why.

    Attributes
    ----------
    proved : bool
        Whether a theorem bounds the error probability.
    reason : Message
        The theorem, or what is missing; its code identifies the reason.
    conditions : tuple of Message
        What the proof assumes of classes that are not this package's. The arguments of each message
        are the component of the problem, its class and the methods on which the proof relies.
    user_stated : bool
        Whether the author of a user's stopping rule states the validity, which is not checked.
    """

    proved: bool
    reason: Message
    conditions: tuple[Message, ...] = ()
    user_stated: bool = False

    @property
    def label(self) -> str:
        """The validity in a few words: proved, proved under conditions, heuristic or stated."""
        if not self.proved:
            return STATED if self.user_stated else "heuristic"
        if not self.conditions:
            return "proved"
        return "proved if " + " and ".join(one.render_inline(PYTHON) for one in self.conditions)

    def __str__(self) -> str:
        return f"{self.label}: {self.reason.render().removesuffix('.')}"


class ProofRequirements(NamedTuple):
    """The methods on which a proof relies, by component of the problem.

    The first method of a structure always counts; the others count if they are not this package's.
    """

    answers: tuple[str, ...] = ("nearest_alternative", "n_sets_bound", "max_difference_bound")
    actions: tuple[str, ...] = ("max_size",)
    rewards: tuple[str, ...] = ("assumptions", "divergence")


# The methods of a reward kernel, besides the divergence, that transportation costs depend on.
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
    """A stopping rule: a run stops when its evidence exceeds the threshold.

    Attributes
    ----------
    name : str
        Name of the rule.
    threshold : Threshold
        The threshold, a function of the round and delta.
    make_kernel : callable, optional
        Returns the problem kernel with a stopping kernel of its own; None for the likelihood ratio.
    validity : Validity
        Whether the rule is proved.
    likelihood : bool
        Whether the evidence is the generalised likelihood ratio, so that the oracle stopping time
        is t = beta(t, delta) / D_nu.
    rests : ProofRequirements
        The methods on which the proof relies.
    epsilon : float
        An answer that is worse than the best by at most this much counts as correct.
    own : StoppingBase, optional
        The user's description, if the rule has one instead of a name.
    """

    name: str
    threshold: Threshold
    make_kernel: Callable[[ProblemKernel, Threshold, Statistics], ProblemKernel] | None
    validity: Validity
    likelihood: bool = True
    rests: ProofRequirements = ProofRequirements()
    epsilon: float = 0.0
    own: Any = None

    @property
    def asked(self) -> Any:
        """The value of the argument `threshold` that gives this rule."""
        return self.name if self.own is None else self.own

    def on(self, problem: ProblemKernel, stats: Statistics) -> ProblemKernel:
        """Return the problem kernel with this stopping rule, in its initial state."""
        threshold = deep_copy(self.threshold)
        if self.make_kernel is None:
            return problem._replace(stopping=ratio(threshold, stats.counts.size))
        return self.make_kernel(problem, threshold, stats)


class ConstantPenalty(NamedTuple):
    """A threshold that does not depend on t, such as ln(M / delta)."""

    constant: Floats

    def critical_value(self, t: int, index: int) -> float:
        """Return the constant of a delta."""
        return float(self.constant[index])


def log_union(problem: ProblemLike, epsilon: float = 0.0) -> float:
    """Return ln M, where M is an integer that may be too large for a float."""
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
    """Return the same validity with a text appended to its reason."""
    why = valid.reason
    more = Message(why.code, f"{why.text}; {text}", **why.arguments, **arguments)
    return valid._replace(reason=more)


def validity_from_assumptions(
    what: str, theorems: Mapping[Assumption, Message], rewards: RewardsBase
) -> Validity:
    """Return the validity of a stopping rule: proved if the rewards meet a theorem's assumption.

    `theorems` maps assumptions to what is proved under them, the best theorem first.
    """
    held, kind = valid_assumptions(rewards), type(rewards).__name__
    for assumption, reason in theorems.items():
        if assumption in held:
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
    """Return whether the class of an object is defined in this package, and so tested.

    A derived class may change anything.
    """
    return type(kernel).__module__.partition(".")[0] == "combgame"


LISTED = 5000  # largest number of sets that `combgame.testing.check_structure` lists
# The methods that the default of a method calls.
MADE_OF = {
    "neighbourhood": ("n_sets_bound", "max_difference_bound"),
    "n_sets_bound": ("n_sets",),
    "max_difference_bound": ("max_difference",),
}


def _foreign(kernel: object, verb: str) -> bool:
    """Return whether a method is defined outside this package."""
    module = getattr(getattr(kernel, verb, None), "__module__", None) or ""
    return module.partition(".")[0] != "combgame"


def _trusted(structure: StructureBase, verb: str) -> tuple[str, ...]:
    """Return the methods of a user's class on which a method depends: itself, or its parts."""
    if _foreign(structure, verb):
        return (verb,)
    if getattr(type(structure), verb) is getattr(StructureBase, verb):
        return tuple(one for of in MADE_OF.get(verb, ()) for one in _trusted(structure, of))
    return (verb,) if verb == "neighbourhood" else ()  # a subclass may have other sets


def _of_structure(structure: StructureBase, rests: tuple[str, ...]) -> tuple[str, ...]:
    """Return the methods of a structure that are a user's or call a user's function."""
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
    """Return the user's methods on which the proof relies, by component of the problem."""
    answers, actions, rewards = problem.answers, problem.actions, problem.rewards
    rests = stopping.rests
    if actions == answers:  # the same methods then serve both, and are named once
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
            except Exception:  # the run reports the error
                kernel = None
            taken["rewards"] += tuple(v for v in GEOMETRY if _foreign(kernel, v))
    return {component: verbs for component, verbs in taken.items() if verbs}


def with_conditions(stopping: Stopping, problem: ProblemLike) -> Validity:
    """Return the validity of a stopping rule on a problem with a user's classes.

    A proved rule is then proved on condition that the methods of these classes are right.
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
    kinds = {one: type(getattr(problem, one)).__name__ for one in taken}
    conditions = []
    for component, verbs in taken.items():
        given: dict[str, Any] = {"part": component, "whose": kinds[component], "verbs": list(verbs)}
        given["number"] = len(verbs) + verbs[0].endswith("s")  # a plural name takes a plural verb
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
    tried = list(dict.fromkeys(kind for one, kind in kinds.items() if one != "rewards"))
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


LONG = 60  # largest number of characters of a value in a message
TRIED = (0, 1, 2, 10)  # rounds at which a user's threshold is tested before anything is played


@dataclass(frozen=True, eq=False, repr=False)
class StoppingBase(Description):
    """Base class of a user's stopping rules, which can be passed as `threshold`.

    Attributes
    ----------
    validity : str
        What the author states about the error probability. Results print the text as *stated by the
        user*, or *heuristic* if it is empty; this package has proved nothing about the rule.

    See Also
    --------
    combgame.engine.protocols.Threshold : The method of a threshold.
    combgame.engine.protocols.StoppingKernel : The methods of a rule with its own evidence.
    """

    validity: ClassVar[str] = ""

    def kernel(self, problem: ProblemLike, deltas: Floats) -> "Threshold | StoppingKernel":
        """Return the threshold or the stopping kernel for a problem.

        Parameters
        ----------
        problem : ProblemLike
            Actions, answers and rewards.
        deltas : numpy.ndarray
            Error probabilities.

        Returns
        -------
        Threshold or StoppingKernel
            Either an object with the method ``critical_value(t, index)``, the threshold beta(t,
            deltas[index]) that the generalised likelihood ratio at the counts must exceed; or an
            object with all methods of `StoppingKernel`, for evidence of another kind.
        """
        raise InputError(
            "no-part",
            "{stopping} has no method kernel(problem, deltas), which makes its kernel",
            remedy="write one, as in docs/new-part.md",
            stopping=type(self).__name__,
        )


def own_stopping(asked: StoppingBase, problem: ProblemLike, deltas: Sequence[float]) -> Stopping:
    """Return the stopping rule that a user's object describes, with the validity its author states.

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
    own_evidence = callable(getattr(kernel, "evaluate", None))
    return Stopping(
        name,
        kernel,
        _install if own_evidence else None,
        stated(asked),
        likelihood=not own_evidence,
        own=asked,
    )


def check_level(name: str, kernel: Any, t: int, index: int) -> None:
    """Raise an `InputError` unless the threshold is one number after t rounds."""
    try:
        level = kernel.critical_value(t, index)
    except Exception as error:
        raise no_level(name, kernel, t, index, f"raised {error!r}") from error
    number: Any = None if isinstance(level, np.ndarray) else to_python_scalar(level)
    if not is_real(number) or math.isnan(number):
        shown = repr(level) if len(repr(level)) <= LONG else type(level).__name__
        raise no_level(name, kernel, t, index, f"returned {shown}")


def check_compared(stopping: Stopping, stops: Ints) -> None:
    """Raise an `InputError` if a threshold was NaN in a run (see `check_stopping`)."""
    for index in np.flatnonzero(stops <= NAN_THRESHOLD):
        t = NAN_THRESHOLD - int(stops[index])
        raise no_level(stopping.name, stopping.threshold, t, int(index), "returned nan")


def no_level(name: str, kernel: Any, t: int, index: int, did: str) -> InputError:
    """Return the error for a threshold that is not a number."""
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


def _install(problem: ProblemKernel, threshold: Any, stats: Statistics) -> ProblemKernel:
    """Install a user's stopping kernel."""
    return problem._replace(stopping=threshold)


def stated(asked: StoppingBase) -> Validity:
    """Return the validity that the author of a stopping rule states."""
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
