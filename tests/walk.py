"""Which modules a call passes, in the order in which it first enters them: python -m tests.walk
writes them into docs/architecture.md.
"""

import ast
import re
import sys
import tempfile
from pathlib import Path

import combgame as cg

ROOT = Path(cg.__file__).parent


def walked(call):
    """The modules whose functions are called, imports aside, in the order of the first call."""
    first = {}

    def look(frame, event, _):
        name = frame.f_code.co_filename
        own = (
            event == "call"
            and name.startswith(str(ROOT))
            and not frame.f_code.co_name.startswith("<")
        )
        if own and not importing(frame):
            first.setdefault(Path(name).relative_to(ROOT).with_suffix("").as_posix())

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(before)
    return list(first)


def importing(frame):
    """Whether a module is being made: what it calls then belongs to no walk."""
    while (frame := frame.f_back) is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(str(ROOT)):
            return True
    return False


def problem():
    return cg.Problem(cg.Subsets(5, 2), cg.Arms(5), cg.Gaussian(0.1))


MEANS = [0.9, 0.5, 0.4, 0.3, 0.2]


def a_simulation(folder):
    cg.simulate(problem(), MEANS, runs=2, engine="python")


def a_study(folder):
    with cg.Study(problem(), storage=f"sqlite:///{folder}/lab.db", name="walk") as study:
        while not study.done:
            todo = study.ask()
            study.tell(todo, {arm: MEANS[arm] for arm in todo.arms})
        str(study.decision)


def a_campaign(folder):
    instance = cg.Instance("five", problem(), MEANS)
    cg.Campaign.cross("walk", [instance], ["frank-wolfe"], runs=2).run(
        Path(folder) / "walk.db", engine="python", progress=False
    )


def a_figure(folder):
    from combgame.paper.experiments import experiments
    from combgame.paper.figures import drawn
    from combgame.paper.results import Tables, write
    from combgame.report.figures import save

    rows = [
        {
            "x": x,
            "rule": "lloo",
            "mean": 10.0 * x,
            "q25": 9.0 * x,
            "q75": 11.0 * x,
            "capped": 0,
            "limit": 5.0,
            "runs": 3,
            "threshold": "stylised",
        }
        for x in (5, 6)
    ]
    assert "line2" in experiments()
    write(Path(folder), "line2", rows)
    save(drawn("line2", Tables(Path(folder))), Path(folder) / "line2")


WALKS = {"simulate": a_simulation, "study": a_study, "campaign": a_campaign, "figure": a_figure}
PAGE = ROOT.parents[1] / "docs" / "architecture.md"


def walk(name):
    with tempfile.TemporaryDirectory() as folder:
        return walked(lambda: WALKS[name](folder))


def said(module):
    """The first sentence of a module's docstring."""
    path = ROOT / f"{module}.py"
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    return re.split(r"(?<=[.?])\s", " ".join(text.split("\n\n")[0].split()))[0].rstrip(".")


def table(name):
    modules = [module for module in walk(name) if module != "__init__"]
    lines = [f"| {k} | `{module}` | {said(module)} |" for k, module in enumerate(modules, 1)]
    return "\n".join(["| | module | what it is |", "| ---: | --- | --- |", *lines])


def page(text):
    for name in WALKS:
        block = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.S)
        assert block.search(text), name
        made = table(name)
        text = block.sub(lambda m, made=made: f"{m[1]}{made}\n{m[2]}", text)
    return text


if __name__ == "__main__":
    made = page(PAGE.read_text())
    if "--check" in sys.argv:
        sys.exit(
            0
            if made == PAGE.read_text()
            else "docs/architecture.md does not show the walks of today; run python -m tests.walk"
        )
    PAGE.write_text(made)
