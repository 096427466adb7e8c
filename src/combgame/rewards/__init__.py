"""What a pull of an arm returns."""

from .base import License, RewardsBase, dual, overtaken, scratch, swapped
from .bernoulli import Bernoulli
from .bounded import Bounded
from .gaussian import Gaussian

__all__ = [
    "Bernoulli",
    "Bounded",
    "Gaussian",
    "License",
    "RewardsBase",
    "dual",
    "overtaken",
    "scratch",
    "swapped",
]
