"""Instances of the literature, each with its source, its date and its characteristic time.

>>> from combgame.research import instances
>>> tree = instances.find("E20")
>>> tree.problem.d, tree.problem.answers.n_sets(), round(tree.time, 1), tree.date
(20, 20736, 409.2, '2023')
"""

from .base import PublishedInstance
from .generated import (
    linear,
    one_good_arm,
    random_arms,
    random_matchings,
    random_paths,
    random_subsets,
    random_trees,
)
from .suites import SUITES, find, suite

__all__ = [
    "SUITES",
    "PublishedInstance",
    "find",
    "linear",
    "one_good_arm",
    "random_arms",
    "random_matchings",
    "random_paths",
    "random_subsets",
    "random_trees",
    "suite",
]
