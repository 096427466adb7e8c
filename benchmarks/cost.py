"""What a round of frank-wolfe costs, with the stylised and with the mixture threshold: python
benchmarks/cost.py --against ANOTHER_CHECKOUT [--out FILE]

20,000 rounds of a run that does not stop (delta = 1e-200), and all rounds of 40 runs with delta =
0.1, relabelled. Both checkouts take turns; the best counts. Timings on shared machines are noisy:
look at ratios.
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

WORKER = """
import json, sys, time
import numpy as np
import combgame as cg
from combgame.research.instances.alt2021 import matroid_means
from best_action import INSTANCES
def problem(name):
    if name == "best of 50":
        return cg.Problem(cg.Subsets(50, 3), cg.Arms(50), cg.Gaussian(0.1)), matroid_means(50)
    structure, seed = INSTANCES[name]
    means = np.random.default_rng(seed).uniform(0.0, 1.0, structure.d)
    return cg.Problem(structure, None, cg.Gaussian(0.2)), means
out = {}
for name in json.loads(sys.argv[1]):
    for threshold in ("stylised", "mixture"):
        for delta, runs, cap in ((1e-200, 1, 20_000), (0.1, 40, 1_000_000)):
            def spent(cap, runs):
                began = time.process_time()
                sim = cg.simulate(
                    *problem(name), rule="frank-wolfe", threshold=threshold, delta=delta,
                    runs=runs, max_rounds=cap, shuffle_arms=runs > 1, engine="compiled",
                    progress=False,
                )
                return (time.process_time() - began) / sim.rounds.sum()
            spent(1, 1)
            out[f"{name}, {threshold}, delta = {delta:g}"] = min(spent(cap, runs) for _ in range(5))
print(json.dumps(out))
"""
NAMES = ("best of 50", "spanning trees, 8 nodes, 20 edges", "top 5 of 30")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, default=None, help="another checkout of combgame")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:

        def once(name: str, checkout: Path, repeat: int) -> dict[str, float]:
            environment = {
                **os.environ,
                "PYTHONPATH": os.pathsep.join(
                    [str(checkout / "src"), str(checkout / "benchmarks")]
                ),
                "NUMBA_CACHE_DIR": str(Path(folder) / name),
            }
            out = subprocess.run(
                [sys.executable, "-c", WORKER, json.dumps(NAMES)],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            )
            seconds: dict[str, float] = json.loads(out.stdout.splitlines()[-1])
            return seconds

        best = interleaved(checkouts(options.against), options.repeats, once)
    shares = []
    for what, seconds in best["now"].items():
        if "mixture" in what:
            share = seconds / best["now"][what.replace("mixture", "stylised")]
            shares.append(f"{what.replace(', mixture', '')}: {share:.2f}")
    text = table(best, {"": ("us/round", 1e6)})
    text += "\n\nMixture over stylised, now: " + "; ".join(shares) + "."
    print(text)
    save(options.out, text, PYTHON + ", two cores")


if __name__ == "__main__":
    main()
