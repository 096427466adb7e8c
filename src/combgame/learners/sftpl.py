"""SFTPL, sampled follow-the-perturbed-leader (Hazan and Minasyan 2020, *Faster projection-free
online learning*): the learner of the paper's outlook.

w_{t+1} is uniform over `n_samples` perturbed leaders argmax_A <1_A, sum_{s<=t} r_s + rho_t v_j>. The
v_j are independent and uniform in the unit ball of R^d (a Gaussian direction, a radius u^{1/d}),
drawn anew in every round; rho_t = max_s ||r_s|| sqrt(d t), which balances the two terms of the
regret of perturbed leaders on linear rewards. Anytime; no geometry of the polytope is needed, and
the support is at most `n_samples`. Hazan and Minasyan let their number grow like t^{1/3} and play in
blocks; here it is fixed, which leaves a regret of order t / sqrt(samples) from the sampling.

A learner has no part in the run's random stream, so that it draws from a generator of its own
(Wichmann and Hill 1982). Its state is drawn from the run's generator when the run begins, so that
runs are independent.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..engine.action_table import ActionTable, SparseWeights
from ..engine.protocols import FixedSizeDefaults, LinearOracle, kernel
from ..engine.state import Floats, Ints, Random
from ..errors import check_int
from .base import LearnerBase, LearnerContext

MODULI = (30269, 30307, 30323)  # of the generator: a state is 1 to that, less 1


@kernel(FixedSizeDefaults)
class SFTPLKernel(NamedTuple):
    n_samples: int
    total: Floats  # float64[seats, d]: sum_s r_s
    clock: Floats  # float64[seats, 2]: t and max ||r_s||
    ids: Ints  # int64[seats, room]: the actions of w_t, and their weights
    shares: Floats  # float64[seats, room]
    used: Ints  # int64[seats]
    stream: Ints  # int64[3]: the state of the generator
    score: Floats  # scratch
    vertex: Floats

    def act(self, learner: int, weights: SparseWeights) -> None:
        for i in range(self.used[learner]):
            weights.ids[i] = self.ids[learner, i]
            weights.values[i] = self.shares[learner, i]
        weights.size[0] = self.used[learner]

    def update(
        self,
        learner: int,
        weights: SparseWeights,
        table: ActionTable,
        actions: LinearOracle,
        reward: Floats,
    ) -> None:
        total, d, norm = self.total[learner], reward.size, 0.0
        for a in range(d):
            total[a] += reward[a]
            norm += reward[a] * reward[a]
        self.clock[learner, 0] += 1.0
        self.clock[learner, 1] = max(self.clock[learner, 1], math.sqrt(norm))
        reach = self.clock[learner, 1] * math.sqrt(d * self.clock[learner, 0])  # rho_t
        self.used[learner] = 0
        for _ in range(self.n_samples):
            length = self.normals(self.score)
            scale = reach * self.uniform() ** (1.0 / d) / math.sqrt(length)
            for a in range(d):
                self.score[a] = total[a] + scale * self.score[a]
            actions.argmax(self.score, self.vertex)
            self.add(learner, table.lookup(self.vertex))

    def add(self, learner: int, number: int) -> None:
        """One sample more of an action."""
        for i in range(self.used[learner]):
            if self.ids[learner, i] == number:
                self.shares[learner, i] += 1.0 / self.n_samples
                return
        self.ids[learner, self.used[learner]] = number
        self.shares[learner, self.used[learner]] = 1.0 / self.n_samples
        self.used[learner] += 1

    def uniform(self) -> float:
        """In (0, 1)."""
        self.stream[0] = 171 * self.stream[0] % 30269  # MODULI
        self.stream[1] = 172 * self.stream[1] % 30307
        self.stream[2] = 170 * self.stream[2] % 30323
        x = self.stream[0] / 30269.0 + self.stream[1] / 30307.0 + self.stream[2] / 30323.0
        return float(max(x - math.floor(x), 1e-12))

    def normals(self, out: Floats) -> float:
        """Independent ones, in pairs (Box and Muller); returns the sum of their squares."""
        length, last = 0.0, out.size - 1
        for a in range(0, out.size, 2):
            radius = math.sqrt(-2.0 * math.log(self.uniform()))
            angle = 2.0 * math.pi * self.uniform()
            out[a] = radius * math.cos(angle)
            length += out[a] * out[a]
            if a < last:
                out[a + 1] = radius * math.sin(angle)
                length += out[a + 1] * out[a + 1]
        return length


@dataclass(frozen=True, eq=False, repr=False)
class SFTPL(LearnerBase):
    """Sampled follow-the-perturbed-leader, with so many samples a round; anytime.

    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1))
    >>> rule = cg.CombGame(cg.SFTPL(n_samples=5))
    >>> cg.simulate(problem, [0.5, 0.3, 0.2, 0.1], rule=rule, runs=2, engine="python").answers
    [(0,), (0,)]
    """

    symmetric: ClassVar[bool] = True
    n_samples: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        samples = check_int("n_samples", self.n_samples, 1, of="SFTPL", most=10_000)
        object.__setattr__(self, "n_samples", samples)

    def reset(self, kernel: SFTPLKernel, rng: Random) -> None:
        for i, most in enumerate(MODULI):
            kernel.stream[i] = 1 + int((most - 1) * rng.random())

    def max_new_actions(self) -> int:
        return self.n_samples

    def initial_capacity(self, d: int, home: int) -> int:
        return max(self.n_samples, home) + 1

    def kernel(self, context: LearnerContext) -> SFTPLKernel:
        d, seats, home = context.initial_marginals.size, context.n_learners, context.initial_actions
        kernel = SFTPLKernel(
            self.n_samples,
            np.zeros((seats, d)),
            np.zeros((seats, 2)),
            np.zeros((seats, context.capacity), np.int64),
            np.zeros((seats, context.capacity)),
            np.full(seats, home.size, np.int64),
            np.array([1, 2, 3], np.int64),
            np.zeros(d),
            np.zeros(d),
        )
        kernel.ids[:, : home.size], kernel.shares[:, : home.size] = home, 1.0 / home.size
        return kernel
