"""Everybody's rules side by side, on the instances of the literature, under one stopping rule."""

from .contest import RULES, Contest, contest
from .report import bench

__all__ = ["RULES", "Contest", "bench", "contest"]
