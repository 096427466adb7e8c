"""The names in the documentation are those of real objects: `status.lead.within`, or `rounds`."""

import inspect
import re

import numpy as np
import pytest
import typer

import combgame as cg
from combgame.cli.app import app
from combgame.engine.action_table import make_action_table, make_sparse_weights
from combgame.engine.state import RoundState
from combgame.engine.statistics import blank
from tests.docs.test_package import PAGES

MEANS = [0.9, 0.5, 0.3, 0.1]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.S | re.M)
# for people who use studies, plans and simulations: their names stand alone, too
PLAIN = {"README", "study", "plates", "planning", "problems", "your-data", "thresholds", "page"}
# for authors of kernels, whose `problem` may be a `ProblemKernel`
AUTHORS = {"new-part", "round", "codes"}
# of a column, a word of the shell, a kind of noise, another program
FOREIGN = {"note", "shrink", "seal", "none", "print", "local", "cp", "pg_dump"}


@pytest.fixture(scope="module")
def real():
    """One real object for every name that the documentation gives such objects."""
    problem = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1))
    study = cg.Study(problem, engine="python", seed=1)
    while study.decision is None:
        (todo,) = study.ask(1)
        study.tell(todo.id, {arm: MEANS[arm] for arm in todo.arms})
    simulation = cg.simulate(problem, MEANS, runs=2, engine="python", progress=False)
    status = study.status
    return {
        "study": study,
        "status": status,
        "decision": study.decision,
        "lead": status.lead,
        "noise": status.noise_check,
        "sim": simulation,
        "result": simulation,
        "simulation": simulation,
        "plan": cg.plan(problem, MEANS, runs=0, progress=False),
        "problem": problem,
        "todo": todo,
        "plate": todo,
        "cg": cg,
    }


def texts(page):
    """What stands in a page as code: the blocks of Python, and what has backticks."""
    whole = page.read_text()
    blocks = [text for kind, text in FENCE.findall(whole) if kind == "python"]
    return blocks, re.findall(r"`([^`\n]+)`", FENCE.sub("", whole))


def dotted(code, real):
    """Names with dots that begin with one of the real objects."""
    for chain in re.findall(r"(?<![\w./])[a-z]+(?:\.[a-z_]\w*)+", code):
        first, *rest = chain.split(".")
        if first in real and rest[-1] not in ("py", "md", "csv", "toml", "db", "html"):
            yield chain


@pytest.fixture(scope="module")
def passed(real):
    """What kernels are passed, in the pages for their authors."""
    return {
        "problem": real["problem"].kernel(),
        "stats": blank(4),
        "state": RoundState(*np.zeros((5, 4))),
        "weights": make_sparse_weights(1, 4),
        "table": make_action_table(1, 2),
    }


def missing(chain, real):
    """The first name of a chain that its object does not have."""
    first, *rest = chain.split(".")
    one = real[first]
    for name in rest:
        if not hasattr(one, name):
            return name
        one = getattr(one, name)
    return None


def known(real):
    """Names that may stand alone: of attributes, of parameters, of commands."""
    status = real["status"]
    objects = [*real.values(), status.next_step, status.rivals[0], status.estimates[0]]
    for one in objects:
        for name in dir(one):
            yield name
            if not name.startswith("_") and callable(thing := getattr(one, name)):
                try:
                    yield from inspect.signature(thing).parameters
                except ValueError:  # of the built-in ones
                    continue
    below = [typer.main.get_command(app)]
    for command in below:
        below += getattr(command, "commands", {}).values()
        yield command.name


def test_what_the_documentation_names_is_there(real, passed):
    found = {
        (chain, page.name)
        for page in PAGES
        for part in texts(page)
        for code in part
        for chain in dotted(code, {**real, **passed} if page.stem in AUTHORS else real)
        if page.stem not in AUTHORS or chain.split(".")[0] not in passed or missing(chain, passed)
    }
    for first, least in {"study": 12, "status": 8, "decision": 4, "cg": 8, "plan": 4}.items():
        assert len({chain for chain, _ in found if chain.split(".")[0] == first}) >= least
    assert [one for one in sorted(found) if missing(one[0], real)] == []


def test_names_that_stand_alone_are_those_of_something(real):
    names = set(known(real)) | FOREIGN
    said = {
        (code, page.name)
        for page in PAGES
        if page.stem in PLAIN
        for code in texts(page)[1]
        if re.fullmatch(r"[a-z]\w*", code)
    }
    assert {"max_rounds", "min_replicates", "batch_sd"} <= {code for code, _ in said}
    assert sorted(one for one in said if one[0] not in names) == []


def test_a_name_that_is_not_there_is_found(real):
    assert list(dotted("see status.spent, or x.status.head and study.py", real)) == ["status.spent"]
    assert missing("status.spent", real) == "spent" and "spent" not in set(known(real))
    assert missing("status.lead.truncated_at_zero", real) is None
