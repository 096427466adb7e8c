"""Validation of problems, rules and names in requests.

Problems arrive as plain data that can neither run code nor fill the memory.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import Depends, Path

from ...errors import InputError, check_text, invalid_argument
from ...io import from_data, problem_from
from ...problem import Problem
from .settings import ServerSettings

InPath = Annotated[str, Path(description="The study's name.", max_length=2000)]


async def named(name: InPath) -> str:
    """Return the study's name in a path, which `middleware.path_of` keeps in one piece."""
    return check_text("name", unquote(name), "a text, such as 'plate-7'")


Name = Annotated[str, Depends(named)]


FORBIDDEN = ("module", "qualname")  # keys that name classes outside combgame
SIZES = ("d", "arms", "size", "rows", "columns", "stages", "width", "layers")


def problem_of(data: Any, limits: ServerSettings) -> Problem:
    """Return the problem of a description by `to_data` or of a problem file."""
    if not isinstance(data, Mapping):
        raise invalid_argument(
            "problem", data, "a table, as to_data writes it or as a problem file has it"
        )
    check(data, limits)
    made = from_data(data, "problem") if "kind" in data else problem_from(data, "problem")[0]
    if not isinstance(made, Problem):
        raise invalid_argument("problem", made, "a Problem")
    within(made.d, "arms", limits.arms)
    return made


def described(data: Any, limits: ServerSettings) -> Any:
    """Return a rule: a name, or the rule of a description by `to_data`."""
    if isinstance(data, str):
        return data
    check(data, limits)
    return from_data(data, "rule")


def check(data: Any, limits: ServerSettings) -> None:
    """Check a description against the limits before any object is made of it."""
    items = 0
    for table in tables(data, limits.nesting):
        items += len(table)
        within(items, "entries", limits.entries)
        if not isinstance(table, Mapping):
            continue
        if str(table.get("kind")).lower() == "oracle" or any(one in table for one in FORBIDDEN):
            text = "a problem that is sent cannot have a function or a class of one's own"
            remedy = "list its sets with Listed, or use it from Python only"
            raise InputError("code-refused", text, remedy=remedy)
        sizes = [table[key] for key in SIZES if type(table.get(key)) is int]
        for size in sizes:
            within(size, "arms", limits.arms)
        kind = table.get("kind")
        if kind in ("integer-program", "IntegerProgram"):
            check_time(table.get("time_limit", 60.0), limits.seconds)
        if kind in ("matchings", "Matchings"):
            sides = [table.get(key) for key in ("rows", "columns")]
            lengths = [len(one) if isinstance(one, list) else one for one in sides]
            if all(type(one) is int for one in lengths):
                within(lengths[0] * lengths[1], "arms", limits.arms)  # type: ignore[operator]
        if kind == "grid-network" and sizes:
            within(2 * sizes[0] ** 2, "edges", limits.edges)
        if kind == "line-network" and len(sizes) == 2:
            within(max(sizes) ** 2 * min(sizes), "edges", limits.edges)
        edges = table.get("edges")
        if isinstance(edges, list):
            within(len(edges), "edges", limits.edges)


def check_time(given: Any, most: float) -> None:
    """Check the time limit of an integer programme, which is solved when it is made."""
    if not isinstance(given, int | float) or not given <= most:
        text = "an integer programme may take {given} seconds, and here at most {most:g}"
        remedy = "give it a time_limit of at most {most:g}"
        raise InputError("too-long", text, remedy=remedy, given=given, most=most)


def tables(data: Any, nesting: int) -> Iterator[Mapping[str, Any] | list[Any]]:
    """Yield all tables and lists in some data; raise an error if they are nested too deep."""
    around: list[tuple[Any, int]] = [(data, 1)]
    while around:
        one, depth = around.pop()
        if not isinstance(one, Mapping | list):
            continue
        if depth > nesting:
            text, remedy = "the data are nested more than {most} deep", "send flatter data"
            raise InputError("nested-too-deep", text, remedy=remedy, most=nesting)
        yield one
        inside = one.values() if isinstance(one, Mapping) else one
        around += [(two, depth + 1) for two in inside if isinstance(two, dict | list)]


def within(number: int, what: str, most: int) -> None:
    """Raise an error if a number exceeds its limit."""
    if number > most:
        text = "{number:,} {what} are above this service's limit of {most:,}"
        remedy = "send less at a time, or a smaller problem"
        about = {"number": number, "what": what, "most": most}
        raise InputError("above-limit", text, remedy=remedy, **about)
