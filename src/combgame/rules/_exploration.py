"""What rules share to explore: the start of a run, forced exploration, draws from a posterior.

The start of a run (INIT in Algorithm 1): which actions are played before the rule begins to
choose.

Forced exploration: a floor of values that every arm gets, whatever a rule would rather play; and
the rounds that FWS and P-FWS set aside for it.

Draws from a posterior of the means.
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
    """Whether some arm has fewer than explore sqrt(e) e / (e + ease) values, e = t K / d being what
    it would have if all were played alike; `score` is then what the arms lack, and 0 otherwise.
    """
    even, some = stats.n_rounds[0] * size / score.size, False
    floor = max(
        explore * math.sqrt(even) * even / (even + ease), 0.5
    )  # after the start only an arm whose values went missing has 0
    for a in range(score.size):
        score[a] = 0.0
        if visible[a] > 0.5 and stats.counts[a] < floor:
            score[a] = floor - stats.counts[a]
            some = True
    return some


@jitable
def square(n: int) -> bool:
    """Whether n is a perfect square."""
    root = int(math.sqrt(n))
    return root * root == n or (root + 1) * (root + 1) == n


@jitable
def draw_means(
    rewards: RewardKernel, stats: Statistics, scale: float, rng: Random, out: Floats
) -> None:
    """One draw: out_a is as far from the estimate as a standard normal Z says, N_a d(mean_a, out_a)
    = scale Z^2 / 2, on the side of its sign.

    For Gaussian values and scale 1 that is the posterior N(mean_a, sigma_a^2 / N_a) of a flat
    prior; for others the signed root of the likelihood ratio, which is normal to first order. An
    arm without values counts as if it had one.
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
TRIES, PATIENCE = 500, 100  # at a joining start: in all, and before another pass is added


def start_sets(start: str, actions: StructureBase, rng: Random | None) -> list[tuple[int, ...]]:
    """covering: as few actions as see every arm; full: every action once; random-covering: at
    random until all are seen.
    """
    if start == "covering":
        return actions.covering()
    if start == "full":
        return actions.to_list(FULL_LIMIT)
    if start == "random-covering":
        return actions.random_covering(rng if rng is not None else np.random.default_rng(0))
    raise unknown_name("start", start, STARTS)


def check_start(of: str, start: object, name: str = "start") -> None:
    """Say in a sentence that there is no such start."""
    if not isinstance(start, str) or start not in STARTS:
        raise unknown_name(name, start, STARTS, of=of)


def padded(sets: list[tuple[int, ...]]) -> Ints:
    """One row of arms per set, filled up with -1: linear in the number of arms, which 0/1 rows
    would not be.
    """
    rows = np.full((len(sets), max(map(len, sets))), -1, dtype=np.int64)
    for row, chosen in zip(rows, sets, strict=True):
        row[: len(chosen)] = chosen
    return rows


def in_order(start: str, rows: Ints, rng: Random) -> Ints:
    """A full start goes through the actions in random order: the order of a listing would favour
    the first arms.
    """
    return rows[rng.permutation(len(rows))] if start == "full" else rows


def joining(actions: StructureBase, answers: StructureBase, rng: Random) -> list[tuple[int, ...]]:
    """Two random passes over the arms that together join all arms that are to be compared, so that
    within plays every two of them can be; a pass more where that does not come about.

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
    """Whether plays join all arms of every group in which answers differ."""
    piece = np.arange(answers.d)
    for chosen in plays:
        met = np.unique(piece[list(chosen)])
        piece[np.isin(piece, met)] = met[0]
    return all(np.unique(piece[list(group)]).size == 1 for group in exchangeable(answers))
