"""Each kind of raw exception that an audit has seen: one family of errors, one sentence, the same
on every backend. (`test_fuzz` tries the rest at random.)
"""

import json
import math
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import combgame as cg
from combgame._messages import Message, escape_control, safe_repr
from combgame.errors import CombGameError, InputError, StoreError, UnknownNameError
from combgame.io import from_data, problem_from
from combgame.lab.exports import read_sheet, write_sheet
from combgame.research.campaign import Campaign
from combgame.storage.events import Event, chain_hash
from tests.said import refused
from tests.studies import PROBLEM
from tests.unit.test_bad_input import CIRCLE, RAGGED, Rude

HUGE = 10**10_000
BAD_TEXTS = (
    "plate\ud800",  # half a character
    "plate\0",
    "pla\nte",
    "pla\tte",
    "\x1b[31mplate",
    "pl\u202eate",  # turns what follows
    " plate",
    "plate ",
    "p" * 201,
    "",
    b"plate",
)


def study(storage=None, **settings):
    return cg.Study(PROBLEM, storage=storage, engine="python", rule="uniform", **settings)


# ---- texts and numbers


def test_a_text_that_a_backend_would_not_keep_is_refused_by_all(url):
    for what, text, storage in product(("name", "client"), BAD_TEXTS, (None, url)):
        with pytest.raises(InputError) as caught:
            study(storage, **{what: text})
        assert caught.value.arguments["name"] == what, text


def test_a_reason_may_have_lines_and_is_kept_as_it_is(url):
    reason = "it broke:\n\tthe lamp, at 5 °C, says 日本"
    with study(url) as made:
        todo = made.ask()
        made.fail(todo, reason)
        for wrong in ("\0", "\ud800", "x\x07", "x" * 10_001, " ", None):
            with refused_of("reason"):
                made.fail(todo, wrong)
    with cg.Study.open(url, engine="python") as again:
        assert [one.reason for one in again.events()][-1] == reason


def refused_of(name):
    return pytest.raises(InputError, match=f"^{name} = ")


def test_a_round_beyond_all_numbers_is_not_known_on_any_backend(url):
    for storage in (None, url):
        with study(storage) as made:
            made.ask()
            for number in (2, 2**31, 2**63 - 1):
                for act in (
                    lambda k: made.tell(k, {0: 1.0}),
                    lambda k: made.fail(k, "broken"),
                    lambda k: made.retract(k, "wrong"),
                ):
                    with refused("unknown-round", UnknownNameError, round=number, last=1):
                        act(number)
            with refused("must-be", InputError, name="round"):
                made.tell(2**63, {0: 1.0})
            assert len(made.events()) == 2


def test_numbers_with_ten_thousand_digits_are_refused():
    for number in (HUGE, 10**400, 2**64):
        calls = (
            lambda x: cg.Arms(x),
            lambda x: cg.simulate(PROBLEM, [1, 2, 3, 4, 5], runs=x),
            lambda x: study(max_rounds=x),
            lambda x: study(seed=x**2),
            lambda x: cg.IntegerProgram([], x),
            lambda x: cg.Hedge(horizon_factor=-x),
            lambda x: cg.Problem(cg.Arms(2), rewards=cg.Gaussian(1.0)).check_means(
                [x * 10**200, 1]
            ),
        )
        for call in calls:
            with refused("must-be", InputError):
                call(number)


def test_a_long_number_in_a_file_is_refused(tmp_path):
    path = tmp_path / "problem.toml"
    path.write_text(f"actions = {{kind = 'arms', arms = {'9' * 10_000}}}")
    with refused("not-toml", InputError):
        cg.read_campaign(path)
    with refused("must-be", InputError, name="actions.arms"):
        problem_from({"actions": {"kind": "arms", "arms": HUGE}, "rewards": {"kind": "bernoulli"}})


def test_a_deadline_beyond_the_calendar_is_refused():
    for at in (1e13, -1.0, 1e300, math.inf, math.nan, HUGE, "x", [1]):
        with refused("must-be", InputError, name="deadline"):
            study(deadline=at)


def test_a_clock_beyond_the_calendar_is_shown_as_a_number(monkeypatch):
    monkeypatch.setattr("combgame.storage.clock.now", lambda: 1e13)
    with study() as made:
        made.ask()
        assert "1e+13" in made.rows("event")[-1]["timestamp"]
        assert str(made.status)


# ---- objects


ODD = (Rude(), CIRCLE, RAGGED, {}, np.zeros((2, 2)), len, HUGE, "\ud800")
CALLS = {
    "Hedge": lambda x: cg.Hedge(initial_horizon=x),
    "LLOO": lambda x: cg.LLOO(horizon_factor=x),
    "Matchings": lambda x: cg.Matchings(x, 2, forbidden=[x]),
    "Matchings, forbidden": lambda x: cg.Matchings(2, 2, forbidden=[x]),
    "Partition": lambda x: cg.Partition([[0, 1], [2]], x),
    "Partition, groups": lambda x: cg.Partition([x], 1),
    "AlmostAllSets": lambda x: cg.AlmostAllSets(4, [x]),
    "Paths": lambda x: cg.Paths([("s", "t")], x, "t"),
    "threshold": lambda x: study(threshold=x),
    "threshold of simulate": lambda x: cg.simulate(PROBLEM, [5, 4, 3, 2, 1], threshold=x),
    "time limit": lambda x: cg.IntegerProgram([], 2, time_limit=x),
    "constraints": lambda x: cg.IntegerProgram((x, 0.0, x), 2),
    "Campaign": lambda x: Campaign("c", x),
    "Campaign, name": lambda x: Campaign(x, ()),
    "Instance": lambda x: cg.Instance("i", PROBLEM, x),
    "delta": lambda x: study(delta=x),
    "storage": lambda x: study(x),
    "contains": lambda x: cg.Arms(3).contains(x) or cg.Arms(x),
    "an observation": lambda x: study().observe({0: [x]}),
    "told": lambda x: study().tell_many(x) or study().tell(x, x),
    "from_data": lambda x: from_data({"kind": "Arms", "d": x}),
}


def test_an_odd_object_is_refused_in_one_line():
    for (name, call), value in product(CALLS.items(), ODD):
        with pytest.raises(CombGameError) as caught:
            call(value)
        text = str(caught.value)
        assert text == escape_control(text) and text.encode(), (name, safe_repr(value))
        json.dumps(caught.value.sentence.to_data())


def test_ragged_deltas_in_a_file_are_refused(tmp_path):
    path = tmp_path / "campaign.toml"
    path.write_text(
        "delta = [[0.1], [0.1, 0.2]]\nrules = ['uniform']\n[[problems]]\n"
        "actions = {kind = 'arms', arms = 2}\nrewards = {kind = 'bernoulli'}\n"
        "truth = {means = [0.1, 0.2]}\n"
    )
    with refused("must-be", InputError, name="delta", where=str(path)):
        cg.read_campaign(path)


def test_any_object_has_a_look():
    assert safe_repr(HUGE) == "<a number of about 10,001 digits>"
    assert safe_repr(Rude()) == "<Rude>"
    assert safe_repr(np.zeros((2, 2))) == "array([[0., 0.], [0., 0.]])"
    said = Message("x", "{value!r} and {n:,} of {names:list}", value=CIRCLE, n=HUGE, names=Rude())
    assert str(said) == "[1, [1, [...]]] and <a number of about 10,001 digits> of <Rude>."


# ---- storages


def test_a_port_that_is_no_number_and_a_driver_that_is_not_there_are_refused():
    for url in (
        "postgresql+psycopg://u:secret@localhost:x/lab",
        "postgresql+psycopg://u:secret@localhost:99999/lab",
        "postgresql+nodriver://u:secret@localhost/lab",
        "sqlite+nodriver:///lab.db",
    ):
        with pytest.raises(CombGameError) as caught:
            study(url, timeout=1.0)
        assert "secret" not in str(caught.value)


def changed(path, column, value, seq=2):
    """A study's event with another value, sealed as the package would have."""
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(f"UPDATE combgame_events SET {column} = ? WHERE seq = ?", (value, seq))
        before = ""
        for row in db.execute(
            "SELECT seq, kind, timestamp, round, client, reason, data, version "
            "FROM combgame_events ORDER BY seq"
        ).fetchall():
            before = chain_hash(before, Event._make([*row[:6], json.loads(row[6]), row[7]]))
            db.execute("UPDATE combgame_events SET seal = ? WHERE seq = ?", (before, row[0]))


CHANGES = (
    ("kind", "of another time", "unknown-event"),
    ("data", "{}", "event-unusable"),
    ("data", '{"arms": [99], "until": null}', "event-unusable"),
    ("data", "[]", "unreadable-event"),
    ("round", "x", "unreadable-event"),
    ("data", "{}", "settings-unreadable"),
)


def test_an_event_that_says_something_else_is_refused(tmp_path):
    with study(f"sqlite:///{tmp_path}/lab.db") as made:
        made.ask()
    for column, value, code in CHANGES:
        shutil.copy(tmp_path / "lab.db", tmp_path / "changed.db")
        first = code == "settings-unreadable"
        changed(tmp_path / "changed.db", column, value, seq=1 if first else 2)
        with refused(code, StoreError):
            cg.Study.open(f"sqlite:///{tmp_path}/changed.db", engine="python").status


# ---- names in tables, files in UTF-8, a home that cannot be written


def test_names_that_a_table_would_lose_are_refused():
    for wrong in ("a\tb", "a\nb", "a\r", " a", "a ", "a\0", "\ud800", "\u2028x"):
        with pytest.raises(InputError) as caught:
            cg.Problem(cg.Arms(2), rewards=cg.Bernoulli(), names=["b", wrong])
        assert caught.value.code in ("strange-character", "space-around")
    with refused("strange-character"):
        cg.Problem(cg.Paths([("s", "t\n"), ("s", "t\n", "x")], "s", "t\n"), rewards=cg.Bernoulli())


def test_names_that_are_allowed_survive_the_table(tmp_path):
    names = ["=1+1", "+a", "-a", "@a", "'=x", "a,b", 'a"b', "-1", "é", "日本", "'", "a  b"]
    problem = cg.Problem(cg.Arms(len(names)), rewards=cg.Gaussian(1.0), names=names)
    with cg.Study(problem, name="=study", engine="python") as made:
        rounds = made.ask(len(names))
        sheet = write_sheet(rounds, made.name)
        path = tmp_path / "sheet.csv"
        path.write_text(sheet.replace(",\n", ",0.5\n"), encoding="utf-8")
        read = read_sheet(path, problem, made.name)
    assert {arm for values in read.values.values() for arm in values} == set(range(len(names)))
    assert not any(cell.startswith(("=", "+", "@")) for cell in sheet.replace("\n", ",").split(","))


def run_python(code, **environment):
    there = {name: x for name, x in os.environ.items() if name not in ("LANG", "LC_ALL", "HOME")}
    words = [sys.executable, "-c", code]
    return subprocess.run(
        words, env={**there, **environment}, capture_output=True, text=True, timeout=120
    )


def test_files_are_utf_8_whatever_the_locale(tmp_path):
    code = (
        "import combgame as cg\n"
        "names = ['\\xe9', '\\u65e5\\u672c']\n"
        "problem = cg.Problem(cg.Arms(2), rewards=cg.Gaussian(1.0), names=names)\n"
        "study = cg.Study(problem, engine='python')\n"
        "study.observe({'\\xe9': 1.0}, 'gr\\xf6\\xdfer')\n"
        f"study.export({str(tmp_path / 'out.csv')!r}, 'arm')\n"
    )
    done = run_python(code, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert done.returncode == 0, done.stderr
    assert "日本" in (tmp_path / "out.csv").read_text(encoding="utf-8")


def test_without_a_home_what_is_compiled_goes_to_a_private_folder_which_is_said_once(tmp_path):
    code = (
        "import os, stat, warnings\n"
        "from pathlib import Path\n"
        "from combgame.engine.numba import cache\n"
        "cache._usual = lambda: [Path('/dev/null/cache')]\n"
        "with warnings.catch_warnings(record=True) as said:\n"
        "    warnings.simplefilter('always')\n"
        "    folder = cache.root(), cache.root()\n"
        "assert folder[0] == folder[1]\n"
        "print(folder[0], oct(stat.S_IMODE(folder[0].stat().st_mode)), len(said))\n"
        "os.chmod(folder[0], 0o777)\n"  # somebody else's, perhaps: another one is made
        "cache._temporary.cache_clear()\n"
        "warnings.simplefilter('ignore')\n"
        "print(cache.root() != folder[0])\n"
    )
    done = run_python(code, TMPDIR=str(tmp_path), NUMBA_CACHE_DIR="")
    assert done.returncode == 0, done.stderr
    where, mode, times, other = done.stdout.split()
    assert Path(where).parent == tmp_path
    assert (mode, times, other) == ("0o700", "1", "True")


def test_an_instance_whose_x_came_from_an_array_is_a_value():
    problem, means = cg.Problem(cg.Arms(2), rewards=cg.Gaussian(1.0)), (0.5, 0.25)
    boxed, plain = (cg.Instance("one", problem, means, x) for x in (np.array(3), 3))
    assert boxed == plain and hash(boxed) == hash(plain)
