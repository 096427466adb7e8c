"""What `tests/engine/test_cuda.py` asks of a simulated card: NUMBA_ENABLE_CUDASIM=1 python -m
tests.on_card same|asked.
"""

import json
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

import combgame as cg
from combgame.engine import round as rounds
from combgame.engine.cuda import _kernel as kernel
from combgame.engine.round import NEEDS_RESIZE
from combgame.rules import FixedBoundRule, padded
from combgame.simulation import cuda as card
from combgame.simulation.runner import Runner, RunSpec
from combgame.structures._nearest import paths as detours
from tests import golden

PROBLEM, MEANS = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1)), [0.5, 0.3, 0.2, 0.1]
LAST = 25
LITERATURE = ("top-two", "ttucb", "ttts", "clucb", "thompson", "sftpl", "fws", "p-fws")


def overhear():
    """From now on every play is added to a list, on the card and in the interpreter: the action,
    the counts and the means after it.
    """
    plain, heard = rounds.step, []

    def step(problem, rule, start, truth, rng, last, stats, state, stops, winners):
        ended = plain(problem, rule, start, truth, rng, last, stats, state, stops, winners)
        if ended == rounds.RUNNING:
            state = [float(x) for part in (state.action, stats.counts, stats.mean) for x in part]
            heard.append((int(stats.n_rounds[0]), state))
        return ended

    rounds.step = kernel.step = step
    return heard


def same():
    """The paper's rules on every structure, every kind of rewards on every structure, plates, and
    the rules of the literature on three: the same plays and the same means, round by round and to
    the last bit.
    """
    wells = cg.Subsets(5, 3), cg.Arms(5)
    more = [
        ("plates", cg.Problem(*wells, cg.Gaussian(0.1, batch_effect=True))),
        (
            "plates, unknown",
            cg.Problem(*wells, cg.Gaussian(simulation_sigma=0.1, batch_effect=True)),
        ),
        ("one sigma", cg.Problem(*wells, cg.Gaussian(simulation_sigma=0.1))),
    ]
    cases = [(name, one, golden.MEANS[:5], "frank-wolfe", "mixture") for name, one in more]
    several = list(golden.cases())
    cases += [one for one in several if "gaussian, stylised" in one[0] or "gcb-pe" in one[0]]
    cases += [one for one in several if one[0].endswith("frank-wolfe")][::4]
    coins = cg.Bernoulli(), tuple(golden.RULES)
    for kind, (rewards, chosen) in {"gaussian": (cg.Gaussian(0.1), ()), "coins": coins}.items():
        for shape in ("arms", "subsets", "paths"):
            actions = golden.structures()[shape]
            problem = cg.Problem(actions, None, rewards)
            cases += [
                (f"{shape}, {kind}, {rule}", problem, golden.MEANS[: actions.d], rule, "stylised")
                for rule in (*LITERATURE, *chosen)
            ]
    heard, compared, compared_rounds, different, refused = overhear(), 0, 0, [], []
    for name, problem, means, rule, threshold in cases:
        if name.startswith("programme"):
            continue  # slow, and refused like "oracle"
        heard.clear()
        try:
            deltas = [0.2, 0.01] if problem.rewards.variance_known else 0.2
            made = golden.RULES.get(rule, rule)
            runner = Runner(RunSpec(problem, means, made, deltas, threshold, 2, LAST, "cuda"))
            found = card.CudaSimulation(runner, 1).batch(0, 1)
        except cg.CombGameError as error:
            refused.append(f"{name}: {error.code}")
            continue
        there = heard.copy()
        heard.clear()
        one = Runner(replace(runner.spec, cpu_engine="python")).run(0)
        lead = float(found.final_leads[0])
        compared += 1
        if (
            there != heard
            or len(heard) == 0
            or one.stopping_times.tolist() != found.stopping_times[0].tolist()
            or one.rounds != found.rounds[0]
            or (one.recommended != found.recommended[0]).any()
            or (one.leader != found.final_leaders[0]).any()
            or not (abs(one.lead - lead) < 1e-12 or (np.isnan(one.lead) and np.isnan(lead)))
        ):
            different.append(name)
        compared_rounds += len(heard)
    return {
        "compared": compared,
        "rounds": compared_rounds,
        "different": different,
        "refused": refused,
    }


class SlippingPart(NamedTuple):
    from_round: int

    def choose(self, problem, stats, state, rng):
        problem.actions.sample(rng, state.action)
        if stats.n_rounds[0] >= self.from_round:
            stats.sums[0] += 1e6

    def needs_resize(self):
        return False


@dataclass(frozen=True)
class Slipping(cg.RuleBase):
    """Somebody else's rule, which writes what it must not from some round on."""

    from_round: int

    def bind(self, problem):
        return FixedBoundRule(SlippingPart(self.from_round), padded(problem.actions.covering()))


def slip(from_round):
    """What a card and the processor say of it: how runs ended, or the code of a sentence."""
    found = []
    for twin in (False, True):
        runner = Runner(
            RunSpec(PROBLEM, MEANS, Slipping(from_round), 1e-9, "stylised", 0, 60, "cuda")
        )
        try:
            played = [runner.run(k).stopping_times for k in range(3)] if twin else None
            made = (
                card.CudaSimulation(runner, 3).batch(0, 3).stopping_times
                if played is None
                else played
            )
            found.append([one.tolist() for one in made])
        except cg.CombGameError as error:
            found.append(error.code)
    return found


def asked():
    """Portions, arrays that must grow, rewards that Python draws, plans, campaigns."""
    runner = Runner(RunSpec(PROBLEM, MEANS, "frank-wolfe", 0.1, "stylised", 0, 200, "cuda"))
    whole, part = (card.CudaSimulation(runner, 7).batch(*where) for where in ((0, 7), (4, 3)))
    sim = cg.simulate(PROBLEM, MEANS, engine="cuda", runs=7, delta=0.1, threshold="stylised")
    other = cg.simulate(PROBLEM, MEANS, engine="python", runs=7, delta=0.1, threshold="stylised")
    card.ROOM = 0
    square = cg.Problem(cg.Subsets(6, 3), None, cg.Gaussian(0.3))
    means = [0.5, 0.45, 0.4, 0.35, 0.3, 0.2]
    rule = cg.FrankWolfe(max_rivals=1)
    small = Runner(RunSpec(square, means, rule, 0.1, "stylised", 0, 100, "cuda"))
    outgrown = card.CudaSimulation(small, 2).batch(0, 2)
    twins = [small.run(number) for number in range(2)]
    card.ROOM = 1 << 16
    crowded, alone = labels_without_room()
    planned = cg.plan(
        PROBLEM, MEANS, rules=["uniform"], runs=3, thresholds=["stylised"], engine="cuda"
    )
    campaign = cg.Campaign.cross(
        "on a card",
        [cg.Instance("four", PROBLEM, MEANS)],
        ["uniform"],
        runs=5,
        threshold="stylised",
    )
    with tempfile.TemporaryDirectory() as folder:
        rows = campaign.run(Path(folder) / "runs.db", engine="cuda", progress=False)
    python = cg.Oracle(lambda score: np.argsort(-score, kind="stable")[:2], d=4)
    try:
        cg.simulate(cg.Problem(python, None, cg.Gaussian(0.1)), MEANS, engine="cuda", runs=2)
        code = ""
    except cg.CombGameError as error:
        code = error.code
    return {
        "a run is the same in any portion": whole.stopping_times[4:].tolist()
        == part.stopping_times.tolist(),
        "simulate gives them": sim.stopping_times.tolist() == whole.stopping_times.tolist(),
        "the noise is another": sim.stopping_times.tolist() != other.stopping_times.tolist(),
        "answers are the user's": sim.answers.count((0,)) >= 6,
        "what outgrows a card is played here": bool((outgrown.status == NEEDS_RESIZE).all())
        and [one.stopping_times.tolist() for one in twins] == outgrown.stopping_times.tolist(),
        "labels that outgrow a card too": bool((crowded.status == NEEDS_RESIZE).all())
        and [one.stopping_times.tolist() for one in alone] == crowded.stopping_times.tolist(),
        "plans are made": len(planned.scenarios[0].simulations[0].stopping_times) == 3,
        "campaigns are run": rows[0]["runs"] == 5,
        "Python cannot be asked there": code == "card-part",
        "rules of others play there": (lambda one, two: one == two and len(one) == 3)(*slip(99)),
        "and are watched": slip(20) == ["rule-wrote-what-was-seen"] * 2,
    }


def labels_without_room():
    """Runs on a network whose nodes have room for one label each, on a card where nothing grows;
    and on the processor, where it does.
    """
    network, room, longer = cg.grid_network(4), detours.ROOM, detours.longer
    problem = cg.Problem(network, None, cg.Gaussian(0.3))
    detours.ROOM = 0
    runner = Runner(
        RunSpec(problem, np.linspace(0.9, 0.1, 12), "uniform", 0.1, "stylised", 0, 40, "cuda")
    )
    played = card.CudaSimulation(runner, 2)
    play = played._player.play

    def on_card(*where):
        detours.longer = lambda x: x
        try:
            return play(*where)
        finally:
            detours.longer = longer

    played._player.play = on_card
    found, twins = played.batch(0, 2), [runner.run(number) for number in range(2)]
    detours.ROOM = room
    return found, twins


if __name__ == "__main__":
    print(json.dumps({"same": same, "asked": asked}[sys.argv[1]](), default=bool))
