"""Renderer of messages for the web pages.

It spells what messages advise as the button or the field for it, and phrases the next step for
people in a laboratory.
"""

from collections.abc import Mapping
from typing import Any

from ...._messages import PYTHON, Message, join_truncated, safe_repr

CALLS = {
    "ask": "“Take the next round”",
    "observe": "“Add data from outside”",
    "extend": "“Give it more”",
    "stop": "“Stop the study”",
    "export": "“All data”",
}
OPTIONS = {
    "max_rounds": "the limit of {} rounds",
    "deadline": "the deadline {}",
    "epsilon": "a tolerance of {}",
    "min_replicates": "“at least {} values of every arm”",
    "delta": "a risk of error of {}",
    "name": "the study {}",
    "sigma": "a standard deviation of {}",
}
BARE = {
    "max_rounds": "the limit of rounds",
    "deadline": "the deadline",
    "epsilon": "a tolerance",
    "min_replicates": "a least number of values of every arm",
    "delta": "the risk of error",
    "name": "the study",
    "sigma": "the standard deviation",
    "arm": "an arm",
}
DECIMALS = {",": "“comma” under “How numbers are written”", ".": "“point” there"}
PHRASES = {
    "missing value": "leave the field blank if a value is missing",
    "several values": "give every value, with semicolons between them",
    "share of n": "give a share of n results in a table, with n in a column n",
    "share unrounded": "give the share with ten digits",
    "decision says": "the decision says",
    "again": "tick “Yes, these were measured twice”",
}


class HtmlRenderer:
    """Renderer for the web pages. Calls without a button are spelt as in Python.

    >>> PAGE.call("retract", (3, "reason"), {}), PAGE.option("max_rounds", 40)
    ('“Take back” on round 3', 'the limit of 40 rounds')
    """

    def call(self, verb: str, given: tuple[object, ...], named: Mapping[str, object]) -> str:
        """See `Renderer.call`."""
        if verb == "retract":
            return f"“Take back” on round {given[0]}" if given else "“Take back”"
        if verb == "fail":
            return "“It failed”"
        return CALLS.get(verb) or f"`{PYTHON.call(verb, given, named)}` in Python"

    def option(self, name: str, value: object) -> str:
        """See `Renderer.option`."""
        if name == "decimal" and value in DECIMALS:
            return DECIMALS[str(value)]
        if value is ... or value is None:
            return BARE.get(name, name.replace("_", " "))
        return OPTIONS.get(name, name + " {}").format(
            value if isinstance(value, str) else safe_repr(value)
        )

    def phrase(self, key: str) -> str:
        """See `Renderer.phrase`."""
        return PHRASES.get(key, PYTHON.PHRASES.get(key, key))


PAGE = HtmlRenderer()
NEXT = {  # by the code of the next step, for messages that address programmers
    "ask": "Take the next round, measure it, and enter what came out",
    "stop": "You can stop: the answer is certified",
    "stopped": "It was stopped without a certified answer",
    "budget-spent": "It has stopped without a certified answer: all its rounds are used up",
    "deadline-passed": "It has stopped without a certified answer: its time is over",
}


def next_step(said: Message) -> str:
    """Return the next step of a study as a sentence for the page."""
    if said.code == "measure":
        n: Any = said.arguments["n"]
        these = "the open round" if n == 1 else f"the {n:,} open rounds"
        return f"Measure {these} and enter what came out; take another if you have capacity."
    if said.code == "overdue":
        which: Any = said.arguments["rounds"]
        these = join_truncated([str(one) for one in which], 5)
        rounds, them = ("Round", "it") if len(which) == 1 else ("Rounds", "them")
        return (
            f"{rounds} {these} should have been entered by now: enter {them}, or take the next "
            f"round, which gives {them} to you."
        )
    if said.code == "budget-out":
        return "All rounds are out: enter what came of those that are open."
    if said.code == "stop" and said.arguments["doubtful"]:
        n = said.arguments["doubtful"]
        values = "one value is" if n == 1 else f"{n:,} values are"
        return f"Look first at what is hard to believe ({values}): the answer is certified with it."
    if said.code in NEXT:
        return NEXT[said.code] + "."
    return said.render(PAGE)
