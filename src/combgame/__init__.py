"""combgame: find the best answer by playing sets of arms, with probability 1 - delta, in as few plays as possible."""

from typing import TYPE_CHECKING, Any

from .errors import (
    CombGameError,
    EngineError,
    InputError,
    OracleError,
    StoreError,
    StudyError,
    TieError,
    TooManySetsError,
    UnknownNameError,
)
from .learners import LLOO, OFW, AdaHedge, Hedge
from .problem import Problem
from .rewards import Bernoulli, Bounded, Gaussian
from .rules import GCBPE, CombGame, FrankWolfe, Informed, ProductAdaHedge, Uniform
from .rules.bonuses import theory_bonus
from .simulate.compare import Comparison, compare, simulate
from .simulate.result import Simulation
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
)
from .theory.complexity import Complexity, complexity
from .theory.evidence import Evidence, evidence
from .version import __version__

__all__ = [
    "GCBPE", "LLOO", "OFW", "AdaHedge", "AlmostAllSets", "Arms", "Bernoulli", "Bounded", "Campaign", "CombGame",
    "CombGameError", "Comparison", "Complexity", "EngineError", "Evidence", "FrankWolfe", "Gaussian", "Geometry", "Hedge",
    "Informed", "InputError", "Instance", "IntegerProgram", "Listed", "Matchings", "Oracle", "OracleError", "Partition", "Paths", "Plan",
    "Problem", "ProductAdaHedge", "Regret", "Simulation", "SpanningTrees", "StoreError", "Study", "StudyError", "Subsets", "TieError",
    "TooManySetsError", "Uniform", "UnknownNameError", "__version__", "compare", "complexity", "evidence", "grid_network", "line_network",
    "plan", "read_campaign", "regret", "simulate", "theory_bonus",
]  # fmt: skip


if TYPE_CHECKING:
    from .campaign import Campaign, Instance, read_campaign
    from .simulate.plan import Plan, plan
    from .simulate.regret import Regret, regret
    from .study import Study


LATER = {  # not everybody needs them, and importing costs time
    "Campaign": "campaign", "Instance": "campaign", "read_campaign": "campaign", "Plan": "simulate.plan", "plan": "simulate.plan",
    "Regret": "simulate.regret", "regret": "simulate.regret", "Study": "study",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in LATER:
        from importlib import import_module

        return getattr(import_module(f".{LATER[name]}", __name__), name)
    raise AttributeError(f"module 'combgame' has no attribute {name!r}")
