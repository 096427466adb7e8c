"""Sampling rules: how the next action is chosen."""

from .base import RuleBase, Setup
from .combgame import CombGame
from .uniform import Uniform

__all__ = ["CombGame", "RuleBase", "Setup", "Uniform"]
