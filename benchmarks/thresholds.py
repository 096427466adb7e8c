"""What a proved threshold costs: python benchmarks/thresholds.py [--runs 100] [--coins]
[--against ANOTHER_CHECKOUT] [--only FAMILY ...] [--out FILE]

Mean rounds of frank-wolfe with delta = 0.1 on the paper's instances and on best sets, and the share
of those that Theorem 2 ("gaussian") needs. --coins: values 0 or 1 instead, four arms, beside the
same values declared as Bounded(0, 1), and beside another checkout of combgame.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from limit import instances
from made import save

import combgame as cg
from combgame._display.text import markdown

THRESHOLDS = ("stylised", "mixture", "gaussian-counts", "gaussian")
HEAD = [
    "family",
    "instance",
    *THRESHOLDS,
    "mixture / gaussian",
    "mixture / stylised",
    "one unknown sigma",
    "over known",
    "unknown, each arm its own",
    "over known",
    "errors",
]
COINS = ((0.5, 0.4), (0.1, 0.05), (0.9, 0.85), (0.02, 0.005))
TOSS = """
import json, sys
import combgame as cg
best, rest, runs = json.loads(sys.argv[1])
rounds = {}
for name, rewards in (("coins", cg.Bernoulli()), ("bounded", cg.Bounded(0, 1))):
    sim = cg.simulate(
        cg.Problem(cg.Arms(4), None, rewards), [best, rest, rest, rest], rule="frank-wolfe",
        delta=0.1, threshold="mixture", runs=runs, shuffle_arms=True, max_rounds=10**6,
        engine="compiled", progress=False,
    )
    rounds[name] = [sim.rounds.mean(), sim.rounds.std() / runs**0.5, sim.summary()[0]["errors"]]
print(json.dumps(rounds))
"""


def tossed(
    checkout: Path, best: float, rest: float, runs: int
) -> dict[str, tuple[float, float, int]]:
    """Mean rounds, their standard error and errors, by the rewards declared."""
    out = subprocess.run(
        [sys.executable, "-c", TOSS, json.dumps([best, rest, runs])],
        env={**os.environ, "PYTHONPATH": str(checkout / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    rounds: dict[str, tuple[float, float, int]] = json.loads(out.stdout.splitlines()[-1])
    return rounds


def coins(against: Path | None, runs: int) -> str:
    head = ["means", "Bernoulli", "Bounded(0, 1)", "Bernoulli / Bounded", "errors"]
    head += ["Bernoulli before", "now / before"] if against else []
    cells = []
    for best, rest in COINS:
        now = tossed(Path(__file__).parents[1], best, rest, runs)
        shown = [f"{mean:,.0f} +- {error:,.0f}" for mean, error, _ in now.values()]
        mean, bounded = now["coins"][0], now["bounded"][0]
        cells.append([f"{best:g}, {rest:g} x 3", *shown, f"{mean / bounded:.2f}", now["coins"][2]])
        if against:
            before = tossed(against, best, rest, runs)["coins"]
            cells[-1] += [f"{before[0]:,.0f} +- {before[1]:,.0f}", f"{mean / before[0]:.2f}"]
        print(*cells[-1], sep=" | ", flush=True)
    return f'{runs} runs each, delta = 0.1, threshold "mixture".\n\n' + markdown(head, cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--coins", action="store_true", help="values 0 or 1 instead")
    parser.add_argument("--only", nargs="*", default=None, help="families of instances")
    parser.add_argument("--against", type=Path, default=None, help="another checkout of combgame")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    if options.coins:
        text = coins(options.against, options.runs)
        print(text)
        save(options.out, text)
        return
    cells, shares = [], []
    for family, instance in instances():
        if options.only is not None and family not in options.only:
            continue
        rounds, slack, errors = [], [], 0
        problem, means = instance.problem, instance.means
        one, own = (
            cg.Problem(
                problem.actions,
                problem.answers,
                cg.Gaussian(simulation_sigma=problem.rewards.sigma, shared_sigma=shared),
            )
            for shared in (True, False)
        )
        asked = [*((problem, name) for name in THRESHOLDS), (one, "mixture"), (own, "mixture")]
        for question, name in asked:
            sim = cg.simulate(
                question,
                means,
                rule="frank-wolfe",
                delta=0.1,
                threshold=name,
                runs=options.runs,
                jobs=options.jobs,
                shuffle_arms=True,
            )
            rounds.append(sim.rounds.mean())
            slack.append(sim.rounds.std() / options.runs**0.5)
            errors += sim.summary()[0]["errors"] if name != "stylised" else 0
        shares.append((family, rounds[1] / rounds[3]))
        cells.append(
            [
                family,
                instance.name,
                *(f"{x:,.0f} +- {e:,.0f}" for x, e in zip(rounds[:4], slack, strict=False)),
                f"{shares[-1][1]:.2f}",
                f"{rounds[1] / rounds[0]:.2f}",
                f"{rounds[4]:,.0f}",
                f"{rounds[4] / rounds[1]:.2f}",
                f"{rounds[5]:,.0f}",
                f"{rounds[5] / rounds[1]:.2f}",
                errors,
            ]
        )
        print(*cells[-1], sep=" | ", flush=True)
    paper = [share for family, share in shares if family != "best action"]
    text = f"{options.runs} runs each; errors: of the proved thresholds together."
    if paper:
        text += " On the paper's instances mixture / gaussian is "
        text += f"{min(paper):.2f} to {max(paper):.2f}."
    text += "\n\n"
    save(options.out, text + markdown(HEAD, cells, left=2))


if __name__ == "__main__":
    main()
