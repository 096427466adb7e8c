"""Descriptions as plain data: what a TOML file holds, what JSON can carry, and what identifies
it.
"""

from .descriptions import alike, from_data, identity, to_data
from .problem_file import problem_from, read_problem, read_toml, rule_from

__all__ = [
    "alike",
    "from_data",
    "identity",
    "problem_from",
    "read_problem",
    "read_toml",
    "rule_from",
    "to_data",
]
