"""Conversion between descriptions and plain data: TOML files, JSON, and identifiers."""

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
