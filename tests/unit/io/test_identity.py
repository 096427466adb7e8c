"""The identity of data, by which stored results are found again."""

import json
import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import combgame as cg
from combgame.io import identity, same_description
from tests.said import case, check_refusals

INF = math.inf


def test_an_identity_is_for_ever():
    """Stored results are found by it: if this fails, old stores are orphaned."""
    assert (
        identity({"b": [1, 2.5, None, True], "a": {"x": "caf\u00e9", "y": -1e-300}})
        == "449d6d163d94a147"
    )
    problem = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1), list("abcd"), (0, INF))
    assert identity(problem) == "e71e397075dcd604"


def test_an_identity_does_not_depend_on_how_the_same_was_written():
    assert identity({"a": 1, "b": 2}) == identity({"b": 2, "a": 1})
    assert identity([1, 2.5, True]) == identity((np.int64(1), np.float64(2.5), np.bool_(True)))
    assert identity([[0.1, 0.2]]) == identity(np.array([[0.1, 0.2]]))
    assert identity(same_description([1.0, {"a": -0.0}, 1e22])) == identity(
        same_description([1, {"a": 0}, 10**22])
    )
    values = [0, 1, -1, 1.0, 0.1, math.nextafter(0.1, 1.0), INF, -INF]
    values += [
        "0",
        "",
        "inf",
        None,
        True,
        False,
        [],
        {},
        [0],
        [[0]],
        {"a": 0},
        {"a": [0]},
        {"b": 0},
    ]
    assert len({identity(one) for one in values}) == len(values)


@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
        lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
        max_leaves=10,
    )
)
@settings(max_examples=30)
def test_an_identity_is_16_hex_digits_and_survives_json(data):
    assert len(identity(data)) == 16 and int(identity(data), 16) >= 0
    assert identity(json.loads(json.dumps(data))) == identity(data)


def test_nan_and_what_json_cannot_carry_have_no_identity():
    nans = [math.nan, {"a": [1.0, math.nan]}, np.array([math.nan]), np.float32("nan")]
    others = [{1: 2}, {1, 2}, object(), 1j, np.array([1j]), b"x"]
    for code, several in (("nan-described", nans), ("not-describable", others)):
        check_refusals(
            [case(code, lambda one=one: identity(one)) for one in several], cg.InputError
        )
