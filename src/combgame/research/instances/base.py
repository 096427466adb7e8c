"""An instance, and where it is from."""

import functools
import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, NamedTuple

from ...io.descriptions import identity
from ...theory.complexity import complexity
from ..campaign import Instance

TOLERANCE = 1e-4  # of the certified gaps


class InstanceFigures(NamedTuple):
    """1/D_nu, and its certified relative gap: D_nu lies between 1 / time and (1 + gap) / time."""

    time: float
    gap: float


@dataclass(frozen=True)
class PublishedInstance(Instance):
    """An instance with a source.

    suite: the set to which it belongs; source: the paper, or how it is drawn; date: when it was
    published or drawn; published: mean rounds by rule, as the source states them.
    """

    suite: str = ""
    source: str = ""
    date: str = ""
    published: tuple[tuple[str, float], ...] = ()

    @property
    def figures(self) -> InstanceFigures:
        """From the table of the package; computed where it has none."""
        kept = table().get(self.name)
        if kept is None or kept["of"] != self.key:
            return computed(self)
        return InstanceFigures(kept["time"], kept["gap"])

    @property
    def key(self) -> str:
        """What identifies its problem and means, whatever they are called."""
        return identity({"problem": self.problem.without_labels(), "means": self.means})

    @property
    def time(self) -> float:
        """1/D_nu, to within the gap."""
        return self.figures.time

    @property
    def gap(self) -> float:
        return self.figures.gap


def computed(instance: Instance) -> InstanceFigures:
    """The figures, worked out."""
    solved = complexity(instance.problem, instance.means, tolerance=TOLERANCE)
    return InstanceFigures(solved.characteristic_time, solved.duality_gap)


@functools.cache
def table() -> dict[str, dict[str, Any]]:
    """`times.json`, as `python -m combgame.research.instances.suites` writes it."""
    kept: dict[str, dict[str, Any]] = json.loads(
        files(__package__).joinpath("times.json").read_text(encoding="utf-8")
    )
    return kept
