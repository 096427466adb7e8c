"""The package as a whole: what importing it costs, which way imports point, whether the
documentation runs.
"""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from types import ModuleType

import grimp
import pytest

import combgame
from tests.paths import ROOT
from tests.walk import walks

SOURCE = ROOT / "src" / "combgame"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]  # test_readme runs the first


def python(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_importing_loads_no_package_but_numpy():
    """What importing costs, without a clock: SciPy, numba or SQLAlchemy would double it, and so
    would most of the rest.
    """
    assert re.match(r"\d+\.\d+\.\d+", combgame.__version__)
    code = (
        "import sys, json, combgame; print(json.dumps([[n, getattr(m, '__file__', None) or "
        "''] for n, m in sys.modules.items()]))"
    )
    plain = {
        name for name, _ in json.loads(python(code.replace("combgame", "math")))
    }  # what the interpreter and its .pth files load anyway
    loaded = {name.split(".")[0] for name, _ in json.loads(python(code)) if name not in plain}
    assert {
        name
        for name in loaded
        if name not in sys.stdlib_module_names and not name.startswith(("_", "cython"))
    } == {
        "combgame",
        "numpy",
    }


BLOCK = re.compile(r"^```python\n(.*?)^```", re.S | re.M)
RUN = [page for page in PAGES[1:] if BLOCK.search(page.read_text())]


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.name)
def test_the_code_in_the_documentation_runs(page, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # for what it writes
    module = ModuleType("page")  # whose classes can be found again
    monkeypatch.setitem(sys.modules, "page", module)
    for k, block in enumerate(BLOCK.findall(page.read_text())):
        exec(compile(block, str(page), "exec"), vars(module))
        if page.name == "study.md" and k == 0:
            check_first_output(page, capsys.readouterr().out)
    if page.name == "new-part.md":  # what it says the checks print
        printed = capsys.readouterr().out
        told = re.findall(r"^```text\n(.*?)^```", page.read_text(), re.S | re.M)
        assert told and all(block in printed for block in told)


def check_first_output(page, printed):
    """The first text block of a page is what its first code block prints."""
    told = re.search(r"^```text\n(.*?)^```", page.read_text(), re.S | re.M).group(1)
    number = re.compile(r"\d[\d,.]*(?:e-?\d+)?")
    assert number.sub("#", told).split() == number.sub("#", printed).split()
    for a, b in zip(
        number.findall(told), number.findall(printed), strict=True
    ):  # another libm may move a last digit
        assert float(a.replace(",", "").rstrip(".")) == pytest.approx(
            float(b.replace(",", "").rstrip(".")), rel=0.05, abs=0.01
        )


def test_the_readme_has_exactly_two_set_up_commands():
    block = re.search(r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text(), re.S | re.M).group(1)
    assert [line.split("#")[0].strip() for line in block.strip().splitlines()] == [
        "make demo",
        "make test",
    ]
    assert "make test" in (ROOT / ".ci" / "run").read_text()


def test_links_in_the_documentation_lead_somewhere_and_pages_that_show_code_have_some():
    assert {"new-part.md", "planning.md", "problems.md", "study.md"} <= {one.name for one in RUN}
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} -> {target}"


def test_the_code_quoted_in_the_walk_through_is_the_code():
    """docs/round.md quotes lines of the source: each quoted call must still be there."""
    text, sources = (
        (ROOT / "docs" / "round.md").read_text(),
        "".join(p.read_text() for p in SOURCE.rglob("*.py")),
    )

    def squeeze(text):
        return re.sub(r"#.*|\s+", "", text)

    for block in re.findall(r"^```python notest\n(.*?)^```", text, re.S | re.M):
        for line in block.strip().splitlines():
            if "..." not in line:
                assert squeeze(line) in squeeze(sources), line


def test_the_demo_ends_with_one_plain_sentence(capsys):
    from typer.testing import CliRunner

    from combgame.cli.app import app

    result = CliRunner().invoke(app, ["demo"])
    assert result.exit_code == 0, result.output
    last = " ".join(result.output.split("\n\n")[-1].split())
    for words in (
        "A12G",
        "confidence 95%",
        "rival hardest to rule out was",
        "This one study took",
        "plates of 3",
        "the average of 100 studies",
        "Equal replication needs",
    ):
        assert words in last
    found = json.loads(CliRunner().invoke(app, ["demo", "--json", "--seed", "3"]).output)
    assert (
        found["answer"] == "A12G"
        and found["evidence"] > found["threshold"]
        and found["rounds"] < found["uniform_rounds"]
    )


def test_errors_on_the_command_line_are_one_sentence(monkeypatch, capsys):
    from combgame.cli import app as cli

    def fail():
        raise combgame.InputError("seed = -1 must be a whole number.")

    monkeypatch.setattr(cli, "app", fail)
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert (
        left.value.code == 2
        and capsys.readouterr().err == "combgame: seed = -1 must be a whole number.\n"
    )


def test_no_machine_path_is_in_the_repository():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    names = listed.stdout.splitlines() if listed.returncode == 0 else []
    words = [os.sep + "work" + os.sep, os.sep + "root" + os.sep, "pypi" + "." + "org"]
    for name in names:
        text = (ROOT / name).read_text(errors="ignore") if (ROOT / name).exists() else ""
        assert not [word for word in words if word in text], name


def test_the_architecture_page_has_every_room():
    """The picture of the page is the layers of pyproject.toml, in their order."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = contracts["contracts"][0]["layers"]
    picture = (ROOT / "docs" / "architecture.md").read_text().split("```")[1].strip().splitlines()
    assert [re.split(r"\s{2,}", line)[0] for line in picture] == layers


def test_few_functions_take_more_than_seven_parameters():
    """Where a function needs more, an object is missing; those that are left are commands, the
    public functions, and compiled code.
    """
    many = []
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                given = node.args
                words = [*given.posonlyargs, *given.args, *given.kwonlyargs]
                words += [one for one in (given.vararg, given.kwarg) if one is not None]
                if sum(word.arg not in ("self", "cls") for word in words) > 7:
                    many.append(f"{path.relative_to(SOURCE)}: {node.name}")
    assert len(many) <= 39, many


def test_nobody_imports_an_underscored_module_of_another_package():
    graph = grimp.build_graph("combgame")
    crossed = {}
    for user in graph.modules:
        for used in graph.find_modules_directly_imported_by(user):
            room, *inside = used.split(".")[1:]
            if any(name.startswith("_") for name in inside) and user.split(".")[1:2] != [room]:
                crossed.setdefault(used, []).append(user)
    assert not crossed


def test_the_walks_reach_the_round_and_the_storage():
    """`python -m tests.walk` shows where a call goes."""
    found = walks()
    assert "engine/round" in found["simulate"] and "storage/transaction" in found["tell"]
    assert all(len(modules) < 60 for modules in found.values())
    most = {"simulate": 30, "Study": 52, "ask": 24, "tell": 24, "certify": 25, "status": 36}
    assert all(len(found[name]) <= n for name, n in most.items()), {
        k: len(v) for k, v in found.items()
    }
