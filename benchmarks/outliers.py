"""How often a study with levels doubts a value: one that is off, and none.

    python benchmarks/outliers.py --out benchmarks/results/outliers.md

Plays are the start of a study, twice or more as many of them drawn at random after it. Values are
about 1 (arms vary by 0.3) with sigma = 0.15 and levels that vary by 0.3; one of them, drawn at
random, is told with a lost point (times 10, or times 1000) or one too many (a 1000th).
"""

import argparse
from pathlib import Path

import numpy as np
from made import save

import combgame as cg
from combgame.lab.outliers import find_outliers_within
from combgame.rules._exploration import joining

ARMS, SPREAD, SIGMA, LIFT = 1.0, 0.3, 0.15, 0.3
SETTINGS = {  # arms, per play, replicates, share of values that are missing
    "12 arms, 4 a play": (12, 4, 1, 0.0),
    "96 arms, 8 a play": (96, 8, 1, 0.0),
    "6 arms, 2 a play": (6, 2, 1, 0.0),
    "6 arms, 2 a play, 2 replicates": (6, 2, 2, 0.0),
    "12 arms, 4 a play, 1 in 10 missing": (12, 4, 1, 0.1),
}
FACTORS = (1.0, 10.0, 1000.0, 0.001)


def drawn(rng, d, size, replicates, lost, times):
    """Rounds of a study, as it keeps them: by number, rows of arms, means, and of how many."""
    plays = joining(cg.Subsets(d, size), cg.Arms(d), rng)
    plays += [rng.choice(d, size, replace=False) for _ in range(int((times - 1) * len(plays)))]
    means, made = ARMS + SPREAD * rng.standard_normal(d), {}
    for number, play in enumerate(plays, 1):
        arms = np.repeat(np.sort(np.array(list(play))), replicates)
        arms = arms[rng.random(arms.size) >= lost]
        if arms.size:
            x = means[arms] + LIFT * rng.standard_normal() + SIGMA * rng.standard_normal(arms.size)
            made[number] = np.array([arms, x, np.ones(arms.size)])
    return made


def one(problem, rng, setting, times, factor):
    """What is doubted: whether the value that is off, whether any other one."""
    plays = drawn(rng, *setting, times)
    number = int(rng.choice(list(plays)))
    at = int(rng.integers(plays[number].shape[1]))
    plays[number][1, at] *= factor
    found = find_outliers_within(problem, plays, problem.rewards.variance_known)
    mine = (number, int(plays[number][0, at]), float(plays[number][1, at]))
    named = [(doubt.round, doubt.arm, doubt.value) for doubt in found]
    alone = [doubt for doubt in found if not doubt.instead]
    return mine in named, any((x.round, x.arm, x.value) != mine for x in alone), bool(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--right", type=int, default=4000, help="studies without a mistake")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    lines = [
        f"False alarms: of {options.right} studies without a mistake, those in which some value is",
        "doubted (1 in 1000 is allowed). The others: of studies with one value that is off, those",
        f"that name it ({options.runs} each, {options.runs // 10} of 96 arms); in brackets, those",
        "that name another value as if it were certain.",
        "",
        "| setting | sigma | plays | false alarms | times 10 | times 1000 | a 1000th |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for name, setting in SETTINGS.items():
        for known in (True, False):
            rewards = cg.Gaussian(SIGMA if known else None, batch_effect=True)
            problem = cg.Problem(cg.Subsets(setting[0], setting[1]), cg.Arms(setting[0]), rewards)
            for times in (1, 3):
                rng, cells = np.random.default_rng(7), []
                for factor in FACTORS:
                    runs = options.right if factor == 1.0 else options.runs
                    runs = max(runs // (10 if setting[0] > 50 else 1), 40)
                    seen = np.array(
                        [one(problem, rng, setting, times, factor) for _ in range(runs)]
                    )
                    if factor == 1.0:
                        cells.append(f"{int(seen[:, 2].sum())} of {runs}")
                    else:
                        cells.append(f"{seen[:, 0].mean():.0%} ({seen[:, 1].mean():.1%})")
                about = "known" if known else "not known"
                when = "start" if times == 1 else f"{times} x as many"
                lines.append("| " + " | ".join([name, about, when, *cells]) + " |")
                print(lines[-1], flush=True)
    save(options.out, "\n".join(lines))


if __name__ == "__main__":
    main()
