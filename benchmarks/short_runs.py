"""Thousands of short runs: python benchmarks/short_runs.py --against CHECKOUT_OF_0.1.0

2,000 runs through `simulate` of an instance that stops after about 40 rounds (k = 2 of 6 arms with
means 0.5, 0.4, ..., 0.0, sigma = 0.1, delta = 0.1, the stylised threshold), compiled, in a
process that has made a few before: wall-clock and CPU milliseconds a run. Both checkouts take
turns, and the best of `--repeats` counts: on a busy machine look at the ratios.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from against import checkouts, interleaved, table
from made import PYTHON, save

RULES = ("lloo", "frank-wolfe", "uniform")
WORKER = """
import json, sys, time
import combgame as cg
task = json.loads(sys.argv[1])
problem = cg.Problem(cg.Subsets(6, 2), cg.Arms(6), cg.Gaussian(0.1))
settings = {"delta": 0.1, "threshold": "stylised", "engine": "compiled", "progress": False}
found = {}
for rule in task["rules"]:
    def runs(number):
        means = [0.5, 0.4, 0.3, 0.2, 0.1, 0.0]
        return cg.simulate(problem, means, rule=rule, runs=number, seed=1, **settings)
    runs(20)
    wall, cpu = time.perf_counter(), time.process_time()
    made = runs(task["runs"])
    found[f"wall, {rule}"] = (time.perf_counter() - wall) / task["runs"]
    found[f"CPU, {rule}"] = (time.process_time() - cpu) / task["runs"]
    found[f"rounds, {rule}"] = float(made.rounds.mean())
print(json.dumps(found))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--against", type=Path, default=None, help="another checkout of combgame")
    parser.add_argument("--out", type=Path, default=None, help="also write the table to this file")
    options = parser.parse_args()
    task = json.dumps({"rules": RULES, "runs": options.runs})
    with tempfile.TemporaryDirectory() as folder:

        def once(name: str, checkout: Path, repeat: int) -> dict[str, float]:
            path = {"PYTHONPATH": str(checkout / "src"), "NUMBA_CACHE_DIR": f"{folder}/{name}"}
            out = subprocess.run(
                [sys.executable, "-c", WORKER, task],
                env={**os.environ, **path},
                capture_output=True,
                text=True,
                check=True,
            )
            found: dict[str, float] = json.loads(out.stdout.splitlines()[-1])
            return found

        best = interleaved(checkouts(options.against), options.repeats, once)
    units = {"wall": ("ms a run", 1e3), "CPU": ("ms a run", 1e3), "rounds": ("mean", 1.0)}
    text = table(best, units)
    print(text)
    save(options.out, text, PYTHON + ", two cores")


if __name__ == "__main__":
    main()
