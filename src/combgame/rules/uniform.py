"""The baseline: after a covering, every round a random action, uniformly over the structure."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from ..engine.protocols import FixedSizeDefaults, Game, kernel
from ..engine.state import Ints, Random, View
from ..engine.statistics import Seen
from ..stopping.base import Question
from ._exploration import check_start, in_order, padded, start_sets
from .base import RuleBase


@kernel(FixedSizeDefaults)
class UniformPart(NamedTuple):
    d: int

    def choose(self, game: Game, seen: Seen, view: View, rng: Random) -> None:
        game.actions.sample(rng, view.action)


class UniformSetup(NamedTuple):
    start: str
    problem: Question

    def fresh(self, rng: Random) -> tuple[UniformPart, Ints]:
        rows = padded(start_sets(self.start, self.problem.actions, rng))
        return UniformPart(self.problem.actions.d), in_order(self.start, rows, rng)

    def enlarge(self, rule: UniformPart) -> UniformPart:
        return rule

    def figures(self, rule: UniformPart) -> dict[str, int]:
        return {}


@dataclass(frozen=True, eq=False, repr=False)
class Uniform(RuleBase):
    """Uniform sampling, after a start ("covering", "full" or "random-covering")."""

    impartial: ClassVar[bool] = True
    start: str = "covering"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_start("Uniform", self.start)

    def setup(self, problem: Question) -> UniformSetup:
        return UniformSetup(self.start, problem)
