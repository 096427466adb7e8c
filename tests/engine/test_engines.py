"""One source, two engines: the same run, bit for bit. And what is compiled is kept on disk, and
only as long as it is right.
"""

import gc
import io
import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import combgame as cg
from combgame.engine.compile_log import tried
from combgame.engine.jit import jitable
from combgame.simulation.runner import InitialState, Run
from combgame.stopping.base import NEVER
from combgame.testing import check_learner, check_rule, same
from tests.said import refused

ROUNDS = 5000


def subsets(d):
    return cg.Problem(cg.Subsets(d, 3), cg.Arms(d), cg.Gaussian(0.1)), np.linspace(0.3, 0.2, d)


def listed():
    sets = [[0, 1], [1, 2, 3], [2], [0, 3, 4], [4, 5], [1, 5], [0, 2, 5], [3], [1, 4]]
    return cg.Problem(
        cg.Listed(sets, 6), None, cg.Gaussian([0.2, 0.3, 0.2, 0.4, 0.3, 0.2])
    ), np.array([0.21, 0.13, 0.28, 0.17, 0.24, 0.19])


def both(problem, means, rule, rounds, stopping=NEVER):
    runs = []
    for engine in ("python", "compiled"):
        run = Run(
            InitialState(problem, rule.bind(problem), stopping, 1, engine),
            np.asarray(means),
            42,
            3,
        )
        run.advance(rounds // 3)  # in two pieces, so that going on is tested too
        run.advance(rounds)
        runs.append(run)
    a, b = runs
    assert a.stats.n_rounds[0] == rounds
    assert same(tuple(a.stats), tuple(b.stats)), "counts and estimates"
    assert same(tuple(a.state), tuple(b.state)), "answer, rival, evidence, action"
    assert same(a.rule, b.rule), "learner, tracker and catalogue"
    assert a.rng.bit_generator.state == b.rng.bit_generator.state, "random stream"


def test_both_engines_make_the_same_long_run():
    """Everything is met in the matrix; here arrays are made larger, again and again."""
    both(*listed(), cg.CombGame(cg.LLOO()), ROUNDS)


OTHERS = {  # options and rewards that are not in the matrix, several at a time
    "adahedge-per-answer-theory": (
        cg.CombGame(cg.AdaHedge(), learner_per_answer=True, bonus="theory"),
        cg.Bounded(-1, 2),
        None,
    ),
    "lloo-plain-random-covering-per-answer": (
        cg.CombGame(
            cg.LLOO(sparsify=False), initialization="random-covering", learner_per_answer=True
        ),
        cg.Gaussian(0.4),
        (0.2, 0.6),
    ),
    "ofw-full-simultaneous": (
        cg.CombGame(cg.OFW(), initialization="full", first_mover="simultaneous"),
        cg.Bernoulli(),
        None,
    ),
    "nature-first": (cg.CombGame(first_mover="nature"), cg.Bernoulli(), None),
}


@pytest.mark.parametrize("name", OTHERS)
def test_the_other_options_and_rewards_too(name):
    rule, rewards, bounds = OTHERS[name]
    problem = cg.Problem(cg.Subsets(6, 2), cg.Subsets(6, 2), rewards, bounds=bounds)
    both(problem, [0.5, 0.48, 0.45, 0.4, 0.33, 0.25], rule, 400)


def test_a_python_oracle_makes_the_run_of_the_structure_it_imitates():
    problem = cg.Problem(cg.Subsets(6, 2), cg.Arms(6), cg.Gaussian(0.3))
    pairs = cg.Oracle(
        lambda s: np.argsort(-s, kind="stable")[:2], 6, covering=[(0, 1), (2, 3), (4, 5)]
    )
    asked = cg.Problem(pairs, cg.Arms(6), cg.Gaussian(0.3))
    geometry = cg.Subsets(6, 2).geometry()
    means = np.linspace(1, 0, 6)
    runs = [
        Run(
            InitialState(p, cg.CombGame(cg.LLOO(geometry=geometry)).bind(p), NEVER, 1, e),
            means,
            0,
            0,
        )
        for p, e in ((problem, "compiled"), (asked, "auto"))
    ]
    for run in runs:
        run.advance(1000)
    assert same(tuple(runs[0].stats), tuple(runs[1].stats))
    asking = cg.Problem(cg.Subsets(6, 2), pairs, cg.Gaussian(0.3))
    with refused("foreign-part", cg.EngineError, kernel="BracketingKernel"):
        cg.simulate(
            asking, means, engine="compiled", runs=1, rule="lloo", delta=0.1, threshold="proved"
        )
    with refused("unknown", cg.UnknownNameError, kind="engine", name="fast"):
        cg.simulate(
            problem, means, engine="fast", runs=1, rule="lloo", delta=0.1, threshold="proved"
        )


class Curious(NamedTuple):
    """A field and three helpers, whose names mean other things elsewhere."""

    learn: np.ndarray
    find: int

    def smallest(self, a: int, b: float) -> float:
        return self._twice(min(self.learn[a], b))

    def _twice(self, x: float) -> float:
        return 2.0 * x + self.count(x)

    def count(self, x: float) -> float:  # tuples have another
        return self.find if x > 0.5 else 0.25


class Lazy(NamedTuple):
    smallest: np.ndarray
    inner: Curious
    count: float

    def learn(self, more: float) -> None:
        for a in range(self.smallest.size):
            self.smallest[a] += self._twice() * more + self.inner.smallest(a, more)

    def _twice(self) -> float:
        return self.count / 2.0

    def find(self, a: int, b: int, c: int) -> float:
        return self.smallest[a] + self.inner.learn[b] * c


class Heir(Curious):
    """Another meaning of an inherited helper."""

    def count(self, x: float) -> float:
        return 100.0


def ask(one: Curious, two: Lazy, heir: Heir, out: np.ndarray) -> None:
    two.learn(0.5)
    two.learn(more=0.25)
    out[0], out[1] = one.smallest(1, 0.75), two.find(0, 1, c=3)
    out[2], out[3] = heir.smallest(1, 0.75), two.count


def test_helpers_of_parts_may_have_any_name():
    from combgame.engine.dispatch import choose_engine

    made = []
    for engine in ("python", "compiled"):
        one = Curious(np.array([0.1, 0.7, 0.3]), 4)
        two, out = Lazy(np.array([0.2, 0.9]), one, 0.6), np.zeros(4)
        parts = one, two, Heir(*one), out
        choose_engine(engine, parts, ask)(*parts)
        made.append([out.tolist(), two.smallest.tolist()])
    assert made[0] == made[1] and made[0][0][0] == 2 * 0.7 + 4 and made[0][0][2] == 2 * 0.7 + 100


class Clash(NamedTuple):
    choose: int  # has the name of a verb
    d: int

    def needs_resize(self) -> bool:
        return False


class Stranger(NamedTuple):
    d: int

    def choose(self, problem, stats):
        pass


def test_a_part_that_does_not_fit_the_verbs_is_said():
    from combgame.engine.dispatch import choose_engine

    with refused("field-hides-verb", cg.EngineError, kernel="Clash", field="choose"):
        choose_engine("auto", (Clash(1, 2),))
    wanted = "self, problem, stats, state, rng"
    with refused("verb-parameters", cg.EngineError, kernel="Stranger", parameters=wanted):
        choose_engine("auto", (Stranger(1),))


def test_default_methods_belong_to_what_is_compiled():
    from combgame.engine.kernels import kernel
    from combgame.engine.numba._identity import identity

    def made(value, own=None):
        class Defaults:
            def worth(self):
                return value

        @kernel(Defaults)
        class Part(NamedTuple):
            d: int

            if own is not None:

                def worth(self):
                    return own

        return Part

    def digest(kernel_):
        return identity(len, (kernel_,)).digest

    assert made(1.0)(3).worth() == 1.0 and made(1.0, own=2.0)(3).worth() == 2.0
    assert digest(made(1.0)) == digest(made(1.0)) != digest(made(3.0))
    assert digest(made(1.0, own=2.0)) == digest(made(3.0, own=2.0))


def test_conformance_checks_pass_for_our_own_parts():
    for learner in (cg.Hedge(), cg.AdaHedge(), cg.OFW(), cg.LLOO()):
        check_learner(learner, rounds=250)
    check_rule(cg.CombGame(cg.OFW(), tracking="sample"))


SCRIPT = """
import combgame as cg
from combgame.engine.compile_log import MADE
problem = cg.Problem(cg.Arms(3), None, cg.Gaussian(0.1))
how = {"rule": "uniform", "runs": 2, "threshold": "stylised", "engine": "compiled"}
sim = cg.simulate(problem, [0.3, 0.25, 0.2], **how)
print(sum(one.compiled for one in MADE), sim.rounds.tolist())
"""


def test_what_is_compiled_is_known_by_what_it_does(tmp_path):
    """A changed comment or docstring compiled everything anew; a changed constant must."""
    package = tmp_path / "combgame"
    shutil.copytree(Path(cg.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {
        **os.environ,
        "PYTHONPATH": str(tmp_path),
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
    }

    def run():
        out = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        compiled, rounds = out.stdout.split(maxsplit=1)
        return int(compiled), rounds.strip(), len(kept(tmp_path / "cache"))

    def change(where, before, after):
        path = package / where
        text = path.read_text()
        assert before in text
        path.write_text(text.replace(before, after, 1))

    every, rounds, files = run()
    assert every > 20
    assert run() == (0, rounds, files)  # a second process compiles nothing, and it does not grow
    for path in package.rglob("*.py"):  # all lines are elsewhere
        path.write_text("# one comment more\n\n" + path.read_text())
    change(
        "engine/statistics.py",
        'def begin_play(self) -> None:\n        """',
        'def begin_play(self) -> None:\n        """Else. ',
    )
    change("learners/hedge.py", '"""', '"""Another docstring. ')
    assert run() == (0, rounds, files)
    # not the file of the entry point, which is all that numba looks at
    change(
        "stopping/glr.py",
        "math.log((1.0 + math.log(max(t, 1)))",
        "math.log((9.0 + math.log(max(t, 1)))",
    )
    anew, changed, _ = run()
    assert 0 < anew < every / 2 and changed != rounds  # and what calls it


MINE = """
import sys
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import combgame as cg
from combgame.engine.protocols import jitable
from combgame.engine.compile_log import COUNT
from combgame.rules.base import FixedBoundRule, RuleBase
from combgame.rules._exploration import padded, start_sets

RATE = 10.0

@jitable
def charge(n):
    return RATE * n

def made():
    class TurnsPart(NamedTuple):
        score: np.ndarray

        def choose(self, problem, stats, state, rng):
            more = np.zeros(2)
            for a in range(self.score.size):
                self.score[a] = more[0] - charge(stats.counts[a])
            problem.actions.argmax(self.score, state.action)

        def needs_resize(self):
            return False
    return TurnsPart

PART = made()

@dataclass(frozen=True)
class Turns(RuleBase):
    def bind(self, problem):
        start = padded(start_sets("covering", problem.actions, None))
        return FixedBoundRule(PART(np.zeros(problem.d)), start)

problem = cg.Problem(cg.Arms(3), None, cg.Gaussian(0.1))
sim = cg.simulate(
    problem, [0.3, 0.25, 0.2], rule=Turns(), runs=2, threshold="stylised", engine="compiled"
)
print(COUNT[0], sim.rounds.tolist())
"""


@pytest.mark.parametrize("way", ["", "plain"])
def test_a_users_part_is_compiled_once(tmp_path, way):
    """It was compiled in every process, 10 to 20 s each. This one makes arrays, and its class has
    no name by which another process could find it.
    """
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "COMBGAME_COMPILER": way,
    }

    def run(text):
        (tmp_path / "mine.py").write_text(text)
        command = [sys.executable, str(tmp_path / "mine.py")]
        out = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        ).stdout
        compiled, rounds = out.split(maxsplit=1)
        return int(compiled), rounds

    first, rounds = run(MINE)
    assert first > 20
    assert run(MINE) == (0, rounds)
    assert run(MINE.replace("RATE * n", "RATE * n  # plays")) == (0, rounds)
    anew, other = run(MINE.replace("RATE = 10.0", "RATE = -10.0"))  # plays one arm only
    assert anew > 0 and other != rounds
    assert run(MINE) == (0, rounds)


def test_one_entry_serves_arguments_of_other_types():
    """The key by which machine code is found tells classes, dtypes and layouts apart."""
    from combgame.engine.dispatch import choose_engine
    from combgame.engine.round import update_recommendation
    from combgame.engine.state import RoundState
    from combgame.engine.statistics import blank

    def game_of(problem, seed):
        stats, state = (
            blank(problem.d),
            RoundState(*np.zeros((3, problem.d)), np.zeros(1), np.zeros(problem.d)),
        )
        stats.counts[:] = 2.0
        stats.sums[:] = np.random.default_rng(seed).normal(size=problem.d)
        return problem.kernel(), stats, state

    arms, sets = (
        cg.Problem(answers, rewards=cg.Gaussian(1.0)) for answers in (cg.Arms(4), cg.Subsets(5, 2))
    )
    call = choose_engine("compiled", (arms.kernel(),), update_recommendation)
    for problem, seed in ((arms, 0), (sets, 1), (arms, 2)):
        kernel, stats, state = game_of(problem, seed)
        for again in range(3):
            stats.sums[again] += 0.5
            call(kernel, stats, state)
            twin = RoundState(*np.zeros((3, problem.d)), np.zeros(1), np.zeros(problem.d))
            update_recommendation(problem.kernel(), stats, twin)
            assert all(a.tolist() == b.tolist() for a, b in zip(state, twin, strict=True))


def test_the_key_of_an_entry_is_as_fine_as_the_types_of_numba():
    from typing import NamedTuple

    from numba import typeof

    from combgame.engine.kernels import type_key

    class One(NamedTuple):
        x: np.ndarray

    class Two(NamedTuple):
        x: np.ndarray

    square, locked = np.zeros((3, 3)), np.zeros(3)
    locked.flags.writeable = False
    given = [
        np.zeros(3),
        np.zeros(3, np.float32),
        np.zeros(3, np.int64),
        square,
        np.asfortranarray(square + 1.0),
        square[:, 0],
        square[::2],
        locked,
        1,
        1.0,
        True,
        np.float64(1.0),
        np.int64(1),
        np.random.default_rng(0),
        One(np.zeros(3)),
        Two(np.zeros(3)),
        One(square[0]),
        (1, 2.0),
        (1.0, 2),
        (One(locked), 1),
    ]
    for a in given:
        for b in given:
            assert (type_key((a,)) == type_key((b,))) <= (typeof(a) == typeof(b)), (a, b)
    assert type_key((object(),)) is None


def test_a_cast_of_a_part_shares_what_the_part_shares_and_nothing_with_other_casts():
    from typing import NamedTuple

    from combgame.engine.kernels import make_template

    class Inner(NamedTuple):
        x: np.ndarray
        n: int

    class Outer(NamedTuple):
        inner: Inner
        only: Inner
        same: np.ndarray
        turned: np.ndarray

    class Nothing(NamedTuple):
        pass

    x, turned = np.arange(3.0), np.asfortranarray(np.arange(6.0).reshape(2, 3))
    form = make_template(Outer(Inner(x, 4), Inner(np.zeros(2), 5), x, turned))
    one, two = form.copy(), form.copy()
    assert type(one) is Outer and type(one.inner) is Inner and (one.inner.n, one.only.n) == (4, 5)
    assert one.inner.x is one.same and one.turned.flags.f_contiguous
    one.same[0], one.only.x[1], one.turned[0, 0] = 7.0, 8.0, 9.0
    assert two.inner.x.tolist() == [0.0, 1.0, 2.0] and two.only.x.tolist() == [0.0, 0.0]
    assert two.turned.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]] and x[0] == 0.0
    assert make_template(Nothing()).copy() == Nothing()
    assert make_template(Inner(np.arange(6)[::2], 1)) is None  # with gaps
    whole = np.arange(6.0)
    assert (
        make_template(Outer(Inner(whole[:4], 1), Inner(whole[3:], 1), x, turned)) is None
    )  # overlapping
    assert make_template(Inner(object(), 1)) is None


BOTH = """
import sys, warnings
import numpy as np
import combgame as cg
warnings.simplefilter("error")
paths = cg.Paths(list(map(tuple, ["sa", "sb", "ab", "at", "bt"])), "s", "t")
problem = cg.Problem(paths, None, cg.Gaussian(0.3))
sim = cg.simulate(
    problem, [0.9, 0.2, 0.4, 0.3, 0.8], rule="ofw", delta=[0.2, 0.01], threshold="stylised",
    runs=20, max_rounds=2000, engine="compiled"
)
from combgame.engine.numba.compiler import ACTIVE
print(ACTIVE, file=sys.stderr)
print(sim.stopping_times.tolist(), sim.recommended.tolist())
"""


def test_with_and_without_the_accelerator_the_runs_are_the_same():
    def run(way):
        environment = {**os.environ, "COMBGAME_COMPILER": way}  # what is on disk is used
        command = [sys.executable, "-c", BOTH]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stderr.strip(), done.stdout

    (active, mine), (plain, numbas) = run(""), run("plain")
    assert (active, plain) == (str(tried(version("numba"))), "False")
    assert mine == numbas


OTHERWISE = """
import sys, warnings
import numba
CHANGE
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    import combgame as cg
    assert not said
    from combgame.engine.dispatch import compiled_entry
    def double(x):
        return 2.0 * x
    def half(x):
        return x / 2.0
    for function in (double, half):
        assert compiled_entry(function, True)(1.0) in (2.0, 0.5)
from combgame.engine.numba.compiler import ACTIVE
from combgame.cli.doctor import _compiler
print(ACTIVE, _compiler(numba.__version__), *(str(one.message) for one in said), sep="|")
"""
MOVED = "from numba.core import environment; del environment.lookup_environment"
CHANGED = "from numba.core import codegen; codegen.ll.parse_bitcode = None"


@pytest.mark.parametrize(
    ("change", "active"),
    [
        ("numba.__version__ = '0.68.7'", True),
        ("numba.__version__ = '0.69.0'", False),
        ("numba.__version__ = '0.6'", False),
        (MOVED, False),
        (CHANGED, False),
    ],
    ids=["tried", "newer", "older", "a part has moved", "a part has changed"],
)
def test_a_numba_without_the_accelerator_is_told_once(change, active, tmp_path):
    """It was slow without a word: 21 instead of 1 us a round."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", OTHERWISE.replace("CHANGE", change)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found, doctor, *said = done.stdout.strip().split("|")
    assert found == str(active) and len(said) == (not active)
    assert ("without its accelerator" in doctor) == (not active)
    assert all("without its accelerator" in one for one in said)
    if change is MOVED:
        assert "lookup_environment" in said[0]


def test_arrays_of_a_users_part_do_not_pile_up():
    """References are counted in what makes arrays, also through a function that returns them."""
    from numba.core.runtime import _nrt_python, rtsys

    from combgame.engine.dispatch import choose_engine

    @jitable
    def fresh(n):
        return np.ones(n)

    class HeapPart(NamedTuple):
        x: np.ndarray

        def total(self, n):
            return fresh(n).sum() + (self.x + 1.0)[1:].sum()

    def call(kernel, times):
        found = 0.0
        for _ in range(times):
            found += kernel.total(3)
        return found

    jitable(call)
    kernel = HeapPart(np.zeros(3))
    quick = choose_engine("compiled", (kernel,), call)
    assert quick(kernel, 10) == 50.0
    _nrt_python.memsys_enable_stats()
    before = rtsys.get_allocation_stats()
    assert quick(kernel, 1000) == 5000.0
    after = rtsys.get_allocation_stats()
    _nrt_python.memsys_disable_stats()
    made, freed = after.alloc - before.alloc, after.free - before.free
    assert made == freed >= 2000


# ---- kept on disk, one by one

SMALL = """
import sys
import numpy as np
import combgame as cg
from combgame.engine.dispatch import choose_engine
from combgame.engine.state import RoundState
from combgame.engine.statistics import blank
from combgame.engine.round import next_action, update_recommendation
from combgame.engine.compile_log import MADE
problem = cg.Problem(cg.Arms(4), None, cg.Gaussian(0.5))
stats, rng, kernel = blank(4), np.random.default_rng(0), problem.kernel
state = RoundState(*np.zeros((3, 4)), np.zeros(1), np.zeros(4))
stats.counts[:] = 3.0
stats.sums[:] = 1.0, 4.0, 2.0, 3.5
rule, _ = cg.Uniform().bind(problem).start_run(rng)
if "recommend" in sys.argv:
    choose_engine("compiled", (kernel(),), update_recommendation)(kernel(), stats, state)
if "advise" in sys.argv:
    choose_engine("compiled", (kernel(), rule), next_action)(kernel(), rule, stats, state, rng)
print([one.compiled for one in MADE], [part.tolist() for part in state])
"""


def small(cache, *what):
    return subprocess.Popen(
        [sys.executable, "-c", SMALL, *what],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def outcome(process):
    out, err = process.communicate()
    assert process.returncode == 0, err
    compiled, state = out.split("] ", 1)
    return eval(compiled + "]"), state


def kept(cache):
    return sorted(path for path in cache.rglob("*") if path.is_file() and path.name != "probed")


def test_functions_are_kept_one_by_one_and_what_is_damaged_is_compiled_anew(tmp_path):
    if not tried(version("numba")):
        pytest.skip("there is no accelerator: only entry points are kept")
    first, state = outcome(small(tmp_path, "recommend"))
    assert first[0] > 3
    files = kept(tmp_path)
    assert len(files) == first[0]
    assert outcome(small(tmp_path, "recommend")) == ([0], state)
    alone, advised = outcome(small(tmp_path / "another", "advise"))
    shared = outcome(small(tmp_path, "advise"))
    assert shared == (
        [alone[0] - first[0] + 1],
        advised,
    )  # what is new to it, which is called by it: the entry of the other does not count
    for i, path in enumerate(files):
        data = path.read_bytes()
        path.write_bytes(
            [b"", data[: len(data) // 2], data[:-1] + bytes([data[-1] ^ 1]), b"\0" * len(data)][
                i % 4
            ]
        )
    assert outcome(small(tmp_path, "recommend")) == (first, state)
    assert outcome(small(tmp_path, "recommend")) == ([0], state)


def test_processes_that_compile_the_same_at_the_same_time_leave_whole_files(tmp_path):
    found = [
        outcome(process)
        for process in [small(tmp_path, "recommend"), small(tmp_path, "recommend", "advise")]
    ]
    again = outcome(small(tmp_path, "recommend"))
    assert again == ([0], found[0][1])
    assert not [path for path in kept(tmp_path) if path.name.startswith("new-")]


def test_types_are_spelled_apart():
    from numba import typeof

    from combgame.engine.numba import cache

    class Bonus(NamedTuple):
        x: np.ndarray

    def like(module, qualname="Bonus"):
        return type("Bonus", (Bonus,), {"__module__": module, "__qualname__": qualname})(
            np.zeros(2)
        )

    given = [
        np.zeros(2),
        np.zeros(2, np.float32),
        np.zeros((2, 2)),
        np.zeros((2, 2))[:, 0],
        1,
        1.0,
        True,
        (1, 1),
        (1.0, 1),
        like("combgame.rules.bonuses"),
        like("__main__"),
        (1, like("__main__")),
    ]
    assert len({cache.spelled(typeof(one), {}) for one in given}) == len(given)
    assert cache.spelled(typeof("text"), {}) is None
    classes = {}
    cache.spelled(typeof(given[-1]), classes)
    assert list(classes) == [type(given[-1][1])]


def test_what_is_kept_is_bounded(tmp_path, monkeypatch):
    from combgame.engine.numba import cache

    monkeypatch.setattr(cache, "KEPT_VERSIONS", 3)
    for i in range(6):
        (tmp_path / f"old{i}").mkdir()
        os.utime(tmp_path / f"old{i}", (i, i))
    mine = cache.folder.__wrapped__(tmp_path, False)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([mine.name, "old5", "old4"])
    assert cache.folder.__wrapped__(tmp_path, True) != mine
    for i in range(6):
        (mine / f"f{i}").write_bytes(b"1234")
        os.utime(mine / f"f{i}", (i, i))
    cache._bound(mine, 12)
    assert sorted(path.name for path in mine.iterdir()) == ["f3", "f4", "f5"]


def test_compiled_functions_have_names_that_no_other_process_uses():
    from numba.core.bytecode import FunctionIdentity

    from combgame.engine.numba._private import deferred_codegen

    before, numbers = FunctionIdentity._unique_ids, []
    for _ in range(2):
        with deferred_codegen():
            numbers.append(next(FunctionIdentity._unique_ids))
    assert FunctionIdentity._unique_ids is before and abs(numbers[0] - numbers[1]) > 10**6


# ---- what is said


class Screen(io.StringIO):
    def __init__(self, terminal):
        super().__init__()
        self.terminal = terminal

    def isatty(self):
        return self.terminal


@pytest.mark.parametrize("terminal", [True, False])
def test_a_line_says_what_is_being_compiled_on_a_terminal_only(terminal, monkeypatch, caplog):
    from combgame.engine import compile_log as telling
    from combgame.engine.round import update_recommendation

    screen, problem = Screen(terminal), subsets(5)[0].kernel()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(telling, "MADE", [])
    with telling.telling(update_recommendation, (problem,)):
        pass
    assert screen.getvalue() == "" and not caplog.records  # a moment
    monkeypatch.setattr(telling, "MOMENT", 0.0)
    with (
        caplog.at_level("INFO", "combgame.compile"),
        telling.telling(update_recommendation, (problem,)),
    ):
        time.sleep(0.3)
    said = "compiling update_recommendation on Subsets with Gaussian rewards, once: about 10 s"
    assert [record.getMessage().partition(" in ")[0] for record in caplog.records] == [
        said,
        said.partition(",")[0].replace("ing", "ed", 1),
    ]
    done = said.partition(",")[0].replace("ing", "ed", 1)
    if terminal:
        assert screen.getvalue().lstrip("\r").startswith(f"{said}: 0 s")
        assert f"\r{done} in 0." in screen.getvalue()
    else:
        assert screen.getvalue() == ""
    assert [one.compiled for one in telling.MADE] == [0, 0]


PROBLEM = """
goal = "minimise"
[actions]
kind = "arms"
arms = 4
[rewards]
kind = "gaussian"
sigma = 0.5
"""


def test_warm_prepares_what_a_problem_file_needs_and_says_when_it_was_ready(tmp_path):
    (tmp_path / "p.toml").write_text(PROBLEM)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    command = [
        sys.executable,
        "-c",
        "from combgame.cli.app import main; main()",
        "warm",
        "p.toml",
        "--rule",
        "uniform",
        "--threshold",
        "stylised",
    ]

    def warm(*more):
        return subprocess.run(
            [*command, *more],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )

    first = warm()
    assert (
        first.stdout.startswith(
            "uniform, stylised: compiled Uniform on Arms with Gaussian rewards in "
        )
        and first.stderr == ""
    )
    assert warm().stdout == "uniform, stylised: was ready.\n"
    again = json.loads(warm("--json").stdout)
    assert [(row["rule"], row["threshold"], row["compiled"]) for row in again] == [
        ("uniform", "stylised", 0)
    ]


def test_an_engine_is_chosen_once_for_the_same_classes(monkeypatch):
    from combgame.engine import dispatch as engines

    asked = []
    plain = engines._choose
    monkeypatch.setattr(engines, "_CHOSEN", {})
    monkeypatch.setattr(engines, "_choose", lambda *given: asked.append(given) or plain(*given))
    for problem in (subsets(5)[0], subsets(6)[0], listed()[0], subsets(5)[0]):
        engines.choose_engine("auto", (problem.kernel(),))
    assert len(asked) == 2


# ---- the engine "auto"

SHORT = """
import numpy as np
import combgame as cg
from combgame.engine.compile_log import COUNT
problem = cg.Problem(cg.Arms(3), None, cg.Gaussian(0.1))
how = dict(rule="uniform", threshold="stylised", progress=False)
few = cg.simulate(problem, [0.6, 0.4, 0.2], runs=3, **how)
print(COUNT[0] == 0, few.stopping_times.tolist() == cg.simulate(
    problem, [0.6, 0.4, 0.2], runs=3, engine="python", **how
).stopping_times.tolist())
long = dict(runs=2, max_rounds=150_000, on_tie="run", **how)
tied = cg.simulate(problem, [0.3, 0.3, 0.3], **long)
print(COUNT[0] > 0, tied.rounds.tolist())
once = COUNT[0]
again = cg.simulate(problem, [0.6, 0.4, 0.2], runs=3, **how)
print(COUNT[0] == once, again.stopping_times.tolist() == few.stopping_times.tolist())
"""


def test_what_is_over_sooner_interpreted_is_not_compiled(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", SHORT]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    few, tied, again = done.stdout.splitlines()
    assert few == again == "True True" and tied.startswith("True")


SWITCHED_OFF = """
import sys
import combgame as cg
from combgame.cli.doctor import _compiler
problem, means = cg.Problem(cg.Subsets(5, 2), cg.Arms(5), cg.Gaussian(0.1)), [5.0, 4, 3, 2, 1]
made = cg.simulate(problem, means, runs=2, max_rounds=20, progress=False)
print(made.rounds.size, _compiler("0.68"))
try:
    cg.simulate(problem, means, runs=2, engine="compiled")
except cg.EngineError as error:
    print(error.code, error)
"""


def test_where_numba_is_switched_off_runs_are_interpreted():
    """It was an AttributeError, and the doctor called the engine ready."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-W", "error", "-c", SWITCHED_OFF]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    runs, refused = done.stdout.splitlines()
    assert runs == "2 not to be used: NUMBA_DISABLE_JIT is set"
    assert refused.startswith("no-numba ") and "NUMBA_DISABLE_JIT is set" in refused


def test_two_threads_that_compile_leave_the_settings_of_the_process_as_they_were():
    """The second took what the first had set for what was there before."""
    from combgame.engine import numba as way

    class Entry:
        def compile(self, _):
            during.append((gc.get_threshold()[0], way.config.BOUNDSCHECK))
            time.sleep(0.05)

        def get_overload(self, _):
            return None

    for often in (700, 0):  # 0: somebody has switched it off
        during, kept = [], gc.get_threshold()
        gc.set_threshold(often, 10, 10)
        before = gc.get_threshold(), way.config.BOUNDSCHECK
        try:
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(lambda ours: way._made(Entry(), None, ours), [True, False, True]))
            assert (gc.get_threshold(), way.config.BOUNDSCHECK) == before
        finally:
            gc.set_threshold(*kept)
        assert {one for one, _ in during} == ({way.SELDOM[0]} if often else {0})
        assert sorted(str(checks) for _, checks in during) == ["1", *[str(before[1])] * 2]
