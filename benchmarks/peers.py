"""combgame beside others, in one run: python benchmarks/peers.py [--runs 100] [--out FILE.md]

- the package best-arm from PyPI, where one arm is played at a time, with its own name for the
  paper's stylised threshold ("chernoff", mode "practice": ln((1 + ln t)/delta));
- a careful NumPy reading of the paper (`numpy_reading.py`): AdaHedge and LLOO, k = 3 of d = 10;
- optuna's ask and tell, for the study side: it has no stopping rule, so it gets the rounds that
  combgame needed on average.

Everybody takes turns, one run each, and only the time of the own process is counted. best-arm needs
an older SciPy than some of combgame's extras; an environment of its own has both:

    python -m venv peers && peers/bin/pip install -e . best-arm optuna
    peers/bin/python benchmarks/peers.py

What is not installed is left out, and the page says so. docs/peers.md says what can be compared.
"""

import argparse
import contextlib
import importlib.metadata
import io
import math
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import made
import numpy as np
import numpy_reading

import combgame as cg
from combgame._display.text import markdown
from combgame.research import instances
from combgame.rules.presets import PRESETS

DELTA = 0.1
SINGLE = ("Garivier 2", "linear, d = 10")  # one arm at a time: Bernoulli values, Gaussian values
SETS = "subsets k = 3, d = 10"
OURS_SINGLE = ("frank-wolfe", "top-two", "track-and-stop", "clucb", "adahedge")
OURS_SETS = ("frank-wolfe", "lloo", "adahedge")
BEST_ARM = {  # algorithm -> its arguments, its tracker
    "top_two": ({"beta": 0.5, "leader_type": "EB", "challenger_type": "TC"}, None),
    "track_and_stop": ({}, "d_tracking"),
    "fws": ({}, None),
    "adahedge_br": ({}, None),
    "lucb": ({}, None),
}


class One(NamedTuple):
    """What a run gave."""

    rounds: int
    right: bool
    seconds: float


Run = Callable[[int], One]


def timed(play: Callable[[int], tuple[int, bool]]) -> Run:
    def run(seed: int) -> One:
        began = time.process_time()
        rounds, right = play(seed)
        return One(rounds, right, time.process_time() - began)

    return run


def ours(instance: instances.PublishedInstance, rule: str) -> Run:
    """Compiled, as `simulate` plays; its first call, which compiles, is not counted."""

    def play(seed: int) -> tuple[int, bool]:
        sim = cg.simulate(
            instance.problem,
            instance.means,
            rule=rule,
            threshold="stylised",
            delta=DELTA,
            runs=1,
            seed=seed,
            shuffle_arms=True,
            progress=False,
        )
        return int(sim.rounds[0]), bool(sim.correct[0])

    play(0)
    return timed(play)


def relabelled(instance: instances.PublishedInstance, seed: int) -> tuple[list[float], int]:
    """The means in an order of the run's own, and where the best is."""
    means = np.random.default_rng([seed, 1]).permutation(instance.means)
    return means.tolist(), int(np.argmax(means))


def best_arm(instance: instances.PublishedInstance, algorithm: str) -> Run:
    from best_arm import Bandit, BaseEnvironment

    options, tracker = BEST_ARM[algorithm]
    sigma = getattr(instance.problem.rewards, "sigma", None)
    name = "bernoulli" if sigma is None else "normal"

    def play(seed: int) -> tuple[int, bool]:
        np.random.seed(seed)  # noqa: NPY002  (the package draws from it)
        means, best = relabelled(instance, seed)
        state = {"probs": means} if sigma is None else {"mu": means, "sigma": sigma}
        with contextlib.redirect_stdout(io.StringIO()):
            bandit = Bandit(
                env_instance=BaseEnvironment.from_dict({"env_name": name, "state": state}),
                algo_name=algorithm,
                algo_args={"confidence": DELTA, **options},
                tracker_name=tracker,
                stopping_name="chernoff",
            )
            answer, counts, _, _ = bandit.run()
        return int(counts.sum()), answer == best

    return timed(play)


def reading(instance: instances.PublishedInstance, kind: type) -> Run:
    sigma = float(instance.problem.rewards.sigma)  # type: ignore[attr-defined]

    def play(seed: int) -> tuple[int, bool]:
        means, best = relabelled(instance, seed)
        rounds, answer = numpy_reading.run(kind, np.array(means), 3, sigma, DELTA, seed)
        return rounds, answer == best

    return timed(play)


def optuna_study(instance: instances.PublishedInstance, budget: int, by_mean: bool) -> Run:
    """One categorical parameter, the default sampler, values told as they are measured. Its answer
    is the arm of its best trial; by_mean: the arm with the best mean, which its user works out.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sigma = getattr(instance.problem.rewards, "sigma", None)

    def play(seed: int) -> tuple[int, bool]:
        rng = np.random.default_rng(seed)
        means, best = relabelled(instance, seed)
        sampler = optuna.samplers.TPESampler(seed=seed)
        study = optuna.create_study(direction="maximize", sampler=sampler)
        sums, counts = np.zeros(len(means)), np.zeros(len(means))
        for _ in range(budget):
            trial = study.ask()
            arm = trial.suggest_categorical("arm", list(range(len(means))))
            mean = means[arm]
            value = float(rng.random() < mean) if sigma is None else rng.normal(mean, sigma)
            study.tell(trial, value)
            sums[arm] += value
            counts[arm] += 1.0
        leader = int(np.argmax(sums / np.maximum(counts, 1.0)))
        return budget, (leader if by_mean else study.best_params["arm"]) == best

    return timed(play)


def combgame_study(instance: instances.PublishedInstance) -> Run:
    """Ask, measure, tell, until it is certain; in memory."""
    sigma = getattr(instance.problem.rewards, "sigma", None)

    def play(seed: int) -> tuple[int, bool]:
        rng = np.random.default_rng(seed)
        means, best = relabelled(instance, seed)
        study = cg.Study(instance.problem, delta=DELTA, threshold="stylised", seed=seed)
        while not study.done:
            todo = study.ask()
            (arm,) = todo.arms
            mean = means[arm]
            value = float(rng.random() < mean) if sigma is None else rng.normal(mean, sigma)
            study.tell(todo, {arm: value})
        return study.status.rounds, study.decision.answer == (best,)

    play(0)
    return timed(play)


def version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def taken_in_turns(players: dict[str, Run], runs: int) -> dict[str, list[One]]:
    found: dict[str, list[One]] = {name: [] for name in players}
    for seed in range(runs):
        for name, run in players.items():
            found[name].append(run(seed))
    return found


def table(title: str, found: dict[str, list[One]], limit: float) -> str:
    cells = []
    for name, runs in found.items():
        rounds = [one.rounds for one in runs]
        spread = statistics.stdev(rounds) / math.sqrt(len(rounds)) if len(rounds) > 1 else 0.0
        mean = statistics.mean(rounds)
        cells.append(
            [
                name,
                f"{mean:,.0f} ± {spread:,.0f}",
                f"{mean / limit:.2f}",
                f"{sum(not one.right for one in runs)} of {len(runs)}",
                f"{1e6 * sum(one.seconds for one in runs) / sum(rounds):,.1f}",
            ]
        )
    head = ["who", "rounds", "ratio to the limit", "errors", "us a round"]
    return f"## {title}\n\n" + markdown(head, cells) + "\n"


def limit_of(instance: instances.PublishedInstance) -> float:
    """The root of t = ln((1 + ln t)/delta)/D_nu."""
    t = instance.time
    for _ in range(200):
        t = instance.time * math.log((1.0 + math.log(max(t, 1.0))) / DELTA)
    return t


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--studies", type=int, default=10, help="runs of the study side")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    names = ("combgame", "best-arm", "optuna", "numpy", "scipy", "numba")
    versions = {name: version(name) for name in names} | {"combgame": cg.__version__}
    parts = [
        "Versions: "
        + ", ".join(f"{name} {one or 'not installed, left out'}" for name, one in versions.items())
        + f", Python {platform.python_version()}. delta = {DELTA}, threshold ln((1 + ln t)/delta) "
        f"for all but optuna; {given.runs} runs each, in turns, arms relabelled in every run. us "
        "a round: time of the own process, everything included, compiling not. docs/peers.md says "
        "what can be compared."
    ]
    for name in SINGLE:
        instance = instances.find(name)
        players = {
            f"combgame {rule}": ours(instance, rule) for rule in OURS_SINGLE if rule in PRESETS
        }
        if versions["best-arm"]:
            players |= {f"best-arm {one}": best_arm(instance, one) for one in BEST_ARM}
        found = taken_in_turns(players, given.runs)
        parts.append(table(f"One arm at a time: {name}", found, limit_of(instance)))
    instance = instances.find(SETS)
    players = {f"combgame {rule}": ours(instance, rule) for rule in OURS_SETS}
    for kind in (numpy_reading.LLOO, numpy_reading.AdaHedge):
        players[f"NumPy reading, {kind.__name__}"] = reading(instance, kind)
    found = taken_in_turns(players, given.runs)
    parts.append(table(f"Sets of arms: {SETS}", found, limit_of(instance)))
    instance = instances.find(SINGLE[0])
    players = {"combgame Study, frank-wolfe": combgame_study(instance)}
    if versions["optuna"]:
        first = taken_in_turns(players, given.studies)
        budget = round(statistics.mean(one.rounds for one in first["combgame Study, frank-wolfe"]))
        players = {
            "optuna TPE, its best trial": optuna_study(instance, budget, by_mean=False),
            "optuna TPE, best mean by hand": optuna_study(instance, budget, by_mean=True),
        }
        found = first | taken_in_turns(players, given.studies)
    else:
        found = taken_in_turns(players, given.studies)
    parts.append(
        table(
            f"Ask and tell, in memory: {SINGLE[0]}, {given.studies} runs", found, limit_of(instance)
        )
    )
    text = "\n\n".join(one.rstrip() for one in parts)
    print(text)
    made.save(given.out, text)


if __name__ == "__main__":
    main()
