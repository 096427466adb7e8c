"""What levels of plates cost, stated and not: python benchmarks/plates.py [--runs N] [--out FILE]

First, mean plates of simulated runs, with and without levels of their own, sigma known and not.
Then studies of 12 variants, 4 a plate, whose plates have levels of 0 to 10 sigma: that state them;
that state nothing; that state a sigma which covers both. How many plates, how many certify a wrong
variant, how many say that the stated noise does not fit. delta = 0.05; a study ends at its cap.
"""

import argparse
from pathlib import Path

import numpy as np
from made import save

import combgame as cg
from combgame import Study
from combgame._display.text import markdown

LEVEL = True
TWELVE = np.array([1.0, 0.4, 0.3, 0.2, 0.2, 0.1, 0.1, 0.0, 0.0, -0.1, -0.2, -0.3])
SIGMA, CAP = 0.5, 200


def instances():
    rng = np.random.default_rng(0)
    many = rng.normal(0.0, 0.2, 96)
    many[:3] = 1.3, 1.2, 1.1
    few = cg.Subsets(12, 4), cg.Arms(12)
    return [
        ("96, 8 a plate, best 3, noise 0.15", cg.Subsets(96, 8), cg.Subsets(96, 3), many, 0.15),
        ("12, 4 a plate, noise 0.5", *few, TWELVE, SIGMA),
        ("12, 4 a plate, all others 0.5 sigma behind", *few, np.r_[0.5, np.zeros(11)], 1.0),
    ]


def simulated(runs):
    rows = []
    for name, actions, answers, means, sigma in instances():
        row = [name, runs]
        for rewards in (
            cg.Gaussian(sigma),
            cg.Gaussian(sigma, batch_effect=LEVEL),
            cg.Gaussian(simulation_sigma=sigma),
            cg.Gaussian(simulation_sigma=sigma, batch_effect=LEVEL),
        ):
            problem = cg.Problem(actions, answers, rewards)
            options = {"batch_sd": 3.0 * sigma} if rewards.has_batch_effect() else {}
            result = cg.simulate(problem, means, runs=runs, threshold="mixture", **options)
            row.append(f"{result.rounds.mean():.1f}")
        rows.append(row)
        print(*row, sep=" | ", flush=True)
    return markdown(["variants", "runs", *HEAD], rows, left=1)


HEAD = [
    "sigma known, no levels",
    "sigma known, levels",
    "sigma not known, no levels",
    "sigma not known, levels",
]


def study(rewards, size, seed):
    problem = cg.Problem(cg.Subsets(12, 4), cg.Arms(12), rewards)
    made, rng = Study(problem, seed=seed, max_rounds=CAP), np.random.default_rng(seed)
    while not made.done:
        todo, lift = made.ask(), size * SIGMA * rng.standard_normal()
        made.tell(todo, {a: TWELVE[a] + lift + SIGMA * rng.standard_normal() for a in todo.arms})
    return made


def studied(runs):
    rows = []
    for size in (0.0, 1.0, 3.0, 10.0):
        for name, rewards in (
            ("levels", cg.Gaussian(SIGMA, batch_effect=LEVEL)),
            ("levels, sigma not known", cg.Gaussian(batch_effect=LEVEL)),
            ("sigma", cg.Gaussian(SIGMA)),
            ("nothing", cg.Gaussian()),
            ("a sigma that covers both", cg.Gaussian(SIGMA * float(np.hypot(1.0, size)))),
        ):
            ends = [study(rewards, size, seed) for seed in range(runs)]
            sure = [one for one in ends if one.decision.certified]
            flagged = [
                one.status.batch_warning is not None or one.decision.noise_check.contradicted
                for one in ends
            ]
            wrong = [one for one in sure if one.decision.answer != (0,)]
            plates = np.mean([one.decision.rounds for one in ends])
            row = [f"{size:g} sigma", name, runs, f"{plates:.1f}", len(sure), len(wrong)]
            rows.append([*row, sum(flagged)])
            print(*rows[-1], sep=" | ", flush=True)
    head = ["levels of plates", "stated", "studies", "mean plates", "certified", "wrong", "flagged"]
    return markdown(head, rows, left=2)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200, help="simulated runs")
    parser.add_argument("--studies", type=int, default=40)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    save(options.out, simulated(options.runs) + "\n\n" + studied(options.studies))


if __name__ == "__main__":
    main()
