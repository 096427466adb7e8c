"""Search for the nearest alternative with any linear oracle: a certified bracket.

For a multiplier alpha >= 0, g(J, alpha) = sum over J xor I of `RewardKernel.price` is a lower bound
of the distance f_J, and equal to it at the best alpha. Since it is a sum over the arms of J xor I,
the oracle finds the minimum of g over J (Lawler: J differs from I first at one of the arms). So the
maximum over alpha of the minimum over J is a lower bound of the nearest distance, and stopping uses
this bound. The nearest J met on the way gives an upper bound, and the answer of nature. Enumerating
J in the order of growing g until it passes the upper bound (Lawler's k best) closes the bracket, if
that is requested.
"""

import heapq
import itertools
import math

import numpy as np

from ...engine.likelihood_ratio import against
from ...engine.protocols import RewardKernel
from ...engine.state import Floats, Random, vector
from ...errors import OracleError
from ...rewards.base import WEIGHTLESS, shaved
from ..base import PolytopeGeometry, StructureBase, max_difference_estimate
from ..relabel import figure
from .paths import NEARLY


class BracketingKernel:
    """An interpreted kernel that calls an oracle.

    `last` is the multiplier of the last call, at which the next search begins.
    """

    def __init__(self, structure: StructureBase, exact: bool, limit: int = 20_000) -> None:
        self.structure, self.exact, self.limit = structure, exact, limit
        self.oracle, d = structure.kernel(), structure.d
        self.arms, self.sign, self.trial = np.zeros(d, np.int64), np.zeros(d), np.zeros(d)
        self.relevant = sorted(structure.relevant_arms())
        self.last = {True: 0.0, False: 0.0}
        self.lower = self.upper = 0.0

    def argmax(self, score: Floats, out: Floats) -> None:
        """Write the answer of the oracle."""
        self.oracle.argmax(score, out)

    def sample(self, rng: Random, out: Floats) -> None:
        """Draw a set with the oracle."""
        self.oracle.sample(rng, out)

    def solve(self, score: Floats, inside: Floats, outside: Floats) -> tuple[Floats, float] | None:
        """Return the best set with some arms forced in and some out, and a bound on its score.

        No such set has a score above the bound. The result is None if there is no such set.
        """
        native = getattr(self.structure, "solve_within", None)
        if native is not None:
            best: tuple[Floats, float] | None = native(score, inside, outside)
            return best
        big, out = 4.0 * float(np.abs(score).sum()) or 1.0, np.zeros(score.size)
        self.oracle.argmax(score + big * inside - big * outside, out)
        inside_out = (outside * out).any() or (inside * (1.0 - out)).any()
        return None if inside_out else (out, float(score @ out))

    def nearest_alternative(
        self,
        rewards: RewardKernel,
        mean: Floats,
        weight: Floats,
        best: Floats,
        rival: Floats,
        alternative: Floats,
    ) -> float:
        """Write the nearest set found, and return a lower bound of the nearest distance."""
        search, counts = _Search(self, rewards, mean, weight, best), bool(weight.max() > 1.0)
        search.try_weightless()
        slope, bound = self.last[counts] or search.guess(), 0.0
        if search.value > 0.0 and not search.hopeless():
            bound, children = search.bound(slope)
            # climb: the bound holds at every multiplier, and is concave in it
            for factor in (2.0, 0.5, 1.3, 0.77):
                while 1e-300 < slope * factor < 1e300 and bound < NEARLY * search.value:
                    trial, those = search.bound(slope * factor)
                    if not trial > bound:
                        break
                    # a bound that falls in proportion to the multiplier consists of rounding
                    flat = trial < 0.9 * factor * bound < 0.0
                    bound, children, slope = trial, those, slope * factor
                    if flat:
                        break
            self.last[counts] = slope
            if self.exact:
                bound = search.close(bound, children, slope)
        elif search.value > 0.0:
            bound = math.inf
        if search.set is None:
            raise OracleError(
                "no-second-set",
                "{structure}: the oracle finds no second set, so there is nothing to compare",
                remedy="give two",
                structure=str(self.structure),
            )
        rival[:] = search.set
        against(rewards, mean, weight, best, self.arms, self.sign, rival, alternative)
        self.lower, self.upper = max(min(bound, search.value), 0.0), search.value
        return self.lower


class _Search:
    """One search: the nearest set met, and bounds on the distances of all sets."""

    def __init__(
        self,
        kernel: BracketingKernel,
        rewards: RewardKernel,
        mean: Floats,
        weight: Floats,
        best: Floats,
    ) -> None:
        self.kernel, self.rewards, self.mean, self.weight, self.best = (
            kernel,
            rewards,
            mean,
            weight,
            best,
        )
        self.set: Floats | None = None
        self.value = np.inf
        self.calls = 0

    def visit(self, other: Floats) -> None:
        """Compute the distance of a set, and keep the set if it is the nearest so far."""
        kernel = self.kernel
        value = against(
            self.rewards,
            self.mean,
            self.weight,
            self.best,
            kernel.arms,
            kernel.sign,
            other,
            kernel.trial,
        )
        if self.set is None or value < self.value:
            self.set, self.value = other.copy(), value

    def try_weightless(self) -> None:
        """Visit sets that differ in an arm which has no weight and may take any mean.

        Such sets are at distance zero.
        """
        feasible = np.array([self.rewards.project(x, a) for a, x in enumerate(self.mean)])
        for a in self.kernel.relevant:
            leaves = bool(self.best[a] > 0.5)
            if self.weight[a] < WEIGHTLESS and math.isinf(
                self.rewards.project(-math.inf if leaves else math.inf, a)
            ):
                forced = vector([a], self.best.size)
                other = self.kernel.solve(feasible, forced * (not leaves), forced * leaves)
                if other is not None:
                    self.visit(other[0])
                    if self.value <= 0.0:
                        return

    def guess(self) -> float:
        """Return a multiplier to begin with.

        It is that of the set which loses least, as if the rewards were Gaussian.
        """
        feasible = np.array([self.rewards.project(x, a) for a, x in enumerate(self.mean)])
        loss = np.where(self.best > 0.5, feasible, -feasible)
        for away, other, _, _ in self.split(
            loss, self.best, np.zeros(loss.size), np.zeros(loss.size)
        ):
            self.visit(other)
            if away > 0.0 and 0.0 < self.value < math.inf:
                return 2.0 * self.value / away
        return 1.0

    def hopeless(self) -> bool:
        """Return whether no set can catch up in M, so that the bound grows without end."""
        if self.value < math.inf:
            return False
        cost = self.costs(1.0, np.zeros(self.best.size))
        children = self.split(cost, self.best, np.zeros(cost.size), np.zeros(cost.size))
        return self.set is not None and all(child[0] > self.margin(cost) for child in children)

    def costs(self, slope: float, weight: Floats) -> Floats:
        """Return what flipping each arm adds to g."""
        cost = np.zeros(self.best.size)
        for a in self.kernel.relevant:
            x, sign = float(self.mean[a]), -1.0 if self.best[a] > 0.5 else 1.0
            cost[a] = shaved(
                self.rewards, x, weight[a], sign * slope, a
            ) - sign * slope * self.rewards.project(x, a)
        # minus infinity, if an arm can take any mean at no cost, gives no bound
        return np.maximum(cost, -1e300)

    def bound(self, slope: float) -> tuple[float, list[tuple[float, Floats, Floats, Floats]]]:
        """Return the minimum of g(J, slope) over J != I, and the candidates for it.

        Each candidate is (g, J, arms forced in, arms forced out).
        """
        cost = self.costs(slope, self.weight)
        children = self.split(cost, self.best, np.zeros(cost.size), np.zeros(cost.size))
        return (children[0][0] - self.margin(cost) if children else np.inf), children

    def margin(self, cost: Floats) -> float:
        """Return how much rounding and the tolerance of an oracle may hide in a sum of costs."""
        return float(1e-10 * np.abs(cost).sum())

    def split(
        self, cost: Floats, centre: Floats, inside: Floats, outside: Floats
    ) -> list[tuple[float, Floats, Floats, Floats]]:
        """Return the best set other than `centre` in each of Lawler's cells.

        In a cell, sets differ from `centre` first at a given arm.
        """
        # g(J) = sum of the costs over the flipped arms = sum over I - score of J
        score = np.where(self.best > 0.5, cost, -cost)
        most = float(self.best @ cost)
        inside, outside, children = inside.copy(), outside.copy(), []
        # arms of the centre come first: sets of its size must leave one of them out
        for a in np.argsort(-centre, kind="stable"):
            if inside[a] or outside[a]:
                continue
            forced = inside if centre[a] < 0.5 else outside
            forced[a] = 1.0
            self.calls += 1
            other = self.kernel.solve(score, inside, outside)
            if other is not None:
                self.visit(other[0])
                least = min(float(cost[other[0] != self.best].sum()), most - other[1])
                children.append((least, other[0], inside.copy(), outside.copy()))
            forced[a] = 0.0
            (outside if centre[a] < 0.5 else inside)[a] = 1.0
            if self.only(inside, outside, centre):
                break
        return sorted(children, key=lambda child: child[0])

    def only(self, inside: Floats, outside: Floats, centre: Floats) -> bool:
        """Return whether no cell is left.

        That is so if all arms of the centre are forced in and no larger set contains them.
        """
        if (inside * (1 - centre)).any() or not np.all(inside >= centre):
            return False
        self.calls += 1
        larger = self.kernel.solve(np.ones(centre.size), inside, outside)
        return larger is None or bool(np.array_equal(larger[0], centre))

    def close(
        self, bound: float, children: list[tuple[float, Floats, Floats, Floats]], slope: float
    ) -> float:
        """Enumerate J by growing g until no other set can be nearer; return the certain bound."""
        cost, order = self.costs(slope, self.weight), itertools.count()
        queue = [(child[0], next(order), child) for child in children]
        heapq.heapify(queue)
        while queue and queue[0][0] - self.margin(cost) < self.value:
            if self.calls > self.kernel.limit:
                return max(bound, queue[0][0] - self.margin(cost))
            _, _, (_, other, inside, outside) = heapq.heappop(queue)
            for child in self.split(cost, other, inside, outside):
                heapq.heappush(queue, (child[0], next(order), child))
        return float(self.value)


class BracketingStructure(StructureBase):
    """A structure that is known only through an oracle.

    The number of its sets is unknown, and its diameter is estimated by hill climbing.
    """

    exact: bool

    def n_sets(self) -> None:
        """Return None, since the number is not known."""

    @figure
    def max_difference(self) -> int:
        """Return a lower estimate by hill climbing."""
        return max_difference_estimate(self)

    def max_difference_bound(self) -> int:
        """Return min(d, 2 * size of the largest set)."""
        return min(self.d, 2 * self.max_size())

    @figure
    def geometry(self) -> PolytopeGeometry:
        """Return the diameter by greedy climbing, with psi and phi of the cube."""
        return PolytopeGeometry(math.sqrt(self.max_difference()), 1.0, 1.0, False)

    def answer_kernel(self) -> BracketingKernel:
        """Return the kernel that computes certified brackets."""
        return BracketingKernel(self, exact=self.exact)
