"""Learners (A-players): Hedge and AdaHedge on the simplex; OFW, LLOO and SFTPL on the polytope."""

from .adahedge import AdaHedge
from .base import LearnerBase
from .hedge import Hedge
from .lloo import LLOO
from .ofw import OFW
from .sftpl import SFTPL

__all__ = ["LLOO", "OFW", "SFTPL", "AdaHedge", "Hedge", "LearnerBase"]
