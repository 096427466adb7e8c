"""The front page does what it says: its code prints what stands under it, and its commands work.

python -m tests.docs.test_readme writes the outputs anew.
"""

import io
import os
import re
import tempfile
from contextlib import redirect_stdout
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from combgame.io import read_problem
from tests.paths import ROOT
from tests.studies import command

README = ROOT / "README.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.S | re.M)
NUMBER = re.compile(r"\d[\d,.]*(?:e-?\d+)?")


def blocks():
    return [(one.group(1), one.group(2)) for one in BLOCK.finditer(README.read_text())]


def printed():
    """What every block of Python prints, in order; run where they may write files."""
    module, texts = ModuleType("readme"), []
    for kind, text in blocks():
        if kind == "python":
            out = io.StringIO()
            with redirect_stdout(out):
                exec(compile(text, "README.md", "exec"), vars(module))
            texts.append(out.getvalue())
    return texts


def outputs():
    """The text that stands under each block of Python; None where none does."""
    kinds = [*blocks(), ("", "")]
    return [
        text if follows == "text" else None
        for (kind, _), (follows, text) in pairwise(kinds)
        if kind == "python"
    ]


def test_the_code_prints_what_stands_under_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for said, out in zip(outputs(), printed(), strict=True):
        if said is None:
            continue
        assert NUMBER.sub("#", said).split() == NUMBER.sub("#", out).split()
        for a, b in zip(NUMBER.findall(said), NUMBER.findall(out), strict=True):
            one, other = (float(x.replace(",", "").rstrip(".")) for x in (a, b))
            assert one == pytest.approx(other, rel=0.05, abs=0.01)  # another libm
    assert (tmp_path / "plate-7.png").exists() and (tmp_path / "plate-7.html").exists()


def test_the_commands_work_as_they_stand(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COMBGAME_STORAGE", "sqlite:///lab.db")
    problem = next(text for kind, text in blocks() if kind == "toml")
    (tmp_path / problem.splitlines()[0].removeprefix("# ")).write_text(problem)
    lines = next(text for kind, text in blocks() if kind == "console").splitlines()
    words = [line.removeprefix("$ ").partition("#")[0].split() for line in lines]
    assert words[0] == ["export", "COMBGAME_STORAGE=sqlite:///lab.db"]
    names, rng = read_problem(tmp_path / "screen.toml")[0].names, np.random.default_rng(0)
    for one in words[1:]:
        assert one[:2] == ["combgame", "study"]
        done = command(*one[2:])
        assert done.exit_code == 0, done.output
        if one[2] == "ask":
            table = (tmp_path / "todo.csv").read_text().splitlines()
            filled = [line + f"{rng.normal(0.5, 0.1):.3f}" for line in table[1:]]
            assert all(any(name in line for name in names) for line in filled)
            (tmp_path / "todo.csv").write_text("\n".join([table[0], *filled, ""]))
    made = {path.name for path in tmp_path.iterdir()}
    assert made >= {"study-overview.png", "study-overview.svg", "study-report.html"}


def test_the_front_page_begins_with_one_sentence_and_one_picture_and_its_first_code_is_short():
    _, sentence, picture = README.read_text().split("\n\n")[:3]
    assert sentence.count(".") == 1 and picture.startswith("![")
    assert "paper" not in sentence and "bandit" not in sentence.lower()
    # ask, measure, tell in fifteen lines, what it says of itself aside
    first = next(text for kind, text in blocks() if kind == "python")
    assert len([line for line in first.splitlines() if line and "print" not in line]) <= 16


def rewrite():
    """The outputs as they are now."""
    with tempfile.TemporaryDirectory() as folder:
        before = Path.cwd()
        os.chdir(folder)
        try:
            texts = iter(printed())
        finally:
            os.chdir(before)
    last = ""

    def renewed(one):
        nonlocal last
        if one.group(1) == "python":
            last = next(texts)
        return f"```text\n{last}```" if one.group(1) == "text" else one.group()

    README.write_text(BLOCK.sub(renewed, README.read_text()))


if __name__ == "__main__":
    rewrite()
