"""Instances with a source and a characteristic time."""

import functools
import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, NamedTuple

from ...io.descriptions import identity
from ...theory.complexity import complexity
from ..campaign import Instance

TOLERANCE = 1e-4  # largest certified gap


class InstanceFigures(NamedTuple):
    """The characteristic time 1/D_nu and its certified relative gap.

    D_nu lies between 1 / time and (1 + gap) / time.
    """

    time: float
    gap: float


@dataclass(frozen=True)
class PublishedInstance(Instance):
    """An instance with a source.

    Attributes
    ----------
    suite : str
        Suite to which the instance belongs.
    source : str
        The paper, or the way in which the instance was drawn.
    date : str
        Date of the publication or of the draw.
    published : tuple of (str, float)
        Mean number of rounds by rule, as the source states them.
    """

    suite: str = ""
    source: str = ""
    date: str = ""
    published: tuple[tuple[str, float], ...] = ()

    @property
    def figures(self) -> InstanceFigures:
        """Characteristic time and gap, from the table of the package or else computed."""
        kept = table().get(self.name)
        if kept is None or kept["of"] != self.key:
            return computed(self)
        return InstanceFigures(kept["time"], kept["gap"])

    @property
    def key(self) -> str:
        """Identifier of the problem and the means, independent of names."""
        return identity({"problem": self.problem.without_labels(), "means": self.means})

    @property
    def time(self) -> float:
        """Characteristic time 1/D_nu, up to the gap."""
        return self.figures.time

    @property
    def gap(self) -> float:
        """Certified relative gap of the characteristic time."""
        return self.figures.gap


def computed(instance: Instance) -> InstanceFigures:
    """Compute the characteristic time of an instance."""
    solved = complexity(instance.problem, instance.means, tolerance=TOLERANCE)
    return InstanceFigures(solved.characteristic_time, solved.duality_gap)


@functools.cache
def table() -> dict[str, dict[str, Any]]:
    """Read `times.json`, which `python -m combgame.research.instances.suites` writes."""
    kept: dict[str, dict[str, Any]] = json.loads(
        files(__package__).joinpath("times.json").read_text(encoding="utf-8")
    )
    return kept
