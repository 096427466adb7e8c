"""Conformance check of rewards: geometry, sampled values, assumptions, permutations of the arms."""

import math
from itertools import pairwise, permutations
from typing import Any

import numpy as np

from ..engine.state import Floats, Ints
from ..errors import CombGameError, check_bool, invalid_argument, is_real
from ..problem import Problem
from ..rewards.base import Assumption, RewardsBase, not_convex, spread_of, valid_assumptions
from ..rules.presets import make_rule
from ..simulation.runner import InitialState
from ..stopping.base import NEVER
from ..structures import Arms, Subsets
from ._report import CheckReport, check_engines, check_numbers, check_part, named

D = 4
DRAWN = 20_000  # sampled values of an arm
FAR = 6.0  # standard errors by which an average may be off: exceeded once in 10^9 checks
CLOSE = 1e-6  # relative error of a number


def check_permuted(
    rewards: RewardsBase, low: float, high: float, rng: Any, report: CheckReport
) -> None:
    """Check that the rewards of permuted arms (`permuted`) are the same, arm by arm."""
    order = np.roll(np.arange(D), 1)  # no arm keeps its index
    other = rewards.permuted(order)
    if other is None:
        report.add(
            "runs keep the given numbers of arms: `permuted` does not say how to change them"
        )
        return
    _check_figures(rewards, other, order)
    least, most = rewards.mean_range(D)
    one, two = rewards.kernel(least, most), other.kernel(least[order], most[order])
    for i, arm in enumerate(order.tolist()):
        x, y = rng.uniform(low, high, 2)
        _check_verbs(one, two, arm, i, (float(x), float(y), high, 10.0 ** rng.uniform(-1.0, 2.0)))
        _check_draws(one, two, arm, i, float(x), rng)
    report.add("an arm under another number (`permuted`), verb by verb and by what is drawn", D)


def _check_figures(rewards: RewardsBase, other: RewardsBase, order: Ints) -> None:
    """Check what a description says about its arms."""
    (low, high), (lower, higher) = rewards.mean_range(D), other.mean_range(D)
    mine, theirs = _spread(rewards), _spread(other)
    group, moved = rewards.variance_groups(D), other.variance_groups(D)
    for what, a, b, alike in (
        ("mean_range", low, lower, np.array_equal(low[order], lower)),
        ("mean_range", high, higher, np.array_equal(high[order], higher)),
        ("sub_gaussian_scale", mine, theirs, np.array_equal(mine[order], theirs)),
        ("variance_groups", group, moved, np.array_equal(_pairs(group[order]), _pairs(moved))),
        ("assumptions", sorted(valid_assumptions(rewards)), sorted(valid_assumptions(other)), None),
        ("support", rewards.support(D), other.support(D), None),
    ):
        assert a == b if alike is None else alike, (
            f"{what}() is {a}, but {b} with arm order[i] called i, order = {order.tolist()}: "
            "permuted() moves what is said of single arms with them."
        )


def _pairs(group: Ints) -> Any:
    """Return which pairs of arms share a group, whatever the groups are called."""
    return group[:, None] == group


def _spread(rewards: RewardsBase) -> Floats:
    """Return the sub-Gaussian scales; -1 if there are none or they are not known."""
    try:
        known = spread_of(rewards, D)
    except CombGameError:
        known = None
    return np.full(D, -1.0) if known is None else known


def _check_verbs(
    one: Any, two: Any, arm: int, i: int, at: tuple[float, float, float, float]
) -> None:
    """Check the methods for `arm`, which is arm i of `two`.

    `at` holds two means, a mean above them, and a weight.
    """
    x, y, high, weight = at
    level = 0.5 * one.divergence(x, 0.5 * (x + high), arm)
    for name, given in (
        ("divergence", (x, y)),
        ("project", (x,)),
        ("kl_ucb", (x, level)),
        ("kl_lcb", (x, level)),
        ("best_shift", (x, weight, 0.5 * weight * level)),
        ("best_shift_with_gradient", (x, weight, 0.5 * weight * level)),
        ("quadratic_variance", (weight,)),
    ):
        mine, theirs = getattr(one, name)(*given, arm), getattr(two, name)(*given, i)
        assert np.allclose(mine, theirs, rtol=CLOSE, atol=1e-12), (
            f"{name} of arm {arm} is {mine}, but {theirs} where permuted() calls it {i}, for "
            f"{given}: permuted() moves what is said of single arms with them."
        )


def _check_draws(one: Any, two: Any, arm: int, i: int, mean: float, rng: Any) -> None:
    """Check that the values of an arm have the same distribution after a permutation."""
    mine = np.array([one.draw(mean, arm, rng) for _ in range(DRAWN)]) - mean
    theirs = np.array([two.draw(mean, i, rng) for _ in range(DRAWN)]) - mean
    for power, what in ((1, "mean"), (2, "variance")):
        a, b = mine**power, theirs**power
        error = FAR * math.sqrt((float(a.var()) + float(b.var())) / DRAWN)
        assert abs(a.mean() - b.mean()) <= error + 1e-12, (
            f"{DRAWN:,} values of arm {arm} and as many where permuted() calls it {i} do not have "
            f"the same {what}: permuted() moves what is said of single arms with them."
        )


EXACT = (Assumption.GAUSSIAN, Assumption.NORMAL, Assumption.EXPONENTIAL)


def check_rewards(
    rewards: RewardsBase,
    low: float = 0.2,
    high: float = 0.8,
    trials: int = 50,
    seed: int = 0,
    compiled: bool = False,
) -> None:
    """Check rewards and print what was checked.

    The methods must agree with searches that use only the divergence, the values sampled from each
    of four arms must fit the means and the assumptions of the rewards, and an arm must stay the
    same under a permutation of the arms.

    Parameters
    ----------
    rewards : RewardsBase
        The rewards.
    low, high : float
        Range of the means in the trials. Both ends must be possible means.
    trials : int, default=50
        Number of trials.
    seed : int, default=0
        Seed of the trials.
    compiled : bool, default=False
        If True, the rewards are compiled and both engines are compared.

    Raises
    ------
    AssertionError
        If the rewards fail a check.

    Examples
    --------
    >>> from combgame import Bernoulli
    >>> check_rewards(Bernoulli(), trials=5)  # doctest: +ELLIPSIS
    Bernoulli() passes:
        1 x  divergence: convex in its second argument, on a grid over mean_range()
       10 x  divergence: 0 at home, rising to both sides
    ...
        1 x  runs interpreted only: compiled=True compares the engines, and compiles first
    """
    check_part("rewards", rewards, RewardsBase, of="check_rewards")
    check_numbers("check_rewards", seed, trials=trials)
    check_bool("compiled", compiled, of="check_rewards")
    if not (is_real(low) and is_real(high) and -math.inf < low < high < math.inf):
        raise invalid_argument("low, high", (low, high), "two numbers, the lower one first")
    report, rng = CheckReport(named(rewards)), np.random.default_rng(seed)
    rewards.check_arms(D)
    least, most = rewards.mean_range(D)
    assert (least < low).all() and (high < most).all(), (
        f"means from {low} to {high} are tried, but mean_range() says [{least[0]}, {most[0]}]: "
        "give check_rewards low and high inside."
    )
    bent = not_convex(rewards, D)
    assert bent is None, (
        f"divergence({bent[0]:g}, y) is not convex at y = {bent[1]:g}: where its slope is right it "
        "need not be least, so distances may be larger than what is enough, and runs stop too "
        "early. It must be convex on all of mean_range()."
    )
    report.add("divergence: convex in its second argument, on a grid over mean_range()")
    # bounds on the means that are active in some trials
    narrow = np.full(D, low + 0.05 * (high - low)), np.full(D, high - 0.05 * (high - low))
    free, boxed = rewards.kernel(least, most), rewards.kernel(*narrow)
    for _ in range(trials):
        mean = rng.uniform(low, high, D)
        weight = 10.0 ** rng.uniform(-1.0, 2.0, D)
        for kernel, (a, b) in ((free, (least, most)), (boxed, narrow)):
            box = np.column_stack((a, b))
            _check_divergence(kernel, mean, box, report)
            _check_moves(kernel, mean, weight, box, rng, report)
            _check_distances(kernel, mean, weight, box, rng, report)
    for truth in (low, 0.5 * (low + high), high):
        for arm in range(D):
            _check_values(rewards, free, truth, arm, rng, report)
    check_permuted(rewards, low, high, rng, report)
    problem = Problem(Subsets(D, 2), Arms(D), rewards)
    setup = make_rule("uniform").bind(problem)
    means = np.linspace(high, low, D)
    check_engines(InitialState(problem, setup, NEVER), means, 100, seed, report, compiled)
    report.show()


def _near(got: float, wanted: float, size: float = 0.0) -> bool:
    return abs(got - wanted) <= CLOSE * (abs(wanted) + size) + 1e-12


def _check_divergence(kernel: Any, mean: Floats, box: Floats, report: CheckReport) -> None:
    for arm, x in enumerate(mean):
        low, high = (float(np.clip(end, x - 3.0, x + 3.0)) for end in box[arm])
        assert abs(kernel.divergence(x, x, arm)) <= 1e-12, (
            f"divergence({x}, {x}) is {kernel.divergence(x, x, arm)}, not 0."
        )
        for end in (low, high):
            steps = [
                kernel.divergence(x, x + s * (end - x), arm) for s in np.linspace(0.0, 0.99, 12)
            ]
            assert all(a <= b + 1e-12 for a, b in pairwise(steps)), (
                f"divergence({x}, y) does not rise as y goes from {x} to {end}: {steps}."
            )
        top = kernel.divergence(x, x + 0.9 * (high - x), arm)
        for level in (0.01 * top, 0.5 * top):
            for name, y, end in (
                ("kl_ucb", kernel.kl_ucb(x, level, arm), high),
                ("kl_lcb", kernel.kl_lcb(x, level, arm), low),
            ):
                beyond = kernel.divergence(x, end, arm) < level
                assert beyond or _near(kernel.divergence(x, y, arm), level, 1e-3), (
                    f"{name}({x}, {level}) is {y}, where the divergence is "
                    f"{kernel.divergence(x, y, arm)}."
                )
                assert (y >= x) == (name == "kl_ucb") or y == x, (
                    f"{name}({x}, {level}) is {y}, on the wrong side."
                )
    report.add("divergence: 0 at home, rising to both sides")
    report.add("kl_lcb and kl_ucb: where the divergence is the level", 4 * len(mean))


def _search(cost: Any, low: float, high: float) -> float:
    """Minimise a function by golden sections around the best of many points."""
    points = np.linspace(low, high, 101)
    k = int(np.argmin([cost(float(y)) for y in points]))
    low, high = float(points[max(k - 1, 0)]), float(points[min(k + 1, 100)])
    ratio = 0.5 * (math.sqrt(5.0) - 1.0)
    for _ in range(200):
        one, two = high - ratio * (high - low), low + ratio * (high - low)
        if cost(one) <= cost(two):
            high = two
        else:
            low = one
    return 0.5 * (low + high)


def _check_moves(
    kernel: Any, mean: Floats, weight: Floats, box: Floats, rng: Any, report: CheckReport
) -> None:
    for arm, x in enumerate(mean):
        low, high = (float(np.clip(end, x - 50.0, x + 50.0)) for end in box[arm])
        inside = kernel.project(x, arm)
        assert inside == min(max(x, box[arm, 0]), box[arm, 1]), (
            f"project({x}) is {inside} with the bounds {box[arm].tolist()}."
        )
        w = float(weight[arm])
        slope = float(rng.normal()) * w * 0.5 * kernel.divergence(x, 0.5 * (x + high), arm)
        y = kernel.best_shift(x, w, slope, arm)

        def cost(y: float, x: float = x, w: float = w, slope: float = slope, arm: int = arm) -> Any:
            return w * kernel.divergence(x, y, arm) - slope * y

        best = _search(cost, low, high)
        assert cost(y) <= cost(best) + CLOSE * (abs(cost(best)) + abs(slope)), (
            f"best_shift({x}, {w}, {slope}) is {y}, but {best} is better for the bounds "
            f"{box[arm].tolist()}."
        )
        off, paid, rate = kernel.best_shift_with_gradient(x, w, slope, arm)
        assert _near(off, y - x, abs(x)) and _near(paid, w * kernel.divergence(x, y, arm), 1e-3), (
            f"best_shift_with_gradient({x}, {w}, {slope}) says ({off}, {paid}), but best_shift "
            f"goes by {y - x}, which costs {w * kernel.divergence(x, y, arm)}."
        )
        h = 1e-5 * max(abs(slope), 1e-3 * w)
        ahead, behind = (
            kernel.best_shift(x, w, slope + h, arm),
            kernel.best_shift(x, w, slope - h, arm),
        )
        if low < behind and ahead < high:
            assert abs((ahead - behind) / (2.0 * h) - rate) <= 1e-3 * rate + 1e-9, (
                f"best_shift_with_gradient({x}, {w}, {slope}) says that y moves by {rate} per "
                f"slope, but it moves by {(ahead - behind) / (2.0 * h)}."
            )
    report.add("project, best_shift and best_shift_with_gradient, against a search", len(mean))


def _least(kernel: Any, mean: Floats, weight: Floats, i: int, j: int, box: Floats) -> float:
    """Return the cost for arm j to overtake arm i: at the best common mean, or at their bounds."""
    if kernel.project(mean[j], j) >= kernel.project(mean[i], i):
        return float(
            sum(
                weight[a] * kernel.divergence(mean[a], kernel.project(mean[a], a), a)
                for a in (i, j)
            )
        )

    def cost(y: float) -> Any:
        """Lower arm i to y and raise arm j to y, neither beyond its own mean or its bounds."""
        down, up = min(y, kernel.project(mean[i], i)), max(y, kernel.project(mean[j], j))
        return weight[i] * kernel.divergence(mean[i], down, i) + weight[j] * kernel.divergence(
            mean[j], up, j
        )

    low = max(box[i, 0], kernel.project(mean[j], j))
    high = min(box[j, 1], kernel.project(mean[i], i))
    if low > high:
        return math.inf
    return float(cost(_search(cost, float(low), float(high))))


def _check_distances(
    kernel: Any, mean: Floats, weight: Floats, box: Floats, rng: Any, report: CheckReport
) -> None:
    arms, sign, out = np.zeros(D, np.int64), np.zeros(D), np.zeros(D)
    costs = {}
    for i, j in permutations(range(D), 2):
        arms[:2], sign[:2] = (i, j), (-1.0, 1.0)
        got, wanted = kernel.transportation_cost(mean, weight, arms, sign, 2, out), 0.0
        costs[i, j] = wanted = _least(kernel, mean, weight, i, j, box)
        where = f"for arm {j} to overtake arm {i} at {mean.tolist()}, weights {weight.tolist()}"
        assert got <= wanted + CLOSE * abs(wanted) + 1e-12, (
            f"transportation_cost is {got}, but {wanted} is enough {where}: what is too large "
            "stops runs too early."
        )
        assert got >= wanted - 1e-3 * abs(wanted) - 1e-9, (
            f"transportation_cost is {got}, but no less than {wanted} is needed {where}."
        )
        blurs = kernel.quadratic_variance(weight[i], i), kernel.quadratic_variance(weight[j], j)
        if min(blurs) >= 0.0 and mean[i] > mean[j]:
            closed = (mean[i] - mean[j]) ** 2 / (2.0 * sum(blurs))
            assert closed <= wanted + CLOSE * abs(wanted) + 1e-12, (
                f"quadratic_variance gives the distance {closed}, more than {wanted} {where}: "
                "return -1 where distances have no closed form."
            )
    value, cost, best = np.zeros(1), np.zeros(3), np.zeros(D)
    i = int(rng.integers(D))
    best[i] = 1.0
    j = kernel.cheapest_challenger(mean, weight, i, best, value)
    least = min(costs[i, other] for other in range(D) if other != i)
    assert _near(value[0], least, 1e-3) and _near(costs[i, j], least, 1e-3), (
        f"cheapest_challenger says that arm {j} overtakes arm {i} at the cost {value[0]}, but "
        f"{least} is the least, at {mean.tolist()}, weights {weight.tolist()}."
    )
    best[(i + 1) % D] = 1.0
    kernel.cheapest_exchange(mean, weight, best, cost)
    wanted = min(costs[a, b] for a in range(D) for b in range(D) if best[a] > best[b])
    assert _near(cost[2], wanted, 1e-3), (
        f"cheapest_exchange says {cost.tolist()}, but the cheapest exchange costs {wanted}, at "
        f"{mean.tolist()}, weights {weight.tolist()}."
    )
    report.add(
        "transportation_cost (and quadratic_variance), against a search for every pair of arms",
        len(costs),
    )
    report.add("cheapest_challenger and cheapest_exchange, against every pair")


def _check_values(
    rewards: RewardsBase, kernel: Any, mean: float, arm: int, rng: Any, report: CheckReport
) -> None:
    """Check the mean and range of an arm's values, and the variation that the assumptions state."""
    drawn = np.array([kernel.draw(mean, arm, rng) for _ in range(DRAWN)])
    what, (bottom, top) = f"draw({mean}, {arm})", rewards.support(D)
    assert np.isfinite(drawn).all() and bottom <= drawn.min() and drawn.max() <= top, (
        f"{what} returned values from {drawn.min()} to {drawn.max()}, but support() says "
        f"[{bottom}, {top}]."
    )
    spread = float(drawn.std(ddof=1))
    assert abs(drawn.mean() - mean) <= FAR * spread / math.sqrt(DRAWN) + 1e-12, (
        f"{DRAWN:,} values of {what} have the mean {drawn.mean()}."
    )
    assert drawn.min() < drawn.max(), f"{DRAWN:,} values of {what} are all {drawn[0]}."
    report.add(f"{DRAWN:,} values drawn of an arm: their mean and their range")
    held = valid_assumptions(rewards)
    if rewards.variance_known and held & set(EXACT):
        h = 1e-3 * spread
        curve = (
            kernel.divergence(mean, mean + h, arm) + kernel.divergence(mean, mean - h, arm)
        ) / h**2
        off = (drawn - mean) ** 2
        error = FAR * float(off.std()) / math.sqrt(DRAWN)
        assert abs(off.mean() - 1.0 / curve) <= error + 1e-3 / curve, (
            f"{DRAWN:,} values of {what} have the variance {off.mean()}, but the divergence is "
            f"that of a family with the variance {1.0 / curve}."
        )
        report.add("the variance of the values drawn is that of the divergence")
    if Assumption.SUB_GAUSSIAN in held and (sigma := spread_of(rewards, D)) is not None:
        for pull in (-1.5, -0.5, 0.5, 1.5):
            tilted = np.exp(pull / sigma[arm] * (drawn - mean))
            error = FAR * float(tilted.std()) / math.sqrt(DRAWN)
            assert tilted.mean() <= math.exp(0.5 * pull**2) + error, (
                f"the values of {what} are not {sigma[arm]}-sub-Gaussian, as assumptions() and "
                "sub_gaussian_scale() say."
            )
        report.add("the values drawn are sub-Gaussian with the stated spread", 4)
