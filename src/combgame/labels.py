"""What a proof takes for granted: rewards that it is about, and the word of structures that are not this package's."""

from .judges import ConstantPart
from .problem import Problem
from .rules import Stopping
from .structures import AlmostAllSets, Arms, IntegerProgram, Listed, Matchings, Oracle, Partition, Paths, SpanningTrees, Subsets
from .structures.base import StructureBase
from .thresholds import COVERED, Validity, uncovered

# whose nearest alternatives are this package's, and tested: these very classes, for a class derived from one may do anything
OWN = (AlmostAllSets, Arms, IntegerProgram, Listed, Matchings, Partition, Paths, SpanningTrees, Subsets)


def labelled(stopping: Stopping, problem: Problem) -> Validity:
    """The validity of a stopping rule on a problem whose parts may be a user's."""
    valid = stopping.validity
    if not valid.proved:
        return valid
    if type(problem.rewards) not in COVERED:
        return uncovered(problem.rewards)
    taken = [(problem.answers, "nearest")]
    if not isinstance(stopping.threshold, ConstantPart):  # a function of t and the size of the largest action
        taken.append((problem.actions, "largest"))
    for structure, verb in taken:
        if type(structure) not in OWN:
            verb = "argmax" if type(structure) is Oracle else verb
            word = f"what {type(structure).__name__} says of itself is taken as it is (combgame.testing.check_structure tries it)"
            own = (
                verb == "nearest" and type(structure).exchange is not StructureBase.exchange
            )  # what answers that differ are compared
            right = "its nearest and its exchange are right" if own else f"its {verb} is right"
            return valid._replace(provided=right, reason=f"{valid.reason}; {word}")
    return valid
