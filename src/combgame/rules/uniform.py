"""The baseline: after the initial design, a uniformly random action in every round."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from ..engine.kernels import FixedSizeDefaults, kernel
from ..engine.protocols import ProblemKernel
from ..engine.state import Ints, Random, RoundState
from ..engine.statistics import Statistics
from ..stopping.base import ProblemLike
from ._exploration import check_start, in_order, padded, start_sets
from .base import RuleBase


@kernel(FixedSizeDefaults)
class UniformKernel(NamedTuple):
    """Kernel of `Uniform`."""

    d: int

    def choose(
        self, problem: ProblemKernel, stats: Statistics, state: RoundState, rng: Random
    ) -> None:
        """Draw an action."""
        problem.actions.sample(rng, state.action)


class BoundUniform(NamedTuple):
    """`Uniform` bound to a problem."""

    start: str
    problem: ProblemLike

    def start_run(self, rng: Random) -> tuple[UniformKernel, Ints]:
        """Return the kernel, and the initial design."""
        rows = padded(start_sets(self.start, self.problem.actions, rng))
        return UniformKernel(self.problem.actions.d), in_order(self.start, rows, rng)

    def resize(self, rule: UniformKernel) -> UniformKernel:
        """Return the kernel itself."""
        return rule

    def diagnostics(self, rule: UniformKernel) -> dict[str, int]:
        """Return no figures."""
        return {}


@dataclass(frozen=True, eq=False, repr=False)
class Uniform(RuleBase):
    """Uniform sampling after an initial design.

    Parameters
    ----------
    start : {"covering", "full", "random-covering"}, default="covering"
        The initial design; see `CombGame`.

    Examples
    --------
    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Arms(4), None, cg.Gaussian(0.1))
    >>> cg.simulate(problem, [0.5, 0.3, 0.2, 0.1], rule=Uniform(), runs=2, engine="python").answers
    [(0,), (0,)]
    """

    symmetric: ClassVar[bool] = True
    start: str = "covering"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_start("Uniform", self.start)

    def bind(self, problem: ProblemLike) -> BoundUniform:
        """Return the rule bound to a problem."""
        return BoundUniform(self.start, problem)
