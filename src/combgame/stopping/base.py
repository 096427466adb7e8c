"""What a stopping rule is, and what it may claim."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from ..errors import InputError
from ..game.judge import NEVER as NOTHING
from ..game.judge import ratio
from ..game.parts import copied
from ..game.protocols import Game, Threshold
from ..game.records import Seen
from ..rewards.base import License, RewardsBase, licensed
from ..structures import Oracle, StructureBase


class Question(Protocol):
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
    reason: str
    provided: str = ""  # what the proof takes for granted of a user's part

    @property
    def label(self) -> str:
        """In a word or two."""
        if not self.proved:
            return "heuristic"
        return f"proved if {self.provided}" if self.provided else "proved"

    def __str__(self) -> str:
        return f"{self.label}: {self.reason}"


class Stopping(NamedTuple):
    """When a run stops: its evidence passes the threshold."""

    name: str
    threshold: Threshold
    watch: (
        Callable[[Game, Threshold, Seen], Game] | None
    )  # gives the game a judge of its own; None: the likelihood ratio
    validity: Validity
    # the evidence is the generalised likelihood ratio, so that t = beta(t, delta) / D_nu is its
    # limit
    likelihood: bool = True
    constant: bool = False  # the threshold does not depend on t, nor on the actions
    epsilon: float = 0.0  # an answer that is worse than the best by no more counts as correct

    def on(self, game: Game, seen: Seen) -> Game:
        """The game with this stopping rule as its judge, at its beginning."""
        threshold = copied(self.threshold)
        if self.watch is None:
            return game._replace(judge=ratio(threshold, seen.counts.size))
        return self.watch(game, threshold, seen)


def earned(what: str, theorems: Mapping[License, str], rewards: RewardsBase) -> Validity:
    """The validity of a stopping rule: proved where the rewards have a licence that a theorem
    needs, and heuristic otherwise.

    theorems: what each licence proves, the best first.
    """
    held, kind = licensed(rewards), type(rewards).__name__
    for licence, reason in theorems.items():
        if licence in held:
            return Validity(True, reason)
    if not held:
        return Validity(
            False,
            f"no theorem covers {kind}, a class that does not say what is known of its values "
            "(`licenses`)",
        )
    return Validity(False, f"{what} needs {' or '.join(theorems)}, which {kind} does not have")


def ours(part: object) -> bool:
    """Whether a class is this package's, and tested; one derived from it may do anything."""
    return type(part).__module__.partition(".")[0] == "combgame"


def labelled(stopping: Stopping, problem: Question) -> Validity:
    """The validity of a stopping rule on a problem whose parts may be a user's: proved if what they
    say of themselves is right.
    """
    valid = stopping.validity
    if not valid.proved:
        return valid
    said, whose = "", ""
    verb = "argmax" if isinstance(problem.answers, Oracle) else "nearest"
    if not ours(problem.answers) or verb == "argmax":
        own = (
            verb == "nearest" and type(problem.answers).exchange is not StructureBase.exchange
        )  # which answers are compared
        said, whose = (
            "its nearest and its exchange are right" if own else f"its {verb} is right",
            type(problem.answers).__name__,
        )
    elif not stopping.constant and (
        not ours(problem.actions) or isinstance(problem.actions, Oracle)
    ):
        said = (
            "its argmax is right" if isinstance(problem.actions, Oracle) else "its largest is right"
        )
        whose = type(problem.actions).__name__
    elif not ours(problem.rewards):
        said, whose = "its licenses and its divergence are right", type(problem.rewards).__name__
    if not said:
        return valid
    tried = (
        ""
        if whose == type(problem.rewards).__name__
        else " (combgame.testing.check_structure tries it)"
    )
    return valid._replace(
        provided=said,
        reason=f"{valid.reason}; what {whose} says of itself is taken as it is{tried}",
    )


def single(why: str, deltas: Sequence[float]) -> None:
    if len(deltas) > 1:
        raise InputError(f"{why}; got {list(deltas)}.")


NEVER = Stopping(
    "never", NOTHING, None, Validity(False, "a run that does not stop, for tests and timings")
)
