"""The same measurements in several checkouts, interleaved: only public names are used, so that an
older version can be one of them.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parents[1]

WORKER = """
import json, sys, time
import combgame as cg
from combgame.research.instances.alt2021 import matroid_means
task = json.loads(sys.argv[1])
d = task["d"]
problem, means = cg.Problem(cg.Subsets(d, 3), cg.Arms(d), cg.Gaussian(0.1)), list(matroid_means(d))
if task["grid"]:  # the paths through 3 x 3 squares
    steps = [((i, j), (i + 1, j)) for i in range(3) for j in range(4)]
    steps += [((i, j), (i, j + 1)) for i in range(4) for j in range(3)]
    problem = cg.Problem(cg.Paths(steps, (0, 0), (3, 3)), rewards=cg.Gaussian(0.1))
    means = [0.04 * k for k in range(24)]
settings = {"threshold": "mixture", "engine": "compiled", "progress": False, "delta": 1e-200}
def spent(**more):
    began = time.process_time()
    cg.simulate(problem, means, rule=task["rule"], **settings, **more)
    return time.process_time() - began
found = {"call": spent(runs=1, max_rounds=1)}
if task["runs"]:
    found["run"] = min(spent(runs=task["runs"], max_rounds=1) for _ in range(5)) / task["runs"]
if task["rounds"]:
    rounds = task["rounds"]
    found["round"] = min(spent(runs=1, max_rounds=rounds) for _ in range(5)) / rounds
print(json.dumps(found))
"""


def measure(
    checkout: Path,
    cache: Path,
    rule: str,
    d: int = 20,
    runs: int = 0,
    rounds: int = 0,
    grid: bool = False,
    plain: bool = False,
) -> dict[str, float]:
    """CPU seconds of a fresh process: its first call, and what a run and a round take after it.
    grid: best path in the place of best arm; plain: without the accelerator of compiling.
    """
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "NUMBA_CACHE_DIR": str(cache)}
    environment |= {"COMBGAME_COMPILER": "plain"} if plain else {}
    task = json.dumps({"rule": rule, "d": d, "runs": runs, "rounds": rounds, "grid": grid})
    out = subprocess.run(
        [sys.executable, "-c", WORKER, task],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(out.stdout.splitlines()[-1])
    return found


def interleaved(
    checkouts: dict[str, Path], repeats: int, once: Callable[[str, Path, int], dict[str, float]]
) -> dict[str, dict[str, float]]:
    """The best of several repeats per checkout, which take turns."""
    best: dict[str, dict[str, float]] = {name: {} for name in checkouts}
    for repeat in range(repeats):
        for name, path in checkouts.items():
            for what, value in once(name, path, repeat).items():
                best[name][what] = min(value, best[name].get(what, float("inf")))
                print(
                    f"{repeat + 1}/{repeats} {name}: {what}: {value:.6g}",
                    file=sys.stderr,
                    flush=True,
                )
    return best


def checkouts(against: Path | None) -> dict[str, Path]:
    return {**({"before": against.resolve()} if against else {}), "now": HERE}


def table(best: dict[str, dict[str, float]], units: dict[str, tuple[str, float]]) -> str:
    """A row per measurement; `units`: the unit of those whose name begins so, and how many make a
    second.
    """
    names = list(best)
    ratio = len(names) > 1
    lines = [
        f"| | {' | '.join(names)} |{' ratio |' if ratio else ''}",
        "| --- |" + " ---: |" * (len(names) + ratio),
    ]
    for what in best["now"]:
        unit, scale = next(found for start, found in units.items() if what.startswith(start))
        cells = [f"{best[name][what] * scale:.2f}" for name in names]
        lines.append(
            f"| {what}, {unit} | {' | '.join(cells)} |"
            + (f" {best['now'][what] / best['before'][what]:.2f} |" if ratio else "")
        )
    return "\n".join(lines)
