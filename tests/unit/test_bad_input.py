"""Bad input gets one sentence that names the argument, the value and the remedy: the cases of
design section 6.
"""

import math

import numpy as np
import pytest

import combgame as cg
from combgame.problem import check_deltas
from tests.said import refused

GOOD = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1), names=["w", "x", "y", "z"])
MEANS = [0.4, 0.3, 0.2, 0.1]


def problem(**changes):
    return cg.Problem(
        **{
            "actions": cg.Subsets(4, 2),
            "answers": cg.Arms(4),
            "rewards": cg.Gaussian(0.1),
            **changes,
        }
    )


CASES = {
    "sigma 0": (
        lambda: cg.Gaussian(0.0),
        "must-be",
        {"of": "Gaussian", "name": "sigma", "value": 0.0},
    ),
    "sigma below 0": (
        lambda: cg.Gaussian([0.1, -1.0]),
        "must-be",
        {"of": "Gaussian", "name": "sigma", "value": [0.1, -1.0]},
    ),
    "sigma nan": (lambda: cg.Gaussian(math.nan), "must-be", {"of": "Gaussian", "name": "sigma"}),
    "sigma of another length": (
        lambda: problem(rewards=cg.Gaussian([0.1, 0.2])),
        "one-sigma-per-arm",
        {"sigmas": 2, "d": 4},
    ),
    "bounded upside down": (
        lambda: cg.Bounded(1.0, 0.0),
        "must-be",
        {"of": "Bounded", "name": "(low, high)", "value": (1.0, 0.0)},
    ),
    "bounded infinite": (
        lambda: cg.Bounded(0.0, math.inf),
        "must-be",
        {"of": "Bounded", "name": "(low, high)", "value": (0.0, math.inf)},
    ),
    "no arms": (lambda: cg.Arms(0), "must-be", {"of": "Arms", "name": "d", "value": 0, "least": 1}),
    "half an arm": (lambda: cg.Arms(2.5), "must-be", {"of": "Arms", "name": "d", "value": 2.5}),
    "too large a subset": (
        lambda: cg.Subsets(3, 4),
        "must-be",
        {"of": "Subsets", "name": "size", "value": 4, "d": 3},
    ),
    "empty subset": (
        lambda: cg.Subsets(3, 0),
        "must-be",
        {"of": "Subsets", "name": "size", "value": 0, "least": 1},
    ),
    "empty list": (lambda: cg.Listed([], 3), "no-sets", {}),
    "empty set": (lambda: cg.Listed([[0], []], 3), "empty-set", {"number": 1}),
    "unknown arm": (
        lambda: cg.Listed([[0, 3]], 3),
        "no-such-arm",
        {"number": 0, "arm": 3, "last": 2},
    ),
    "repeated arm": (
        lambda: cg.Listed([[0, 1, 1]], 3),
        "arm-repeated",
        {"number": 0, "arms": [0, 1, 1]},
    ),
    "repeated set": (
        lambda: cg.Listed([[0, 1], [1, 0]], 3),
        "set-repeated",
        {"arms": [0, 1]},
    ),
    "actions missing": (
        lambda: cg.Problem(None, cg.Arms(3), cg.Gaussian(1)),
        "must-be",
        {"of": "Problem", "name": "actions", "value": None},
    ),
    "rewards missing": (
        lambda: cg.Problem(cg.Arms(3)),
        "must-be",
        {"of": "Problem", "name": "rewards", "value": None},
    ),
    "answers of another kind": (
        lambda: problem(answers=[0, 1]),
        "must-be",
        {"of": "Problem", "name": "answers", "value": [0, 1]},
    ),
    "other number of arms": (
        lambda: problem(answers=cg.Arms(5)),
        "arms-disagree",
        {"actions": 4, "answers": 5},
    ),
    "one answer": (
        lambda: problem(answers=cg.Subsets(4, 4)),
        "single-answer",
        {"answers": "Subsets(4, 4)"},
    ),
    "one arm": (
        lambda: cg.Problem(cg.Arms(1), None, cg.Gaussian(1)),
        "single-answer",
        {"answers": "Arms(1)"},
    ),
    "unobserved arm": (
        lambda: problem(actions=cg.Listed([[0, 1], [1, 2]], 4)),
        "arms-unobserved",
        {"arms": [3]},
    ),
    "names too few": (
        lambda: problem(names=["a", "b"]),
        "must-be",
        {"of": "Problem", "name": "names", "value": ["a", "b"], "d": 4},
    ),
    "names twice": (
        lambda: problem(names=["a", "b", "a", "c"]),
        "name-repeated",
        {"name": "a"},
    ),
    "names empty": (
        lambda: problem(names=["a", "b", "", "c"]),
        "must-be",
        {"of": "Problem", "name": "names", "value": ["a", "b", "", "c"]},
    ),
    "bounds upside down": (
        lambda: problem(bounds=(1.0, 0.0)),
        "must-be",
        {"of": "Problem", "name": "bounds", "value": (1.0, 0.0)},
    ),
    "bounds nan": (
        lambda: problem(bounds=(math.nan, 1.0)),
        "must-be",
        {"of": "Problem", "name": "bounds"},
    ),
    "bounds of another shape": (
        lambda: problem(bounds=[(0, 1), (0, 1)]),
        "must-be",
        {"of": "Problem", "name": "bounds", "d": 4},
    ),
    "bounds out of reach": (
        lambda: problem(rewards=cg.Bernoulli(), bounds=(2.0, 3.0)),
        "no-mean-left",
        {"bounds": (2.0, 3.0), "rewards": "Bernoulli()"},
    ),
    "means nan": (
        lambda: cg.simulate(
            GOOD, [0.1, math.nan, 0, 0], rule="lloo", delta=0.1, threshold="proved"
        ),
        "not-finite",
        {"what": "means", "arm": "x"},
    ),
    "means infinite": (
        lambda: cg.simulate(
            GOOD, [0.1, math.inf, 0, 0], rule="lloo", delta=0.1, threshold="proved"
        ),
        "not-finite",
        {"what": "means", "arm": "x", "value": math.inf},
    ),
    "means too few": (
        lambda: cg.simulate(GOOD, [0.1], rule="lloo", delta=0.1, threshold="proved"),
        "must-be",
        {"name": "means", "value": [0.1], "d": 4},
    ),
    "means as text": (
        lambda: cg.simulate(GOOD, ["a", "b", "c", "d"], rule="lloo", delta=0.1, threshold="proved"),
        "must-be",
        {"name": "means", "d": 4},
    ),
    "means out of range": (
        lambda: cg.simulate(
            problem(rewards=cg.Bernoulli()),
            [1.4, 0, 0, 0],
            rule="lloo",
            delta=0.1,
            threshold="proved",
        ),
        "mean-outside",
        {"arm": "0", "mean": 1.4, "low": 0.0, "high": 1.0},
    ),
    "means with a tie": (
        lambda: cg.simulate(GOOD, [0.3, 0.3, 0, 0], rule="lloo", delta=0.1, threshold="proved"),
        "tie",
        {"best": "w", "rival": "x"},
    ),
    "delta 0": (
        lambda: cg.simulate(GOOD, MEANS, delta=0.0, rule="lloo", threshold="proved"),
        "must-be",
        {"name": "delta", "value": 0.0},
    ),
    "delta 1": (
        lambda: cg.simulate(GOOD, MEANS, delta=1.0, rule="lloo", threshold="proved"),
        "must-be",
        {"name": "delta", "value": 1.0},
    ),
    "delta nan": (
        lambda: cg.simulate(GOOD, MEANS, delta=[0.1, math.nan], rule="lloo", threshold="proved"),
        "must-be",
        {"name": "delta"},
    ),
    "delta none": (lambda: check_deltas([]), "must-be", {"name": "delta", "value": []}),
    "delta as text": (lambda: check_deltas("0.05"), "must-be", {"name": "delta", "value": "0.05"}),
    "delta of another shape": (
        lambda: check_deltas([[0.1]]),
        "must-be",
        {"name": "delta", "value": [[0.1]]},
    ),
    "no runs": (
        lambda: cg.simulate(GOOD, MEANS, runs=0, rule="lloo", delta=0.1, threshold="proved"),
        "must-be",
        {"name": "runs", "value": 0, "least": 1},
    ),
    "no rounds": (
        lambda: cg.simulate(GOOD, MEANS, max_rounds=0, rule="lloo", delta=0.1, threshold="proved"),
        "must-be",
        {"name": "max_rounds", "value": 0},
    ),
    "negative seed": (
        lambda: cg.simulate(GOOD, MEANS, seed=-1, rule="lloo", delta=0.1, threshold="proved"),
        "must-be",
        {"name": "seed", "value": -1},
    ),
    "ties": (
        lambda: cg.simulate(GOOD, MEANS, ties="ignore", rule="lloo", delta=0.1, threshold="proved"),
        "must-be",
        {"name": "ties", "value": "ignore"},
    ),
    "not a problem": (
        lambda: cg.simulate("p", MEANS, rule="lloo", delta=0.1, threshold="proved"),
        "must-be",
        {"name": "problem", "value": "p"},
    ),
    "unknown rule": (
        lambda: cg.simulate(GOOD, MEANS, rule="best", delta=0.1, threshold="proved"),
        "unknown",
        {"kind": "rule", "name": "best"},
    ),
    "no rule": (
        lambda: cg.simulate(GOOD, MEANS, rule=3, delta=0.1, threshold="proved"),
        "not-a-rule",
        {"rule": 3},
    ),
    "learner as rule": (
        lambda: cg.simulate(GOOD, MEANS, rule=cg.LLOO(), delta=0.1, threshold="proved"),
        "not-a-rule",
        {},
    ),
    "learner class": (
        lambda: cg.CombGame(learner="lloo"),
        "must-be",
        {"of": "CombGame", "name": "learner", "value": "lloo"},
    ),
    "unknown threshold": (
        lambda: cg.simulate(GOOD, MEANS, threshold="sure", rule="lloo", delta=0.1),
        "unknown",
        {"kind": "threshold", "name": "sure"},
    ),
    "unknown tracking": (
        lambda: cg.CombGame(tracking="E"),
        "unknown",
        {"of": "CombGame", "kind": "tracking", "name": "E"},
    ),
    "unknown start": (
        lambda: cg.CombGame(start="some"),
        "unknown",
        {"of": "CombGame", "kind": "start", "name": "some"},
    ),
    "unknown start of uniform": (
        lambda: cg.simulate(
            GOOD, MEANS, rule=cg.Uniform(start="some"), delta=0.1, threshold="proved"
        ),
        "unknown",
        {"kind": "start", "name": "some"},
    ),
    "unknown engine": (
        lambda: cg.simulate(GOOD, MEANS, engine="gpu", rule="lloo", delta=0.1, threshold="proved"),
        "unknown",
        {"kind": "engine", "name": "gpu"},
    ),
    "rules empty": (
        lambda: cg.compare(GOOD, MEANS, delta=0.1, threshold="proved", rules=[]),
        "must-be",
        {"of": "compare", "name": "rules", "value": []},
    ),
    "too many actions": (
        lambda: cg.simulate(
            cg.Problem(cg.Subsets(60, 6), cg.Arms(60), cg.Gaussian(1)),
            range(60),
            rule="hedge",
            delta=0.1,
            threshold="proved",
        ),
        "too-many-sets",
        {"sets": 50_063_860, "limit": 250_000},
    ),
    "hedge on an oracle": (
        lambda: cg.simulate(
            cg.Problem(cg.Oracle(lambda s: [0, 1], 2), cg.Arms(2), cg.Gaussian(1)),
            [1, 0],
            rule="hedge",
            delta=0.1,
            threshold="proved",
        ),
        "cannot-list",
        {},
    ),
    "argmax nan": (
        lambda: cg.Subsets(3, 1).argmax([0, math.nan, 1]),
        "must-be",
        {"of": "argmax", "name": "scores", "d": 3},
    ),
    "argmax shape": (
        lambda: cg.Subsets(3, 1).argmax([0, 1]),
        "must-be",
        {"of": "argmax", "name": "scores", "value": [0.0, 1.0], "d": 3},
    ),
    "negative count": (
        lambda: cg.evidence(GOOD, MEANS, [1, 1, -1, 1]),
        "must-be",
        {"name": "counts", "value": [1.0, 1.0, -1.0, 1.0]},
    ),
    "negative weight": (
        lambda: cg.evidence(GOOD, MEANS, weights=[1, 1, -0.5, 1]),
        "must-be",
        {"name": "weights", "value": [1.0, 1.0, -0.5, 1.0]},
    ),
    "counts and estimates swapped": (
        lambda: cg.evidence(GOOD, [200] * 4, MEANS),
        "count-not-whole",
        {"arm": "w", "count": 0.4},
    ),
    "counts and weights": (
        lambda: cg.evidence(GOOD, MEANS, [1] * 4, weights=[1] * 4),
        "counts-or-weights",
        {},
    ),
    "neither counts nor weights": (lambda: cg.evidence(GOOD, MEANS), "counts-or-weights", {}),
    "a delta for weights": (
        lambda: cg.evidence(GOOD, MEANS, delta=0.1, weights=[0.5] * 4, threshold="proved"),
        "delta-without-counts",
        {},
    ),
    "several deltas for one answer": (
        lambda: cg.evidence(GOOD, MEANS, [200] * 4, delta=[0.05, 1e-9], threshold="proved"),
        "must-be",
        {"of": "evidence", "name": "delta", "value": [0.05, 1e-9]},
    ),
    "estimate out of range": (
        lambda: cg.evidence(problem(rewards=cg.Bernoulli()), [1.2, 0, 0, 0], [1] * 4),
        "must-be",
        {"name": "estimates", "low": 0.0, "high": 1.0},
    ),
    "complexity of a tie": (
        lambda: cg.complexity(GOOD, [0.3, 0.3, 0.1, 0.1]),
        "tie",
        {"best": "w", "rival": "x"},
    ),
    "unknown arm name": (
        lambda: GOOD.arm("q"),
        "unknown",
        {"kind": "arm", "name": "q", "known": ["w", "x", "y", "z"]},
    ),
    "unknown arm number": (
        lambda: GOOD.arm(4),
        "unknown",
        {"kind": "arm", "name": 4, "known": ["0 to 3", "w", "x", "y", "z"]},
    ),
    "bonus": (
        lambda: cg.theory_bonus(b=-1.0),
        "must-be",
        {"of": "theory_bonus", "name": "b", "value": -1.0},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_input_gets_its_own_sentence(case):
    call, code, arguments = CASES[case]
    with refused(code, **arguments) as caught:
        call()
    sentence = str(caught.value)
    assert sentence.endswith((".", ")")) and "\n" not in sentence and len(sentence) < 400


def test_counts_that_are_no_counts_may_be_swapped_or_meant_as_weights():
    with refused("count-not-whole") as caught:
        cg.evidence(GOOD, [200] * 4, MEANS)
    assert "swapped" in caught.value.remedy and "weights" in caught.value.remedy


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
        cg.simulate(
            cg.Problem(structure, cg.Arms(3), cg.Gaussian(1.0)),
            [0.5, 0.4, 0.3],
            runs=1,
            rule="lloo",
            delta=0.1,
            threshold="proved",
        )


def test_numpy_inputs_are_as_good_as_lists():
    sim = cg.simulate(
        GOOD,
        np.array(MEANS),
        delta=np.array([0.1, 0.2]),
        runs=np.int64(2),
        rule="ofw",
        engine="python",
        max_rounds=50,
        threshold="proved",
    )
    assert sim.stops.shape == (2, 2)
