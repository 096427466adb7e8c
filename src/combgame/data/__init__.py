"""Problems and rules as plain data: what a TOML file holds, what JSON can carry, and what identifies it."""

from .plain import identity, plain
from .reading import STRUCTURES, problem_from, read_problem, read_toml
from .rules import rule_from, rule_to
from .writing import nameless, problem_to

__all__ = [
    "STRUCTURES",
    "identity",
    "nameless",
    "plain",
    "problem_from",
    "problem_to",
    "read_problem",
    "read_toml",
    "rule_from",
    "rule_to",
]
