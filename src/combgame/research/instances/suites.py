"""All instances by suite and by name, and the table of their characteristic times.

`python -m combgame.research.instances.suites` writes the table, `times.json`. An entry that the
table has already is kept, unless its name is given: `... suites "E20" "grid n_s = 6"`.
"""

import functools
import json
import sys
from importlib.resources import files
from pathlib import Path

from ...errors import unknown_name
from ...problem import Problem
from ...rewards import Gaussian
from ...structures import SpanningTrees
from ..campaign import Instance
from . import alt2021 as paper
from .base import PublishedInstance, computed
from .generated import all_arms, all_random, all_sets

SUITES = ("paper", "trees", "arms", "sets", "random")
JOURDAN = (
    "Jourdan, Mutny, Kirschner, Krause: Efficient Pure Exploration for Combinatorial Bandits with "
    "Semi-Bandit Feedback, ALT 2021"
)


def suite(name: str) -> list[PublishedInstance]:
    """Return the instances of a suite.

    Parameters
    ----------
    name : {"paper", "trees", "arms", "sets", "random", "all"}
        Name of the suite.

    Returns
    -------
    list of PublishedInstance
        The instances.

    Raises
    ------
    UnknownNameError
        If the name is not known.

    Examples
    --------
    >>> [one.name for one in suite("trees")]
    ['E20', 'E25']
    """
    if name != "all" and name not in SUITES:
        raise unknown_name("suite", name, (*SUITES, "all"))
    return [one for one in _every() if name in ("all", one.suite)]


def find(name: str) -> PublishedInstance:
    """Return the instance of a name.

    Parameters
    ----------
    name : str
        Name of the instance.

    Returns
    -------
    PublishedInstance
        The instance.

    Raises
    ------
    UnknownNameError
        If the name is not known.

    Examples
    --------
    >>> find("Garivier 1").means
    (0.5, 0.45, 0.43, 0.4)
    """
    named = {one.name: one for one in _every()}
    if name not in named:
        raise unknown_name("instance", name, named)
    return named[name]


@functools.cache
def _every() -> tuple[PublishedInstance, ...]:
    return (*_paper(), *_trees(), *all_arms(), *all_sets(), *all_random())


def _paper() -> list[PublishedInstance]:
    """Return every instance of the paper's experiments, as `python -m reproduction` plays them."""
    kinds: list[tuple[str, str, list[Instance]]] = [
        ("subsets k = 3, ", "printed", [paper.matroid(d) for d in paper.DIMENSIONS]),
        ("subsets k = 2, ", "printed", [paper.matroid(d, 2) for d in paper.DIMENSIONS]),
        ("grid ", "drawn", [paper.grid(n) for n in paper.GRIDS]),
        ("line n_n = 2, ", "drawn", [paper.line(2, n) for n in paper.LINES_2]),
        ("line n_n = 3, ", "drawn", [paper.line(3, n) for n in paper.LINES_3]),
        ("almost all sets ", "printed", [paper.almost_all(d) for d in paper.NEEDLES]),
    ]
    how = {
        "printed": "means as printed",
        "drawn": f"means drawn as the paper says, from the seed {paper.SEED}",
    }
    return [
        PublishedInstance(
            before + one.name,
            one.problem,
            one.means,
            one.x,
            "paper",
            f"{JOURDAN}, {how[means]}",
            "2021",
        )
        for before, means, some in kinds
        for one in some
    ]


def _trees() -> list[PublishedInstance]:
    """Return the spanning trees of P-FWS's public code, with the means of its data files."""
    kept = json.loads(files(__package__).joinpath("pfws.json").read_text(encoding="utf-8"))
    graphs = {name: [tuple(edge) for edge in kept[name]["edges"]] for name in ("E20", "E25")}
    return [
        PublishedInstance(
            name,
            Problem(SpanningTrees(edges), None, Gaussian(1.0)),
            tuple(kept[name]["means"]),
            len(edges),
            "trees",
            kept["source"],
            "2023",
            tuple(kept[name]["published_mean_rounds"].items()),
        )
        for name, edges in graphs.items()
    ]


FILE = Path(__file__).with_name("times.json")


def main(again: list[str]) -> None:
    """Update the table; compute the entries named in `again` anew."""
    kept = json.loads(FILE.read_text()) if FILE.exists() else {}
    made = {}
    for one in suite("all"):
        row = kept.get(one.name, {})
        if row.get("of") != one.key or one.name in again:
            time, gap = computed(one)
            row = {"of": one.key, "time": float(f"{time:.10g}"), "gap": float(f"{gap:.3g}")}
            print(f"{one.name}: {time:.6g}, gap {gap:.2g}", flush=True)
        made[one.name] = row
        lines = (f"{json.dumps(name)}: {json.dumps(figures)}" for name, figures in made.items())
        FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
