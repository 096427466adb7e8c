"""One source, two engines: the same run, bit for bit. And what is compiled is kept on disk, and only as long as it is right."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import combgame as cg
from combgame.simulate.run import Run
from combgame.stopping.base import NEVER
from combgame.testing import check_learner, check_rule, same

ROUNDS = 5000


def subsets(d):
    return cg.Problem(cg.Subsets(d, 3), cg.Arms(d), cg.Gaussian(0.1)), np.linspace(0.3, 0.2, d)


def listed():
    sets = [[0, 1], [1, 2, 3], [2], [0, 3, 4], [4, 5], [1, 5], [0, 2, 5], [3], [1, 4]]
    return cg.Problem(cg.Listed(sets, 6), None, cg.Gaussian([0.2, 0.3, 0.2, 0.4, 0.3, 0.2])), np.array(
        [0.21, 0.13, 0.28, 0.17, 0.24, 0.19]
    )


def both(problem, means, rule, rounds, number=3):
    runs = []
    for engine in ("python", "compiled"):
        run = Run(problem, rule.setup(problem), NEVER, np.asarray(means), 1, 42, number, engine)
        run.advance(rounds // 3)  # in two pieces, so that going on is tested too
        run.advance(rounds)
        runs.append(run)
    a, b = runs
    assert a.seen.clock[0] == rounds
    assert same(tuple(a.seen), tuple(b.seen)), "counts and estimates"
    assert same(tuple(a.view), tuple(b.view)), "answer, rival, evidence, action"
    assert same(a.rule, b.rule), "learner, tracker and catalogue"
    assert a.rng.bit_generator.state == b.rng.bit_generator.state, "random stream"


@pytest.mark.parametrize("tracking", ["C", "D", "sample"])
@pytest.mark.parametrize("learner", [cg.Hedge(), cg.AdaHedge(), cg.OFW(), cg.LLOO()], ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("problem", ["subsets", "listed"])
def test_both_engines_make_the_same_run_bit_for_bit(problem, learner, tracking):
    instance = listed() if problem == "listed" else subsets(7 if learner.on_simplex else 20)
    both(*instance, cg.CombGame(learner, tracking=tracking), ROUNDS)


@pytest.mark.parametrize(
    "rule",
    [
        cg.Uniform(),
        cg.CombGame(cg.LLOO(), per_answer=True),
        cg.CombGame(cg.AdaHedge(), per_answer=True, bonus="theory"),
        cg.CombGame(cg.LLOO(sparsify=False), start="random-covering"),
        cg.CombGame(cg.OFW(), start="full"),
    ],
    ids=["uniform", "lloo-per-answer", "adahedge-per-answer-theory", "lloo-plain-random-covering", "ofw-full"],
)
@pytest.mark.parametrize("rewards", ["bernoulli", "bounded", "boxed gaussian"])
def test_the_other_options_and_rewards_too(rewards, rule):
    kinds = {"bernoulli": cg.Bernoulli(), "bounded": cg.Bounded(-1, 2), "boxed gaussian": cg.Gaussian(0.4)}
    bounds = (0.2, 0.6) if rewards == "boxed gaussian" else None
    problem = cg.Problem(cg.Subsets(6, 2), cg.Subsets(6, 2), kinds[rewards], bounds=bounds)
    both(problem, [0.5, 0.48, 0.45, 0.4, 0.33, 0.25], rule, 400)


def test_a_python_oracle_makes_the_run_of_the_structure_it_imitates():
    problem = cg.Problem(cg.Subsets(6, 2), cg.Arms(6), cg.Gaussian(0.3))
    pairs = cg.Oracle(lambda s: np.argsort(-s, kind="stable")[:2], 6, covering=[(0, 1), (2, 3), (4, 5)])
    asked = cg.Problem(pairs, cg.Arms(6), cg.Gaussian(0.3))
    geometry = cg.Subsets(6, 2).geometry()
    means = np.linspace(1, 0, 6)
    runs = [Run(p, cg.CombGame(cg.LLOO(geometry=geometry)).setup(p), NEVER, means, 1, 0, 0, e)
            for p, e in ((problem, "compiled"), (asked, "auto"))]  # fmt: skip
    for run in runs:
        run.advance(1000)
    assert same(tuple(runs[0].seen), tuple(runs[1].seen))
    asking = cg.Problem(cg.Subsets(6, 2), pairs, cg.Gaussian(0.3))
    with pytest.raises(cg.EngineError, match="BracketPart is not a NamedTuple"):
        cg.simulate(asking, means, engine="compiled", runs=1, rule="lloo", delta=0.1, threshold="proved")
    with pytest.raises(cg.UnknownNameError, match="engine = 'fast'"):
        cg.simulate(problem, means, engine="fast", runs=1, rule="lloo", delta=0.1, threshold="proved")


class Clash(NamedTuple):
    choose: int  # has the name of a verb
    d: int

    def full(self) -> bool:
        return False


class Stranger(NamedTuple):
    d: int

    def choose(self, game, seen):
        pass


def test_a_part_that_does_not_fit_the_verbs_is_said():
    from combgame.game.engines import choose_engine

    with pytest.raises(cg.EngineError, match=r"Clash\.choose has the name of a verb"):
        choose_engine("auto", (Clash(1, 2),))
    with pytest.raises(cg.EngineError, match=r"Stranger\.choose must have the parameters \(self, game, seen, view, rng\)"):
        choose_engine("auto", (Stranger(1),))


def test_conformance_checks_pass_for_our_own_parts():
    for learner in (cg.Hedge(), cg.AdaHedge(), cg.OFW(), cg.LLOO()):
        check_learner(learner, rounds=250)
    check_rule(cg.CombGame(cg.OFW(), tracking="sample"))


SCRIPT = """
import combgame as cg
from combgame.game.engines import compiled_entry
from combgame.game.round import play
problem = cg.Problem(cg.Arms(3), None, cg.Gaussian(0.1))
sim = cg.simulate(problem, [0.3, 0.25, 0.2], rule="ofw", runs=2, threshold="stylised", engine="compiled")
stats = compiled_entry(play, True).entry.stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()), sim.rounds.tolist())
"""


def test_compilation_is_cached_until_any_source_changes_and_the_cache_does_not_grow(tmp_path):
    package = tmp_path / "combgame"
    shutil.copytree(Path(cg.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def run():
        out = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
        )
        hits, misses, rounds = out.stdout.split(maxsplit=2)
        return int(hits), int(misses), rounds.strip(), len([p for p in (tmp_path / "cache").rglob("*") if p.is_file()])

    hits, misses, rounds, files = run()
    assert (hits, misses) == (0, 1)
    assert run() == (1, 0, rounds, files)  # a second process reuses it
    assert run() == (1, 0, rounds, files)  # and it does not grow
    bonus = package / "rules" / "bonuses.py"  # not the file of the entry point, which is all that numba looks at
    bonus.write_text(bonus.read_text().replace("self.scale * math.log(max(t, 1))", "9.0 * math.log(max(t, 1))"))
    hits, misses, changed, _ = run()
    assert (hits, misses) == (0, 1) and changed != rounds


def test_one_entry_serves_arguments_of_other_types():
    """The key by which machine code is found tells classes, dtypes and layouts apart."""
    from combgame.game.engines import choose_engine
    from combgame.game.records import View, blank
    from combgame.game.round import recommend

    def game_of(problem, seed):
        seen, view = blank(problem.d), View(*np.zeros((3, problem.d)), np.zeros(1), np.zeros(problem.d))
        seen.counts[:] = 2.0
        seen.sums[:] = np.random.default_rng(seed).normal(size=problem.d)
        return problem.game(), seen, view

    arms, sets = (cg.Problem(answers, rewards=cg.Gaussian(1.0)) for answers in (cg.Arms(4), cg.Subsets(5, 2)))
    call = choose_engine("compiled", (arms.game(),), recommend)
    for problem, seed in ((arms, 0), (sets, 1), (arms, 2)):
        game, seen, view = game_of(problem, seed)
        for again in range(3):
            seen.sums[again] += 0.5
            call(game, seen, view)
            twin = View(*np.zeros((3, problem.d)), np.zeros(1), np.zeros(problem.d))
            recommend(problem.game(), seen, twin)
            assert all(a.tolist() == b.tolist() for a, b in zip(view, twin, strict=True))


def test_the_key_of_an_entry_is_as_fine_as_the_types_of_numba():
    from typing import NamedTuple

    from numba import typeof

    from combgame.game.numba import _key

    class One(NamedTuple):
        x: np.ndarray

    class Two(NamedTuple):
        x: np.ndarray

    square, locked = np.zeros((3, 3)), np.zeros(3)
    locked.flags.writeable = False
    given = [
        np.zeros(3), np.zeros(3, np.float32), np.zeros(3, np.int64), square,
        np.asfortranarray(square + 1.0), square[:, 0], square[::2], locked,
        1, 1.0, True, np.float64(1.0), np.int64(1), np.random.default_rng(0), One(np.zeros(3)), Two(np.zeros(3)), One(square[0]),
        (1, 2.0), (1.0, 2), (One(locked), 1),
    ]  # fmt: skip
    for a in given:
        for b in given:
            assert (_key((a,), []) == _key((b,), [])) <= (typeof(a) == typeof(b)), (a, b)
    with pytest.raises(TypeError):
        _key((object(),), [])


BOTH = """
import numpy as np, warnings
import combgame as cg
from combgame.game.numba import borrow as _borrow
warnings.simplefilter("error")
found = []
for problem, means in (
    (cg.Problem(cg.Matchings("ab", "xyz"), None, cg.Bernoulli()), [0.9, 0.2, 0.4, 0.3, 0.8, 0.1]),
    (cg.Problem(cg.Paths(list(map(tuple, ["sa", "sb", "ab", "at", "bt"])), "s", "t"), None, cg.Gaussian(0.3)), [0.9, 0.2, 0.4, 0.3, 0.8]),
):
    sim = cg.simulate(problem, means, rule="lloo", delta=[0.2, 0.01], runs=20, max_rounds=2000, engine="compiled")
    found.append([sim.stops.tolist(), sim.winners.tolist()])
assert bool(_borrow.plain) == PLAIN
print(found)
"""


def test_compiled_our_way_and_in_numbas_the_runs_are_the_same(tmp_path):
    def run(way, plain):
        environment = {**os.environ, "COMBGAME_COMPILER": way, "NUMBA_CACHE_DIR": str(tmp_path / way)}
        command = [sys.executable, "-c", BOTH.replace("PLAIN", str(plain))]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    assert run("fast", False) == run("plain", True)


def test_what_cannot_be_compiled_our_way_is_compiled_in_numbas(monkeypatch):
    from combgame.game.numba import borrow as _borrow
    from combgame.game.numba import compiled

    def fail(state):
        raise RuntimeError("this function is beyond us")

    monkeypatch.setattr(_borrow, "_lends", fail)
    monkeypatch.setattr(_borrow, "plain", set())  # its package has its own name for the set
    monkeypatch.setattr("combgame.game.numba.plain", _borrow.plain)

    def double(x):
        return 2.0 * x

    with pytest.warns(UserWarning, match="numba's own way"):
        assert compiled(double, False)(2.0) == 4.0
    assert _borrow.plain == {True}
