"""The form that makes a study: routes, fields, and the plan that is shown before."""

import asyncio
import csv
import io
import json
import math
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from fastapi import APIRouter, Response
from starlette.datastructures import UploadFile
from starlette.requests import Request

from ...._messages import safe_str
from ....errors import CombGameError, InputError, invalid_argument
from ....problem import Problem
from ....rewards import Bernoulli, Bounded, Gaussian
from ....rewards.base import RewardsBase
from ....simulation.plan import plan as make_plan
from ....structures import Arms, Paths, SpanningTrees, StructureBase, Subsets
from ....tables.cells import NumberFormat, number
from ...study import Study
from ..auth import User
from ..errors import code_of
from ..settings import ServerSettings
from ..validation import problem_of, within
from . import views
from .rendering import Admin, At, back, page
from .wording import PAGE

router = APIRouter(include_in_schema=False)
PLANNING = 20.0  # seconds after which the page is sent without a plan

RISKS = {
    "0.1": "1 in 10: a first look",
    "0.05": "1 in 20: as in most papers",
    "0.01": "1 in 100: it matters",
    "0.001": "1 in 1,000: it matters much",
}
NOISES = {
    "unknown": "numbers; how much they vary is not known",
    "gaussian": "numbers; I know how much they vary",
    "bernoulli": "yes or no (1 or 0)",
    "bounded": "numbers between two limits, of any kind",
}
KINDS = {
    "items": "single things, such as variants",
    "path": "the best way through a network",
    "tree": "the best tree that joins all places of a network",
}
USUAL = {
    "name": "",
    "kind": "items",
    "names": "",
    "play": "1",
    "find": "1",
    "edges": "",
    "source": "",
    "sink": "",
    "noise": "unknown",
    "sigma": "",
    "low": "0",
    "high": "1",
    "goal": "maximise",
    "risk": "0.05",
    "epsilon": "",
    "min_replicates": "2",
    "max_rounds": "",
    "gap": "",
    "guess": "",
    "level": "",
}
COLUMN = ("arm", "arms", "name", "names", "variant", "variants")
# arms: above this number, a plan would take too long
PLANNED = 300
EASY = 1e-9
LEVELLED = 1.4  # factor on the rounds with batch effects: 1.3 to 1.5 (docs/plates.md)


@dataclass
class StudyForm:
    """Content of a form: its fields, their problem and settings, and error messages by field."""

    fields: dict[str, str]
    problem: Problem | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)

    @property
    def fits(self) -> bool:
        """True if the form describes a study."""
        return self.problem is not None and not self.wrong


def begun(fields: Mapping[str, str], limits: ServerSettings, file: bytes = b"") -> StudyForm:
    """Return the content of a form; an uploaded problem file replaces the fields of the problem."""
    known = {key: str(fields.get(key, usual)) for key, usual in USUAL.items()}
    made = StudyForm(known)
    read = FormFields(made)
    made.settings = {
        "delta": read.real("risk", 0.0, 1.0),
        "epsilon": read.real("epsilon", 0.0, math.inf) or 0.0,
        "min_replicates": read.count("min_replicates", 0) or 0,
        "max_rounds": read.count("max_rounds", 1),
    }
    if not known["name"].strip():
        made.wrong["name"] = "Give the study a name, such as plate-7."
    try:
        made.problem = _from_file(file, limits) if file else _problem(read, limits)
    except _Wrong:
        pass
    except CombGameError as error:
        made.wrong.setdefault("problem", error.render(PAGE))
    return made


class _Wrong(Exception):  # noqa: N818
    """Raised when a field is wrong and its error message is stored."""


class FormFields:
    """Reader of the fields, which stores error messages by field."""

    def __init__(self, made: StudyForm) -> None:
        self.made = made

    def text(self, key: str) -> str:
        """Return a field without surrounding blanks."""
        return self.made.fields[key].strip()

    def need(self, key: str, what: str) -> str:
        """Return a field, which must not be empty."""
        said = self.text(key)
        if not said:
            self.made.wrong[key] = what
            raise _Wrong
        return said

    def real(self, key: str, low: float, high: float) -> float | None:
        """Return a field as a number between two limits, or None if it is empty or wrong."""
        said = self.text(key)
        if not said:
            return None
        mark = "," if "," in said else "."
        try:
            value = number(key, said, NumberFormat(mark))
        except CombGameError:
            value = math.nan
        if low <= value <= high and math.isfinite(value):
            return value
        ends = f"of at least {low:g}" if high == math.inf else f"between {low:g} and {high:g}"
        if low == -math.inf:
            ends = "such as 0.5"
        self.made.wrong[key] = f"“{said}” is no number {ends}."
        return None

    def count(self, key: str, least: int) -> int | None:
        """Return a field as an integer of at least `least`, or None if it is empty or wrong."""
        said = self.text(key)
        if not said:
            return None
        if not said.isdecimal() or not least <= int(said[:12]) or len(said) > 12:
            self.made.wrong[key] = f"“{said}” is no whole number of at least {least}."
            return None
        return int(said)


def names_of(text: str) -> list[str]:
    r"""Return the names in pasted cells: the first cell of every line, without duplicates.

    >>> names_of("variant\nwt\nA12G\t0.4\n\nwt\n"), names_of("a, b, c")
    (['wt', 'A12G'], ['a', 'b', 'c'])
    """
    lines = [line for line in text.replace("\r", "\n").split("\n") if line.strip()]
    if len(lines) == 1 and "\t" not in lines[0]:
        mark = ";" if ";" in lines[0] else ","
        lines = next(csv.reader(io.StringIO(lines[0]), delimiter=mark))
    cells = [line.split("\t")[0].strip() for line in lines]
    if len(cells) > 1 and cells[0].lower() in COLUMN:
        cells = cells[1:]
    return list(dict.fromkeys(one for one in cells if one))


def edges_of(text: str) -> list[tuple[str, ...]]:
    r"""Return the edges in pasted lines: tail, head and optionally a name.

    >>> edges_of("s a\na, t, the last\n")
    [('s', 'a'), ('a', 't', 'the last')]
    """
    made: list[tuple[str, ...]] = []
    for k, line in enumerate(text.replace("\r", "\n").split("\n"), 1):
        if not line.strip():
            continue
        for mark in ("\t", ";", ",", None):
            if mark is None or mark in line:
                cells = [one.strip() for one in line.split(mark) if one.strip()]
                break
        if len(cells) not in (2, 3):
            raise InputError(
                "no-edge",
                "line {line} of the network is no edge: {said!r}",
                remedy="write from, to and, if you like, a name, with tabs or commas between",
                line=k,
                said=line[:80],
            )
        made.append(tuple(cells))
    return made


def _problem(read: FormFields, limits: ServerSettings) -> Problem:
    kind = read.text("kind")
    goal = "minimise" if read.text("goal") == "minimise" else "maximise"
    if kind in ("path", "tree"):
        edges = edges_of(read.need("edges", "Give the network: a line for every edge."))
        within(len(edges), "edges", limits.arms)
        rewards = _rewards(read)
        if kind == "tree":
            return Problem(SpanningTrees(edges), rewards=rewards, goal=goal)
        source = read.need("source", "Say where the way begins.")
        sink = read.need("sink", "Say where the way ends.")
        return Problem(Paths(edges, source, sink), rewards=rewards, goal=goal)
    names = names_of(read.need("names", "Give at least two names, one per line."))
    within(len(names), "arms", limits.arms)
    d = len(names)
    play, find = read.count("play", 1) or 1, read.count("find", 1) or 1
    if d < 2:
        read.made.wrong["names"] = "Give at least two names, one per line."
        raise _Wrong
    for key, size in (("play", play), ("find", find)):
        most = d if key == "play" else d - 1
        if size > most and key not in read.made.wrong:
            read.made.wrong[key] = f"There are {d} names, so it can be {most} at most."
    rewards = _rewards(read)
    if read.made.wrong.keys() & {"play", "find"}:
        raise _Wrong
    return Problem(_sets(d, play), _sets(d, find), rewards, names=names, goal=goal)


def _sets(d: int, size: int) -> StructureBase:
    return Arms(d) if size == 1 else Subsets(d, size)


def _rewards(read: FormFields) -> RewardsBase:
    noise = read.text("noise")
    if noise == "bernoulli":
        return Bernoulli()
    if noise == "bounded":
        low, high = (read.real(key, -math.inf, math.inf) for key in ("low", "high"))
        if low is None or high is None:
            read.made.wrong.setdefault("low", "Give both limits.")
            raise _Wrong
        return Bounded(low, high)
    level = bool(read.text("level"))
    if level and read.text("kind") == "items" and read.text("play") in ("", "1"):
        read.made.wrong["play"] = (
            "Where a round may read high or low as a whole, things are compared within rounds, so "
            "at least two must be measured at once."
        )
        raise _Wrong
    sigma = None
    if noise == "gaussian":
        read.need(
            "sigma",
            "Say by how much single values of the same thing vary (their standard deviation)"
            + (" within a round." if level else "."),
        )
        sigma = read.real("sigma", 0.0, math.inf)
        if not sigma:
            read.made.wrong.setdefault("sigma", "It must be above 0.")
            raise _Wrong
    return Gaussian(sigma, batch_effect=level)


def _from_file(file: bytes, limits: ServerSettings) -> Problem:
    """Return the problem of a problem file (TOML or JSON)."""
    try:
        text = file.decode("utf-8-sig")
        data = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(
            "problem-unreadable",
            "the problem file cannot be read ({why})",
            remedy="give a file as `combgame init` writes it",
            why=str(error)[:200],
        ) from None
    return problem_of(data, limits)


def expected(made: StudyForm) -> dict[str, Any] | None:
    """Return the rounds to expect as plain data, or None if no plan is possible.

    A plan needs the gap of the form, and is made for the form's tolerance and budget.
    """
    problem, read = made.problem, FormFields(made)
    gap = read.real("gap", 0.0, math.inf)
    if problem is None or not gap or gap < EASY or not isinstance(problem.answers, Arms | Subsets):
        return None
    guess = read.real("guess", 0.0, math.inf)
    if problem.rewards.variance_known:
        rewards, middle = problem.rewards, 0.0
    elif guess:
        rewards, middle = Gaussian(guess), 0.0
    else:
        made.wrong["guess"] = "To plan, say roughly by how much single values vary."
        return None
    if isinstance(rewards, Gaussian):
        rewards = Gaussian(rewards.sigma)  # with batch effects, no stopping time is known
    if isinstance(rewards, Bernoulli):
        middle = 0.5
    elif isinstance(rewards, Bounded):
        middle = (rewards.low + rewards.high) / 2.0
    m = problem.answers.max_size()
    if problem.d > PLANNED:
        return None
    sign = -1.0 if problem.goal == "minimise" else 1.0
    means = [middle + 0.5 * sign * gap] * m + [middle - 0.5 * sign * gap] * (problem.d - m)
    supposed = Problem(
        problem.actions, problem.answers, rewards, names=problem.names, goal=problem.goal
    )
    try:
        done = make_plan(
            supposed,
            means,
            delta=made.settings["delta"],
            rules=None,
            runs=0,
            gap_scales=(1.0, 0.5),
            progress=False,
            epsilon=made.settings["epsilon"],
        )
    except CombGameError as error:
        made.wrong["gap"] = error.render(PAGE)
        return None
    rows = done.rows()
    if any(row["limit"] is None for row in rows):
        return None
    levels, most = problem.rewards.has_batch_effect(), made.settings["max_rounds"]
    # rounds in which every arm gets its minimum of values, whatever the results
    start = made.settings["min_replicates"] * math.ceil(problem.d / problem.actions.max_size())
    rounds, half = (max(row["limit"] * (LEVELLED if levels else 1.0), float(start)) for row in rows)
    return {
        "rounds": rounds,
        "half": half,
        "gap": gap,
        "guess": guess if not problem.rewards.variance_known else None,
        "levels": levels,
        "epsilon": made.settings["epsilon"],
        "most": most,
        "budget": "" if most is None else budget(rounds, half, most),
    }


def budget(rounds: float, half: float, most: int) -> str:
    """Return what a budget suffices for; a plan is accurate to a factor of about two.

    >>> [budget(100.0, 400.0, most) for most in (40, 150, 250, 1000)]
    ['few', 'perhaps', 'not half', 'enough']
    """
    if most < 0.5 * rounds:
        return "few"
    if most < 2.0 * rounds:
        return "perhaps"
    return "not half" if most < half else "enough"


def fields_of(problem: Problem) -> dict[str, str]:
    """Return the fields of a form that would make a problem, as far as the form can."""
    rewards, fields = problem.rewards, dict[str, str]()
    fields["goal"] = problem.goal
    if isinstance(rewards, Bernoulli):
        fields["noise"] = "bernoulli"
    elif isinstance(rewards, Bounded):
        fields |= {"noise": "bounded", "low": f"{rewards.low:g}", "high": f"{rewards.high:g}"}
    elif isinstance(rewards, Gaussian):
        fields["level"] = "1" if rewards.has_batch_effect() else ""
        if isinstance(rewards.sigma, int | float):
            fields |= {"noise": "gaussian", "sigma": f"{rewards.sigma:g}"}
    one = problem.answers
    if isinstance(one, Paths | SpanningTrees):
        ends = one.arguments()["edges"]
        fields["edges"] = "\n".join("\t".join(map(safe_str, edge)) for edge in ends)
        fields["kind"] = "path" if isinstance(one, Paths) else "tree"
        if isinstance(one, Paths):
            fields |= {"source": safe_str(one.source), "sink": safe_str(one.sink)}
    elif isinstance(one, Arms | Subsets):
        fields["names"] = "\n".join(problem.names or map(str, range(problem.d)))
        fields |= {"find": str(one.max_size()), "play": str(problem.actions.max_size())}
    return fields


@router.get("/new")
async def new(request: Request, desk: At, person: Admin) -> Response:
    """Show the form, optionally with the fields of an existing study."""
    fields = dict(USUAL)
    like = request.query_params.get("like", "")
    if like:
        fields |= await desk.look(like, lambda one: fields_of(one.problem))
    for key in ("noise", "level"):
        fields[key] = request.query_params.get(key, fields[key])
    return _begin(request, person, StudyForm(fields))


@router.post("/new")
async def create(request: Request, desk: At, person: Admin) -> Response:
    """Make the study, or show the form again with the plan and the errors."""
    form = await request.form()
    fields = {key: str(one) for key, one in form.items() if not isinstance(one, UploadFile)}
    upload = form.get("file")
    file = await upload.read() if isinstance(upload, UploadFile) else b""
    made = await desk.run_in_pool(begun, fields, desk.limits, file)
    plan = None
    if made.fits:
        with suppress(TimeoutError):
            plan = await asyncio.wait_for(desk.run_in_pool(expected, made), PLANNING)
    if not made.fits or made.problem is None or form.get("do") != "create":
        return _begin(request, person, made, plan, shown=True)
    name, problem = fields["name"].strip(), made.problem

    def make(storage: str) -> Study:
        return Study(
            problem,
            storage=storage,
            name=name,
            client=person.name,
            engine=desk.engine,
            timeout=desk.limits.lock_timeout_s,
            planned_rounds=None if plan is None else min(plan["rounds"], plan["most"] or math.inf),
            **made.settings,
        )

    try:
        if name in (".", ".."):
            raise invalid_argument("name", name, "a text, such as 'plate-7'")
        await desk.create(make, name)
    except CombGameError as error:
        if code_of(error) == 503:
            raise
        made.wrong["name" if error.code in ("study-exists", "must-be") else "problem"] = (
            error.render(PAGE)
        )
        return _begin(request, person, made, plan, shown=True)
    return back(name, "created")


def _begin(
    request: Request,
    person: User,
    made: StudyForm,
    plan: Any = None,
    shown: bool = False,
) -> Response:
    return page(
        request,
        "new.html",
        person,
        422 if made.wrong else 200,
        here="new",
        made=made,
        plan=plan,
        shown=shown and made.fits,
        said=views.about(made.problem, made.settings) if made.fits else None,
        risks=RISKS,
        noises=NOISES,
        kinds=KINDS,
    )
