"""Sampling rules: how the next action is chosen."""

from .base import RuleBase, Setup, Stopping
from .combgame import CombGame
from .gcb_pe import GCBPE
from .uniform import Uniform

__all__ = ["GCBPE", "CombGame", "RuleBase", "Setup", "Stopping", "Uniform"]
