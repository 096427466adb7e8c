"""What a stopping rule is, and what it may claim."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from ..game.judge import NEVER as NOTHING
from ..game.judge import ratio
from ..game.parts import copied
from ..game.protocols import Game, Threshold
from ..game.records import Seen
from ..rewards.base import License, RewardsBase, licensed
from ..sentences import Sentence
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
    reason: Sentence  # its code names the theorem, or what is missing
    provided: str = ""  # what the proof takes for granted of a user's part

    @property
    def label(self) -> str:
        """In a word or two."""
        if not self.proved:
            return "heuristic"
        return f"proved if {self.provided}" if self.provided else "proved"

    def __str__(self) -> str:
        return f"{self.label}: {self.reason.said().removesuffix('.')}"


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


def also(valid: Validity, text: str, **arguments: Any) -> Validity:
    """The same validity, for the same reason, of which more is to be said."""
    why = valid.reason
    more = Sentence(why.code, f"{why.text}; {text}", **why.arguments, **arguments)
    return valid._replace(reason=more)


def earned(what: str, theorems: Mapping[License, Sentence], rewards: RewardsBase) -> Validity:
    """The validity of a stopping rule: proved where the rewards have a licence that a theorem
    needs, and heuristic otherwise.

    theorems: what each licence proves, the best first.
    """
    held, kind = licensed(rewards), type(rewards).__name__
    for licence, reason in theorems.items():
        if licence in held:
            return Validity(True, reason)
    if not held:
        why = Sentence(
            "no-licence",
            "no theorem covers {rewards}, a class that does not say what is known of its values "
            "(`licenses`)",
            rewards=kind,
        )
        return Validity(False, why)
    why = Sentence(
        "licence-missing",
        "{what} needs {needs:or}, which {rewards} does not have",
        what=what,
        needs=list(theorems),
        rewards=kind,
    )
    return Validity(False, why)


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
    taken = "what {whose} says of itself is taken as it is"
    if whose != type(problem.rewards).__name__:
        taken += " (combgame.testing.check_structure tries it)"
    return also(valid, taken, whose=whose)._replace(provided=said)


NEVER = Stopping(
    "never",
    NOTHING,
    None,
    Validity(False, Sentence("never-stops", "a run that does not stop, for tests and timings")),
)
