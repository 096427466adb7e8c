"""Whether what a structure of one's own says of itself is so."""

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

MANY = 200  # sets that a nearest alternative is compared with


def check_structure(
    structure: StructureBase, trials: int = 50, seed: int = 0, compiled: bool = False
) -> None:
    """Whether what a structure says of itself is so: argmax and nearest against all its sets, or
    those that argmax has met if it cannot be listed; membership, covering, samples, the numbers
    that thresholds are made of, and, if there are at most 5000 sets, by what they differ
    (`neighbourhood`), which is not tried if there are more: prove it, or try a smaller structure. Prints
    what was checked. compiled: also whether both engines agree; it is compiled first, once.

    >>> from combgame import Subsets
    >>> check_structure(Subsets(6, 2), trials=20)
    Subsets(6, 2) passes:
       20 x  argmax is a set, and the best of 15, all there are
       20 x  a sample is a set
        3 x  a set of the covering, which sees every arm that can be seen
        1 x  size_bound, largest and difference_bound are not too small for 15 sets
       20 x  nearest is not above the distance of 14 others, and its rival is as far as that
       10 x  exchange, for every set that is not the best
        1 x  runs interpreted only: compiled=True compares the engines, and compiles first
    """
    check_part("structure", structure, StructureBase, of="check_structure")
    check_numbers("check_structure", seed, trials=trials)
    check_bool("compiled", compiled, of="check_structure")
    tally = CheckReport(named(structure))
    rng, kernel, out = np.random.default_rng(seed), structure.kernel(), np.zeros(structure.d)
    try:
        sets = structure.to_list(LISTED)
    except CombGameError:
        sets = []
    if sets:
        size = structure.n_sets()
        assert size is None or size == len(sets), (
            f"size() says {size} but there are {len(sets)} sets."
        )
        assert len(set(sets)) == len(sets), "iterate() gives a set twice."
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
            # sets that cannot be listed: at least those met before
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
    tally.add(f"argmax is a set, and the best of {many}", trials)
    tally.add("a sample is a set", trials)
    covered = {a for s in structure.covering() for a in s}
    assert covered == structure.observable_arms(), "covering() does not see every observable arm."
    for s in structure.covering():
        assert _member(structure, vector(s, structure.d)), (
            f"covering() has {s}, which contains() says is not a set."
        )
        tally.add("a set of the covering, which sees every arm that can be seen")
    known = sorted(set(sets) or met | set(structure.covering()))
    _check_sizes(structure, known)
    tally.add(f"size_bound, largest and difference_bound are not too small for {len(known):,} sets")
    others = min(len(known) - 1, MANY)
    for trial in range(trials if len(known) > 1 else 0):
        _check_nearest(structure, known, trial, rng)
        tally.add(
            f"nearest is not above the distance of {others:,} others, and its rival is as far as "
            "that"
        )
    for _ in range(min(trials, 10) if len(sets) > 1 else 0):
        _check_exchange(structure, sets, rng)
        tally.add("exchange, for every set that is not the best")
    if len(known) > 1:
        _check_run(structure, rng, tally, compiled)
    tally.tell()


def _check_run(structure: StructureBase, rng: Any, tally: CheckReport, compiled: bool) -> None:
    """As actions and answers of a problem, in both engines."""
    leaves = (*iter_leaves(structure.kernel()), *iter_leaves(structure.answer_kernel()))
    if any(isinstance(leaf, SIGNATURE) for leaf in leaves):
        tally.add("a Python function, which is not compiled")
        return
    problem = Problem(structure, None, Gaussian(1.0))
    setup = make_rule("uniform").bind(problem)
    initial = InitialState(problem, setup, NEVER)
    check_engines(initial, rng.normal(size=structure.d), 30, 0, tally, compiled)


def _check_sizes(structure: StructureBase, known: list[tuple[int, ...]]) -> None:
    """What a threshold is computed from must not be too small."""
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
    """`nearest_alternative` of random means, some of them almost tied, and random weights, some of them 0, for
    one of three kinds of rewards.
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
            f"nearest returned {got}, but {others[k]} is at the distance {truth} {where}: it "
            "must never return more than the distance to "
            "the nearest set, because that is what stops a run."
        )
    if got < np.inf:
        assert _member(structure, rival) and (rival != best).any(), (
            f"nearest wrote the rival {arms_of(rival)}, no other set {where}."
        )
        truth = against(rewards, mean, weight, best, arms, sign, rival, spare)
        assert got <= truth + 1e-6 * abs(truth) + 1e-12, (
            f"nearest returned {got}, more than the distance {truth} to its own rival {where}."
        )
        assert truth == np.inf or (rival - best) @ alternative >= -1e-6, (
            f"nearest wrote the alternative {alternative.tolist()}, at which its rival "
            f"{arms_of(rival)} is worse than the leader {where}."
        )


def _check_exchange(structure: StructureBase, sets: list[tuple[int, ...]], rng: Any) -> None:
    """Whether every set I that is not the best, B, has a better J whose difference from I is as
    `neighbourhood` says; and whether its number of differences is enough for B.
    """
    claim, d = structure.neighbourhood(), structure.d
    score, best = rng.normal(size=d), np.zeros(d)
    structure.kernel().argmax(score, best)
    rows = np.array([vector(s, d) for s in sets])
    value, far = rows @ score, (rows != best).sum(axis=1)
    others = np.flatnonzero(far > 0)
    near, some = others[np.argsort(far[others], kind="stable")], rng.permutation(others)
    covered: set[bytes] = set()
    least = 0  # how many differences are needed: no two of these sets can do with the same one
    for i in dict.fromkeys([*near[:MANY], *some[:MANY]]):
        apart = rows != rows[i]
        fits = (value > value[i]) & (apart.sum(axis=1) <= claim.max_size)
        if claim.is_swap:  # one arm for one, and towards the best
            toward = (apart <= (best != rows[i])).all(axis=1)
            fits &= toward & (apart.sum(axis=1) == 2) & (rows.sum(axis=1) == rows[i].sum())
        assert fits.any(), (
            f"exchange() says {claim}, but no set that is better than {sets[i]} differs from it "
            f"like that, for the scores {score.tolist()} with the best set {arms_of(best)}: a "
            "threshold would be too low."
        )
        differences = {row.tobytes() for row in apart[fits]}
        if not differences & covered:
            covered |= differences
            least += 1
    assert claim.n_differences >= least, (
        f"exchange() says {claim}, but the sets differ from better ones by at least {least} "
        f"differences where {arms_of(best)} is the best: a threshold would be too low."
    )


def _member(structure: StructureBase, out: Any) -> bool:
    try:
        return structure.contains(arms_of(out))
    except CombGameError:
        return True  # it cannot tell
