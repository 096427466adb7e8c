"""Standard sets of single arms, one of which is the best.

Audibert, Bubeck, Munos, *Best Arm Identification in Multi-Armed Bandits*, COLT 2010, section on
experiments, with Bernoulli values: seven sets, here at full length. Garivier, Kaufmann, *Optimal
Best Arm Identification with Fixed Confidence*, COLT 2016: two sets, with the optimal proportions
that the paper prints.
"""

from collections.abc import Sequence

from ..errors import positive, whole
from ..problem import Problem
from ..rewards import Bernoulli, Gaussian, RewardsBase
from ..structures import Arms
from .known import KnownInstance

AUDIBERT = "Audibert, Bubeck, Munos: Best Arm Identification in Multi-Armed Bandits, COLT 2010"
GARIVIER = "Garivier, Kaufmann: Optimal Best Arm Identification with Fixed Confidence, COLT 2016"
JAMIESON = (
    "Jamieson, Nowak: Best-arm Identification Algorithms for Multi-Armed Bandits in the Fixed "
    "Confidence Setting, CISS 2014"
)
GROUPS = {  # experiment: the means
    1: (0.5, *(0.4,) * 19),
    2: (0.5, *(0.42,) * 5, *(0.38,) * 14),
    3: (0.5, *(0.5 - 0.37**i for i in (2, 3, 4))),
    4: (0.5, 0.42, 0.4, 0.4, 0.35, 0.35),
    5: (0.5, *(0.5 - 0.025 * i for i in range(2, 16))),
    6: (0.5, 0.48, *(0.37,) * 18),
    7: (0.5, *(0.45,) * 5, *(0.43,) * 14, *(0.38,) * 10),
}
SAID = {
    1: "one group of bad arms",
    2: "two groups of bad arms",
    3: "geometric progression",
    4: "six arms in three groups",
    5: "arithmetic progression",
    6: "two good arms",
    7: "three groups of bad arms",
}
# means and the optimal proportions w* that Garivier and Kaufmann print for them
PROPORTIONS = {
    1: ((0.5, 0.45, 0.43, 0.4), (0.417, 0.390, 0.136, 0.057)),
    2: ((0.3, 0.21, 0.2, 0.19, 0.18), (0.336, 0.251, 0.177, 0.132, 0.104)),
}


def _arms(
    name: str, means: Sequence[float], rewards: RewardsBase, source: str, date: str
) -> KnownInstance:
    problem = Problem(Arms(len(means)), None, rewards)
    given = tuple(round(float(m), 12) for m in means)
    return KnownInstance(name, problem, given, len(means), "arms", source, date)


def one_good_arm(d: int, lead: float = 0.5) -> KnownInstance:
    """One arm that is better by `lead`, d - 1 that are alike; Gaussian values of variance 1.

    >>> one_good_arm(4).means
    (0.5, 0.0, 0.0, 0.0)
    """
    d, lead = whole("d", d, 2, of="one_good_arm"), positive("lead", lead, of="one_good_arm")
    name = f"one good arm, d = {d}" + ("" if lead == 0.5 else f", lead = {lead:g}")
    return _arms(name, (lead, *(0.0,) * (d - 1)), Gaussian(1.0), f"1-sparse: {JAMIESON}", "2014")


def linear(d: int) -> KnownInstance:
    """Means that fall from 1 to 0 by equal gaps; Gaussian values of variance 1/4.

    >>> linear(3).means
    (1.0, 0.5, 0.0)
    """
    d = whole("d", d, 2, of="linear")
    means = [1.0 - i / (d - 1) for i in range(d)]
    source = f"alpha = 1 in mu_i = 1 - (i / n)^alpha: {JAMIESON}"
    return _arms(f"linear, d = {d}", means, Gaussian(0.5), source, "2014")


def power(d: int, alpha: float) -> KnownInstance:
    """mu_i = 1 - (i / (d - 1))^alpha, i = 0 .. d - 1; Gaussian values of variance 1/4."""
    means = [1.0 - (i / (d - 1)) ** alpha for i in range(d)]
    source = f"mu_i = 1 - (i / n)^alpha: {JAMIESON}"
    return _arms(f"alpha = {alpha:g}, d = {d}", means, Gaussian(0.5), source, "2014")


def all_arms() -> list[KnownInstance]:
    """The suite "arms"."""
    made = [one_good_arm(10), one_good_arm(50), linear(10), linear(30)]
    made += [power(10, 0.3), power(10, 0.6)]
    for number, means in GROUPS.items():
        name = f"Audibert {number}: {SAID[number]}"
        source = f"{AUDIBERT}, experiment {number}"
        made.append(_arms(name, means, Bernoulli(), source, "2010"))
    for number, (means, _) in PROPORTIONS.items():
        source = f"{GARIVIER}, mu_{number}"
        made.append(_arms(f"Garivier {number}", means, Bernoulli(), source, "2016"))
    return made
