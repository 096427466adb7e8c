"""Errors where they are likeliest: python benchmarks/guarantee.py [--only NAME] [--tied | --sets |
--tied-sets | --hard | --levels] [--out FILE]

close: two answers almost tied, the others far off. level: every answer as good as the second best.
pairs: the best pair, the other arms all alike. tied: the best is better by 1e-6 sigma only, so that
a run that stops before its cap is wrong about half of the time. adversary: a rule that knows the
means, and plays whatever is likeliest to make the wrong arm look better. The error rate must be at
most delta; beside it the exact 95 % interval. Runs that reach the cap have stopped with no answer.

--hard: what broke 0.1.0. Best paths whose edges differ in precision by factors of 1e5 and 1e7 (0.09
and 0.48 errors at delta = 0.05 then), also reversed; an unknown sigma of 3e-13 of the mean (0.155),
and of 1e-9; studies of two tied arms, all of whose values are retracted every ten rounds, twenty
times (50 of 120 at delta = 0.2): wrong before the first retraction, and after it, which may be
delta/2.

--levels: plays with levels of their own (docs/plates.md), of 3 sigma, or chosen by an adversary who
knows the means and picks plays, lengths of blocks and levels by what has been seen.
"""

import argparse
import math
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from made import save

import combgame as cg
from combgame.game.records import Floats
from combgame.report.tables import markdown
from combgame.rules.base import FixedSetup, RuleBase
from combgame.rules.starts import padded, start_sets
from combgame.simulate.result import error_interval

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


class AdversaryPart(NamedTuple):
    truth: Floats
    sign: Floats  # -1: should look bad, 1: should look good
    score: Floats

    def choose(self, game, seen, view, rng):
        """What looks least as it should, in standard errors, is played again."""
        for a in range(self.truth.size):
            self.score[a] = (
                -self.sign[a] * math.sqrt(seen.counts[a]) * (seen.mean[a] - self.truth[a])
            )
        game.actions.argmax(self.score, view.action)

    def full(self):
        return False


@dataclass(frozen=True)
class Adversary(RuleBase):
    """Plays for the wrong arm to win."""

    means: tuple[float, ...]

    def setup(self, problem):
        truth = np.array(self.means)
        sign = np.where(truth == truth.max(), -1.0, 1.0)
        return FixedSetup(
            AdversaryPart(truth, sign, np.zeros(truth.size)),
            padded(start_sets("covering", problem.actions, None)),
        )


class LevelAdversaryPart(NamedTuple):
    truth: Floats
    sign: Floats  # -1: should look bad, 1: should look good
    score: Floats
    kept: Floats  # the play of the present block

    def choose(self, game, seen, view, rng):
        """At the beginning of a block: the arms that look least as they should, over and over; a
        long block if the wrong arms are behind; a level that follows what has been seen.
        """
        blocks = seen.blocks
        if blocks.left[0] == 0:
            wrong = 0.0
            for a in range(self.truth.size):
                off = seen.mean[a] - self.truth[a]
                wrong += self.sign[a] * off
                self.score[a] = -self.sign[a] * math.sqrt(seen.counts[a]) * off
            game.actions.argmax(self.score, self.kept)
            blocks.left[0] = 1 if wrong > 0.0 else 5
        blocks.lifted[0] = 0.5 * blocks.lifted[0] + 50.0 * (seen.mean[0] - seen.mean[1])
        for a in range(view.action.size):
            view.action[a] = self.kept[a]

    def full(self):
        return False


@dataclass(frozen=True)
class LevelAdversary(RuleBase):
    """Plays for the wrong arm to win, and chooses the levels too."""

    means: tuple[float, ...]

    def setup(self, problem):
        truth = np.array(self.means)
        sign = np.where(truth == truth.max(), -1.0, 1.0)
        part = LevelAdversaryPart(truth, sign, np.zeros(truth.size), np.zeros(truth.size))
        return FixedSetup(part, padded(start_sets("covering", problem.actions, None)))


def levels() -> list[tuple[str, cg.Problem, tuple[float, ...], tuple[str, ...]]]:
    """Two answers tied, but for 1e-6, in plays with levels of their own."""
    noise, mixture = cg.Gaussian(1.0, level="per play"), ("mixture",)
    few, four, six = cg.Subsets(2, 2), cg.Subsets(4, 2), cg.Subsets(6, 3)
    return [
        ("two arms", cg.Problem(few, cg.Arms(2), noise), (1e-6, 0.0), mixture),
        ("4, 2 a play", cg.Problem(four, cg.Arms(4), noise), (1e-6, 0.0, -2.0, -2.0), mixture),
        ("6, 3 a play", cg.Problem(six, cg.Arms(6), noise), (1e-6, *[0.0] * 5), mixture),
        (
            "best two of 6",
            cg.Problem(six, cg.Subsets(6, 2), noise),
            (2.0, 1e-6, 0.0, -1.0, -2.0, -2.0),
            mixture,
        ),
    ]


def cases() -> list[tuple[str, cg.Problem, tuple[float, ...], tuple[str, ...]]]:
    unit, unknown = cg.Gaussian(1.0), cg.Gaussian(1.0, known=False)
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
    unit, unknown = cg.Gaussian(1.0), cg.Gaussian(1.0, known=False)
    two, ten = (1e-6, 0.0), (1e-6, *[0.0] * 9)
    return [
        ("tied", cg.Problem(cg.Arms(2), None, unit), two, ALL),
        ("tied level", cg.Problem(cg.Subsets(10, 3), cg.Arms(10), unit), ten, ("mixture",)),
        ("tied", cg.Problem(cg.Arms(2), None, unknown), two, ("mixture",)),
        ("tied", cg.Problem(cg.Arms(2), None, cg.Bernoulli()), (0.5 + 1e-6, 0.5), ("mixture",)),
    ]


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


def tied_sets() -> list[tuple[str, cg.Problem, tuple[float, ...], tuple[str, ...]]]:
    """Two paths, matchings or lists tied, but for 1e-6 on the arms of the first; others far off.
    (Where all are tied hardly a run stops, because every rival must be ruled out.)
    """
    unit, cases = cg.Gaussian(1.0), []
    chain = cg.Paths([(i // 2, i // 2 + 1) for i in range(6)], 0, 3)
    for name, structure in (
        ("grid 4", cg.grid_network(4)),
        ("matchings 3 x 3", cg.Matchings(3, 3)),
        ("chain 3 x 2", chain),
        ("two lists of 3", cg.Listed([(0, 1, 2), (3, 4, 5)], 6)),
    ):
        means, (first, second) = np.full(structure.d, -2.0), structure.sets()[:2]
        means[list(second)] = 0.0
        means[list(first)] = 1e-6
        actions = structure if name != "two lists of 3" else cg.Arms(6)
        problem = cg.Problem(actions, structure, unit)
        cases.append((f"tied {name}", problem, tuple(means.tolist()), ("mixture",)))
    return cases


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
        problem = cg.Problem(cg.Arms(2), None, cg.Gaussian(share, known=False))
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
        "--tied-sets",
        action="store_true",
        help="paths, matchings and lists that are all tied, and an adversary, instead; as --tied",
    )
    parser.add_argument(
        "--hard", action="store_true", help="what broke 0.1.0, instead; cap: 1,000 rounds"
    )
    parser.add_argument(
        "--levels", action="store_true", help="plays with levels of their own; cap: 1,000 rounds"
    )
    parser.add_argument(
        "--studies", type=int, default=1_000, help="with --hard: how many studies with retractions"
    )
    parser.add_argument(
        "--only", action="append", choices=ALL, help="a threshold; may be given several times"
    )
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    cells = []
    short = options.tied or options.hard or options.tied_sets or options.levels
    cap = min(options.cap, 1_000) if short else options.cap
    for name, problem, means, thresholds in (
        tied()
        if options.tied
        else tied_sets()
        if options.tied_sets
        else sets()
        if options.sets
        else hard()
        if options.hard
        else levels()
        if options.levels
        else cases()
    ):
        rules = (
            ["frank-wolfe", Adversary(means)]
            if options.tied
            else ["uniform", Adversary(means)]
            if options.tied_sets
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
                [list(DELTAS)] if problem.rewards.known else [0.1]
            ):  # bounds on variances depend on delta
                began = time.perf_counter()
                sim = cg.simulate(
                    problem,
                    means,
                    rule=rule,
                    delta=delta,
                    threshold=threshold,
                    runs=options.runs,
                    jobs=options.jobs,
                    max_rounds=cap,
                    engine="compiled",
                    ties="run",
                    relabel=isinstance(rule, str),
                    level_sd=3.0 if problem.rewards.levels() else 0.0,
                )
                for row in sim.report():
                    cells.append(
                        [
                            name,
                            repr(problem.rewards),
                            threshold,
                            rule if isinstance(rule, str) else "adversary",
                            row["delta"],
                            f"{row['mean']:,.0f}",
                            row["errors"],
                            f"{row['error_rate']:.4f}",
                            f"{row['error_low']:.4f} to {row['error_high']:.4f}",
                            row["capped"],
                            f"{row['error_rate'] / row['delta']:.2f}",
                        ]
                    )
                    print(*cells[-1], f"{time.perf_counter() - began:.0f} s", sep=" | ", flush=True)
    if options.hard:
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
    text = (
        f"{options.runs:,} runs each, cap {cap:,} rounds. The highest rate is {highest:.2f} "
        "of its delta.\n\n"
    )
    save(options.out, text + markdown(HEAD, cells, left=4))


if __name__ == "__main__":
    main()
