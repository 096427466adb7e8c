"""How often the range that a study forecasts contains the truth: about 80 % are asked for.

    python benchmarks/forecast.py --studies 40 --first 1000 --out benchmarks/results/forecast.md

Random means, so that some studies are easy and some are hard. Every study is looked at after 10,
17, 30, ... rounds, until it stops, or is given up at 500 rounds (not counted, unless the range lies
below).
"""

import argparse
from pathlib import Path

import numpy as np
from made import save

import combgame as cg

LOOKS = [int(x) for x in np.unique(np.round(np.geomspace(10, 480, 8)))]
STEPS = [((i, j), (i + 1, j)) for i in range(2) for j in range(3)]
STEPS += [((i, j), (i, j + 1)) for i in range(3) for j in range(2)]
GRID = cg.Paths(STEPS, (0, 0), (2, 2))
CASES = {
    "5 arms, sigma known": (cg.Problem(cg.Arms(5), rewards=cg.Gaussian(1.0)), 1.0),
    "5 arms, one unknown sigma": (cg.Problem(cg.Arms(5), rewards=cg.Gaussian()), 1.0),
    "5 arms, each its own sigma": (
        cg.Problem(cg.Arms(5), rewards=cg.Gaussian(shared_sigma=False)),
        1.0,
    ),
    "best 3 of 12, 4 a play": (
        cg.Problem(cg.Subsets(12, 4), cg.Subsets(12, 3), cg.Gaussian(0.5)),
        0.5,
    ),
    "best of 24, 6 a play": (cg.Problem(cg.Subsets(24, 6), cg.Arms(24), cg.Gaussian(0.5)), 0.5),
    "4 coins": (cg.Problem(cg.Arms(4), rewards=cg.Bernoulli()), None),
    "best of 12, 4 a play, levels": (
        cg.Problem(cg.Subsets(12, 4), cg.Arms(12), cg.Gaussian(0.5, batch_effect=True)),
        0.5,
    ),
    "matchings, 3 x 3": (cg.Problem(cg.Matchings(3, 3), rewards=cg.Gaussian(1.0)), 1.0),
    "paths through 2 x 2 squares": (cg.Problem(GRID, rewards=cg.Gaussian(1.0)), 1.0),
}


def one(problem, sigma, seed, most=500):
    """(rounds at a look, the range, what was left) of one study; left is None if it did not
    stop.
    """
    rng, said = np.random.default_rng(seed), {}
    means = rng.uniform(0.1, 0.9, problem.d) if sigma is None else rng.normal(0.0, 1.0, problem.d)
    study = cg.Study(problem, seed=seed, max_rounds=most)
    while not study.done:
        todo = study.ask()
        if sigma is None:
            values = {a: float(rng.random() < means[a]) for a in todo.arms}
        else:
            values = {a: means[a] + sigma * rng.standard_normal() for a in todo.arms}
        study.tell(todo, values)
        if todo.id in LOOKS and not study.done:
            said[todo.id] = study.status.forecast
    end = study.decision.rounds if study.decision.certified else None
    return [(at, about, None if end is None else end - at) for at, about in said.items()]


def row(name, looks):
    stated = [(at, about, left) for at, about, left in looks if about is not None]
    known = [
        (at, about, left if left is not None else 10**9)
        for at, about, left in stated
        if left is not None or about[1] < 500 - at
    ]
    inside = [low <= left <= high for _, (low, high), left in known]
    sooner = [left < low for _, (low, _), left in known]
    wide = {
        half: [high / max(low, 1) for at, (low, high), _ in known if (at > 60) == half]
        for half in (False, True)
    }
    cells = [
        name,
        f"{len(looks)}",
        f"{len(stated)}",
        f"{len(known)}",
        f"{np.mean(inside):.0%}" if known else "-",
        f"{np.mean(sooner):.0%}" if known else "-",
        *(f"{np.median(wide[half]):.1f}" if wide[half] else "-" for half in (False, True)),
    ]
    return "| " + " | ".join(cells) + " |", len(known), sum(inside)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=40)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--only", nargs="+", help="words of which a problem's name has one")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    lines = [
        "Looks at studies with random means. Inside: of the ranges whose truth is known, those",
        "that contain it (80 % are asked for). The last columns: the upper end over the lower one.",
        "",
        "| problem | looks | with a range | truth known | inside | sooner | to round 60 | later |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    total, hits = 0, 0
    for name, (problem, sigma) in CASES.items():
        if options.only and not any(word in name for word in options.only):
            continue
        seeds = range(options.first, options.first + options.studies)
        looks = [look for seed in seeds for look in one(problem, sigma, seed)]
        line, known, inside = row(name, looks)
        total, hits = total + known, hits + inside
        lines.append(line)
        print(line, flush=True)
    lines += ["", f"All together: {hits} of {total}, {hits / max(total, 1):.0%}."]
    print(lines[-1])
    save(options.out, "\n".join(lines))


if __name__ == "__main__":
    main()
