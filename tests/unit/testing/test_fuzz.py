"""Whatever is given, what cannot be done is said in one sentence: the part of
`python -m tests.fuzz` that has a place here.
"""

import sys

import pytest

from tests.fuzz.__main__ import main
from tests.fuzz.case import Case, Foreign, tried
from tests.fuzz.run import KINDS, Tally, again, fuzz, summary

FEW = {  # those that open databases take longer
    "operations": 40,
    "storages": 200,
    "bytes of studies": 40,
    "cells of studies": 40,
    "bytes of campaigns": 20,
}


@pytest.mark.parametrize("kind", KINDS)
def test_no_foreign_exception(kind):
    tally = fuzz(FEW.get(kind, 400), seed=20, kinds=[kind])[kind]
    assert not tally.foreign, tally.foreign[0]
    assert tally.made and tally.codes, "cases of both kinds"


def test_a_case_is_made_of_its_kind_its_seed_and_its_number_alone(tmp_path):
    cases = [KINDS["data"][0](__import__("random").Random("1 data 7"), tmp_path) for _ in range(2)]
    assert cases[0].said == cases[1].said
    assert again("data", 1, 7, tmp_path) == again("data", 1, 7, tmp_path)


def test_what_is_foreign_is_said_with_its_case(tmp_path):
    def fails(rng, folder):
        return Case("f(1)", lambda: 1 // 0)

    outcome = tried("numbers", fails, 0, 3, tmp_path)
    assert isinstance(outcome, Foreign)
    assert (outcome.kind, outcome.number, outcome.said) == ("numbers", 3, "f(1)")
    assert outcome.error.startswith("ZeroDivisionError")
    assert "numbers" in summary({"numbers": Tally(cases=1, foreign=[outcome])})


def test_the_command_says_what_it_tried(tmp_path, monkeypatch, capsys):
    words = ["--cases", "60", "--kind", "problems", "--seed", "4", "--out"]
    monkeypatch.setattr(sys, "argv", ["fuzz", *words, str(tmp_path / "fuzz.md")])
    with pytest.raises(SystemExit) as end:
        main()
    out = capsys.readouterr().out.splitlines()
    assert not end.value.code, out
    assert out[0].split()[:3] == ["kind", "cases", "done"]
    assert out[1].split()[:2] == ["problems", "60"]
    page = (tmp_path / "fuzz.md").read_text().splitlines()
    assert page[0].startswith("Made by `python -m tests.fuzz --cases 60 --kind problems")
    assert page[2].startswith("60 cases in 0 minutes: 0 exceptions")
    assert page[-1].startswith("| problems | 60 |")
