"""Sampling rules: how the next action is chosen."""

from ..stopping.base import Stopping
from .base import FixedSetup, RuleBase, Setup
from .clucb import CLUCB
from .combgame import CombGame
from .frank_wolfe import FrankWolfe
from .gcb_pe import GCBPE
from .informed import Informed
from .product_hedge import ProductAdaHedge
from .starts import padded
from .top_two import TopTwo
from .uniform import Uniform

__all__ = [
    "CLUCB",
    "GCBPE",
    "CombGame",
    "FixedSetup",
    "FrankWolfe",
    "Informed",
    "ProductAdaHedge",
    "RuleBase",
    "Setup",
    "Stopping",
    "TopTwo",
    "Uniform",
    "padded",
]
