"""The A-player: Hedge and AdaHedge on the simplex, OFW and LLOO on the transformed simplex."""

from .adahedge import AdaHedge
from .base import LearnerBase
from .hedge import Hedge
from .lloo import LLOO
from .ofw import OFW

__all__ = ["LLOO", "OFW", "AdaHedge", "Hedge", "LearnerBase"]
