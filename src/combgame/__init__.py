"""combgame: find the best answer by playing sets of arms, with probability 1 - delta, in as few plays as possible."""

from .bonuses import theory_bonus
from .complexity import Complexity, complexity
from .errors import CombGameError, EngineError, InputError, OracleError, TieError, TooManySetsError, UnknownNameError
from .evidence import Evidence, evidence
from .learners import LLOO, OFW, AdaHedge, Hedge
from .problem import Problem
from .rewards import Bernoulli, Bounded, Gaussian
from .rules import GCBPE, CombGame, Uniform
from .simulate import Comparison, Simulation, compare, simulate
from .structures import (
    AlmostAllSets,
    Arms,
    Geometry,
    IntegerProgram,
    Listed,
    Matchings,
    Oracle,
    Partition,
    Paths,
    SpanningTrees,
    Subsets,
    grid_network,
    line_network,
)  # fmt: skip

__version__ = "0.1.0"

__all__ = [
    "GCBPE", "LLOO", "OFW", "AdaHedge", "AlmostAllSets", "Arms", "Bernoulli", "Bounded", "CombGame", "CombGameError", "Comparison",
    "Complexity", "EngineError", "Evidence", "Gaussian", "Geometry", "Hedge", "InputError", "IntegerProgram", "Listed", "Matchings",
    "Oracle",
    "OracleError", "Partition", "Paths", "Problem", "Simulation", "SpanningTrees", "Subsets", "TieError", "TooManySetsError", "Uniform",
    "UnknownNameError", "compare", "complexity", "evidence", "grid_network", "line_network", "simulate", "theory_bonus",
]  # fmt: skip
