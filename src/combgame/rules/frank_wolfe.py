"""Frank-Wolfe on the counts: one oracle call a round, no learner, no tracking.

The optimal allocation maximises F(w) = min_J f_J(w), f_J(w) = inf over lambda with J at least as
good as the leader of <w, d(mu, lambda)>. F is concave and homogeneous, so the gradient of f_J at
the counts N is d(mu, lambda^J), whatever their scale. A step of Frank-Wolfe with step size 1/t from
N/t towards the vertex 1_A *is* playing A, so the counts follow the optimal allocation by themselves
(Wang, Tzeng, Proutiere, NeurIPS 2021: FWS; Tzeng, Wang, Proutiere, Lu, NeurIPS 2023: P-FWS). The
minimum is smoothed over rivals that have been nearest alternatives before, with weights
exp(-kappa_t (f_J(N) - min f)). docs/algorithms.md says what is known of it.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..engine.action_table import Catalogue, enlarge_catalogue, make_catalogue
from ..engine.jit import jitable
from ..engine.kernels import Original
from ..engine.numerics import lead_of
from ..engine.protocols import Game
from ..engine.state import Fixed, Floats, Ints, Random, View, vector
from ..engine.statistics import Seen
from ..errors import positive, whole
from ..rewards.base import WEIGHTLESS
from ..stopping.base import Question
from ._exploration import lacking, padded, start_sets
from .base import RuleBase, Setup
from .frank_wolfe_blocks import PlatesSetup

# every arm is worth this much over N^2: room in an action that no rival claims goes to the arms
# seen least, and so do ties
TINY = 1e-9
LOST = math.log(TINY) - 54.0 * math.log(2.0) - 0.01  # beside a score of 1 / N^2, nothing

OFTEN = 32  # charges are asked for anew when t has grown by 1/OFTEN of itself
TIED = 1e-12  # of the means: what rounding may leave of a lead
NOTHING = 50.0  # a weight of exp(-NOTHING) is none beside TINY


@jitable
def reach(least: float, kappa: float, counts: Floats, worth: Floats) -> float:
    """The f_J beyond which a rival changes no score, not even in the last bit.

    A gradient times what the counts are worth adds up to f_J, so a rival adds at most exp(-kappa
    (f_J - least)) f_J / worth to a score of TINY / N^2 at least; 2^-54 of a score is rounded away.
    """
    dearest = 0.0  # the largest N^2 / worth
    for a in range(counts.size):
        if not worth[a] > 0.0:
            return math.inf
        n = max(counts[a], 0.5)
        dearest = max(dearest, n * n / worth[a])
    base = max(least, 0.0) + (math.log(dearest) - LOST) / kappa
    more = math.log(base + 2.0 / kappa + 1.0)
    while math.exp(more) < base + more / kappa:
        more += 1.0
    return max(base + more / kappa, 1.0 / kappa)


class FrankWolfePart(NamedTuple):
    kappa: float
    slow: float  # kappa_t = kappa / sqrt(1 + t / slow)
    floor: float
    ease: float  # the values per arm from which on exploring is in earnest
    size: float  # K: the arms in an action
    visible: Fixed  # 1 for arms that some action observes
    met: Catalogue  # every answer that has been a nearest alternative
    seat: Ints  # int64[room]: the place of an answer in the pool + 1, or 0
    pool: Ints  # int64[places]: numbers of the rivals over which the minimum is smoothed
    stamp: Ints  # int64[places]: when it was last the nearest
    arms: Ints  # int64[places, d]: leader xor rival, [:number]
    sign: Floats  # float64[places, d]
    number: Ints  # int64[places]
    value: Floats  # float64[places]: f_J at the counts
    slope: Floats  # float64[places, d]: its gradient on `arms`, or its multiplier in [:, 0]
    blurs: Floats  # float64[d]
    closed: Ints  # int64[1]: 1 where multipliers are kept
    charge: Floats  # float64[places]: what will be taken off f_J; infinity: to be asked
    scale: Floats  # float64[1]: the counts at the end, in multiples of the present; 0: no charges
    due: Ints  # int64[2]: when that was asked, and when it is to be again
    leader: Floats  # float64[d]
    used: Ints  # int64[1]
    score: Floats  # float64[d]

    def choose(self, game: Game, seen: Seen, view: View, rng: Random) -> None:
        t = seen.clock[0]
        if lacking(self.floor, self.ease, self.size, self.visible, seen, self.score):
            game.actions.argmax(self.score, view.action)
            return
        self.follow(view)
        self.admit(self.met.find(view.rival), t)
        least = self.appraise(game, seen, view)
        if t >= self.due[1] or t < self.due[0]:
            self.due[0], self.due[1] = t, t + 1 + t // OFTEN
            self.scale[0] = game.judge.foresee(game, seen, view.best, view.rival)
            for k in range(self.used[0]):
                self.charge[k] = math.inf
        if self.scale[0] > 0.0:
            least = self.ahead(game, seen)
        kappa = self.kappa / math.sqrt(1.0 + t / self.slow)
        far = least + NOTHING / kappa
        if self.scale[0] == 0.0:
            far = reach(least, kappa, seen.counts, seen.worth)
        for a in range(self.score.size):
            n = max(seen.counts[a], 0.5)  # 0.5: an arm whose values went missing
            self.score[a] = TINY / (n * n)
        for k in range(self.used[0]):
            if self.value[k] <= far:
                self.climb(game, seen, k, math.exp(-kappa * (self.value[k] - least)))
        game.actions.argmax(self.score, view.action)

    def appraise(self, game: Game, seen: Seen, view: View) -> float:
        """f_J at the counts, of all rivals in the pool; returns the least of them.

        Where every arm has a blur, f_J is in closed form, and is computed as `distance` does it, to
        the last bit; otherwise `distance` is asked, and gradients are kept.
        """
        least, closed = math.inf, True
        for a in range(self.blurs.size):
            if seen.worth[a] < WEIGHTLESS:
                closed = False
            else:
                self.blurs[a] = game.rewards.blur(seen.worth[a], a)
                closed = closed and self.blurs[a] >= 0.0
        self.closed[0] = 1 if closed else 0
        for k in range(self.used[0]):
            arms, sign, n = self.arms[k], self.sign[k], self.number[k]
            if closed:
                (lead, doubt), spread = lead_of(seen.mean, arms, sign, n), 0.0
                for i in range(n):
                    spread += self.blurs[arms[i]]
                lead = max(lead - doubt, 0.0)
                self.slope[k, 0] = lead / spread
                self.value[k] = 0.5 * lead * self.slope[k, 0]
                if self.tied(seen, k):
                    self.slope[k, 0] = 0.0
            else:
                self.value[k] = game.rewards.distance(
                    seen.mean, seen.worth, arms, sign, n, view.alternative
                )
                for i in range(n):
                    a = arms[i]
                    self.slope[k, i] = game.rewards.divergence(seen.mean[a], view.alternative[a], a)
                if self.tied(seen, k):
                    for i in range(n):
                        self.slope[k, i] = self.parting(seen, k, arms[i])
            least = min(least, self.value[k])
        return least

    def ahead(self, game: Game, seen: Seen) -> float:
        """Take off f_J what the stopping rule will charge at the end that it expects, per round so
        far; the least that is left.
        """
        least, scale = math.inf, self.scale[0]
        for k in range(self.used[0]):
            if self.charge[k] == math.inf:
                asked = game.judge.foreseen(game, seen, self.arms[k], self.sign[k], self.number[k])
                self.charge[k] = self.value[k] - asked / scale
            self.value[k] -= self.charge[k]
            least = min(least, self.value[k])
        return least

    def climb(self, game: Game, seen: Seen, k: int, weight: float) -> None:
        """Add `weight` times the gradient of f_J to the scores."""
        for i in range(self.number[k]):
            a, slope = self.arms[k, i], self.slope[k, i]
            if self.closed[0] == 1 and not self.slope[k, 0] > 0.0:
                slope = self.parting(seen, k, a)
            elif self.closed[0] == 1:
                y = game.rewards.move(
                    seen.mean[a], seen.worth[a], self.sign[k, i] * self.slope[k, 0], a
                )
                slope = game.rewards.divergence(seen.mean[a], y, a)
            self.score[a] += weight * slope

    def tied(self, seen: Seen, k: int) -> bool:
        """Whether a rival is as good as the leader at the estimates, but for rounding."""
        lead, size = 0.0, 0.0
        for i in range(self.number[k]):
            x = self.sign[k, i] * seen.mean[self.arms[k, i]]
            lead += x
            size += abs(x)
        return bool(abs(lead) <= TIED * size)

    def parting(self, seen: Seen, k: int, arm: int) -> float:
        """What a value of an arm is worth where a rival is tied with the leader, as coins often
        are: there the gradient is 0, and both would wait until all others have as many values. It
        is the evidence that one more value makes on average, (s_a / N_a)^2 / (2 sum s^2 / N), s^2
        being how the values of an arm have varied so far: none where they were all the same, as one
        more would hardly part them then.
        """
        spread = 0.0
        for i in range(self.number[k]):
            a = self.arms[k, i]
            n = max(seen.counts[a], 0.5)
            spread += seen.squares[a] / (n * n)
        n = max(seen.counts[arm], 0.5)
        return float(0.5 * seen.squares[arm] / (n * n * n * spread)) if spread > 0.0 else 0.0

    def follow(self, view: View) -> None:
        """If another answer leads, the differences to the rivals are new."""
        same = True
        for a in range(self.leader.size):
            if self.leader[a] != view.best[a]:
                same = False
                break
        if same:
            return
        for a in range(self.leader.size):
            self.leader[a] = view.best[a]
        self.due[1] = 0
        k = 0
        while k < self.used[0]:
            self.differ(k)
            if self.number[k] == 0:  # it leads now
                self.seat[self.pool[k]] = 0
                self.used[0] -= 1
                if k < self.used[0]:
                    self.pool[k], self.stamp[k] = self.pool[self.used[0]], self.stamp[self.used[0]]
                    self.seat[self.pool[k]] = k + 1
            else:
                k += 1

    def admit(self, number: int, t: int) -> None:
        """The nearest rival has a place in the pool; if there is none left, it takes that of the
        one nearest longest ago.
        """
        k = self.seat[number] - 1
        if k < 0:
            if self.used[0] < self.pool.size:
                k = self.used[0]
                self.used[0] += 1
            else:
                k = 0
                for j in range(1, self.pool.size):
                    if self.stamp[j] < self.stamp[k]:
                        k = j
                self.seat[self.pool[k]] = 0
            self.pool[k] = number
            self.charge[k] = math.inf
            self.seat[number] = k + 1
            self.differ(k)
        self.stamp[k] = t

    def differ(self, k: int) -> None:
        """List the arms of leader xor rival k, as `rewards.distance` wants them."""
        rival, n = self.pool[k], 0
        for j in range(self.met.length[rival]):
            a = self.met.members[rival, j]
            if self.leader[a] < 0.5:
                self.arms[k, n], self.sign[k, n] = a, 1.0
                n += 1
            self.score[a] = 2.0
        for a in range(self.leader.size):
            if self.leader[a] > 0.5 and self.score[a] != 2.0:
                self.arms[k, n], self.sign[k, n] = a, -1.0
                n += 1
        for j in range(self.met.length[rival]):
            self.score[self.met.members[rival, j]] = 0.0
        self.number[k] = n

    def full(self) -> bool:
        return self.met.full()


class FrankWolfeSetup:
    """Frank-Wolfe on a problem."""

    alike = True

    def __init__(self, rule: "FrankWolfe", problem: Question) -> None:
        self.rule, self.problem, d = rule, problem, problem.actions.d
        self.start = padded(start_sets("covering", problem.actions, None))
        self.width = min(d, problem.answers.difference_bound())
        places = rule.pool or min(max(d, 16), 128)
        part = FrankWolfePart(
            rule.kappa,
            rule.slow,
            rule.explore,
            rule.ease,
            float(problem.actions.largest()),
            vector(problem.actions.observable(), d),
            make_catalogue(4 * places, problem.answers.largest()),
            np.zeros(4 * places, np.int64),
            np.zeros(places, np.int64),
            np.zeros(places, np.int64),
            np.zeros((places, self.width), np.int64),
            np.zeros((places, self.width)),
            np.zeros(places, np.int64),
            np.zeros(places),
            np.zeros((places, self.width)),
            np.zeros(d),
            np.zeros(1, np.int64),
            np.zeros(places),
            np.zeros(1),
            np.zeros(2, np.int64),
            np.zeros(d),
            np.zeros(1, np.int64),
            np.zeros(d),
        )
        self._original = Original(part)

    def fresh(self, rng: Random) -> tuple[FrankWolfePart, Ints]:
        return self._original.copy(), self.start

    def enlarge(self, rule: FrankWolfePart) -> FrankWolfePart:
        met = enlarge_catalogue(rule.met, 4 * rule.met.length.size)
        return rule._replace(
            met=met, seat=np.r_[rule.seat, np.zeros(met.length.size - rule.seat.size, np.int64)]
        )

    def figures(self, rule: FrankWolfePart) -> dict[str, int]:
        return {"rivals": int(rule.used[0]), "met": int(rule.met.size[0])}


@dataclass(frozen=True, eq=False, repr=False)
class FrankWolfe(RuleBase):
    """Play the action that the gradient of the smoothed evidence likes best.

    kappa: how sharply the minimum over the rivals is smoothed; slow: kappa_t = kappa / sqrt(1 + t /
    slow); explore, ease: every arm gets explore * sqrt(e) * e / (e + ease) values at least, e = t K
    / d being what it would get if all were played alike; pool: over how many rivals the minimum is
    smoothed (None: as many as arms, 16 to 128). Where every play has a level of its own, plays are
    chosen in blocks instead (`rules/frank_wolfe_blocks.py`), and these numbers are of no account.
    """

    impartial: ClassVar[bool] = True
    kappa: float = 6.0
    slow: float = 1e6
    explore: float = 1.2
    ease: float = 20.0
    pool: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("kappa", "slow", "explore", "ease"):
            positive(name, getattr(self, name), of="FrankWolfe")
        if self.pool is not None:
            whole("pool", self.pool, 1, of="FrankWolfe")

    def setup(self, problem: Question) -> Setup:
        if problem.rewards.levels():
            return PlatesSetup(problem)
        return FrankWolfeSetup(self, problem)
