"""Microseconds per round of every learner, compiled and interpreted: python benchmarks/rounds.py

k = 3, the paper's means. Compiled: rounds 20,000 to 24,000 of a run that does not stop (the end of
a doubling epoch, when LLOO's support is largest), in windows interleaved between the learners; the
best one counts. Interpreted: the next rounds of the same run. The learners on the simplex start
with a covering here, so that no time goes into their full initialisation. Timings on shared
machines are noisy: look at ratios. With --against ANOTHER_CHECKOUT: both take turns, 20,000 rounds
of a run through `simulate`, the best counts.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from against import checkouts, interleaved, table
from against import measure as in_checkout
from made import PYTHON, save
from tqdm import tqdm

import combgame as cg
from combgame.engine.round import play
from combgame.research.instances.alt2021 import matroid_means as means
from combgame.simulation.runner import InitialState, Run
from combgame.stopping.base import NEVER

RULES = {
    "uniform": cg.Uniform(),
    "hedge": cg.CombGame(cg.Hedge(), initialization="covering"),
    "adahedge": cg.CombGame(cg.AdaHedge(), initialization="covering"),
    "product-adahedge": cg.ProductAdaHedge(),
    "frank-wolfe": cg.FrankWolfe(),
    "ofw": cg.CombGame(cg.OFW()),
    "lloo": cg.CombGame(cg.LLOO()),
    "ofw, no sparsification": cg.CombGame(cg.OFW(sparsify=False)),
    "lloo, no sparsification": cg.CombGame(cg.LLOO(sparsify=False)),
}


def start(rule: cg.RuleBase, d: int, engine: str) -> Run:
    problem = cg.Problem(cg.Subsets(d, 3), cg.Arms(d), cg.Gaussian(0.1))
    return Run(
        InitialState(problem, rule.bind(problem), NEVER, 1, engine), np.array(means(d)), 0, 0
    )


def window(run: Run, rounds: int) -> float:
    last = int(run.stats.n_rounds[0]) + rounds
    begin = time.perf_counter()
    run.advance(last)
    return (time.perf_counter() - begin) / rounds * 1e6


def support(run: Run) -> int:
    return int(run.rule.weights.size[0]) if hasattr(run.rule, "weights") else 0


def measure(d: int, warm: int, windows: int, bar: tqdm) -> list[dict[str, object]]:
    runs = {name: start(rule, d, "compiled") for name, rule in RULES.items()}
    simplex = {
        name
        for name, rule in RULES.items()
        if isinstance(rule, cg.CombGame) and rule.learner.enumerates_actions
    }
    fast = dict.fromkeys(runs, float("inf"))
    for name, run in runs.items():
        run.advance(warm if d < 50 or name not in simplex else 200)
        bar.update()
    for _ in range(windows):
        for name, run in runs.items():
            fast[name] = min(
                fast[name], window(run, 4000 // windows if d < 50 or name not in simplex else 200)
            )
        bar.update()
    rows = []
    for name, run in runs.items():
        size = support(run)
        run._play = play  # the same run goes on, interpreted: the engines agree bit for bit
        heavy = name in simplex and d >= 20
        interpreted = min(window(run, 2 if heavy else 50) for _ in range(3))
        rows.append(
            {
                "d": d,
                "rule": name,
                "compiled": fast[name],
                "interpreted": interpreted,
                "support": size,
            }
        )
        bar.update()
    return rows


def compare(
    against: Path,
    sizes: list[int],
    repeats: int,
    names: tuple[str, ...] = ("uniform", "ofw", "lloo", "frank-wolfe"),
) -> str:
    """This checkout and another, interleaved."""
    with tempfile.TemporaryDirectory() as folder:

        def once(name: str, checkout: Path, repeat: int) -> dict[str, float]:
            return {
                f"{rule}, d = {d}": in_checkout(
                    checkout, Path(folder) / name, rule, d, rounds=20_000
                )["round"]
                for rule in names
                for d in sizes
            }

        return table(interleaved(checkouts(against), repeats, once), {"": ("us/round", 1e6)})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[5, 10, 20, 50])
    parser.add_argument("--out", type=Path, default=None, help="also write the table to this file")
    parser.add_argument(
        "--against",
        type=Path,
        default=None,
        help="another checkout of combgame, to be compared with",
    )
    parser.add_argument("--repeats", type=int, default=3, help="with --against")
    options = parser.parse_args()
    if options.against is not None:
        text = compare(options.against, options.sizes, options.repeats)
        print(text)
        save(options.out, text, PYTHON + ", two cores")
        return
    rows: list[dict[str, object]] = []
    with tqdm(
        total=len(options.sizes) * (2 * len(RULES) + 2), desc="rounds", file=sys.stderr
    ) as bar:
        for d in options.sizes:
            rows += measure(d, 20_000, 2, bar)
    at = {(row["d"], row["rule"]): row for row in rows}
    lines = [
        "| d | rule | compiled, us/round | interpreted, us/round | ratio | support of w_t | "
        "compiled, against d = 10 |",
        "| ---: | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        base = at.get((10, row["rule"]))
        against = f"{row['compiled'] / base['compiled']:.2f}x" if base else ""
        lines.append(
            f"| {row['d']} | {row['rule']} | {row['compiled']:.2f} | {row['interpreted']:,.0f} | "
            f"{row['interpreted'] / row['compiled']:,.0f}x | {row['support'] or ''} | {against} |"
        )
    text = "\n".join(lines)
    print(text)
    save(options.out, text, PYTHON + ", two cores")


if __name__ == "__main__":
    main()
