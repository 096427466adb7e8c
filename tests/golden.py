"""Runs of every rule on every structure with every kind of rewards, to the last bit: python
tests/golden.py --check | --write

`tests/assets/golden.json` holds what they gave when it was written; `--check` compares, and
`test_golden.py` a tenth of it. Whoever moves code about, or makes it faster, must change nothing
here; whoever changes an algorithm writes the file anew and says why in the changelog.
"""

import hashlib
import json
import math
import sys
from pathlib import Path

import numpy as np

import combgame as cg

FILE = Path(__file__).parent / "assets" / "golden.json"
DELTAS = (0.2, 0.01)
MEANS = [0.52, 0.31, 0.77, 0.12, 0.64, 0.41, 0.05]
EDGES = [("s", "a"), ("s", "b"), ("a", "b"), ("a", "t"), ("b", "t"), ("s", "t"), ("a", "t")]
LINKS = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (2, 4), (3, 4)]
SETS = [(0, 1), (2, 3, 4), (1, 2, 5), (0, 6), (3, 5, 6), (4, 6)]


def structures():
    return {
        "arms": cg.Arms(7),
        "subsets": cg.Subsets(7, 3),
        "partition": cg.Partition([[0, 1, 2], [3, 4, 5, 6]], [1, 2]),
        "paths": cg.Paths(EDGES, "s", "t"),
        "trees": cg.SpanningTrees(LINKS),
        "matchings": cg.Matchings("ab", "xyz"),
        "almost all": cg.AlmostAllSets(7, [2, 5]),
        "listed": cg.Listed(SETS, 7),
        "programme": cg.IntegerProgram(([[3.0, 2.0, 2.0, 1.0, 1.5, 2.5, 1.0]], 0.0, 5.0), d=7),
        "oracle": cg.Oracle(lambda score: np.argsort(-score, kind="stable")[:2], d=7),
    }


REWARDS = {
    "gaussian": (
        cg.Gaussian(0.1),
        None,
        ("stylised", "mixture", "proved", "gaussian-counts", "sub-gaussian-counts"),
    ),
    "sigmas": (lambda d: cg.Gaussian(tuple(np.linspace(0.05, 0.2, d))), None, ("mixture",)),
    "boxed": (cg.Gaussian(0.1), (0.0, 0.8), ("stylised", "mixture")),
    "unknown": (
        cg.Gaussian(simulation_sigma=0.1, shared_sigma=False),
        None,
        ("mixture", "stylised"),
    ),
    "bernoulli": (cg.Bernoulli(), None, ("stylised", "mixture", "proved")),
    "bounded": (cg.Bounded(0.0, 1.0), None, ("mixture", "proved")),
}
RULES = {
    name: name
    for name in ("hedge", "adahedge", "ofw", "lloo", "frank-wolfe", "product-adahedge", "uniform")
}
RULES |= {
    "lloo D": cg.CombGame(cg.LLOO(), tracking="D"),
    "ofw theory": cg.CombGame(cg.OFW(), bonus="theory"),
    "gcb-pe": cg.GCBPE(0.0325),
}


def cases():
    """(name, problem, means, rule, threshold): every rule on every structure, every kind of rewards
    on every structure.
    """
    for shape, actions in structures().items():
        means = MEANS[: actions.d]
        for kind, (rewards, bounds, thresholds) in REWARDS.items():
            made = rewards(actions.d) if callable(rewards) else rewards
            for answers in (
                (None, cg.Arms(actions.d)) if shape in ("subsets", "listed") else (None,)
            ):
                problem = cg.Problem(actions, answers, made, bounds=bounds)
                for threshold in thresholds:
                    for rule in RULES:
                        if rule == "frank-wolfe" or (
                            kind == "gaussian" and threshold == "stylised"
                        ):
                            if rule == "gcb-pe":
                                threshold = "proved"
                            yield (
                                f"{shape} {'arm' if answers else 'best'}, {kind}, {threshold}, "
                                f"{rule}",
                                problem,
                                means,
                                rule,
                                threshold,
                            )


def outcome(problem, means, rule, threshold):
    try:
        deltas = list(DELTAS) if problem.rewards.variance_known else DELTAS[0]
        sim = cg.simulate(
            problem,
            means,
            rule=RULES[rule],
            delta=deltas,
            threshold=threshold,
            runs=2,
            max_rounds=60,
            engine="python",
            seed=5,
        )
    except cg.CombGameError as error:
        return type(error).__name__
    return [
        [int(stop), "".join(str(int(x)) for x in winner)]
        for run in zip(sim.stopping_times, sim.recommended, strict=True)
        for stop, winner in zip(*run, strict=True)
    ]


def values(problem):
    """Evidence for given data, and the complexity."""
    d = problem.d
    counts, estimates = [5 + 7 * (a % 3) for a in range(d)], MEANS[:d]
    extra = {} if problem.rewards.variance_known else {"sigmas": [0.1 + 0.01 * a for a in range(d)]}
    if problem.rewards == cg.Bernoulli():
        estimates = [round(x * n) / n for x, n in zip(estimates, counts, strict=True)]
    found = {}
    for threshold in ("proved", "mixture", "stylised"):
        try:
            one = cg.evidence(problem, estimates, counts, delta=0.05, threshold=threshold, **extra)
        except cg.CombGameError as error:
            found[threshold] = type(error).__name__
            continue
        found[threshold] = [one.answer, one.rival, one.value.hex(), one.threshold.hex()]
    found["time"] = float(cg.complexity(problem, MEANS[:d]).characteristic_time).hex()
    return found


def fingerprint():
    """Of this machine's arithmetic: libraries for exp and log, and orders of summation, differ in
    last digits.
    """
    x = np.random.default_rng(0).uniform(0.1, 10.0, 4096)
    parts = [
        np.exp(x),
        np.log(x),
        np.array([x @ x, x.sum()]),
        np.array([math.exp(y) + math.log(y) + math.lgamma(y) for y in x[:512]]),
    ]
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()[:16]


def record(progress=False):
    runs, figures, seen = {}, {}, []
    for name, *case in cases():
        runs[name] = outcome(*case)
        if case[0] not in seen:
            seen.append(case[0])
            figures[name.rsplit(",", 2)[0]] = values(case[0])
        if progress:
            print(name, runs[name], flush=True)
    return {"arithmetic": fingerprint(), "runs": runs, "figures": figures}


if __name__ == "__main__":
    made = record(progress=True)
    if "--write" in sys.argv:
        FILE.write_text(json.dumps(made, indent=0) + "\n")
    if "--check" in sys.argv:
        kept, made = json.loads(FILE.read_text()), json.loads(json.dumps(made))
        if kept["arithmetic"] != made["arithmetic"]:
            sys.exit(
                "this machine's exp and log have other last digits than those of the machine "
                "that wrote the file"
            )
        wrong = [
            (kind, name)
            for kind in ("runs", "figures")
            for name in kept[kind]
            if kept[kind][name] != made[kind].get(name)
        ]
        for kind, name in wrong:
            print("DIFFERS", kind, name, kept[kind][name], made[kind].get(name), sep=" | ")
        sys.exit(f"{len(wrong)} differ" if wrong else 0)
