"""Descriptions as plain data: what a TOML file holds, what JSON can carry, and what identifies
it.
"""

from .descriptions import from_data, identity, same_description, to_data
from .problem_file import problem_from, read_problem, read_toml, rule_from

__all__ = [
    "from_data",
    "identity",
    "problem_from",
    "read_problem",
    "read_toml",
    "rule_from",
    "same_description",
    "to_data",
]
