"""What a study knows stays with those who may know it, and does nothing to whoever reads it."""

import csv
import io
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import combgame as cg
from combgame._display.files import save
from combgame._display.text import as_csv, defused, restored
from combgame._messages import Message, escape_control
from combgame.cli._common import echo
from combgame.errors import InputError
from combgame.research.campaign import Campaign
from combgame.research.campaign import execution as execute
from tests.campaigns import TOML, command, made_up
from tests.said import refused
from tests.studies import PROBLEM

posix = pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")


def modes(folder):
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in Path(folder).iterdir()}


def study(folder, **settings):
    url = f"sqlite:///{folder}/lab.db"
    return cg.Study(PROBLEM, storage=url, engine="python", rule="uniform", **settings)


@posix
def test_new_files_are_their_owners_or_their_groups_if_asked(tmp_path):
    for mode, mask in ((0o600, 0o000), (0o640, 0o077), (0o660, 0o022)):
        folder = tmp_path / oct(mode)
        folder.mkdir()
        before = os.umask(mask)
        try:
            with study(folder, mode=mode) as made:
                made.ask()
                made.export(folder / "all.json", mode=mode)
                made.export(folder / "rows.csv", "arm", mode=mode)
                made.copy(folder / "copy.db")
                here = modes(folder)
        finally:
            os.umask(before)
        assert {"lab.db", "lab.db-wal", "all.json", "rows.csv", "copy.db"} <= set(here)
        assert set(here.values()) == {mode}


@posix
def test_without_being_asked_new_files_are_their_owners_alone_and_old_ones_keep_their_mode(
    tmp_path,
):
    before = os.umask(0)
    try:
        with study(tmp_path) as made:
            made.export(tmp_path / "all.json")
        instance = cg.Instance("one", PROBLEM, (5, 4, 3, 2, 1))
        campaign = Campaign.cross("c", [instance], ["uniform"], runs=1, max_rounds=5)
        campaign.run(tmp_path / "runs.db", engine="python", progress=False)
    finally:
        os.umask(before)
    assert set(modes(tmp_path).values()) == {0o600}
    path = tmp_path / "shared.csv"
    path.write_text("old")
    path.chmod(0o664)
    save(path, "new")
    assert path.read_text() == "new" and modes(tmp_path)["shared.csv"] == 0o664


@posix
def test_a_campaign_of_the_command_line_lets_its_group_in_if_asked(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(execute, "run_chunk", made_up)
    (tmp_path / "a.toml").write_text(TOML)
    run = ["campaign", "run", tmp_path / "a.toml", "--mode"]
    assert command(capsys, *run, "640")[0] == 0
    assert modes(tmp_path)["a.db"] == modes(tmp_path)["a.db.lock"] == 0o640
    code, _, said = command(capsys, *run, "644", "--store", tmp_path / "b.db")
    assert code == 2 and "0o640" in said and not (tmp_path / "b.db").exists()


def test_nobody_beyond_the_group_is_let_in(tmp_path):
    for mode in (0o644, 0o777, 0, "640", None, True, -1, 2**70):
        with refused("must-be", InputError, name="mode"):
            study(tmp_path, mode=mode)
        assert not list(tmp_path.iterdir())


# ---- spreadsheets


@given(st.text())
def test_what_is_defused_is_restored(text):
    assert restored(defused(text)) == text


BEGINS = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b"  # in full width, too


@given(st.sampled_from(BEGINS), st.text(alphabet="ab('=+-@!1\uff1d"))
def test_no_cell_begins_like_a_formula_unless_it_is_a_number(first, rest):
    cell = defused(first + rest)
    if cell[0] in BEGINS:
        assert cell[0] in "+-" and float(cell) is not None


def test_a_formula_in_any_width_is_a_text_in_what_is_exported():
    for first in BEGINS:
        cell = f"{first}SUM(A1)"
        assert defused(cell) == f"'{cell}"
        [row] = csv.DictReader(io.StringIO(as_csv([{"arm": cell}]), newline=""))
        assert row["arm"] == f"'{cell}" and restored(row["arm"]) == cell
    rows = [{"arm": "=cmd|'/C calc'!A0", "mean": -0.5}, {"arm": "'-x", "mean": "-0.5"}]
    text = as_csv(rows)
    assert "'=cmd" in text and "-0.5" in text
    back = list(csv.DictReader(io.StringIO(text)))
    assert [restored(row["arm"]) for row in back] == [row["arm"] for row in rows]
    assert [float(row["mean"]) for row in back] == [-0.5, -0.5]


@given(st.text(alphabet="a=,\"'\r\n"))
def test_no_text_of_an_exported_table_begins_another_row(text):
    rows = [{"reason": text, "n": 1}, {"reason": "x", "n": 2}]
    back = list(csv.DictReader(io.StringIO(as_csv(rows), newline="")))
    assert [restored(row["reason"]) for row in back] == [text, "x"]


# ---- terminals


@given(st.text())
def test_no_control_character_reaches_a_terminal(text):
    said = str(Message("x", "the name {name} is {name!r}", name=text))
    shown = escape_control(text, kept="\n")
    for one in (said, shown):
        one.encode()
        assert not any((ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160 for c in one)
    assert "\n" not in said


def test_what_is_printed_cannot_move_the_cursor(capsys):
    echo("a\x1b[2J\x07\u202eb\ud800\nc")
    assert capsys.readouterr().out == "a\\x1b[2J\\x07\\u202eb\\ud800\nc\n"
