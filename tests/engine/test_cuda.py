"""The third engine: counted random numbers, and the same runs on a card as on the processor. Cards
are simulated here (NUMBA_ENABLE_CUDASIM); what a real one measured is in benchmarks/results.
"""

import importlib
import inspect
import json
import os
import pkgutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import combgame as cg
from combgame.engine.cuda._memory import arrays_of, fixed_in
from combgame.engine.dispatch import _class_misfit
from combgame.engine.jit import PARTS
from combgame.engine.philox import philox
from combgame.simulation.runner import Runner, RunSpec
from tests import golden
from tests.paths import ROOT
from tests.said import refused

PROBLEM, MEANS = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1)), [0.5, 0.3, 0.2, 0.1]


# ---- random numbers


def words(key, counter):
    """Philox 4x32-10 in big integers, as the paper writes it."""
    c, k, low = list(counter), list(key), 0xFFFFFFFF
    for _ in range(10):
        one, two = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(two >> 32) ^ c[1] ^ k[0], two & low, (one >> 32) ^ c[3] ^ k[1], one & low]
        k = [(k[0] + 0x9E3779B9) & low, (k[1] + 0xBB67AE85) & low]
    return c


def test_blocks_are_those_of_the_known_answers():
    """kat_vectors of Random123: zeros, ones, digits of pi."""
    assert words((0, 0), (0, 0, 0, 0)) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    pi = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344)
    assert words((0xA4093822, 0x299F31D0), pi) == [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]
    rng = philox(seed=0xA4093822 + (0x299F31D0 << 32), run=0x13198A2E + (0x03707344 << 32))
    rng.place[2] = np.int64(np.uint64(0x243F6A88 + (0x85A308D3 << 32)).astype(np.int64))
    rng.next_block()
    assert rng.block[:4].tolist() == words((0xA4093822, 0x299F31D0), pi)


def test_numbers_are_uniform_and_normal_and_no_two_runs_share_any():
    from scipy.stats import kstest

    rng = philox(3, 5)
    uniform = [rng.random() for _ in range(4000)]
    normal = [rng.standard_normal() for _ in range(4000)]
    assert kstest(uniform, "uniform").pvalue > 1e-4 and kstest(normal, "norm").pvalue > 1e-4
    assert abs(np.corrcoef(normal[::2], normal[1::2])[0, 1]) < 0.08
    drawn = {philox(s, r).random() for s in range(40) for r in range(40)}
    assert len(drawn) == 1600


# ---- parts


def test_no_field_of_ours_has_the_name_of_a_verb():
    """Else its engine would refuse it, and only where it is used."""
    checked = 0
    for module in pkgutil.walk_packages(cg.__path__, "combgame."):
        floor = module.name.split(".")[1]
        if floor not in ("engine", "rewards", "structures", "learners", "stopping", "rules"):
            continue
        if ".cuda" in module.name:
            continue
        for kind in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(kind) and issubclass(kind, tuple) and hasattr(kind, "_fields"):
                assert _class_misfit(kind, len(PARTS)) is None
                checked += 1
    assert checked > 80


def test_nobody_writes_what_is_said_to_be_fixed():
    """On a card all runs have one such array in common."""
    fixed = 0
    for number, (name, problem, means, rule, threshold) in enumerate(golden.cases()):
        if number % 4 or name.startswith(("programme", "oracle")):
            continue
        try:
            runner = Runner(
                RunSpec(problem, means, golden.RULES[rule], 0.1, threshold, 1, 40, "python")
            )
        except cg.CombGameError:
            continue
        run = runner.begin(number)
        parts = (run.kernel, run.rule)
        ids = {one for kernel in parts for one in fixed_in(kernel)}
        kept = [x for x in arrays_of(parts) if id(x) in ids]
        for x in kept:
            x.flags.writeable = False
        run.advance(40)
        fixed += len(kept)
    assert fixed > 200


# ---- runs


def on_simulated_card(*what):
    """What `tests/on_card.py` says, where cards are simulated."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.on_card", *what],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_rules_on_structures_play_the_same_on_a_card():
    found = on_simulated_card("same")
    assert found["different"] == [] and found["compared"] > 200 and found["rounds"] > 4000
    others = [why for why in found["refused"] if not why.startswith("oracle")]  # Python's
    assert others == ["matchings best, gaussian, stylised, product-adahedge: no-closed-form"]


def test_what_a_card_is_asked():
    found = on_simulated_card("asked")
    assert found == dict.fromkeys(found, True) and len(found) == 11


@pytest.mark.parametrize("rule", ["frank-wolfe", "uniform"])
def test_the_compiled_engine_plays_the_same_counted_runs(rule):
    made = [
        Runner(
            RunSpec(
                PROBLEM,
                MEANS,
                rule,
                [0.1, 0.01],
                "mixture",
                3,
                500,
                engine="cuda",
                cpu_engine=twin,
            )
        )
        for twin in ("python", "compiled")
    ]
    for number in (0, 1, 5000):
        one, two = (runner.run(number) for runner in made)
        assert one.stopping_times.tolist() == two.stopping_times.tolist() and one.lead == two.lead


@pytest.mark.parametrize("name", ["paths", "matchings", "almost all"])
def test_it_does_so_where_rivals_are_searched(name):
    actions = golden.structures()[name]
    problem = cg.Problem(actions, None, cg.Gaussian(0.1))
    runner = Runner(
        RunSpec(
            problem,
            golden.MEANS[: actions.d],
            "frank-wolfe",
            [0.1, 0.01],
            "mixture",
            3,
            300,
            "cuda",
        )
    )
    for number in (0, 1):
        one, two = (
            Runner(replace(runner.spec, cpu_engine=twin)).run(number)
            for twin in ("python", "compiled")
        )
        assert one.stopping_times.tolist() == two.stopping_times.tolist() and one.lead == two.lead


def test_without_a_card_it_is_said():
    from combgame.engine import cuda

    if cuda.unusable() is None:
        pytest.skip("there is one")
    with refused("no-card", cg.errors.EngineError):
        cg.simulate(PROBLEM, MEANS, engine="cuda", runs=3)
