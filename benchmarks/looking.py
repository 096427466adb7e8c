"""Studies in which how many values there are was decided by looking at values, for
`python benchmarks/guarantee.py --looking`.

plates: two arms that are tied but for 1e-6, in plays with levels of their own; a well of the wrong
arm that reads low is read nine times more on the same plate, and all readings are told. controls:
sigma not known, one value each of 200 controls, and those that read within half a sigma of what
they should are read once more; the error is that the true sigma is excluded. outside: the same,
where the second readings come as data from outside. carried: an old study of 150 arms under a rule
that plays again what reads most as all arms do, with one value of each arm first; carried over to a
study of one arm more. The error is that the true sigma is excluded (sigma not known), or doubted
(sigma stated; studies doubt it at 1e-4, which is the same statistic at a lower level); tied: of two
arms that are tied, and one more that is worse, the wrong one is certified. order: all of the start
of 100 arms is asked, two values of each, and one round more; of the second readings a quarter is
measured, of the arms that read nearest to what they should (near) or farthest from it (far), then
the later round, and then the rest. The error is as for carried studies. halves: the plates of
"plates", each lower by half a sigma than the one before; the wrong arm is read, the plate is
dropped, and the round is asked again.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

import combgame as cg
from combgame.engine.state import Floats
from combgame.rules._exploration import padded, start_sets
from combgame.rules.base import FixedBoundRule, RuleBase
from combgame.simulation.result import error_interval
from combgame.stopping.variance import ratios, spreading

LEVELS = (0.1, 0.01, 0.001)
HEAD = ["study", "rewards", "studies", "level", "errors", "rate", "95 % interval", "error / level"]


class TypicalKernel(NamedTuple):
    score: Floats

    def choose(self, problem, stats, state, rng):
        """Of the arms with fewest values, that which reads most as all of them are."""
        for a in range(self.score.size):
            self.score[a] = -abs(stats.mean[a]) - 10.0 * stats.counts[a]
        problem.actions.argmax(self.score, state.action)

    def needs_resize(self):
        return False


@dataclass(frozen=True)
class Typical(RuleBase):
    """Plays again what looks typical."""

    def bind(self, problem):
        kernel = TypicalKernel(np.zeros(problem.d))
        return FixedBoundRule(kernel, padded(start_sets("covering", problem.actions, None)))


def history_of(study):
    with study._session.reading() as (state, _):
        return state.history


def excluded(study) -> float:
    """ln of the e-process against larger sigmas than the true one, which is 1; 0 before the start
    is over, when nothing is said of sigma.
    """
    stats = history_of(study).stats
    noise = stats.residuals * (1 - stats.in_initial_design[0])
    n, squares = float(noise[0, 0]), float(noise[1, 0])
    return 0.0 if n == 0.0 else float(spreading(ratios(), n, squares / n)[0])


def wrong(study, answer) -> float:
    return math.inf if study.done and study.decision.answer != answer else -math.inf


def plates(known: bool, delta: float, seed: int) -> float:
    rng = np.random.default_rng(seed)
    rewards = cg.Gaussian(*([1.0] * known), batch_effect=True)
    problem = cg.Problem(cg.Subsets(2, 2), cg.Arms(2), rewards)
    study = cg.Study(problem, delta=delta, seed=seed, engine="python")
    for _ in range(25):
        told = {}
        for todo in [] if study.done else study.ask(20):
            level = 0.1 * rng.standard_normal()
            values = [level + rng.standard_normal()]
            if values[0] < level:
                values += list(level + rng.standard_normal(9))
            told[todo] = {0: 1e-6 + level + rng.standard_normal(), 1: values}
        study.tell_many(told)
    return wrong(study, (0,))


def controls(outside: bool, seed: int) -> float:
    rng, d = np.random.default_rng(seed), 200
    problem = cg.Problem(cg.Arms(d), rewards=cg.Gaussian())
    study = cg.Study(problem, min_replicates=1, rule="uniform", seed=seed, engine="python")
    told, again = {}, {}
    for todo in study.ask(d):
        x, arm = rng.standard_normal(), todo.arms[0]
        told[todo] = {arm: x}
        if abs(x) < 0.5:
            if outside:
                again[arm] = rng.standard_normal()
            else:
                told[todo][arm] = [x, rng.standard_normal()]
    last = told.popitem()
    study.tell_many(told)
    if again:
        study.observe(again)
    study.tell(*last)
    study.tell_many({one: {one.arms[0]: rng.standard_normal()} for one in study.ask(20)})
    return excluded(study)


def carried(known: bool, seed: int) -> float:
    rng, d = np.random.default_rng(seed), 150
    one, two = (
        cg.Problem(
            cg.Arms(n),
            rewards=cg.Gaussian(*([1.0] * known)),
            names=[f"v{k}" for k in range(n)],
        )
        for n in (d, d + 1)
    )
    how = {"delta": 1e-9, "seed": seed, "min_replicates": 1, "engine": "python"}
    old = cg.Study(one, rule=Typical(), **how)
    for n in (d, *[10] * 8):
        old.tell_many({todo: {todo.arms[0]: rng.standard_normal()} for todo in old.ask(n)})
    new = cg.Study(two, rule="uniform", **how)
    new.transfer_from(old)
    for _ in range(2):
        todo = new.ask()
        new.tell(todo, {todo.arms[0]: rng.standard_normal()})
    return new.status.noise_check.evidence if known else excluded(new)


def order(near: bool, known: bool, seed: int) -> float:
    """The largest that the statistic was at any time."""
    rng, d = np.random.default_rng(seed), 100
    problem = cg.Problem(cg.Arms(d), rewards=cg.Gaussian(*([1.0] * known)))
    study = cg.Study(problem, delta=1e-9, rule="uniform", seed=seed, engine="python")
    *start, later = study.ask(2 * d + 1)
    first: dict[int, float] = {}
    told, again = {}, []
    for todo in start:
        arm = todo.arms[0]
        if arm in first:
            again.append(todo)
        else:
            first[arm] = rng.standard_normal()
            told[todo] = {arm: first[arm]}
    study.tell_many(told)
    again.sort(key=lambda todo: abs(first[todo.arms[0]]), reverse=not near)
    most = -math.inf
    for part in (again[: d // 4], [later], again[d // 4 :]):
        study.tell_many({todo: {todo.arms[0]: rng.standard_normal()} for todo in part})
        now = study.status.noise_check.evidence if known else excluded(study)
        most = max(most, now)
    return most


def halves(delta: float, seed: int) -> float:
    rng, plate = np.random.default_rng(seed), 0
    problem = cg.Problem(cg.Subsets(2, 2), cg.Arms(2), cg.Gaussian(1.0, batch_effect=True))
    study = cg.Study(problem, delta=delta, seed=seed, engine="python")
    for _ in range(30):
        if study.done:
            break
        todo, plate = study.ask(), plate + 2
        study.tell(todo, {1: 0.5 - 0.5 * plate + rng.standard_normal()}, final=False)
        study.fail(todo, "the plate was dropped")
        values = 1e-6 * np.array([1.0, 0.0]) - 0.5 * plate + rng.standard_normal(2)
        study.tell(todo, {arm: values[arm] for arm in study.ask().remaining})
    return wrong(study, (0,))


def tied(delta: float, seed: int) -> float:
    """The rule that plays again what looks typical of two arms, one of which is at 1e-6."""
    rng, means = np.random.default_rng(seed), (1e-6, 0.0, -3.0)
    one, two = (
        cg.Problem(cg.Arms(n), rewards=cg.Gaussian(), names=["a", "b", "c"][:n]) for n in (2, 3)
    )
    how = {"seed": seed, "min_replicates": 1, "engine": "python"}
    old = cg.Study(one, delta=1e-12, rule=Typical(), **how)
    for _ in range(40):
        todo = old.ask()
        old.tell(todo, {todo.arms[0]: means[todo.arms[0]] + rng.standard_normal()})
    new = cg.Study(two, delta=delta, **how)
    new.transfer_from(old)
    for _ in range(10):
        for todo in [] if new.done else new.ask(20):
            new.tell(todo, {todo.arms[0]: means[todo.arms[0]] + rng.standard_normal()})
    return wrong(new, (0,))


Case = tuple[str, str, int, Iterable[float], Callable[[int], float]]


def cases() -> list[Case]:
    """Name, rewards, how many times as many studies, levels at which a study errs, and by seed what
    must exceed ln(1/level).
    """
    known, unknown = "Gaussian(1.0)", "Gaussian()"
    made: list[Case] = [
        (f"plates, delta {delta:g}", rewards, 1, (delta,), partial(plates, which, delta))
        for which, rewards in (
            (True, "Gaussian(1.0, batch_effect=True)"),
            (False, "Gaussian(batch_effect=True)"),
        )
        for delta in (0.2, 0.05)
    ]
    return [
        *made,
        ("controls", unknown, 8, LEVELS, partial(controls, False)),
        ("controls, outside", unknown, 8, LEVELS, partial(controls, True)),
        ("carried", unknown, 1, LEVELS[:2], partial(carried, False)),
        ("carried, sigma stated", known, 1, LEVELS[:2], partial(carried, True)),
        ("carried, tied", unknown, 1, (0.2,), partial(tied, 0.2)),
        ("order, near first", unknown, 1, LEVELS[:2], partial(order, True, False)),
        ("order, near first, sigma stated", known, 1, LEVELS[:2], partial(order, True, True)),
        ("order, far first, sigma stated", known, 1, LEVELS[:2], partial(order, False, True)),
        ("halves", "Gaussian(1.0, batch_effect=True)", 1, (0.2,), partial(halves, 0.2)),
    ]


def rows(studies: int, jobs: int, case: str = "") -> list[list[object]]:
    """A line per case and level, in the columns of guarantee.py."""
    made: list[list[object]] = []
    for name, rewards, times, levels, one in cases():
        if not name.startswith(case):
            continue
        n = times * studies
        found = np.array(Parallel(jobs)(delayed(one)(seed) for seed in range(n)))
        for level in levels:
            errors = int((found > -math.log(level)).sum())
            low, high = error_interval(errors, n)
            made.append(
                [
                    name,
                    rewards,
                    f"{n:,}",
                    f"{level:g}",
                    errors,
                    f"{errors / n:.4f}",
                    f"{low:.4f} to {high:.4f}",
                    f"{errors / n / level:.2f}",
                ]
            )
            print(*made[-1], sep=" | ", flush=True)
    return made
