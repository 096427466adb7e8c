"""combgame: find the best answer by playing sets of arms, with probability 1 - delta, in as few plays as possible."""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

from .bonuses import theory_bonus
from .complexity import Complexity, complexity
from .errors import CombGameError, EngineError, InputError, OracleError, StoreError, TieError, TooManySetsError, UnknownNameError
from .evidence import Evidence, evidence
from .learners import LLOO, OFW, AdaHedge, Hedge
from .problem import Problem
from .regret import Regret, regret
from .rewards import Bernoulli, Bounded, Gaussian
from .rules import GCBPE, CombGame, ProductAdaHedge, Uniform
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

__all__ = [
    "GCBPE", "LLOO", "OFW", "AdaHedge", "AlmostAllSets", "Arms", "Bernoulli", "Bounded", "Campaign", "CombGame", "CombGameError",
    "Comparison", "Complexity", "EngineError", "Evidence", "Gaussian", "Geometry", "Hedge", "InputError", "Instance", "IntegerProgram",
    "Listed", "Matchings", "Oracle", "OracleError", "Partition", "Paths", "Problem", "ProductAdaHedge", "Regret", "Simulation",
    "SpanningTrees", "StoreError", "Subsets", "TieError", "TooManySetsError", "Uniform", "UnknownNameError", "compare", "complexity",
    "evidence", "grid_network", "line_network", "read_campaign", "regret", "simulate", "theory_bonus",
]  # fmt: skip

if TYPE_CHECKING:
    from .campaign import Campaign, Instance, read_campaign


def __getattr__(name: str) -> Any:
    if name in ("Campaign", "Instance", "read_campaign"):  # not everybody needs them, and importing costs time
        from . import campaign

        return getattr(campaign, name)
    raise AttributeError(f"module 'combgame' has no attribute {name!r}")
