"""A problem in words, for people who have never seen its description."""

from typing import Any

from ..problem import Problem
from ..report.arms import short
from ..rewards import Bernoulli, Bounded, Gaussian
from ..structures import Arms, Matchings, Partition, Paths, SpanningTrees, Subsets


def spoken(problem: Problem) -> dict[str, str]:
    """What may be measured together, what is asked for, what the values are like.

    >>> import combgame as cg
    >>> spoken(cg.Problem(cg.Subsets(10, 3), cg.Arms(10), cg.Gaussian(0.1)))
    {'together': 'any 3 of 10 arms', 'asked': 'the best of 10 arms',
     'values': 'normal, standard deviation 0.1'}
    """
    asked = _best(problem.answers)
    if problem.answers == problem.actions and not isinstance(problem.actions, Arms):
        asked += ", which can be measured as a whole"
    words = {"together": _sets(problem.actions), "asked": asked, "values": _values(problem.rewards)}
    return {key: short(text, 160) for key, text in words.items()}


def _sets(one: Any) -> str:
    if isinstance(one, Arms):
        return f"one of {one.d:,} arms at a time"
    if isinstance(one, Subsets):
        return f"any {one.chosen:,} of {one.d:,} arms"
    if isinstance(one, Partition):
        return f"so many arms of each group: {one}"
    if isinstance(one, Paths):
        return f"a path through a network of {one.d:,} links"
    if isinstance(one, SpanningTrees):
        return f"a spanning tree of {one.d:,} edges"
    if isinstance(one, Matchings):
        return f"a matching of {one.d:,} pairs"
    return f"{one}"


def _best(one: Any) -> str:
    if isinstance(one, Arms):
        return f"the best of {one.d:,} arms"
    if isinstance(one, Subsets):
        return f"the best {one.chosen:,} of {one.d:,} arms"
    return f"the best of: {_sets(one)}"


def _values(one: Any) -> str:
    if isinstance(one, Bernoulli):
        return "0 or 1"
    if isinstance(one, Bounded):
        return f"between {one.low:g} and {one.high:g}"
    if isinstance(one, Gaussian):
        about = f"normal, standard deviation {_sigma(one)}"
        if one.levels():
            about += ", within a round; every round may read high or low as a whole"
        return about
    return f"{one}"


def _sigma(one: Gaussian) -> str:
    if isinstance(one.sigma, int | float):
        return f"{one.sigma:g}"
    if one.known:
        return "known for every arm"
    if isinstance(one.shared, tuple):
        return "not known, the same within each group of arms"
    return f"not known, {'the same for all arms' if one.shared else 'another for every arm'}"
