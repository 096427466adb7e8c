"""Comparison of rules on the instances of the literature under one stopping rule."""

from .contest import RULES, Benchmark, contest
from .report import bench

__all__ = ["RULES", "Benchmark", "bench", "contest"]
