"""Errors where they are likeliest: python benchmarks/guarantee.py [--only NAME] [--tied | --sets |
--hard | --levels | --looking] [--out FILE]

close: two answers almost tied, the others far off. level: every answer as good as the second best.
pairs: the best pair, the other arms all alike. tied: the best is better by 1e-6 sigma only, so that
a run that stops before its cap is wrong about half of the time; one case or more for every theorem
of docs/thresholds.md, with boxes and precisions that differ by up to 1e5. adversary: a rule that
knows the means, stops playing arms that look as it wants them to, and so plays for the wrong answer
to look better; flatterer: one that also plays for an unknown sigma to look small. The error rate
must be at most delta, and the upper end of its exact 95 % interval at most 1.1 delta. Runs that
reach the cap have stopped with no answer.

--looking: how many values there are was decided by looking at values (benchmarks/looking.py): wells
that are read again, controls that are confirmed, studies that are carried over.

--hard: what broke 0.1.0. Best paths whose edges differ in precision by factors of 1e5 and 1e7 (0.09
and 0.48 errors at delta = 0.05 then), also reversed; an unknown sigma of 3e-13 of the mean (0.155),
and of 1e-9; studies of two tied arms, all of whose values are retracted every ten rounds, twenty
times (50 of 120 at delta = 0.2): wrong before the first retraction, and after it, which may be
delta/2.
"""

import argparse
import math
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import NamedTuple

import looking
import numpy as np
from made import save

import combgame as cg
from combgame._display.text import markdown
from combgame.engine.state import Floats
from combgame.rules._exploration import padded, start_sets
from combgame.rules.base import FixedBoundRule, RuleBase
from combgame.simulation.result import error_interval

DELTAS = (0.2, 0.1, 0.05)
ALL = ("mixture", "gaussian", "gaussian-counts", "sub-gaussian", "sub-gaussian-counts")
HEAD = [
    "instance",
    "rewards",
    "threshold",
    "rule",
    "delta",
    "mean rounds",
    "errors",
    "rate",
    "95 % interval",
    "capped",
    "error / delta",
]


class AdversaryKernel(NamedTuple):
    truth: Floats
    sign: Floats  # -1: should look bad, 1: should look good
    score: Floats

    def choose(self, problem, stats, state, rng):
        """What looks least as it should, in standard errors, is played again."""
        for a in range(self.truth.size):
            self.score[a] = (
                -self.sign[a] * math.sqrt(stats.counts[a]) * (stats.mean[a] - self.truth[a])
            )
        problem.actions.argmax(self.score, state.action)

    def needs_resize(self):
        return False


@dataclass(frozen=True)
class Adversary(RuleBase):
    """Plays for the wrong arm to win."""

    means: tuple[float, ...]

    def bind(self, problem):
        truth = np.array(self.means)
        order = sorted(problem.answers.to_list(), key=lambda one: -truth[list(one)].sum())
        sign = np.zeros(truth.size)
        sign[list(order[1])] = 1.0
        sign[list(order[0])] -= 1.0
        if not problem.answers.neighbourhood().max_size > 2 and len(order[0]) == 1:
            sign = np.where(truth == truth.max(), -1.0, 1.0)  # any of the other arms will do
        return FixedBoundRule(
            AdversaryKernel(truth, sign, np.zeros(truth.size)),
            padded(start_sets("covering", problem.actions, None)),
        )


class FlattererKernel(NamedTuple):
    truth: Floats
    best: int
    score: Floats

    def choose(self, problem, stats, state, rng):
        """The best arm until it looks bad, another until it looks good, and then whatever looks
        most as it is: its next value is likely to be near its mean, and sigma to look small.
        """
        for a in range(self.truth.size):
            self.score[a] = -abs(stats.mean[a] - self.truth[a])
        other = 1 if self.best == 0 else 0
        if stats.mean[self.best] > self.truth[self.best]:
            self.score[self.best] = 1.0
        elif stats.mean[other] < self.truth[other]:
            self.score[other] = 1.0
        problem.actions.argmax(self.score, state.action)

    def needs_resize(self):
        return False


@dataclass(frozen=True)
class Flatterer(RuleBase):
    """Plays for the wrong arm to win, and for sigma to look small."""

    means: tuple[float, ...]

    def bind(self, problem):
        truth = np.array(self.means)
        return FixedBoundRule(
            FlattererKernel(truth, int(truth.argmax()), np.zeros(truth.size)),
            padded(start_sets("covering", problem.actions, None)),
        )


class LevelAdversaryKernel(NamedTuple):
    truth: Floats
    sign: Floats  # -1: should look bad, 1: should look good
    score: Floats
    kept: Floats  # the play of the present block

    def choose(self, problem, stats, state, rng):
        """At the beginning of a block: the arms that look least as they should, over and over; a
        long block if the wrong arms are behind; a level that follows what has been seen.
        """
        blocks = stats.batch
        if blocks.left[0] == 0:
            wrong = 0.0
            for a in range(self.truth.size):
                off = stats.mean[a] - self.truth[a]
                wrong += self.sign[a] * off
                self.score[a] = -self.sign[a] * math.sqrt(stats.counts[a]) * off
            problem.actions.argmax(self.score, self.kept)
            blocks.left[0] = 1 if wrong > 0.0 else 5
        blocks.lifted[0] = 0.5 * blocks.lifted[0] + 50.0 * (stats.mean[0] - stats.mean[1])
        for a in range(state.action.size):
            state.action[a] = self.kept[a]

    def needs_resize(self):
        return False


@dataclass(frozen=True)
class LevelAdversary(RuleBase):
    """Plays for the wrong arm to win, and chooses the levels too."""

    means: tuple[float, ...]

    def bind(self, problem):
        truth = np.array(self.means)
        sign = np.where(truth == truth.max(), -1.0, 1.0)
        kernel = LevelAdversaryKernel(truth, sign, np.zeros(truth.size), np.zeros(truth.size))
        return FixedBoundRule(kernel, padded(start_sets("covering", problem.actions, None)))


def levels() -> list[tuple[str, cg.Problem, tuple[float, ...], tuple[str, ...]]]:
    """Two answers tied, but for 1e-6, in plays with levels of their own."""
    noise, mixture = cg.Gaussian(1.0, batch_effect=True), ("mixture",)
    unknown = cg.Gaussian(simulation_sigma=1.0, batch_effect=True)
    few, four, six = cg.Subsets(2, 2), cg.Subsets(4, 2), cg.Subsets(6, 3)
    return [
        ("two arms", cg.Problem(few, cg.Arms(2), noise), (1e-6, 0.0), mixture),
        ("4, 2 a play", cg.Problem(four, cg.Arms(4), noise), (1e-6, 0.0, -2.0, -2.0), mixture),
        ("4, 2 a play", cg.Problem(four, cg.Arms(4), unknown), (1e-6, 0.0, -2.0, -2.0), mixture),
        ("6, 3 a play", cg.Problem(six, cg.Arms(6), unknown), (1e-6, *[0.0] * 5), mixture),
        ("6, 3 a play", cg.Problem(six, cg.Arms(6), noise), (1e-6, *[0.0] * 5), mixture),
        (
            "best two of 6",
            cg.Problem(six, cg.Subsets(6, 2), noise),
            (2.0, 1e-6, 0.0, -1.0, -2.0, -2.0),
            mixture,
        ),
    ]


def cases() -> list[tuple[str, cg.Problem, tuple[float, ...], tuple[str, ...]]]:
    unit, unknown = cg.Gaussian(1.0), cg.Gaussian(simulation_sigma=1.0, shared_sigma=False)
    one = cg.Gaussian(simulation_sigma=1.0)
    halves = cg.Gaussian(
        shared_sigma=[range(5), range(5, 10)], simulation_sigma=[1.0] * 5 + [2.0] * 5
    )
    close, level, pair = (
        (0.3, 0.0, -2.0, -2.0, -2.0),
        (0.5, *[0.0] * 9),
        (0.5, 0.5, 0.0, 0.0, 0.0, 0.0),
    )
    found = [
        ("close", cg.Problem(cg.Subsets(5, 2), cg.Arms(5), unit), close, ALL),
        ("level", cg.Problem(cg.Subsets(10, 3), cg.Arms(10), unit), level, ALL),
        (
            "pairs",
            cg.Problem(cg.Subsets(6, 2), cg.Subsets(6, 2), unit),
            pair,
            ("mixture", "gaussian", "gaussian-counts"),
        ),
        ("close", cg.Problem(cg.Subsets(5, 2), cg.Arms(5), unknown), close, ("mixture",)),
        ("level", cg.Problem(cg.Subsets(10, 3), cg.Arms(10), unknown), level, ("mixture",)),
        ("close", cg.Problem(cg.Subsets(5, 2), cg.Arms(5), one), close, ("mixture",)),
        ("level", cg.Problem(cg.Subsets(10, 3), cg.Arms(10), one), level, ("mixture",)),
        ("level", cg.Problem(cg.Subsets(10, 3), cg.Arms(10), halves), level, ("mixture",)),
        ("pairs", cg.Problem(cg.Subsets(6, 2), cg.Subsets(6, 2), one), pair, ("mixture",)),
    ]
    for rewards in (cg.Bernoulli(), cg.Bounded(0, 1)):
        names = ("mixture", "sub-gaussian") if rewards == cg.Bernoulli() else ("mixture",)
        found.append(
            (
                "close",
                cg.Problem(cg.Subsets(5, 2), cg.Arms(5), rewards),
                (0.65, 0.5, 0.05, 0.05, 0.05),
                names,
            )
        )
        found.append(
            (
                "level",
                cg.Problem(cg.Subsets(10, 3), cg.Arms(10), rewards),
                (0.75, *[0.5] * 9),
                names,
            )
        )
    return found


def tied() -> list[tuple[str, cg.Problem, tuple[float, ...], tuple[str, ...]]]:
    """A case or more per theorem, which its name begins with."""
    unit, wide = cg.Gaussian(1.0), (1.0, 1e-5)
    unknown, one = (
        cg.Gaussian(simulation_sigma=1.0, shared_sigma=False),
        cg.Gaussian(simulation_sigma=1.0),
    )
    two, ten = (1e-6, 0.0), (1e-6, *[0.0] * 9)
    arms, boxes = cg.Arms(2), [(-0.3, 0.3), (-0.1, 0.5)]
    trees = cg.SpanningTrees([(0, 1), (1, 2), (2, 0)])
    found = [
        ("2: two arms", cg.Problem(arms, None, unit), two, ALL),
        ("2: ten arms, three a play", cg.Problem(cg.Subsets(10, 3), cg.Arms(10), unit), ten),
        ("2: boxes", cg.Problem(arms, None, unit, bounds=boxes), two),
        ("2: sigma 1 and 1e-5", cg.Problem(arms, None, cg.Gaussian(wide)), two),
        ("2: top 2 of 4", cg.Problem(cg.Subsets(4, 2), None, unit), (5.0, 1e-6, 0.0, -5.0)),
        ("2: trees", cg.Problem(trees, None, unit), (5.0, 1e-6, 0.0)),
        (
            "2: partition",
            cg.Problem(cg.Partition([[0, 1], [2, 3]], [1, 1]), None, unit),
            (1e-6, 0, 5, 0),
        ),
        ("2: bounded", cg.Problem(arms, None, cg.Bounded(0, 1)), (0.5 + 1e-6, 0.5)),
        ("7: coins", cg.Problem(arms, None, cg.Bernoulli()), (0.5 + 1e-6, 0.5)),
        ("7: rare coins", cg.Problem(arms, None, cg.Bernoulli()), (0.05 + 1e-7, 0.05)),
        (
            "7: coins, boxes",
            cg.Problem(arms, None, cg.Bernoulli(), bounds=[(0.4, 0.6), (0.45, 0.7)]),
            (0.5 + 1e-6, 0.5),
        ),
        ("8: own sigmas", cg.Problem(arms, None, unknown), two),
        (
            "8: 1 and 1e-5",
            cg.Problem(arms, None, cg.Gaussian(simulation_sigma=wide, shared_sigma=False)),
            two,
        ),
        ("8: boxes", cg.Problem(arms, None, unknown, bounds=boxes), two),
        ("10: one sigma", cg.Problem(arms, None, one), two),
        ("10: one sigma, ten arms", cg.Problem(cg.Arms(10), None, one), ten),
    ]
    chain = cg.Paths([(i // 2, i // 2 + 1) for i in range(6)], 0, 3)
    lists = cg.Listed([(0, 1, 2), (3, 4, 5)], 6)
    oracle = cg.Oracle(_either, 6, contains=_among)
    for name, structure, rewards in (
        ("5, 6: grid 4", cg.grid_network(4), unit),
        ("5, 6: matchings 3 x 3", cg.Matchings(3, 3), unit),
        ("5, 6: chain 3 x 2", chain, unit),
        ("5, 6: two lists of 3", lists, unit),
        ("5, 6: lists, sigma 1 to 1e-5", lists, cg.Gaussian((1.0, 1e-5, 1.0, 1.0, 1e-5, 0.1))),
        ("5, 6: almost all sets of 4", cg.AlmostAllSets(4), unit),
        ("5, 6: lists of coins", lists, cg.Bernoulli()),
        ("1: an oracle of two sets", oracle, unit),
        ("3: lists, own sigmas", lists, unknown),
        ("10: lists, one sigma", lists, one),
    ):
        coins = rewards == cg.Bernoulli()
        means, (first, second) = np.full(structure.d, -2.0), lists.to_list()
        if structure is not oracle:
            first, second = structure.to_list()[:2]
        means[list(second)] = 0.0
        means[list(first)] = 1e-6
        if coins:
            means = 0.5 + means.clip(-0.4, 1.0)
        actions = cg.Arms(6) if structure in (lists, oracle) else structure
        problem = cg.Problem(actions, structure, rewards)
        found.append((name, problem, tuple(means.tolist())))
    return [(*case, ("mixture",)) if len(case) == 3 else case for case in found]


def _either(scores: Floats) -> list[int]:
    """Of two sets, the one with the larger sum."""
    return [0, 1, 2] if scores[:3].sum() >= scores[3:].sum() else [3, 4, 5]


def _among(chosen: tuple[int, ...]) -> bool:
    return tuple(chosen) in ((0, 1, 2), (3, 4, 5))


def sets() -> list[tuple[str, cg.Problem, tuple[float, ...], tuple[str, ...]]]:
    """Best paths, matchings, trees and listed sets, with standard deviations from 0.01 to 3."""
    spread = (1.0, 3.0, 0.3, 0.01, 1.0, 0.1)
    paths = cg.Paths(
        [("s", "t"), ("s", "t"), ("s", "a"), ("a", "t"), ("s", "b"), ("b", "t")], "s", "t"
    )
    trees = cg.SpanningTrees([(0, 1), (1, 2), (2, 0), (2, 3), (3, 0), (1, 3)])
    found = [
        ("paths", paths, (0.5, 0.0, 0.25, 0.0, 0.0, 0.2)),
        ("matchings", cg.Matchings(2, 3), (0.5, 0.0, 0.0, 0.2, 0.2, 0.0)),
        ("trees", trees, (0.5, 0.0, 0.5, 0.1, 0.0, 0.3)),
        (
            "listed",
            cg.Listed([(0, 1), (2, 3), (4, 5), (0, 2, 4)], 6),
            (0.8, 0.3, 0.1, 0.2, 0.1, 0.1),
        ),
    ]
    return [
        (name, cg.Problem(structure, None, cg.Gaussian(spread)), means, ("mixture",))
        for name, structure, means in found
    ]


def hard() -> list[tuple[str, cg.Problem, tuple[float, ...], tuple[str, ...]]]:
    found = []
    for sigma in (1e-5, 1e-7):
        for back in (
            False,
            True,
        ):  # which of the two edges that tie is listed first decides nothing
            edges = [("s", "m"), ("s", "m"), ("m", "t"), ("m", "t")]
            means, sigmas = (0.5, 0.0, 1e-6, 0.0), (sigma, sigma, 1.0, 1.0)
            order = (3, 2, 1, 0) if back else (0, 1, 2, 3)
            paths = cg.Paths([edges[a] for a in order], "s", "t")
            problem = cg.Problem(paths, None, cg.Gaussian(tuple(sigmas[a] for a in order)))
            found.append(
                (
                    f"paths, sigma {sigma:g} and 1{', reversed' * back}",
                    problem,
                    tuple(means[a] for a in order),
                    ("mixture",),
                )
            )
    for share in (3e-13, 1e-9):
        problem = cg.Problem(
            cg.Arms(2), None, cg.Gaussian(simulation_sigma=share, shared_sigma=False)
        )
        found.append(
            (
                f"sigma {share:g} of the mean",
                problem,
                (1.0, 1.0 - max(1e-6 * share, 2.0**-53)),
                ("mixture",),
            )
        )
    return found


def retracted(delta: float, seed: int) -> int | None:
    """The stage of the first wrong certificate of a study of two arms that are almost tied; None if
    there is none.
    """
    rng = np.random.default_rng(seed)
    study = cg.Study(
        cg.Problem(cg.Arms(2), None, cg.Gaussian(1.0)), delta=delta, rule="uniform", seed=seed
    )
    for stage in range(21):
        for _ in range(10):
            if study.done:
                break
            todo = study.ask()
            study.tell(
                todo, {a: (1e-6 if a == 0 else 0.0) + rng.standard_normal() for a in todo.arms}
            )
        if study.done:
            return stage if study.decision.answer == (1,) else None
        for a in (0, 1):
            study.retract(arm=a, reason="the schedule says so")
    return None


def card_name() -> str:
    from combgame.engine import cuda

    return cuda.name()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--sets",
        action="store_true",
        help="best sets with unequal standard deviations, instead of single arms",
    )
    parser.add_argument("--cap", type=int, default=20_000)
    parser.add_argument(
        "--tied",
        action="store_true",
        help="answers that are tied, and an adversary, instead; cap: 1,000 rounds",
    )
    parser.add_argument(
        "--hard", action="store_true", help="what broke 0.1.0, instead; cap: 1,000 rounds"
    )
    parser.add_argument(
        "--levels", action="store_true", help="plays with levels of their own; cap: 1,000 rounds"
    )
    parser.add_argument(
        "--looking", action="store_true", help="values whose number was chosen by looking, instead"
    )
    parser.add_argument(
        "--studies", type=int, default=1_000, help="with --hard and --looking: how many studies"
    )
    parser.add_argument(
        "--only", action="append", choices=ALL, help="a threshold; may be given several times"
    )
    parser.add_argument(
        "--engine",
        default="compiled",
        choices=["compiled", "cuda"],
        help="cuda: at delta = 0.1, 0.01 and 0.001; what cannot be on a card is left out, and said",
    )
    parser.add_argument("--case", default="", help="only cases whose name begins so")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    if options.looking:
        cells = looking.rows(options.studies, options.jobs, options.case)
        save(options.out, markdown(looking.HEAD, cells, left=2))
        return
    cells = []
    short = options.tied or options.hard or options.levels
    cap = min(options.cap, 1_000) if short else options.cap
    for name, problem, means, thresholds in (
        tied()
        if options.tied
        else sets()
        if options.sets
        else hard()
        if options.hard
        else levels()
        if options.levels
        else cases()
    ):
        if not name.startswith(options.case):
            continue
        rules = (
            [
                "uniform",
                "frank-wolfe",
                Adversary(means),
                *([Flatterer(means)] * problem.rewards.variance_shared),
            ]
            if options.tied
            else ["frank-wolfe", "uniform"]
            if options.hard
            else ["frank-wolfe", "uniform", LevelAdversary(means)]
            if options.levels
            else ["frank-wolfe"]
        )
        for threshold, rule in product(
            (one for one in thresholds if one in (options.only or ALL)), rules
        ):
            for delta in (
                [[0.1, 0.01, 0.001] if options.engine == "cuda" else list(DELTAS)]
                if problem.rewards.variance_known
                or (problem.rewards.variance_shared and problem.answers.neighbourhood().is_swap)
                else [0.1]
            ):  # bounds on variances depend on delta
                began = time.perf_counter()
                try:
                    sim = cg.simulate(
                        problem,
                        means,
                        rule=rule,
                        delta=delta,
                        threshold=threshold,
                        runs=options.runs,
                        jobs=options.jobs,
                        max_rounds=cap,
                        engine=options.engine,
                        on_tie="run",
                        batch_sd=3.0 if problem.rewards.has_batch_effect() else 0.0,
                        shuffle_arms=isinstance(rule, str),
                    )
                except cg.errors.EngineError as error:
                    print(name, threshold, rule, error, sep=" | ", flush=True)
                    continue
                for row in sim.summary():
                    cells.append(
                        [
                            name,
                            repr(problem.rewards),
                            threshold,
                            rule if isinstance(rule, str) else type(rule).__name__.lower(),
                            row["delta"],
                            f"{row['mean']:,.0f}",
                            row["errors"],
                            f"{row['error_rate']:.6f}",
                            f"{row['error_low']:.6f} to {row['error_high']:.6f}",
                            row["capped"],
                            f"{row['error_rate'] / row['delta']:.2f}",
                        ]
                    )
                    print(*cells[-1], f"{time.perf_counter() - began:.0f} s", sep=" | ", flush=True)
    if options.hard and not options.case:
        for delta in (0.2, 0.05):
            stages = [retracted(delta, seed) for seed in range(options.studies)]
            for what, level, errors in (
                ("before", delta, sum(stage == 0 for stage in stages)),
                ("after", delta / 2, sum(stage is not None and stage > 0 for stage in stages)),
            ):
                low, high = error_interval(errors, options.studies)
                cells.append(
                    [
                        f"{what} retractions ({options.studies:,} studies)",
                        "Gaussian(sigma=1.0)",
                        "mixture",
                        "uniform",
                        f"{level:g}",
                        "",
                        errors,
                        f"{errors / options.studies:.4f}",
                        f"{low:.4f} to {high:.4f}",
                        "",
                        f"{errors / options.studies / level:.2f}",
                    ]
                )
                print(*cells[-1], sep=" | ", flush=True)
    worst = max(cells, key=lambda row: float(row[7]) / float(row[4]))
    highest = float(worst[7]) / float(worst[4])
    ends = max(float(row[8].split()[-1]) / float(row[4]) for row in cells)
    text = (
        f"{options.runs:,} runs each, cap {cap:,} rounds. The highest rate is {highest:.2f} "
        f"of its delta, the highest upper end of an interval {ends:.2f} of it.\n\n"
    )
    if options.tied:
        most: dict[str, float] = {}
        for row in cells:
            if row[2] == "mixture":
                theorem = row[0].split(":")[0]
                most[theorem] = max(most.get(theorem, 0.0), float(row[10]))
        used = "; ".join(f"{name}: {share:.2f}" for name, share in sorted(most.items()))
        text += f"How much of delta is used at most, by theorem: {used}.\n\n"
    if options.engine == "cuda":
        text = f"On {card_name()}: {text}"
    save(options.out, text + markdown(HEAD, cells, left=4))


if __name__ == "__main__":
    main()
