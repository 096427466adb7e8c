"""The verbs of every part: what the round calls, what is read, what is written.

A *part* is a NamedTuple whose fields are numbers, arrays or other parts, with plain methods. The
same methods run interpreted, or compiled by numba (`engine/numba` resolves a method to that of the
NamedTuple's own class). `kernel` gives a part the methods of a default class, at the end of this
page, that it does not define itself. Any other Python object with the same verbs runs interpreted.

Rules that compiling imposes: fixed positional signatures with these parameter names; a mutable
number lives in an array of one element; loops, not array expressions; no field with the name of a
verb.

Shapes: `d` arms; a set is a 0/1 vector float64[d]; what a verb writes comes last.
"""

from typing import NamedTuple, Protocol

from .action_table import Catalogue, Mixture
from .jit import compilable, jitable, kernel
from .state import Floats, Ints, Random, View
from .statistics import Seen

__all__ = [
    "Bonus",
    "Catalogue",
    "Costs",
    "Ensemble",
    "Family",
    "FixedSizeDefaults",
    "Floats",
    "Game",
    "Ints",
    "Judge",
    "Learner",
    "Mixture",
    "Random",
    "Rewards",
    "Rivals",
    "Rule",
    "Seen",
    "StoppingDefaults",
    "Structure",
    "Threshold",
    "Tracker",
    "View",
    "Weigher",
    "compilable",
    "jitable",
    "kernel",
]


@compilable
class Family(Protocol):
    """What a pull returns, and how unlike two means are. `arm` selects the arm's own parameters."""

    def divergence(self, x: float, y: float, arm: int) -> float:
        """d_KL(x, y): how unlike a mean of y is data with mean x. y -> d_KL(x, y) must be convex:
        distances are found by their multiplier.
        """

    def lower(self, x: float, level: float, arm: int) -> float:
        """The smallest y with d_KL(x, y) <= level: alpha in the paper."""

    def upper(self, x: float, level: float, arm: int) -> float:
        """The largest y with d_KL(x, y) <= level: beta in the paper."""

    def draw(self, mean: float, arm: int, rng: Random) -> float:
        """One noisy value of an arm whose true mean is `mean` (simulation)."""

    def estimate(self, seen: Seen) -> None:
        """Bring up to date what is estimated besides the means, such as unknown variances; once a
        round, after the means.
        """


@compilable
class Costs(Protocol):
    """What it costs to move means away from the estimates."""

    def project(self, x: float, arm: int) -> float:
        """The point of M, the means that are possible, nearest to x."""

    def move(self, x: float, weight: float, slope: float, arm: int) -> float:
        """The y in M with weight * d/dy d_KL(x, y) = slope, or the end of M in that direction."""

    def step(self, x: float, weight: float, slope: float, arm: int) -> tuple[float, float, float]:
        """Where `move` goes, to nearly all digits however near that is: y - x, weight * d_KL(x, y),
        and dy/dslope (0 at an end of M).
        """

    def blur(self, weight: float, arm: int) -> float:
        """sigma^2 / weight where distances have the closed form Delta^2 / (2 sum of blurs); -1
        where they do not.
        """

    def closest(self, mean: Floats, weight: Floats, i: int, taken: Floats, value: Floats) -> int:
        """The arm j, not `taken`, that can overtake arm i at the least cost: ties by index.

        value[0] becomes that cost, the min of weight_i d(mean_i, y_i) + weight_j d(mean_j, y_j)
        over y in M with y_j >= y_i. (One call for all j: in compiled code a call on a part costs as
        much as ten pairs.)
        """

    def swap(self, mean: Floats, weight: Floats, best: Floats, value: Floats) -> None:
        """The cheapest exchange of an arm of `best` for another: value becomes (arm that leaves,
        arm that enters, cost).
        """

    def distance(
        self, mean: Floats, weight: Floats, arms: Ints, sign: Floats, n: int, alternative: Floats
    ) -> float:
        """min of sum_a weight_a d(mean_a, y_a) over y in M with sum_a sign_a y_a >= 0, a in
        arms[:n].

        The minimiser goes to alternative[arms[:n]].
        """


class Rewards(Family, Costs, Protocol):
    """What a pull returns; the geometry of telling two means apart."""


@compilable
class Structure(Protocol):
    """A collection of sets of arms: actions are played, answers are asked about."""

    def argmax(self, score: Floats, out: Floats) -> None:
        """The set with the largest sum of scores (any real scores), ties by index."""

    def sample(self, rng: Random, out: Floats) -> None:
        """A random set; uniform over the structure unless its documentation says otherwise."""

    def nearest(
        self,
        rewards: Rewards,
        mean: Floats,
        weight: Floats,
        best: Floats,
        rival: Floats,
        alternative: Floats,
    ) -> float:
        """The nearest alternative: min over J != best and y with <1_J - 1_best, y> >= 0 of <weight,
        d(mean, y)>.

        Writes J to `rival` and y to `alternative`. With weight = counts it is the generalised
        likelihood ratio. What is returned stops runs: it may lie below the minimum, and must not
        lie above it by more than rounding (1e-9 of it).
        """


@compilable
class Weigher(Protocol):
    """The evidence against single rivals."""

    @property
    def offer(self) -> Floats:
        """float64[references, d]: prices of arms, as `quote` wrote them."""

    @property
    def base(self) -> Floats:
        """float64[references]: with the prices of its arms, not above the evidence against a
        set.
        """

    def quote(self, best: Floats, arms: Ints, sign: Floats, n: int) -> None:
        """Write prices that suit the rivals of `best`, above all the one that differs in
        arms[:n].
        """

    def confront(self, best: Floats, arms: Ints, sign: Floats, n: int) -> float:
        """Against the one that differs from `best` in arms[:n] (sign: +1 for those that only it
        has, -1 for those that only best has), from below.
        """


@compilable
class Rivals(Protocol):
    """The answers against which evidence is needed, and the share of delta that each of them has;
    see `StructureBase.rivals`.
    """

    def odds(self, best: Floats, rival: Floats) -> float:
        """ln of the share of a rival."""

    def scan(
        self, weigher: Weigher, best: Floats, floor: float, least: float, rival: Floats
    ) -> float:
        """The least evidence plus odds against a rival, which is written; the first that is at most
        `floor`, if there is one. least: what it is against the one that `rival` has at first.
        """


@compilable
class Ensemble(Protocol):
    """A structure's sets at random, with chances proportional to exp(<1_A, score>); see
    `StructureBase.ensemble`.
    """

    def marginals(self, score: Floats, out: Floats) -> float:
        """out_a = the chance that the set has arm a, for any finite scores; returns ln sum_A
        exp(<1_A, score>).
        """


@compilable
class Learner(Protocol):
    """The A-player. It has one row of state per seat: one seat, or one per candidate answer."""

    def act(self, seat: int, mixture: Mixture) -> None:
        """Write w_t: mixture.ids, mixture.weight and mixture.size. (`mixture.arms` is filled by the
        rule.)
        """

    def feed(
        self, seat: int, mixture: Mixture, catalogue: Catalogue, actions: Structure, reward: Floats
    ) -> None:
        """Learn from the reward r_t of the arms; `mixture` is what `act` wrote this round."""

    def full(self) -> bool:
        """True when the next `feed` might not fit into the arrays."""


@compilable
class Tracker(Protocol):
    """Turns the weights w_t into one action."""

    def track(self, catalogue: Catalogue, mixture: Mixture, rng: Random) -> int:
        """The id of the action to play."""


@compilable
class Threshold(Protocol):
    """The stopping threshold, for each of the deltas it was made for."""

    def level(self, t: int, which: int) -> float:
        """beta(t, delta[which]) after t rounds."""


@compilable
class Bonus(Protocol):
    """The exploration bonus."""

    def explore(self, t: int) -> float:
        """f(t)."""


class Game(NamedTuple):
    """The parts of a problem, and the stopping rule."""

    actions: Structure
    answers: Structure
    rewards: Rewards
    judge: "Judge"


@compilable
class Judge(Protocol):
    """A stopping rule at work: what was seen, as evidence against a threshold."""

    def look(self, game: Game, seen: Seen, view: View) -> float:
        """The evidence for view.best; writes the rival that it is least against, and the means at
        which that one is as good.

        A rule that is happy with less than `weakest` while nothing can stop may return more; it
        also writes seen.worth.
        """

    def level(self, t: int, which: int) -> float:
        """The threshold: beta(t, delta[which]) after t rounds."""

    def foresee(self, game: Game, seen: Seen, best: Floats, rival: Floats) -> float:
        """For sampling rules: at how many times the present counts a run can expect to stop, from
        what `look` saw and the nearest rival; 0 where rivals are told apart by the likelihood ratio
        alone.
        """

    def foreseen(self, game: Game, seen: Seen, arms: Ints, sign: Floats, n: int) -> float:
        """The evidence against a rival, less what it is charged, at the counts that `foresee`
        expects; arms[:n] and sign[:n]: the arms in which the rival differs, as in
        `Rewards.distance`.
        """

    def weakest(
        self, game: Game, seen: Seen, best: Floats, rival: Floats, alternative: Floats
    ) -> float:
        """The least evidence for `best` against any rival, at what `look` saw last; writes as that
        does.
        """

    def versus(self, game: Game, seen: Seen, best: Floats, rival: Floats) -> float:
        """The evidence for `best` against a given rival, at what `look` saw last."""


@compilable
class Rule(Protocol):
    """Chooses the next action."""

    def choose(self, game: Game, seen: Seen, view: View, rng: Random) -> None:
        """Write the next action to view.action. view.rival and view.alternative are free to be
        overwritten.
        """

    def full(self) -> bool:
        """True when the next `choose` might not fit into the rule's arrays."""


class FixedSizeDefaults:
    """Default methods of a rule or a learner whose arrays never grow."""

    def full(self) -> bool:
        """Return False: the next call always fits."""
        return False


class StoppingDefaults:
    """Default methods of a stopping rule that has a threshold and foresees nothing."""

    threshold: Threshold

    def level(self, t: int, which: int) -> float:
        """Return the value of the threshold."""
        return self.threshold.level(t, which)

    def foresee(self, game: Game, seen: Seen, best: Floats, rival: Floats) -> float:
        """Return 0: rivals are told apart by the likelihood ratio alone."""
        return 0.0

    def foreseen(self, game: Game, seen: Seen, arms: Ints, sign: Floats, n: int) -> float:
        """Return 0, which nobody asks for as long as `foresee` returns 0."""
        return 0.0
