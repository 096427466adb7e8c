"""Exploration: initial designs, forced exploration, and draws from a posterior.

The initial design (INIT in Algorithm 1) is the list of actions played before the rule begins to
choose. Forced exploration gives every arm a minimum of values, whatever a rule prefers; FWS and
P-FWS set rounds aside for it.
"""

import math

import numpy as np

from ..engine.jit import jitable
from ..engine.protocols import RewardKernel
from ..engine.state import Floats, Ints, Random, arms_of
from ..engine.statistics import Statistics
from ..errors import unknown_name
from ..structures import StructureBase
from ..structures.partition import exchangeable


@jitable
def lacking(
    explore: float, ease: float, size: float, visible: Floats, stats: Statistics, score: Floats
) -> bool:
    """Return whether some arm has fewer values than the exploration floor.

    The floor is explore sqrt(e) e / (e + ease), where e = t K / d is the number of values that an
    arm would have if all arms were played alike. On return, `score` is what each arm lacks, or 0.
    """
    even, some = stats.n_rounds[0] * size / score.size, False
    # after the initial design, only an arm whose values are missing has none
    floor = max(explore * math.sqrt(even) * even / (even + ease), 0.5)
    for a in range(score.size):
        score[a] = 0.0
        if visible[a] > 0.5 and stats.counts[a] < floor:
            score[a] = floor - stats.counts[a]
            some = True
    return some


@jitable
def square(n: int) -> bool:
    """Return whether n is a perfect square."""
    root = int(math.sqrt(n))
    return root * root == n or (root + 1) * (root + 1) == n


@jitable
def draw_means(
    rewards: RewardKernel, stats: Statistics, scale: float, rng: Random, out: Floats
) -> None:
    """Draw means from a posterior.

    Notes
    -----
    For a standard normal Z, out_a is the mean on the side of the sign of Z with
    N_a d(mean_a, out_a) = scale Z^2 / 2. For Gaussian values and scale 1 this is the posterior
    N(mean_a, sigma_a^2 / N_a) of a flat prior; for others it is the signed root of the likelihood
    ratio, which is normal to first order. An arm without values counts as if it had one.
    """
    for a in range(out.size):
        z = rng.standard_normal()
        level = 0.5 * scale * z * z / max(stats.counts[a], 1.0)
        if z < 0.0:
            out[a] = rewards.project(rewards.kl_lcb(stats.mean[a], level, a), a)
        else:
            out[a] = rewards.project(rewards.kl_ucb(stats.mean[a], level, a), a)


STARTS = ("covering", "full", "random-covering")
FULL_LIMIT = 250_000
TRIES, PATIENCE = 500, 100  # of `joining`: in total, and before another pass is added


def start_sets(start: str, actions: StructureBase, rng: Random | None) -> list[tuple[int, ...]]:
    """Return the actions of an initial design.

    "covering" has as few actions as observe every arm, "full" has every action once, and
    "random-covering" has random actions until all arms are observed.
    """
    if start == "covering":
        return actions.covering()
    if start == "full":
        return actions.to_list(FULL_LIMIT)
    if start == "random-covering":
        return actions.random_covering(rng if rng is not None else np.random.default_rng(0))
    raise unknown_name("start", start, STARTS)


def check_start(of: str, start: object, name: str = "start") -> None:
    """Raise an error if there is no such initial design."""
    if not isinstance(start, str) or start not in STARTS:
        raise unknown_name(name, start, STARTS, of=of)


def padded(sets: list[tuple[int, ...]]) -> Ints:
    """Return one row of arms for each set, filled up with -1.

    Parameters
    ----------
    sets : list of tuple of int
        The sets.

    Returns
    -------
    int64[n, K]
        The rows. Their size is linear in the number of arms of the sets, unlike that of 0/1 rows.
    """
    rows = np.full((len(sets), max(map(len, sets))), -1, dtype=np.int64)
    for row, chosen in zip(rows, sets, strict=True):
        row[: len(chosen)] = chosen
    return rows


def in_order(start: str, rows: Ints, rng: Random) -> Ints:
    """Return the rows of a full initial design in random order; return others as they are.

    The order of a list would favour the first arms.
    """
    return rows[rng.permutation(len(rows))] if start == "full" else rows


def joining(actions: StructureBase, answers: StructureBase, rng: Random) -> list[tuple[int, ...]]:
    """Return two random passes over the arms that connect all arms that are to be compared.

    Every two of these arms can then be compared within plays. A pass is added if that does not come
    about.

    >>> import combgame as cg
    >>> plays = joining(cg.Subsets(6, 3), cg.Arms(6), np.random.default_rng(0))
    >>> len(plays), sorted(a for chosen in plays for a in chosen)
    (4, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5])
    """
    plays = list[tuple[int, ...]]()
    for attempt in range(TRIES):
        passes = 2 + attempt // PATIENCE
        plays = [one for _ in range(passes) for one in _random_pass(actions, rng)]
        if _joined(plays, answers):
            break
    return plays


def _random_pass(actions: StructureBase, rng: Random) -> list[tuple[int, ...]]:
    kernel, out, missing = actions.kernel(), np.zeros(actions.d), np.zeros(actions.d)
    missing[sorted(actions.observable_arms())] = 1.0
    plays = []
    while missing.any():
        kernel.argmax(float(actions.d) * missing + rng.random(actions.d), out)
        plays.append(arms_of(out))
        missing[out > 0.5] = 0.0
    return plays


def _joined(plays: list[tuple[int, ...]], answers: StructureBase) -> bool:
    """Return whether plays connect all arms of every group in which answers differ."""
    piece = np.arange(answers.d)
    for chosen in plays:
        met = np.unique(piece[list(chosen)])
        piece[np.isin(piece, met)] = met[0]
    return all(np.unique(piece[list(group)]).size == 1 for group in exchangeable(answers))
