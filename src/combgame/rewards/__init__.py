"""Models of the measurements."""

from .base import Assumption, RewardsBase, dual, overtaken, scratch, swapped
from .bernoulli import Bernoulli
from .bounded import Bounded
from .gaussian import Gaussian

__all__ = [
    "Assumption",
    "Bernoulli",
    "Bounded",
    "Gaussian",
    "RewardsBase",
    "dual",
    "overtaken",
    "scratch",
    "swapped",
]
