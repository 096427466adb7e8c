r"""The CombGame rule with AdaHedge over all actions in product form.

There is no table of actions, no support and no enumeration: lines 5 to 9 of Algorithm 1 work on
arms alone. Line 6, C-tracking, is one oracle call: with the lag :math:`L = \sum_{s \le t} \tilde
w_s - \tilde N_{t-1}`, the action is :math:`\arg\max_A \langle 1_A, L \rangle`. Since :math:`\langle
1_A, L \rangle \ge \langle \tilde w_t, L \rangle`, the squared lag :math:`\|L - 1_A\|^2` grows by at
most :math:`K - \|\tilde w_t\|^2` in a round: :math:`\tilde N` stays within :math:`\sqrt{K t}` of
:math:`\sum_s \tilde w_s` in t rounds (in practice, within a few plays).
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..engine.kernels import FixedSizeDefaults, kernel
from ..engine.protocols import ExplorationBonus, ProblemKernel
from ..engine.state import Floats, Random, RoundState, vector
from ..engine.statistics import Statistics
from ..learners.product_hedge import ProductHedgeKernel, product_hedge
from ..stopping.base import ProblemLike
from ._exploration import padded, start_sets
from .base import FixedBoundRule, RuleBase
from .bonuses import make_bonus
from .combgame import optimism


@kernel(FixedSizeDefaults)
class ProductAdaHedgeKernel(NamedTuple):
    """Kernel of `ProductAdaHedge`."""

    learner: ProductHedgeKernel
    bonus: ExplorationBonus
    arms: Floats  # w~_t
    owed: Floats  # sum_s w~_s
    lag: Floats  # scratch
    visible: Floats  # 1 for arms that some action observes
    reward: Floats  # r_t

    def choose(
        self, problem: ProblemKernel, stats: Statistics, state: RoundState, rng: Random
    ) -> None:
        """Play lines 5 to 9 of Algorithm 1."""
        self.learner.weigh(self.arms)  # line 5: w~_t
        for a in range(self.lag.size):
            self.owed[a] += self.arms[a]
            self.lag[a] = self.owed[a] - stats.counts[a]
        problem.actions.argmax(self.lag, state.action)  # line 6: A_t
        # line 7: lambda_t
        problem.answers.nearest_alternative(
            problem.rewards,
            stats.mean,
            self.arms,
            state.leader,
            state.rival,
            state.alternative_means,
        )
        f = self.bonus.bonus_at(stats.n_rounds[0])
        # line 8: r_t
        optimism(problem.rewards, stats, state.alternative_means, f, self.visible, self.reward)
        self.learner.learn(problem.actions, self.arms, self.reward)  # line 9


@dataclass(frozen=True, eq=False, repr=False)
class ProductAdaHedge(RuleBase):
    """AdaHedge over all actions, exactly, without enumerating them.

    The initial design is a covering.

    Parameters
    ----------
    bonus : {"stylised", "theory"} or ExplorationBonus, default="stylised"
        The exploration bonus; see `CombGame`.

    Examples
    --------
    >>> import combgame as cg
    >>> actions = cg.Subsets(40, 20)  # 137,846,528,820 of them
    >>> problem = cg.Problem(actions, cg.Arms(40), cg.Gaussian(0.1))
    >>> means = [0.5, *[0.2] * 39]
    >>> how = {"runs": 2, "threshold": "stylised", "engine": "python"}
    >>> cg.simulate(problem, means, rule=ProductAdaHedge(), **how).answers
    [(0,), (0,)]
    """

    symmetric: ClassVar[bool] = True
    bonus: str | ExplorationBonus = "stylised"

    def __post_init__(self) -> None:
        super().__post_init__()
        make_bonus(self.bonus)

    def bind(self, problem: ProblemLike) -> FixedBoundRule:
        """Return the rule bound to a problem."""
        actions, d = problem.actions, problem.actions.d
        learner, sets = product_hedge(actions), start_sets("covering", actions, None)
        # N~ = sum w~ after the initial design
        owed = np.bincount([a for chosen in sets for a in chosen], minlength=d).astype(float)
        kernel = ProductAdaHedgeKernel(
            learner,
            make_bonus(self.bonus),
            np.zeros(d),
            owed,
            np.zeros(d),
            vector(actions.observable_arms(), d),
            np.zeros(d),
        )
        return FixedBoundRule(kernel, padded(sets))
