"""Conformance check of structures."""

from typing import Any

import numpy as np

from ..engine.kernels import iter_leaves
from ..engine.likelihood_ratio import against
from ..engine.state import arms_of, vector
from ..engine.user_code import SIGNATURE
from ..errors import CombGameError, check_bool
from ..problem import Problem
from ..rewards import Bernoulli, Gaussian
from ..rules.presets import make_rule
from ..simulation.runner import InitialState
from ..stopping.base import LISTED, NEVER
from ..structures import StructureBase
from ._report import CheckReport, check_engines, check_numbers, check_part, named

MANY = 200  # sets with which a nearest alternative is compared


def check_structure(
    structure: StructureBase, trials: int = 50, seed: int = 0, compiled: bool = False
) -> None:
    """Check a structure and print what was checked.

    The linear oracle and the nearest alternative are compared with all sets of the structure, or
    with those that the oracle has found if the structure cannot be listed. Membership, covering,
    samples and the numbers on which thresholds depend are checked too. The differences between sets
    (``neighbourhood``) are checked only if there are at most 5000 sets: for larger structures,
    prove them, or try a smaller structure.

    Parameters
    ----------
    structure : StructureBase
        The structure.
    trials : int, default=50
        Number of random scores, means and weights.
    seed : int, default=0
        Seed of the trials.
    compiled : bool, default=False
        If True, the structure is compiled and both engines are compared.

    Raises
    ------
    AssertionError
        If the structure fails a check.

    Examples
    --------
    >>> from combgame import Subsets
    >>> check_structure(Subsets(6, 2), trials=20)
    Subsets(6, 2) passes:
       20 x  argmax is a set, and the best of 15, all there are
       20 x  a sample is a set
        3 x  a set of the covering, which sees every arm that can be seen
        1 x  n_sets_bound, max_size and max_difference_bound are not too small for 15 sets
       20 x  nearest_alternative: not above the distance of 14 others, its rival is as far as that
       10 x  neighbourhood, for every set that is not the best
        1 x  runs interpreted only: compiled=True compares the engines, and compiles first
    """
    check_part("structure", structure, StructureBase, of="check_structure")
    check_numbers("check_structure", seed, trials=trials)
    check_bool("compiled", compiled, of="check_structure")
    report = CheckReport(named(structure))
    rng, kernel, out = np.random.default_rng(seed), structure.kernel(), np.zeros(structure.d)
    try:
        sets = structure.to_list(LISTED)
    except CombGameError:
        sets = []
    if sets:
        size = structure.n_sets()
        assert size is None or size == len(sets), (
            f"n_sets() says {size} but there are {len(sets)} sets."
        )
        assert len(set(sets)) == len(sets), "__iter__() gives a set twice."
    met: set[tuple[int, ...]] = set()
    for _ in range(trials):
        score = rng.normal(size=structure.d) * 10.0 ** rng.integers(-3, 4)
        kernel.argmax(score, out)
        assert set(np.unique(out)) <= {0.0, 1.0}, f"argmax wrote {out}, which is not a 0/1 vector."
        assert _member(structure, out), (
            f"argmax returned {arms_of(out)}, which contains() says is not a set."
        )
        met.add(arms_of(out))
        if sets or met:
            # if the sets cannot be listed, compare with those found before
            best = max(score[list(s)].sum() for s in sets or met)
            got = score @ out
            assert got >= best - 1e-9 * max(1.0, abs(best)), (
                f"argmax reached {got}, but {best} is possible."
            )
        kernel.sample(rng, out)
        assert _member(structure, out), (
            f"sample returned {arms_of(out)}, which contains() says is not a set."
        )
    many = f"{len(sets):,}, all there are" if sets else f"the {len(met):,} that it has found"
    report.add(f"argmax is a set, and the best of {many}", trials)
    report.add("a sample is a set", trials)
    covered = {a for s in structure.covering() for a in s}
    assert covered == structure.observable_arms(), "covering() does not see every observable arm."
    for s in structure.covering():
        assert _member(structure, vector(s, structure.d)), (
            f"covering() has {s}, which contains() says is not a set."
        )
        report.add("a set of the covering, which sees every arm that can be seen")
    known = sorted(set(sets) or met | set(structure.covering()))
    _check_sizes(structure, known)
    report.add(
        f"n_sets_bound, max_size and max_difference_bound are not too small for {len(known):,} sets"
    )
    others = min(len(known) - 1, MANY)
    for trial in range(trials if len(known) > 1 else 0):
        _check_nearest(structure, known, trial, rng)
        report.add(
            f"nearest_alternative: not above the distance of {others:,} others, its rival is as "
            "far as that"
        )
    for _ in range(min(trials, 10) if len(sets) > 1 else 0):
        _check_exchange(structure, sets, rng)
        report.add("neighbourhood, for every set that is not the best")
    if len(known) > 1:
        _check_run(structure, rng, report, compiled)
    report.show()


def _check_run(structure: StructureBase, rng: Any, report: CheckReport, compiled: bool) -> None:
    """Run the structure as actions and answers of a problem, in both engines."""
    leaves = (*iter_leaves(structure.kernel()), *iter_leaves(structure.answer_kernel()))
    if any(isinstance(leaf, SIGNATURE) for leaf in leaves):
        report.add("a Python function, which is not compiled")
        return
    problem = Problem(structure, None, Gaussian(1.0))
    setup = make_rule("uniform").bind(problem)
    initial = InitialState(problem, setup, NEVER)
    check_engines(initial, rng.normal(size=structure.d), 30, 0, report, compiled)


def _check_sizes(structure: StructureBase, known: list[tuple[int, ...]]) -> None:
    """Check that the numbers from which thresholds are computed are not too small."""
    rows = np.array([vector(s, structure.d) for s in known[:500]])
    apart = int((rows[:, None, :] != rows[None, :, :]).sum(axis=2).max())
    for name, said, least in (
        ("n_sets_bound", structure.n_sets_bound(), len(known)),
        ("max_size", structure.max_size(), int(rows.sum(axis=1).max())),
        ("max_difference_bound", structure.max_difference_bound(), apart),
    ):
        assert said >= least, (
            f"{name}() says {said}, but it is at least {least}: a threshold would be too low."
        )


def _check_nearest(
    structure: StructureBase, known: list[tuple[int, ...]], trial: int, rng: Any
) -> None:
    """Check `nearest_alternative` for random means and weights and one of three kinds of rewards.

    Some means are almost tied, and some weights are 0.
    """
    d, kernel = structure.d, structure.answer_kernel()
    free = np.full(d, np.inf)
    kind, rewards = (
        ("Gaussian", Gaussian(rng.uniform(0.3, 2.0, d).tolist()).kernel(-free, free)),
        ("Bernoulli", Bernoulli().kernel(np.zeros(d), np.ones(d))),
        ("Gaussian with bounds", Gaussian(1.0).kernel(np.full(d, 0.2), np.full(d, 0.8))),
    )[trial % 3]
    mean, weight = rng.random(d), 10.0 ** rng.uniform(-2.0, 2.0, d)
    if trial % 4 == 3:
        mean = 0.5 + 1e-4 * (mean - 0.5)
    if trial % 5 == 4:
        weight[rng.integers(d)] = 0.0
    best, rival, alternative, spare = np.zeros((4, d))
    kernel.argmax(np.array([rewards.project(x, a) for a, x in enumerate(mean)]), best)
    got = kernel.nearest_alternative(rewards, mean, weight, best, rival, alternative)
    where = f"for {kind} rewards, means {mean.tolist()} and weights {weight.tolist()}"
    arms, sign = np.zeros(d, np.int64), np.zeros(d)
    others = [s for s in known if s != arms_of(best)]
    for k in rng.permutation(len(others))[:MANY]:
        truth = against(rewards, mean, weight, best, arms, sign, vector(others[k], d), spare)
        assert got <= truth + 1e-6 * abs(truth) + 1e-12, (
            f"nearest_alternative returned {got}, but {others[k]} is at the distance {truth} "
            f"{where}: it must never return more than the distance to "
            "the nearest set, because that is what stops a run."
        )
    if got < np.inf:
        assert _member(structure, rival) and (rival != best).any(), (
            f"nearest_alternative wrote the rival {arms_of(rival)}, no other set {where}."
        )
        truth = against(rewards, mean, weight, best, arms, sign, rival, spare)
        assert got <= truth + 1e-6 * abs(truth) + 1e-12, (
            f"nearest_alternative returned {got}, more than the distance {truth} to its own rival "
            f"{where}."
        )
        assert truth == np.inf or (rival - best) @ alternative >= -1e-6, (
            f"nearest_alternative wrote the alternative {alternative.tolist()}, at which its rival "
            f"{arms_of(rival)} is worse than the leader {where}."
        )


def _check_exchange(structure: StructureBase, sets: list[tuple[int, ...]], rng: Any) -> None:
    """Check `neighbourhood` for random scores with the best set B.

    Every set I other than B must have a better set J whose difference from I is as stated, and the
    stated number of differences must be large enough for B.
    """
    claim, d = structure.neighbourhood(), structure.d
    score, best = rng.normal(size=d), np.zeros(d)
    structure.kernel().argmax(score, best)
    rows = np.array([vector(s, d) for s in sets])
    value, far = rows @ score, (rows != best).sum(axis=1)
    others = np.flatnonzero(far > 0)
    near, some = others[np.argsort(far[others], kind="stable")], rng.permutation(others)
    covered: set[bytes] = set()
    least = 0  # number of differences that are needed: no two of these sets can share one
    for i in dict.fromkeys([*near[:MANY], *some[:MANY]]):
        apart = rows != rows[i]
        fits = (value > value[i]) & (apart.sum(axis=1) <= claim.max_size)
        if claim.is_swap:  # one arm is exchanged for one of the best set
            toward = (apart <= (best != rows[i])).all(axis=1)
            fits &= toward & (apart.sum(axis=1) == 2) & (rows.sum(axis=1) == rows[i].sum())
        assert fits.any(), (
            f"neighbourhood() says {claim}, but no set that is better than {sets[i]} differs from "
            f"it like that, for the scores {score.tolist()} with the best set {arms_of(best)}: a "
            "threshold would be too low."
        )
        differences = {row.tobytes() for row in apart[fits]}
        if not differences & covered:
            covered |= differences
            least += 1
    assert claim.n_differences >= least, (
        f"neighbourhood() says {claim}, but the sets differ from better ones by at least {least} "
        f"differences where {arms_of(best)} is the best: a threshold would be too low."
    )


def _member(structure: StructureBase, out: Any) -> bool:
    try:
        return structure.contains(arms_of(out))
    except CombGameError:
        return True  # the structure cannot tell
