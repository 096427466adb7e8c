r"""SFTPL, sampled follow-the-perturbed-leader: the learner of the paper's outlook.

:math:`w_{t+1}` is uniform over `n_samples` perturbed leaders
:math:`\arg\max_A \langle 1_A, \sum_{s \le t} r_s + \rho_t v_j \rangle`. The :math:`v_j` are
independent and uniform in the unit ball of :math:`\mathbb R^d` (a Gaussian direction, a radius
:math:`u^{1/d}`), drawn anew in every round; :math:`\rho_t = \max_s \|r_s\| \sqrt{d t}` balances the
two terms of the regret of perturbed leaders on linear rewards. The learner is anytime, needs no
geometry of the polytope, and has a support of at most `n_samples` actions. Hazan and Minasyan let
the number of samples grow like :math:`t^{1/3}` and play in blocks; here it is fixed, which leaves a
regret of order :math:`t / \sqrt{n\_samples}` from the sampling.

The verbs of a learner get no generator, so SFTPL has one of its own (Wichmann and Hill 1982). Its
state is drawn from the run's generator when the run begins, so that runs are independent.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..engine.action_table import ActionTable, SparseWeights
from ..engine.kernels import FixedSizeDefaults, kernel
from ..engine.protocols import LinearOracle
from ..engine.state import Floats, Ints, Random
from ..errors import check_int
from .base import LearnerBase, LearnerContext

MODULI = (30269, 30307, 30323)  # of the generator: each part of its state is in 1, ..., modulus - 1


@kernel(FixedSizeDefaults)
class SFTPLKernel(NamedTuple):
    """Kernel of `SFTPL`."""

    n_samples: int
    total: Floats  # float64[learners, d]: sum_s r_s
    clock: Floats  # float64[learners, 2]: t and max ||r_s||
    ids: Ints  # int64[learners, capacity]: the actions of w_t
    shares: Floats  # float64[learners, capacity]: their weights
    used: Ints  # int64[learners]: number of these actions
    stream: Ints  # int64[3]: the state of the generator
    score: Floats  # scratch
    vertex: Floats

    def act(self, learner: int, weights: SparseWeights) -> None:
        """Write w_t."""
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
        """Draw the perturbed leaders of the next round."""
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
        """Add a sample of an action."""
        for i in range(self.used[learner]):
            if self.ids[learner, i] == number:
                self.shares[learner, i] += 1.0 / self.n_samples
                return
        self.ids[learner, self.used[learner]] = number
        self.shares[learner, self.used[learner]] = 1.0 / self.n_samples
        self.used[learner] += 1

    def uniform(self) -> float:
        """Return a uniform number in (0, 1)."""
        self.stream[0] = 171 * self.stream[0] % 30269  # MODULI
        self.stream[1] = 172 * self.stream[1] % 30307
        self.stream[2] = 170 * self.stream[2] % 30323
        x = self.stream[0] / 30269.0 + self.stream[1] / 30307.0 + self.stream[2] / 30323.0
        return float(max(x - math.floor(x), 1e-12))

    def normals(self, out: Floats) -> float:
        """Write independent standard normal numbers, and return the sum of their squares.

        They are made in pairs (Box and Muller).
        """
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
    """Sampled follow-the-perturbed-leader [1]_; anytime.

    Parameters
    ----------
    n_samples : int, default=10
        Number of perturbed leaders in each round.

    References
    ----------
    .. [1] Hazan and Minasyan. *Faster Projection-free Online Learning*. COLT 2020.

    Examples
    --------
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
        """Draw the state of the learner's generator."""
        for i, most in enumerate(MODULI):
            kernel.stream[i] = 1 + int((most - 1) * rng.random())

    def max_new_actions(self) -> int:
        """Return the number of samples."""
        return self.n_samples

    def initial_capacity(self, d: int, home: int) -> int:
        """Return the largest size of the support."""
        return max(self.n_samples, home) + 1

    def kernel(self, context: LearnerContext) -> SFTPLKernel:
        """Return the kernel of the learner."""
        d, n_learners, home = (
            context.initial_marginals.size,
            context.n_learners,
            context.initial_actions,
        )
        kernel = SFTPLKernel(
            self.n_samples,
            np.zeros((n_learners, d)),
            np.zeros((n_learners, 2)),
            np.zeros((n_learners, context.capacity), np.int64),
            np.zeros((n_learners, context.capacity)),
            np.full(n_learners, home.size, np.int64),
            np.array([1, 2, 3], np.int64),
            np.zeros(d),
            np.zeros(d),
        )
        kernel.ids[:, : home.size], kernel.shares[:, : home.size] = home, 1.0 / home.size
        return kernel
