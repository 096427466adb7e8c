"""Sampling rules: how the next action is chosen."""

from ..stopping.base import Stopping
from ._exploration import padded
from .base import BoundRule, FixedBoundRule, RuleBase
from .clucb import CLUCB
from .combgame import CombGame
from .csar import CSAR
from .frank_wolfe import FrankWolfe
from .fws import FWS
from .gcb_pe import GCBPE
from .oracle_allocation import FixedAllocation
from .p_fws import PFWS
from .product_adahedge import ProductAdaHedge
from .thompson import Thompson
from .top_two import TopTwo
from .track_and_stop import TrackAndStop
from .uniform import Uniform

__all__ = [
    "CLUCB",
    "CSAR",
    "FWS",
    "GCBPE",
    "PFWS",
    "BoundRule",
    "CombGame",
    "FixedAllocation",
    "FixedBoundRule",
    "FrankWolfe",
    "ProductAdaHedge",
    "RuleBase",
    "Stopping",
    "Thompson",
    "TopTwo",
    "TrackAndStop",
    "Uniform",
    "padded",
]
