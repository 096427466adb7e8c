"""combgame: pure exploration for combinatorial semi-bandits.

Find the best answer with probability 1 - delta, in as few rounds as possible, where each round
plays a set of arms.
"""

from typing import TYPE_CHECKING, Any

from ._messages import Message
from ._version import __version__
from .errors import (
    AccessError,
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
from .learners import LLOO, OFW, SFTPL, AdaHedge, Hedge, LearnerBase
from .problem import Problem
from .rewards import Assumption, Bernoulli, Bounded, Gaussian, RewardsBase
from .rules import (
    CLUCB,
    CSAR,
    FWS,
    GCBPE,
    PFWS,
    CombGame,
    FixedAllocation,
    FrankWolfe,
    ProductAdaHedge,
    RuleBase,
    Thompson,
    TopTwo,
    TrackAndStop,
    Uniform,
)
from .rules.bonuses import theory_bonus
from .simulation.api import Comparison, compare, simulate
from .simulation.result import Simulation
from .stopping.base import StoppingBase, Validity
from .stopping.sampled_alternatives import SampledAlternatives
from .structures import (
    AlmostAllSets,
    Arms,
    IntegerProgram,
    Listed,
    Matchings,
    Oracle,
    Partition,
    Paths,
    PolytopeGeometry,
    SpanningTrees,
    StructureBase,
    Subsets,
    grid_network,
    line_network,
)
from .theory.complexity import Complexity, complexity
from .theory.evidence import Evidence, evidence

__all__ = [
    "CLUCB",
    "CSAR",
    "GCBPE",
    "LLOO",
    "OFW",
    "FWS",
    "PFWS",
    "SFTPL",
    "AccessError",
    "AdaHedge",
    "AlmostAllSets",
    "Arms",
    "Bernoulli",
    "Bounded",
    "Campaign",
    "Client",
    "CombGame",
    "CombGameError",
    "Comparison",
    "Complexity",
    "Configuration",
    "CorrelatedProblem",
    "Decision",
    "Outlier",
    "SampledAlternatives",
    "EngineError",
    "Event",
    "Evidence",
    "FrankWolfe",
    "Gaussian",
    "PolytopeGeometry",
    "Hedge",
    "FixedAllocation",
    "InputError",
    "Instance",
    "IntegerProgram",
    "LearnerBase",
    "Assumption",
    "Listed",
    "Matchings",
    "Oracle",
    "OracleError",
    "Partition",
    "Paths",
    "Plan",
    "Problem",
    "ProductAdaHedge",
    "Regret",
    "Replay",
    "RewardsBase",
    "Rival",
    "Round",
    "RuleBase",
    "Message",
    "Simulation",
    "SpanningTrees",
    "Status",
    "StoppingBase",
    "StoreError",
    "StructureBase",
    "Study",
    "StudyError",
    "Subsets",
    "Thompson",
    "TieError",
    "TooManySetsError",
    "TopTwo",
    "TrackAndStop",
    "Uniform",
    "UnknownNameError",
    "UpperBound",
    "Validity",
    "__version__",
    "compare",
    "complexity",
    "evidence",
    "grid_network",
    "line_network",
    "plan",
    "read_campaign",
    "regret",
    "simulate",
    "theory_bonus",
    "upper_bound",
]

if TYPE_CHECKING:
    from .lab import Decision, Event, Outlier, Replay, Rival, Round, Status, Study
    from .lab.client import Client
    from .research.campaign import Campaign, Configuration, Instance, read_campaign
    from .simulation.plan import Plan, plan
    from .simulation.regret import Regret, regret
    from .theory.correlated import CorrelatedProblem
    from .theory.upper_bound import UpperBound, upper_bound


LATER = {  # imported on first use, because importing takes time
    **dict.fromkeys(
        ("Campaign", "Configuration", "Instance", "read_campaign"), "research.campaign"
    ),
    "Client": "lab.client",
    **dict.fromkeys(("Plan", "plan"), "simulation.plan"),
    **dict.fromkeys(("Regret", "regret"), "simulation.regret"),
    "CorrelatedProblem": "theory.correlated",
    **dict.fromkeys(("UpperBound", "upper_bound"), "theory.upper_bound"),
    **dict.fromkeys(
        ("Decision", "Outlier", "Event", "Replay", "Rival", "Round", "Status", "Study"), "lab"
    ),
}


def __getattr__(name: str) -> Any:
    if name in LATER:
        from importlib import import_module

        return getattr(import_module(f".{LATER[name]}", __name__), name)
    raise AttributeError(f"module 'combgame' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
