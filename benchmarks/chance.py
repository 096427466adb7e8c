"""How often the leader is the best answer where a study says "the chance that it is best is ...".

    python benchmarks/chance.py --studies 200 --out benchmarks/results/chance.md

Random means, which no study knows, so that some studies are easy and some are hard: normal with the
standard deviation of a single value, or half or twice as much; or, nearly alike, a tenth of it.
Where plays have levels, these vary by five times sigma. A study is looked at at fixed numbers of
rounds, as long as it runs, and when its budget ends, if it has not been certified before.
"""

import argparse
from itertools import pairwise
from pathlib import Path

import numpy as np
from made import save

import combgame as cg
from combgame.theory.confidence import posterior_probability_best

STEPS = [((i, j), (i + 1, j)) for i in range(2) for j in range(3)]
STEPS += [((i, j), (i, j + 1)) for i in range(3) for j in range(2)]
GRID = cg.Paths(STEPS, (0, 0), (2, 2))
LEVEL = 5.0  # standard deviation of levels, in sigma
SPREADS = (0.5, 1.0, 2.0)  # of the means, in sigma
KINDS = {
    "best of 10": (cg.Arms(10), cg.Arms(10), (10, 15, 25, 50)),
    "best of 12, 4 a play": (cg.Subsets(12, 4), cg.Arms(12), (4, 6, 10, 18, 36)),
    "best 3 of 12, 4 a play": (cg.Subsets(12, 4), cg.Subsets(12, 3), (4, 6, 10, 18, 36)),
}
VALUES = {
    "sigma known": cg.Gaussian(1.0),
    "sigma not known": cg.Gaussian(simulation_sigma=1.0),
    "sigma known, levels": cg.Gaussian(1.0, batch_effect=True),
    "sigma not known, levels": cg.Gaussian(simulation_sigma=1.0, batch_effect=True),
}
OTHERS = {
    "best of 10, each its own sigma": (
        cg.Problem(cg.Arms(10), rewards=cg.Gaussian(simulation_sigma=1.0, shared_sigma=False)),
        (20, 25, 30, 50),
    ),
    "best of 2, sigma known": (cg.Problem(cg.Arms(2), rewards=cg.Gaussian(1.0)), (2, 4, 8, 16, 32)),
    "best of 2, sigma not known": (
        cg.Problem(cg.Arms(2), rewards=cg.Gaussian(simulation_sigma=1.0)),
        (4, 6, 8, 16, 32),
    ),
    "best of 5 coins": (cg.Problem(cg.Arms(5), rewards=cg.Bernoulli()), (5, 10, 20, 50)),
    "paths through 2 x 2 squares": (cg.Problem(GRID, rewards=cg.Gaussian(1.0)), (3, 5, 8, 12, 20)),
    "matchings, 3 x 3": (
        cg.Problem(cg.Matchings(3, 3), rewards=cg.Gaussian(1.0)),
        (3, 5, 8, 12, 20),
    ),
}
BINS = (0.0, 0.5, 0.8, 0.95, 0.99, 1.0)


NEAR = ("best of 10, sigma known", "best of 12, 4 a play, sigma not known, levels")


def cases():
    """Name, problem, looks, and the standard deviations of the means."""
    every = list(several())
    for name, problem, looks in every:
        yield name, problem, looks, SPREADS
    for name, problem, looks in every:
        if name in NEAR:
            yield f"{name}, means nearly alike", problem, looks, (0.1,)


def several():
    for kind, (actions, answers, looks) in KINDS.items():
        for name, rewards in VALUES.items():
            if actions.max_size() > 1 or not rewards.has_batch_effect():
                yield f"{kind}, {name}", cg.Problem(actions, answers, rewards), looks
    for name, (problem, looks) in OTHERS.items():
        yield name, problem, looks


def said(study):
    """The chance that a study states now, and its answer."""
    with study.view() as now:
        own = now._state
        best = own.monitor.told.state.leader
        return posterior_probability_best(
            own.problem, own.monitor.told.kernel, own.history.stats, best
        ), best.copy()


def one(problem, looks, spreads, seed):
    """(stated chance, whether the leader is best, whether the budget has ended) at every look."""
    rng = np.random.default_rng(seed)
    coins = isinstance(problem.rewards, cg.Bernoulli)
    spread = spreads[seed % len(spreads)]
    means = rng.uniform(0.1, 0.9, problem.d) if coins else rng.normal(0.0, spread, problem.d)
    truth, found = np.zeros(problem.d), []
    problem.kernel().answers.argmax(means, truth)
    study = cg.Study(problem, seed=seed, max_rounds=max(looks), engine="python")
    while not study.done:
        todo = study.ask()
        level = LEVEL * rng.standard_normal() if problem.rewards.has_batch_effect() else 0.0
        if coins:
            values = {a: float(rng.random() < means[a]) for a in todo.arms}
        else:
            values = {a: means[a] + level + rng.standard_normal() for a in todo.arms}
        study.tell(todo, values)
        ends = study.state == "budget"
        if ends or (todo.id in looks and not study.done):
            stated, best = said(study)
            found.append((stated, bool((best == truth).all()), ends))
    return found


def cell(looks):
    if not looks:
        return "-"
    return (
        f"{np.mean([x for x, _ in looks]):.1%}: {np.mean([y for _, y in looks]):.1%} ({len(looks)})"
    )


def row(name, looks):
    known = [(x, y) for x, y, _ in looks if x is not None]
    cells = [name, f"{len(looks)}", f"{len(looks) - len(known)}"]
    for low, high in pairwise(BINS):
        cells.append(cell([(x, y) for x, y in known if low <= x < high or x == high == 1.0]))
    cells.append(cell([(x, y) for x, y, ends in looks if ends and x is not None]))
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--only", nargs="+", help="words of which a problem's name has one")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    lines = [
        f"{options.studies} studies a row with random means. Each cell: what was stated on",
        "average, how often the leader was the best answer, and (how many looks). Nothing: looks",
        "at which no chance is stated. Budget: of studies that were not certified until their",
        "budget ended.",
        "",
        "| problem | looks | nothing | below 50% | 50% to 80% | 80% to 95% | 95% to 99% "
        "| above 99% | budget |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    every = []
    for name, problem, looks, spreads in cases():
        if options.only and not any(word in name for word in options.only):
            continue
        seeds = range(options.first, options.first + options.studies)
        found = [look for seed in seeds for look in one(problem, looks, spreads, seed)]
        every += found
        lines.append(row(name, found))
        print(lines[-1], flush=True)
    lines.append(row("all", every))
    print(lines[-1])
    save(options.out, "\n".join(lines))


if __name__ == "__main__":
    main()
