"""The base class of learners, what a learner is given when it is made, and the doubling trick.

The geometric doubling trick makes an anytime learner from one that needs the horizon [1]_: epoch i
ends at round floor(T0 b^i), and the learner starts afresh with the epoch's own length as its
horizon.

References
----------
.. [1] Besson and Kaufmann. *What Doubling Tricks Can and Can't Do for Multi-Armed Bandits*. 2018.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .._values import Description
from ..engine.protocols import Learner
from ..engine.state import Floats, Ints, Random
from ..errors import invalid_argument, is_real
from ..structures import PolytopeGeometry, StructureBase


class LearnerContext(NamedTuple):
    r"""The start of a learner, and its capacity.

    Attributes
    ----------
    actions : StructureBase
        The actions.
    initial_actions : int64[n_0]
        Table numbers of the actions of the initial design; w_{n_0} is uniform over them.
    initial_marginals : float64[d]
        :math:`\tilde w_{n_0} = W_A w_{n_0}`.
    n_actions : int
        Number of actions in the table; all of them if the learner enumerates actions.
    n_learners : int
        Number of rows of state: one, or one for each candidate answer.
    capacity : int
        Largest size of the support.
    """

    actions: StructureBase
    initial_actions: Ints
    initial_marginals: Floats
    n_actions: int
    n_learners: int
    capacity: int


class RegretStatistics(NamedTuple):
    r"""Statistics of t rounds of a learner, on which the bounds on its regret depend.

    Attributes
    ----------
    t : float
        Number of rounds.
    arms : int
        Number of arms.
    actions : float
        Number of actions, :math:`|\mathcal A|`.
    geometry : PolytopeGeometry
        Geometry of the polytope of the actions.
    max_norm : float
        :math:`\max_s \|r_s\|_2`.
    max_range : float
        :math:`\max_s b_s`, where
        :math:`b_s = \max_A \langle 1_A, r_s \rangle - \min_A \langle 1_A, r_s \rangle`.
    sum_squared_range : float
        :math:`\sum_s b_s^2`.
    best_loss : float
        :math:`L^*_t = \min_A \sum_s (\max_B \langle 1_B, r_s \rangle - \langle 1_A, r_s \rangle) /
        b_s`.
    """

    t: float
    arms: int
    actions: float
    geometry: PolytopeGeometry
    max_norm: float
    max_range: float
    sum_squared_range: float
    best_loss: float


@dataclass(frozen=True, eq=False, repr=False)
class LearnerBase(Description):
    """Base class of learners. Its method `kernel` makes what learns.

    Attributes
    ----------
    symmetric : bool
        True if the learner treats arms as exchangeable labels, so that every run may permute them.
    enumerates_actions : bool
        True if the learner holds a weight for every action, so that the actions are enumerated.
    writes_all_weights : bool
        True if `Learner.act` writes the weight of every action, in the order of their numbers, and
        the marginals.
    initialization : str
        The initial design that the paper gives the learner.
    """

    symmetric: ClassVar[bool] = False
    enumerates_actions: ClassVar[bool] = False
    writes_all_weights: ClassVar[bool] = False
    initialization: ClassVar[str] = "covering"

    def kernel(self, context: LearnerContext) -> Learner:
        """Return the kernel, which runs interpreted or compiled.

        Parameters
        ----------
        context : LearnerContext
            The start of the learner, and its capacity.

        Returns
        -------
        Learner
            A fresh kernel, in the state before the first round.
        """
        raise NotImplementedError

    def reset(self, kernel: Any, rng: Random) -> None:
        """Draw the random part of a kernel's state when a run begins.

        Parameters
        ----------
        kernel : Learner
            The kernel, as `kernel` made it.
        rng : numpy.random.Generator
            The run's generator.
        """

    def initial_capacity(self, d: int, home: int) -> int:
        """Return the size of the support for which to make room at first.

        Parameters
        ----------
        d : int
            Number of arms.
        home : int
            Number of actions of the initial design.

        Returns
        -------
        int
            The capacity.
        """
        return home + 1

    def max_new_actions(self) -> int:
        """Return the number of new actions that one `Learner.update` may enter into the table.

        Returns
        -------
        int
            The number.
        """
        return 1

    def regret_bound(self, record: RegretStatistics) -> float:
        """Return an upper bound on the regret: the paper's, where it has one.

        Parameters
        ----------
        record : RegretStatistics
            Statistics of the rounds.

        Returns
        -------
        float
            The bound; NaN if there is none.
        """
        return math.nan


FIRST, RATIO = 200.0, (3.0 + math.sqrt(5.0)) / 2.0  # T0 and b of the paper


class Doubling(NamedTuple):
    """The epochs of the doubling trick, one row for each learner.

    Attributes
    ----------
    ratio : float
        b, the factor between epochs.
    left : float64[learners]
        Number of rounds left in the epoch.
    horizon : float64[learners]
        T, the length of the epoch.
    edge : float64[learners]
        T0 b^i, where the epoch ends.
    """

    ratio: float
    left: Floats
    horizon: Floats
    edge: Floats

    def step(self, learner: int) -> bool:
        """Count a round; return whether it was the last of its epoch.

        If so, the learner must start afresh.
        """
        self.left[learner] -= 1.0
        if self.left[learner] > 0.0:
            return False
        ended = math.floor(self.edge[learner])
        self.edge[learner] *= self.ratio
        self.horizon[learner] = math.floor(self.edge[learner]) - ended
        self.left[learner] = self.horizon[learner]
        return True


def check_doubling(first: float, ratio: float) -> None:
    """Raise an error unless the first epoch and the ratio are valid."""
    if not is_real(first) or not 1 <= first < math.inf:
        raise invalid_argument(
            "initial_horizon", first, "a finite number of at least 1 round", of="doubling"
        )
    if not is_real(ratio) or not 1 < ratio < math.inf:
        raise invalid_argument("horizon_factor", ratio, "a finite number above 1", of="doubling")


def make_doubling(n_learners: int, first: float, ratio: float) -> Doubling:
    """Return the epochs of `n_learners` learners at their beginning."""
    length = np.full(n_learners, float(math.floor(first)))
    return Doubling(ratio, length, length.copy(), np.full(n_learners, float(first)))
