"""Not fooled: python benchmarks/misfit.py [--runs N] [--out FILE]

Studies that are told a sigma which is 1/10, 1/2, 1, 2 or 10 times the true one, or none at all
(Gaussian()): how many certify a wrong answer, how many say that the stated sigma does not fit
(`decision.noise_check`), after how many plays. delta = 0.05. A study that reaches its cap certifies
nothing.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from made import save

import combgame as cg
from combgame._display.text import markdown

FACTORS = (0.1, 0.5, 1.0, 2.0, 10.0, None)
HEAD = [
    "instance",
    "world",
    "stated / true sigma",
    "studies",
    "mean plays",
    "certified",
    "wrong",
    "wrong, not flagged",
    "too small",
    "too large",
]


class Instance(NamedTuple):
    name: str
    actions: Any
    answers: Any
    means: np.ndarray
    sigma: float
    cap: int


class World(NamedTuple):
    """What a play does beside the noise of every arm."""

    name: str
    level: Callable[[np.random.Generator, float], float]


WORLDS = (World("as stated", lambda rng, sigma: 0.0),)


def instances() -> list[Instance]:
    rng = np.random.default_rng(0)
    few = np.array([0.6, 0.45, *rng.normal(0.0, 0.2, 10)])
    many = rng.normal(0.0, 0.2, 96)
    many[:3] = 1.3, 1.2, 1.1
    return [
        Instance("12 arms, 4 a play, best 1", cg.Subsets(12, 4), cg.Arms(12), few, 0.15, 400),
        Instance("96, 8 a play, best 3", cg.Subsets(96, 8), cg.Subsets(96, 3), many, 0.15, 200),
    ]


def study(one: Instance, world: World, factor: float | None, seed: int) -> cg.Study:
    rewards = cg.Gaussian() if factor is None else cg.Gaussian(factor * one.sigma)
    problem, rng = cg.Problem(one.actions, one.answers, rewards), np.random.default_rng(seed)
    made = cg.Study(problem, delta=0.05, min_replicates=2, seed=seed, max_rounds=one.cap)
    while not made.done:
        todo, level = made.ask(), world.level(rng, one.sigma)
        made.tell(todo, {a: rng.normal(one.means[a] + level, one.sigma) for a in todo.arms})
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--only", type=int, nargs="+", default=None, help="numbers of instances")
    parser.add_argument("--out", type=Path, default=None, help="also write the table to this file")
    options = parser.parse_args()
    cells = []
    for number, one in enumerate(instances()):
        if options.only is not None and number not in options.only:
            continue
        best = cg.evidence(
            cg.Problem(one.actions, one.answers, cg.Gaussian(1.0)),
            one.means,
            np.ones(one.means.size),
        ).answer
        for world in WORLDS:
            for factor in FACTORS:
                ends = [study(one, world, factor, seed).decision for seed in range(options.runs)]
                wrong = [end for end in ends if end.certified and end.answer != best]
                verdicts = [end.noise_check.verdict for end in ends]
                cells.append(
                    [
                        one.name,
                        world.name,
                        "not stated" if factor is None else f"{factor:g}",
                        len(ends),
                        f"{np.mean([end.rounds for end in ends]):.1f}",
                        sum(end.certified for end in ends),
                        len(wrong),
                        sum(not end.noise_check.contradicted for end in wrong),
                        verdicts.count("too small"),
                        verdicts.count("too large"),
                    ]
                )
                print(*cells[-1], sep=" | ", flush=True)
    save(options.out, markdown(HEAD, cells, left=3))


if __name__ == "__main__":
    main()
