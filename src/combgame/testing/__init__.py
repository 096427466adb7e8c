"""Conformance checks for rules, learners, rewards, structures and stopping rules of your own.

A check raises an AssertionError with a message, or prints what it checked and how often.
"""

from ._report import same
from .learners import check_learner
from .rewards import check_rewards
from .rules import check_rule
from .stopping import check_stopping
from .structures import check_structure

__all__ = [
    "check_learner",
    "check_rewards",
    "check_rule",
    "check_stopping",
    "check_structure",
    "same",
]
