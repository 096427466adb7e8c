"""Bad input gets one sentence that names the argument, the value and the remedy: the cases of
design section 6. First the functions that check, with whatever they may be given; then everything
that uses them, with what may be wrong there.
"""

import math

import numpy as np
import pytest

import combgame as cg
from combgame._display.plotting import plot
from combgame._display.text import rendered
from combgame._validation import check_list
from combgame.errors import check_bool, check_int, check_positive, check_text
from combgame.problem import check_deltas
from tests.said import case, check_refusals, refused

NAN, INF = math.nan, math.inf
NAMES = ["w", "x", "y", "z"]
GOOD = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1), names=NAMES)
MEANS = [0.4, 0.3, 0.2, 0.1]
COUNTS = [200] * 4


def problem(**changes):
    usual = {"actions": cg.Subsets(4, 2), "answers": cg.Arms(4), "rewards": cg.Gaussian(0.1)}
    return cg.Problem(**{**usual, **changes})


def go(means=MEANS, problem=GOOD, **how):
    usual = {"rule": "lloo", "delta": 0.1, "threshold": "proved", "runs": 1}
    return cg.simulate(problem, means, **{**usual, **how})


# ---- what checks


class Rude:
    def __repr__(self):
        raise RuntimeError("rude")

    __len__ = __iter__ = __float__ = __eq__ = __repr__
    __hash__ = object.__hash__


CIRCLE = [1]
CIRCLE.append(CIRCLE)
RAGGED = [[0.1], [0.2, 0.3]]
ARRAY = np.array([1.0, 2.0])
HUGE, LONG = 10**10_000, "p" * 201
ODD = (Rude(), len, None, 1j, b"1", HUGE, NAN)
LISTS = (CIRCLE, RAGGED, np.zeros((2, 2)), ARRAY)
CHECKS = {
    "a whole number": (lambda x: check_int("a", x, 1), (*LISTS, {}, True, 2.5, 0, -1, "1", 2**64)),
    "a positive number": (
        lambda x: check_positive("a", x),
        (*LISTS, {}, True, 0, -0.5, INF, "1", 10**310),
    ),
    "true or false": (lambda x: check_bool("a", x), (*LISTS, {}, 0, 1, np.int64(1), "yes")),
    "a text": (lambda x: check_text("a", x, "a text"), (*LISTS, {}, "", " ", 3, LONG)),
    "items": (lambda x: check_list("a", x, "a list"), (3, True, "abc")),
    "deltas": (check_deltas, (*LISTS, {}, 0, 1.0, -0.1, [], [0.1, NAN], [[0.1]], "0.05")),
    "means": (
        GOOD.check_means,
        (*LISTS, set(MEANS), "1234", list("1234"), [1j, 2, 3, 4], 0.5, [0.1], [1e300, 0, 0, 0]),
    ),
    "scores": (cg.Subsets(3, 1).argmax, (*LISTS, {}, [0, 1], [0, NAN, 1])),
}
NAMED = {"deltas": "delta", "means": "means", "scores": "scores"}


@pytest.mark.parametrize("check", CHECKS)
def test_what_checks_an_argument_refuses_whatever_else_it_is_given_and_says_what_that_was(check):
    call, wrong = CHECKS[check]

    def refusal(x):
        plain = isinstance(x, int | float | str) and x == x and x not in (HUGE, LONG)
        said = {"value": x} if plain and check != "scores" else {}  # they are made an array
        return case("must-be", lambda: call(x), name=NAMED.get(check, "a"), **said)

    check_refusals(map(refusal, (*ODD, *wrong)), cg.InputError)


# ---- what uses it

REWARDS = [
    case("must-be", lambda: cg.Gaussian(0.0), of="Gaussian", name="sigma", value=0.0),
    case("must-be", lambda: cg.Gaussian([0.1, -1.0]), name="sigma", value=[0.1, -1.0]),
    case("must-be", lambda: cg.Gaussian(NAN), of="Gaussian", name="sigma"),
    case("must-be", lambda: cg.Gaussian("0.1"), of="Gaussian", name="sigma", value="0.1"),
    case("must-be", lambda: cg.Gaussian(1e200), of="Gaussian", name="sigma", value=1e200),
    case("must-be", lambda: cg.Bounded(1.0, 0.0), of="Bounded", name="(low, high)", value=(1, 0)),
    case("must-be", lambda: cg.Bounded(0.0, INF), of="Bounded", name="(low, high)", value=(0, INF)),
    case("must-be", lambda: cg.Bounded("a", 1), of="Bounded", name="(low, high)", value=("a", 1)),
]
STRUCTURES = [
    case("must-be", lambda: cg.Arms(0), of="Arms", name="d", value=0, least=1),
    case("must-be", lambda: cg.Arms(2.5), of="Arms", name="d", value=2.5),
    case("must-be", lambda: cg.Subsets(3, 4), of="Subsets", name="size", value=4, d=3),
    case("must-be", lambda: cg.Subsets(3, 0), of="Subsets", name="size", value=0, least=1),
    case(
        "must-be",
        lambda: cg.Subsets(3, 1).to_list(limit="a"),
        of="to_list",
        name="limit",
        value="a",
    ),
    case("must-be", lambda: cg.Subsets(3, 1).argmax([0, 1]), of="argmax", name="scores", d=3),
    case("no-sets", lambda: cg.Listed([], 3)),
    case("empty-set", lambda: cg.Listed([[0], []], 3), number=1),
    case("no-such-arm", lambda: cg.Listed([[0, 3]], 3), number=0, arm=3, last=2),
    case("arm-repeated", lambda: cg.Listed([[0, 1, 1]], 3), number=0, arms=[0, 1, 1]),
    case("set-repeated", lambda: cg.Listed([[0, 1], [1, 0]], 3), arms=[0, 1]),
    case("must-be", lambda: cg.Listed([0, 1], 3), of="Listed", name="sets", value=[0, 1]),
    case("must-be", lambda: cg.IntegerProgram([], 2**64), of="IntegerProgram"),
    case("must-be", lambda: cg.Oracle(lambda s: [0], 2, contains=3), of="Oracle", name="contains"),
    case("must-be", lambda: cg.Oracle(lambda s: [0], 2, covering=3), of="Oracle", name="covering"),
    case("not-arms", lambda: cg.Oracle(lambda s: [0.7, 1.2], 2), given=[0.7, 1.2]),
    case("not-arms", lambda: cg.Oracle(lambda s: [True, False], 2), given=[True, False]),
]
PROBLEMS = [
    case("must-be", lambda: problem(actions=None), of="Problem", name="actions", value=None),
    case("must-be", lambda: problem(rewards=None), of="Problem", name="rewards", value=None),
    case("must-be", lambda: problem(answers=[0, 1]), of="Problem", name="answers", value=[0, 1]),
    case("one-sigma-per-arm", lambda: problem(rewards=cg.Gaussian([0.1, 0.2])), sigmas=2, d=4),
    case("arms-disagree", lambda: problem(answers=cg.Arms(5)), actions=4, answers=5),
    case("single-answer", lambda: problem(answers=cg.Subsets(4, 4)), answers="Subsets(4, 4)"),
    case("single-answer", lambda: cg.Problem(cg.Arms(1), None, cg.Gaussian(1)), answers="Arms(1)"),
    case("arms-unobserved", lambda: problem(actions=cg.Listed([[0, 1], [1, 2]], 4)), arms=[3]),
    case("must-be", lambda: problem(names=["a", "b"]), of="Problem", name="names", d=4),
    case("must-be", lambda: problem(names=[*"ab", "", "c"]), of="Problem", name="names"),
    case("must-be", lambda: problem(names=dict(enumerate("abcd"))), of="Problem", name="names"),
    case("name-repeated", lambda: problem(names=[*"abac"]), name="a"),
    case("must-be", lambda: problem(bounds=(1.0, 0.0)), of="Problem", name="bounds", value=(1, 0)),
    case("must-be", lambda: problem(bounds=(NAN, 1.0)), of="Problem", name="bounds"),
    case("must-be", lambda: problem(bounds=[(0, 1)] * 2), of="Problem", name="bounds", d=4),
    case("no-mean-left", lambda: problem(rewards=cg.Bernoulli(), bounds=(2, 3)), bounds=(2, 3)),
    case("unknown", lambda: GOOD.arm_index("q"), kind="arm", name="q", known=NAMES),
    case("unknown", lambda: GOOD.arm_index(4), kind="arm", name=4, known=["0 to 3", *NAMES]),
    case("unknown", lambda: GOOD.label(["q"]), kind="arm", name="q"),
]
RULES = [
    case("not-a-rule", lambda: go(rule=3), rule=3),
    case("not-a-rule", lambda: go(rule=cg.LLOO())),
    case("unknown", lambda: go(rule="best"), kind="rule", name="best"),
    case("must-be", lambda: cg.CombGame("lloo"), of="CombGame", name="learner", value="lloo"),
    case("must-be", lambda: cg.CombGame(cg.LLOO), name="learner", value=repr(cg.LLOO)),
    case("must-be", lambda: cg.CombGame(bonus=3), name="bonus", value=3),
    case(
        "must-be",
        lambda: cg.CombGame(learner_per_answer="yes"),
        of="CombGame",
        name="learner_per_answer",
    ),
    case("unknown", lambda: cg.CombGame(tracking="E"), of="CombGame", kind="tracking", name="E"),
    case("unknown", lambda: cg.CombGame(tracking=ARRAY), of="CombGame", kind="tracking"),
    case(
        "unknown",
        lambda: cg.CombGame(initialization="some"),
        of="CombGame",
        kind="initialization",
        name="some",
    ),
    case(
        "unknown", lambda: cg.CombGame(initialization=ARRAY), of="CombGame", kind="initialization"
    ),
    case("unknown", lambda: cg.Uniform(start="some"), kind="start", name="some"),
    case("unknown", lambda: cg.Uniform(start=ARRAY), kind="start"),
    case("must-be", lambda: cg.LLOO(geometry=3), of="LLOO", name="geometry", value=3),
    case(
        "must-be",
        lambda: cg.Hedge(initial_horizon=-1),
        of="doubling",
        name="initial_horizon",
        value=-1,
    ),
    case(
        "must-be",
        lambda: cg.Hedge(horizon_factor=0.5),
        of="doubling",
        name="horizon_factor",
        value=0.5,
    ),
    case("must-be", lambda: cg.theory_bonus(b=-1.0), of="theory_bonus", name="b", value=-1.0),
    case("must-be", lambda: cg.theory_bonus("a", "b"), of="theory_bonus", name="b", value="a"),
]
RUNS = [
    case("must-be", lambda: go(problem="p"), name="problem", value="p"),
    case("must-be", lambda: go(None), name="means", value=None, d=4),
    case("not-finite", lambda: go([0.1, NAN, 0, 0]), what="means", arm="x"),
    case("not-finite", lambda: go([0.1, INF, 0, 0]), what="means", arm="x", value=INF),
    case("not-each-arm", lambda: go(dict.fromkeys("wxy", 1)), what="means", missing="z", d=4),
    case("unknown", lambda: go({**dict.fromkeys("wxy", 1), "q": 4}), kind="arm", name="q"),
    case(
        "mean-outside",
        lambda: go([1.4, 0, 0, 0], problem(rewards=cg.Bernoulli())),
        arm="0",
        mean=1.4,
        low=0.0,
        high=1.0,
    ),
    case("tie", lambda: go([0.3, 0.3, 0, 0]), best="w", rival="x"),
    case("must-be", lambda: go(delta=0.0), name="delta", value=0.0),
    case("must-be", lambda: go(runs=0), name="runs", value=0, least=1),
    case("must-be", lambda: go(runs=2**64), name="runs", value=2**64),
    case("must-be", lambda: go(max_rounds=0), name="max_rounds", value=0),
    case("must-be", lambda: go(seed=-1), name="seed", value=-1),
    case("must-be", lambda: go(on_tie="ignore"), name="on_tie", value="ignore"),
    case("unknown", lambda: go(threshold="sure"), kind="threshold", name="sure"),
    case("unknown", lambda: go(engine="gpu"), kind="engine", name="gpu"),
    case(
        "too-many-sets",
        lambda: go(
            range(60), cg.Problem(cg.Subsets(60, 6), cg.Arms(60), cg.Gaussian(1)), rule="hedge"
        ),
        sets=50_063_860,
        limit=250_000,
    ),
    case(
        "cannot-list",
        lambda: go(
            [1, 0],
            cg.Problem(cg.Oracle(lambda s: [0, 1], 2), cg.Arms(2), cg.Gaussian(1)),
            rule="hedge",
        ),
    ),
    case("must-be", lambda: cg.compare(GOOD, MEANS, rules=[]), of="compare", name="rules"),
    case("must-be", lambda: cg.compare(GOOD, MEANS, rules=cg.CombGame()), name="rules"),
    case("unknown", lambda: cg.compare(GOOD, MEANS, rules=["ofw", "x"]), kind="rule", name="x"),
    case("must-be", lambda: cg.compare(GOOD, None, rules=["ofw"]), name="means", value=None),
    case("must-be", lambda: cg.regret(None, MEANS, rule="lloo"), of="regret", name="problem"),
    case("no-learner", lambda: cg.regret(GOOD, MEANS, rule="uniform"), rule="uniform"),
]
EVIDENCE = [
    case("must-be", lambda: cg.evidence(None, MEANS, [1] * 4), of="evidence", name="problem"),
    case(
        "must-be",
        lambda: cg.evidence(GOOD, MEANS, [1, 1, -1, 1]),
        name="counts",
        value=[1, 1, -1, 1],
    ),
    case("must-be", lambda: cg.evidence(GOOD, MEANS, weights=[1, 1, -0.5, 1]), name="weights"),
    case("count-not-whole", lambda: cg.evidence(GOOD, COUNTS, MEANS), arm="w", count=0.4),
    case("counts-or-weights", lambda: cg.evidence(GOOD, MEANS, COUNTS, weights=[1] * 4)),
    case("counts-or-weights", lambda: cg.evidence(GOOD, MEANS)),
    case("delta-without-counts", lambda: cg.evidence(GOOD, MEANS, delta=0.1, weights=[0.5] * 4)),
    case("must-be", lambda: cg.evidence(GOOD, MEANS, COUNTS, delta=[0.05, 1e-9]), name="delta"),
    case("spreads-if-unknown", lambda: cg.evidence(GOOD, MEANS, COUNTS, sigmas=[1.0] * 4)),
    case(
        "must-be",
        lambda: cg.evidence(problem(rewards=cg.Bernoulli()), [1.2, 0, 0, 0], [1] * 4),
        name="estimates",
        low=0.0,
        high=1.0,
    ),
    case("tie", lambda: cg.complexity(GOOD, [0.3, 0.3, 0.1, 0.1]), best="w", rival="x"),
    case("must-be", lambda: cg.complexity(MEANS, GOOD), of="complexity", name="problem"),
    case("must-be", lambda: cg.complexity(GOOD, MEANS, tolerance=0.0), name="tolerance", value=0.0),
    case("must-be", lambda: cg.complexity(GOOD, MEANS, steps=0), name="steps", value=0, least=1),
    case("nothing-to-plot", lambda: plot([], "mine"), title="mine"),
    case("unknown", lambda: rendered([], "excel", {}), kind="format", name="excel"),
]
PLACES = {
    "rewards": REWARDS,
    "structures": STRUCTURES,
    "problems": PROBLEMS,
    "rules": RULES,
    "runs": RUNS,
    "evidence": EVIDENCE,
}


@pytest.mark.parametrize("place", PLACES)
def test_bad_input_gets_its_own_sentence(place):
    check_refusals(PLACES[place])


def test_an_array_is_no_number_of_a_rule_or_of_rewards():
    check_refusals(
        case("must-be", lambda make=make: make(ARRAY))
        for make in (
            lambda x: cg.FrankWolfe(max_rivals=x),
            lambda x: cg.FrankWolfe(sharpness=x),
            lambda x: cg.LLOO(initial_horizon=x),
            lambda x: cg.LLOO(sparsify=x),
            lambda x: cg.Hedge(horizon_factor=x),
            lambda x: cg.OFW(sparsify=x),
            lambda x: cg.Bounded(0, x),
            cg.GCBPE,
            lambda x: cg.Gaussian(shared_sigma=x),
            cg.Arms,
        )
    )


def test_what_was_probably_meant_is_the_remedy():
    with refused("count-not-whole") as caught:
        cg.evidence(GOOD, COUNTS, MEANS)
    assert "swapped" in caught.value.remedy and "weights" in caught.value.remedy
    with refused("not-a-rule", cg.UnknownNameError) as caught:
        go(rule=cg.CombGame)
    assert "CombGame(learner=LLOO())" in caught.value.remedy
    with refused("must-be", cg.InputError, of="CombGame", name="learner") as caught:
        cg.CombGame(cg.LLOO)
    assert "such as LLOO() (with the brackets)" in str(caught.value)


def test_every_error_is_also_the_fitting_built_in():
    assert issubclass(cg.InputError, ValueError) and issubclass(cg.UnknownNameError, LookupError)
    assert issubclass(cg.TieError, cg.InputError) and issubclass(cg.OracleError, RuntimeError)


def test_an_oracle_that_goes_astray_in_the_middle_of_a_run_is_stopped():
    calls = []

    def argmax(scores):
        calls.append(1)
        return [0, 1] if len(calls) < 40 else [0, 1, 2]

    structure = cg.Oracle(argmax, 3, contains=lambda s: len(s) == 2, covering=[(0, 1), (1, 2)])
    with refused("not-its-set", cg.OracleError, arms=[0, 1, 2]):
        go([0.5, 0.4, 0.3], cg.Problem(structure, cg.Arms(3), cg.Gaussian(1.0)))


def test_numpy_inputs_are_as_good_as_lists():
    how = {"rule": "ofw", "engine": "python", "max_rounds": 50}
    sim = go(np.array(MEANS), delta=np.array([0.1, 0.2]), runs=np.int64(2), **how)
    assert sim.stopping_times.shape == (2, 2)
