"""A problem file with comments, for people who begin."""

import json
from collections.abc import Sequence
from typing import NamedTuple

TEXT = """\
# A problem for combgame. `combgame plan {file}` says what to expect,
# `combgame study create {file} --storage sqlite:///lab.db` begins the experiment.

# The arms: what is measured.
names = [
{names}
]

# "maximise": large values are good; "minimise": small ones are.
goal = "{goal}"

# What one play measures at once: {play}.
[actions]
{actions}

# What is asked: {find}.
[answers]
{answers}

# What a measurement returns: {noise}.
[rewards]
{rewards}

# The values that you suppose, one per arm, for planning and simulating only. Take off the # and
# write your own.
# [truth.means]
{truth}
"""
NOISE = {
    "gaussian": "numbers; sigma is the standard deviation of one measurement",
    "unknown": "numbers, whose standard deviation is not known",
    "bernoulli": "0 or 1, such as failure and success",
    "bounded": "numbers between low and high, of any distribution",
}
NORMAL = ("gaussian", "unknown")  # of which plays may have levels of their own


SUPPOSED = """\
# To plan and to simulate, take off the # and write the standard deviation that you suppose.
# simulation_sigma = 0.1"""
LEVEL = """\
# All that one play measures may read high or low together, as on a plate, so that arms are compared
# within plays only, and sigma is the standard deviation within a play.
batch_effect = true"""
NO_LEVEL = """\
# If all that one play measures may read high or low together, as on a plate, take off the #.
# batch_effect = true"""


class TemplateOptions(NamedTuple):
    """What one has to know to write a problem down."""

    names: Sequence[str]
    play: int = 1  # arms that are measured at once
    find: int = 1  # arms of an answer
    noise: str = "unknown"  # a key of NOISE
    sigma: float | None = None
    low: float = 0.0
    high: float = 1.0
    goal: str = "maximise"
    levels: bool = False  # whether all that one play measures may read high or low together


def problem_template(asked: TemplateOptions, file: str = "problem.toml") -> str:
    """The file as a text.

    >>> from combgame.io import problem_from
    >>> import tomllib
    >>> text = written(TemplateOptions(["wt", "K7R", "L3P"], 2, 1, "gaussian", 0.1))
    >>> problem_from(tomllib.loads(text))[0]
    Problem(Subsets(3, 2), Arms(3), Gaussian(sigma=0.1), names=('wt', 'K7R', 'L3P'))
    >>> before, _, truth = text.partition("# [truth.means]")  # and with the last # taken off
    >>> problem_from(tomllib.loads(before + "[truth.means]" + truth.replace("# ", "")))[1].tolist()
    [0.0, 0.0, 0.0]
    """
    names = [json.dumps(name, ensure_ascii=False) for name in asked.names]
    rewards = {
        "gaussian": f'kind = "gaussian"\nsigma = {asked.sigma}',
        "unknown": f'kind = "gaussian"\n{SUPPOSED}',
        "bernoulli": 'kind = "bernoulli"',
        "bounded": f'kind = "bounded"\nlow = {asked.low}\nhigh = {asked.high}',
    }[asked.noise]
    if asked.levels:
        rewards += f"\n{LEVEL}"
    elif asked.play > 1 and asked.noise in NORMAL:
        rewards += f"\n{NO_LEVEL}"
    every = asked.play == len(names)
    return TEXT.format(
        file=json.dumps(file, ensure_ascii=False)[1:-1] if " " not in file else repr(file),
        names="\n".join(f"    {name}," for name in names),
        goal=asked.goal,
        play="all arms" if every else _some(asked.play, "arm", "any"),
        actions=_sets(asked.play),
        find="the best arm" if asked.find == 1 else f"the best {asked.find} arms",
        answers=_sets(asked.find),
        noise=NOISE[asked.noise],
        rewards=rewards,
        truth="\n".join(f"# {name} = 0.0" for name in names),
    )


def _some(n: int, what: str, which: str) -> str:
    return f"one {what}" if n == 1 else f"{which} {n} {what}s"


def _sets(size: int) -> str:
    return 'kind = "arms"' if size == 1 else f'kind = "subsets"\nsize = {size}'
