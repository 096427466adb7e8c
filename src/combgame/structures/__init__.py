"""Collections of sets of arms, one kind per module."""

from .almost_all import AlmostAllSets
from .arms import Arms
from .base import PolytopeGeometry, StructureBase
from .integer_program import IntegerProgram
from .listed import Listed
from .matchings import Matchings
from .oracle import Oracle
from .partition import Partition
from .paths import Paths, grid_network, line_network
from .subsets import Subsets
from .trees import SpanningTrees

__all__ = [
    "AlmostAllSets",
    "Arms",
    "IntegerProgram",
    "Listed",
    "Matchings",
    "Oracle",
    "Partition",
    "Paths",
    "PolytopeGeometry",
    "SpanningTrees",
    "StructureBase",
    "Subsets",
    "grid_network",
    "line_network",
]
