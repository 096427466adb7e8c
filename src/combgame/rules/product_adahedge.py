"""The CombGame rule with AdaHedge over all actions in product form: no catalogue, no support, no
enumeration.

Lines 5 to 9 of Algorithm 1 on arms alone. Line 6, C-tracking, is one oracle call: with the lag L =
sum_{s<=t} w~_s - N~_{t-1}, the action argmax_A <1_A, L>. Since <1_A, L> >= <w~_t, L>, the squared
lag ||L - 1_A||^2 grows by at most K - ||w~_t||^2 a round: N~ stays within sqrt(K t) of sum_s w~_s
in t rounds (in practice, within a few plays).
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..engine.protocols import Bonus, FixedSizeDefaults, Game, kernel
from ..engine.state import Floats, Random, View, vector
from ..engine.statistics import Seen
from ..learners.product_hedge import ProductHedgePart, product_hedge
from ..stopping.base import Question
from ._exploration import padded, start_sets
from .base import FixedSetup, RuleBase
from .bonuses import make_bonus
from .combgame import optimism


@kernel(FixedSizeDefaults)
class ProductAdaHedgePart(NamedTuple):
    learner: ProductHedgePart
    bonus: Bonus
    arms: Floats  # w~_t
    owed: Floats  # sum_s w~_s
    lag: Floats  # scratch
    visible: Floats  # 1 for arms that some action observes
    reward: Floats  # r_t

    def choose(self, game: Game, seen: Seen, view: View, rng: Random) -> None:
        self.learner.weigh(self.arms)  # line 5: w~_t
        for a in range(self.lag.size):
            self.owed[a] += self.arms[a]
            self.lag[a] = self.owed[a] - seen.counts[a]
        game.actions.argmax(self.lag, view.action)  # line 6: A_t
        game.answers.nearest(
            game.rewards, seen.mean, self.arms, view.best, view.rival, view.alternative
        )  # line 7: lambda_t
        f = self.bonus.explore(seen.clock[0])
        optimism(game.rewards, seen, view.alternative, f, self.visible, self.reward)  # line 8: r_t
        self.learner.learn(game.actions, self.arms, self.reward)  # line 9


@dataclass(frozen=True, eq=False, repr=False)
class ProductAdaHedge(RuleBase):
    """AdaHedge over all actions, exactly, without enumerating them; covering start. bonus:
    "stylised" (ln t) or "theory".

    >>> import combgame as cg
    >>> actions = cg.Subsets(40, 20)  # 137,846,528,820 of them
    >>> problem = cg.Problem(actions, cg.Arms(40), cg.Gaussian(0.1))
    >>> means = [0.5, *[0.2] * 39]
    >>> how = {"runs": 2, "threshold": "stylised", "engine": "python"}
    >>> cg.simulate(problem, means, rule=ProductAdaHedge(), **how).answers
    [(0,), (0,)]
    """

    impartial: ClassVar[bool] = True
    bonus: str | Bonus = "stylised"

    def __post_init__(self) -> None:
        super().__post_init__()
        make_bonus(self.bonus)

    def setup(self, problem: Question) -> FixedSetup:
        actions, d = problem.actions, problem.actions.d
        learner, sets = product_hedge(actions), start_sets("covering", actions, None)
        # N~ = sum w~ at the start
        owed = np.bincount([a for chosen in sets for a in chosen], minlength=d).astype(float)
        part = ProductAdaHedgePart(
            learner,
            make_bonus(self.bonus),
            np.zeros(d),
            owed,
            np.zeros(d),
            vector(actions.observable(), d),
            np.zeros(d),
        )
        return FixedSetup(part, padded(sets))
