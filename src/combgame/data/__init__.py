"""Descriptions as plain data: what a TOML file holds, what JSON can carry, and what identifies
it.
"""

from .described import alike, from_data, to_data
from .identity import identity
from .reading import STRUCTURES, problem_from, read_problem, read_toml
from .rules import rule_from

__all__ = [
    "STRUCTURES",
    "alike",
    "from_data",
    "identity",
    "problem_from",
    "read_problem",
    "read_toml",
    "rule_from",
    "to_data",
]
