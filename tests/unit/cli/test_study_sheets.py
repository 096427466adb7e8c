"""The tables that people fill in on the command line, which `ask` writes and `tell` reads."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import combgame as cg
from combgame.cli._common import SHELL
from tests.said import refused
from tests.studies import TOML, command, fill

pytestmark = pytest.mark.given_numbers  # values of arms that are known to have been asked for


def test_asking_again_gives_the_same_table(lab):
    lab("create", "screen.toml")
    one, again = lab("ask", "-n", 3)[1], lab("ask", "-n", 3)[1]
    assert again == one + "combgame: 3 rounds (3 of them you had already).\n"
    assert one.splitlines()[0] == "study,round,arm,value"
    assert len(one.splitlines()) == 7
    other = json.loads(lab("ask", "-n", 2, "--client", "you", "--json")[1])
    assert [o["id"] for o in other] == [4, 5] and other[0]["names"] and not other[0]["had"]
    assert (
        "wrote 5 rounds (3 of them you had already) to todo.csv"
        in lab("ask", "-n", 5, "--out", "todo.csv")[1]
    )
    assert "wrote 1 round (you had it already) to todo.csv" in lab("ask", "--out", "todo.csv")[1]
    assert [o["had"] for o in json.loads(lab("ask", "-n", 6, "--json")[1])] == [True] * 5 + [False]


def test_a_table_that_was_not_told_is_not_overwritten(lab):
    lab("create", "screen.toml")
    lab("ask", "-n", 2, "--out", "todo.csv")
    assert lab("ask", "-n", 2, "--out", "todo.csv")[0] == 0  # nothing is in it
    fill("todo.csv", np.random.default_rng(0))
    before = Path("todo.csv").read_text()
    with refused("values-not-told", cg.StoreError, path="todo.csv", round=1) as caught:
        command("ask", "-n", 4, "--out", "todo.csv")
    assert "`combgame study tell todo.csv` first" in caught.value.render(SHELL)
    assert Path("todo.csv").read_text() == before
    with cg.Study.open("sqlite:///lab.db") as study:
        assert len(study.pending) == 2  # nothing was asked
    assert lab("ask", "--out", "other.csv")[0] == 0
    lab("tell", "todo.csv")
    assert lab("ask", "--out", "todo.csv")[0] == 0 and Path("todo.csv").read_text() != before
    with refused("no-table", cg.StoreError, path="screen.toml"):
        command("ask", "--out", "screen.toml")
    assert Path("screen.toml").read_text() == TOML
    assert lab("ask", "--out", "screen.toml", "--force")[0] == 0


def test_a_told_table_whose_numbers_can_be_read_in_two_ways_is_overwritten(lab):
    lab("create", "screen.toml")
    todo = json.loads(lab("ask", "--json")[1])
    names = (todo[0] if isinstance(todo, list) else todo)["names"]
    Path("todo.csv").write_text("round;arm;value\n" + "".join(f"1;{a};1,568\n" for a in names))
    with refused("values-not-told", cg.StoreError):
        command("ask", "--out", "todo.csv")
    with refused("ambiguous-number"):
        command("tell", "todo.csv")
    assert lab("tell", "todo.csv", "--decimal", ",")[0] == 0
    assert lab("ask", "--out", "todo.csv")[0] == 0


def test_half_a_table_is_told_with_partial(lab):
    one = "round,arm,value\n1,ann,0.5\n"
    for name, table in (("one", one), ("two", f"{one}1,bob,0.5")):
        lab("create", "screen.toml", "--name", name)
        lab("ask", "--name", name)
        Path("todo.csv").write_text(table)
        assert lab("tell", "todo.csv", "--name", name)[0] == 2
        assert lab("tell", "todo.csv", "--name", name, "--partial")[0] == 0


def test_tell_says_what_it_did(lab):
    lab("create", "screen.toml")
    lab("ask", "-n", 3, "--out", "todo.csv")
    fill(
        "todo.csv",
        np.random.default_rng(0),
        lost={("1", "bob"), ("2", "cid"), ("2", "dee"), ("3", "eve")},
    )
    assert (
        "2 rounds, 2 values stored; 2 values missing; 1 round without any value stays open (--final"
        in lab("tell", "todo.csv")[1]
    )
    told = json.loads(lab("tell", "todo.csv", "--final", "--json")[1])
    assert (told["stored"], told["already"], told["values"], told["missing"]) == ([2], [1, 3], 0, 2)
    assert (
        "0 rounds, 0 values stored; 3 rounds were there already."
        in lab("tell", "todo.csv", "--final")[1]
    )


HEAD = "round,arm,value"
REFUSED = [
    ("round arm value\n1 ann 0.5\n", "no-columns", {"head": "round arm value"}),
    ("", "no-columns", {"wanted": ["round", "arm", "value"], "head": ""}),
    (f"{HEAD}\n1,ann,0;5\n", "must-be", {"line": 2, "name": "value", "value": "0;5"}),
    (
        f'{HEAD}\n1,ann,"1,234"\n',
        "ambiguous-number",
        {"cell": "1,234", "decimal": "1.234", "thousands": "1234"},
    ),
    (
        f"{HEAD}\n1,ann,0,5\n1,bob,0.4\n",  # a decimal comma in a cell of its own
        "extra-cells",
        {"line": 2, "cells": 4, "columns": 3},
    ),
    (f"{HEAD}\n1,zoe,0.5\n", "unknown", {"line": 2, "kind": "arm", "name": "zoe"}),
    (f"{HEAD}\nx,ann,0.5\n", "must-be", {"line": 2, "name": "round", "value": "x"}),
    (f"{HEAD}\n1,ann,0.5\n1,bob,0.5\n1,eve,0.5\n", "not-in-round", {"round": 1, "arm": "eve"}),
    (f"{HEAD}\n1,ann,0.5\n1,bob,0.5\n9,ann,0.5\n", "unknown-round", {"round": 9, "last": 1}),
    (f"{HEAD}\n1,ann,0.5\n", "line-missing", {"round": 1, "arm": "bob", "more": 0}),
    (f"{HEAD}\n1,ann,0.5\n1,bob,0.5", "no-newline", {"path": "todo.csv"}),
    (
        f"study,{HEAD}\nplates,1,ann,0.5\nplates,1,bob,0.5\n",
        "sheet-of-another",
        {"line": 2, "theirs": "plates", "study": "study"},
    ),
    (f"{HEAD}\n", "empty-table", {"path": "todo.csv"}),
    (f"{HEAD},sd\n1,ann,0.5,0.1\n", "unknown-column", {"column": "sd"}),
    (f"{HEAD},n\n1,ann,0.5,0\n", "must-be", {"line": 2, "name": "n", "value": 0}),
    (f"{HEAD},n\n1,ann,0.5,two\n", "must-be", {"line": 2, "name": "n", "value": "two"}),
    (f"{HEAD},n\n1,ann,0.5,3\n1,ann,0.4,\n", "mean-not-alone", {"line": 3}),
    (f"{HEAD}\n1,ann,inf\n1,bob,0.5\n", "must-be", {"round": 1, "arm": "ann", "value": math.inf}),
]
ADVICE = {  # what only a table can do about it
    "ambiguous-number": "say it with --decimal , or --decimal .",
    "sheet-of-another": "give that one as --name",
    "unknown-column": "call it note",
    "infinite": "a blank cell says that a value is missing",
}


def test_a_table_that_is_refused_is_refused_as_a_whole(lab):
    lab("create", "screen.toml")
    lab("ask")
    for table, code, arguments in REFUSED:
        Path("todo.csv").write_text(table)
        with refused(code, **arguments) as caught:
            command("tell", "todo.csv")
        infinite = arguments.get("value") == math.inf
        assert ADVICE.get("infinite" if infinite else code, "") in caught.value.render(SHELL), table
        with cg.Study.open("sqlite:///lab.db") as study:
            assert len(study.events()) == 2, table


def test_means_of_n_values_in_a_table(lab):
    lab("create", "screen.toml", "--delta", 1e-9)
    lab("ask")
    Path("todo.csv").write_text("round,arm,value,N,note,\n1,ann,0.5,3,good,\n1,bob,0.4,,,\n")
    assert "1 round, 4 values stored." in lab("tell", "todo.csv")[1]
    assert "1 round was there already" in lab("tell", "todo.csv")[1]
    Path("old.csv").write_text("arm,value,n\neve,0.1,5\n")
    assert lab("observe", "old.csv")[0] == 0
    with cg.Study.open("sqlite:///lab.db") as study:
        assert study.events()[2].data["values"] == {"0": {"mean": 0.5, "n": 3}, "1": 0.4}
        assert study.events()[3].data["values"] == {"4": {"mean": 0.1, "n": 5}}


def test_what_a_table_can_say_of_shares_and_means(lab):
    digits, lines = "give the share with ten digits", "give each value a line of its own"
    share = "give a share of n results as the value, with n in a column n"
    for rewards, table, code, advice in (
        ("bernoulli", "0.7,", "not-0-or-1", share),
        ("bernoulli", "0.78,9", "not-a-share", digits),
        ("bernoulli", "0.7777777778,9", None, ""),
        ("gaussian", "0.7,9", "variance-hidden", lines),
    ):
        if not Path(f"{rewards}.toml").exists():
            known = ", shared_sigma = false" if rewards == "gaussian" else ""
            Path(f"{rewards}.toml").write_text(
                f'actions = {{kind = "arms", arms = 2}}\nrewards = {{kind = "{rewards}"{known}}}\n'
            )
            assert lab("create", f"{rewards}.toml", "--name", rewards)[0] == 0
            lab("ask", "--name", rewards)
        Path("todo.csv").write_text(f"round,arm,value,n\n1,0,{table}\n")
        if code is None:
            assert lab("tell", "todo.csv", "--name", rewards)[0] == 0
            continue
        with refused(code, cg.InputError, round=1, arm="0") as caught:
            command("tell", "todo.csv", "--name", rewards)
        assert caught.value.sentence.remedy(SHELL) == advice
