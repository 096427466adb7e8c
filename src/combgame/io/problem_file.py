"""Read problems and rules from plain data and TOML files, and write a commented problem file."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .._messages import LONGEST
from ..engine.state import Floats
from ..errors import CombGameError, InputError, check_int, is_real
from ..problem import Problem
from ..rules import CombGame, RuleBase
from ..rules.bonuses import theory_bonus
from ..rules.presets import PRESETS
from ..structures import PolytopeGeometry
from .parsing import Location, keyed, together

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

WHAT = {  # requirements on a value, by the type of pydantic's error
    "bool_type": "true or false",
    "dict_type": "a table",
    "float_type": "a number",
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "int_type": "a whole number",
    "less_than_equal": "at most {le}",
    "list_type": "a list",
    "string_type": "a text",
}


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a TOML file; errors name the file and the line.

    Parameters
    ----------
    path : str or path-like
        The file, in UTF-8.

    Returns
    -------
    dict
        The data of the file.

    Raises
    ------
    InputError
        If the file cannot be read, or is not TOML.
    """
    import tomllib

    try:
        raw = Path(path).read_bytes()
        return tomllib.loads(raw.decode("utf-8-sig"))
    except FileNotFoundError:
        text, remedy = "{where} does not exist", "check the name of the file and its folder"
        raise InputError("no-file-there", text, remedy=remedy, where=str(path)) from None
    except IsADirectoryError:
        text, remedy = "{where} is a folder", "give the TOML file in it"
        raise InputError("folder-given", text, remedy=remedy, where=str(path)) from None
    except OSError as error:
        text, remedy = "{where} cannot be read ({why})", "check its permissions"
        about = {"where": str(path), "why": error.strerror}
        raise InputError("unreadable", text, remedy=remedy, **about) from None
    except UnicodeDecodeError as error:
        line, byte = raw.count(b"\n", 0, error.start) + 1, raw[error.start]
        text = "{where} is not UTF-8: line {line} has the byte {byte:#04x}"
        remedy = "save it with the encoding UTF-8"
        where = str(path)
        raise InputError(
            "not-utf-8", text, remedy=remedy, where=where, line=line, byte=byte
        ) from None
    except (ValueError, RecursionError) as error:  # a number of ten thousand digits, too
        text = "{where} is not TOML: {why}"
        remedy = "write key = value, with texts in quotes, and each key once"
        about = {"where": str(path), "why": str(error)}
        raise InputError("not-toml", text, remedy=remedy, **about) from None


def read_problem(path: str | os.PathLike[str]) -> tuple[Problem, Floats | None]:
    """Read the problem of a TOML file, and the true means if the file has them.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    problem : Problem
        The problem.
    means : ndarray of shape (d,), or None
        The means in the table ``truth``.

    Raises
    ------
    InputError
        If the file cannot be read, or does not describe a problem.
    """
    return problem_from(read_toml(path), str(path))


def problem_from(
    data: Mapping[str, Any], where: str | Location = "problem"
) -> tuple[Problem, Floats | None]:
    """Make a problem from plain data, with the true means if the data have them.

    Parameters
    ----------
    data : mapping
        The tables of a problem file.
    where : str or Location
        Origin of the data, with which every error begins.

    Returns
    -------
    problem : Problem
        The problem.
    means : ndarray of shape (d,), or None
        The means in the table ``truth``.

    Raises
    ------
    InputError
        If the data do not describe a problem. One error reports all that is wrong.

    Examples
    --------
    >>> problem, means = problem_from({
    ...     "names": ["x", "y", "z"],
    ...     "actions": {"kind": "subsets", "arms": 3, "size": 2},
    ...     "answers": {"kind": "arms"},
    ...     "rewards": {"kind": "gaussian", "sigma": 0.1},
    ...     "truth": {"means": {"y": 3, "x": 2, "z": 1}},
    ... })
    >>> problem.actions, problem.answers, means
    (Subsets(3, 2), Arms(3), array([2., 3., 1.]))
    """
    from pydantic import ValidationError

    from .models import ProblemFile

    root = where if isinstance(where, Location) else Location(where)
    if not isinstance(data, Mapping):
        raise root.must_be(data, "a table", "the keys are {keys:list}", keys=_keys(()))
    given = data.get("names")
    names = list(given) if isinstance(given, list | tuple) else []
    context = {"names": [one for one in names if isinstance(one, str)]}
    at = Location("", root.key)  # the combined error names the file once
    try:
        read = ProblemFile.model_validate(data, context=context)
    except ValidationError as error:
        wrong = [_error(one, at, data, names) for one in error.errors(include_url=False)]
        raise together(wrong, root.where) from None
    errors: list[InputError] = []

    def made(key: str, make: Callable[..., Any], *given: Any) -> Any:
        try:
            return make(*given)
        except CombGameError as error:
            errors.append((at.at(key) if key else at).within(error))

    def table(key: str, arms: int | None) -> Any:
        described = getattr(read, key)
        if arms is None and getattr(described, "arms", 0) is None:
            keys = _keys((key, described.kind))
            errors.append(at.at(key).missing("arms", "the keys are {keys:list}", keys=keys))
            return None
        return made(key, described.make, arms)

    actions, rewards = table("actions", len(names) or None), made("rewards", read.rewards.make)
    answers = table("answers", actions.d) if actions is not None and read.answers else None
    means = None
    if not errors:
        problem = made("", Problem, actions, answers, rewards, read.names, read.bounds, read.goal)
        if problem is not None and read.truth is not None:
            means = made("truth", problem.check_means, read.truth.means)
    if errors:
        raise together(errors, root.where)
    return problem, means


def _keys(path: tuple[Any, ...]) -> list[str]:
    """Return the keys of the table at a path that pydantic gives."""
    from .models import KINDS, ProblemFile, Truth

    table = ProblemFile if not path else Truth if path[0] == "truth" else KINDS[path[1]]
    return list(table.model_fields)


def _error(error: "ErrorDetails", at: Location, data: Any, names: list[Any]) -> InputError:
    """Convert an error of pydantic to an `InputError` with the code that programs know."""
    from .models import REWARDS, STRUCTURES, TAGS

    path, value, kind, about = error["loc"], error["input"], error["type"], error.get("ctx", {})
    kinds, outer, inside = list(REWARDS if path[0] == "rewards" else STRUCTURES), at, data
    for depth, step in enumerate(path):
        if depth == 1 and path[0] in ("actions", "answers", "rewards"):
            continue  # the kind
        if step in TAGS and not (isinstance(inside, Mapping) and step in inside):
            continue
        outer, at = at, at.at(step)
        try:
            inside = inside[step]
        except (LookupError, TypeError):
            inside = None
    match kind:
        case "missing":
            return outer.missing(str(path[-1]), "the keys are {keys:list}", keys=_keys(path[:-1]))
        case "extra_forbidden" | "invalid_key":
            return outer.unknown_key(path[-1], _keys(path[:-1]))
        case "union_tag_not_found":
            return at.missing("kind", "use one of {known:quoted}", known=kinds)
        case "union_tag_invalid":
            return at.at("kind").unknown(value["kind"], kinds)
        case "literal_error":
            return at.unknown(value, ("maximise", "minimise"))
        case "model_attributes_type":
            return at.must_be(value, "a table with a kind, one of {known:quoted}", known=kinds)
        case "arm" if names:
            remedy = "the names are {names:quoted 10}"
            return at.must_be(value, "an arm", remedy, names=names[:LONGEST])
        case "arm":
            return at.must_be(value, "an arm", "there are no names, so give its number, from 0")
    said = WHAT[kind].format(**about) if kind in WHAT else error["msg"]
    return at.must_be(value, "{said}", said=said)


def rule_from(data: str | Mapping[str, Any], where: str | Location = "rule") -> RuleBase:
    """Make a rule from the name of a preset, or from a table of options.

    Parameters
    ----------
    data : str or mapping
        Name of a preset; or a table that names a rule or a learner and changes some of its options.
        The key ``label``, the rule's name in reports, is ignored.
    where : str or Location
        Origin of the data, with which every error begins.

    Returns
    -------
    RuleBase
        The rule.

    Raises
    ------
    InputError
        If the rule or one of its options is not known, or a value is not possible.

    Examples
    --------
    >>> rule_from({"learner": "ofw", "tracking": "D", "sparsify": False}).learner
    OFW(sparsify=False)
    >>> rule_from({"rule": "uniform", "start": "full"})
    Uniform(start='full')
    """
    at = where if isinstance(where, Location) else Location(where)
    made: RuleBase
    if isinstance(data, str):
        made = _preset(data, at, PRESETS)
        return made
    if not isinstance(data, Mapping):
        what = "one of {known:quoted}, or a table such as {{learner = 'lloo', tracking = 'D'}}"
        raise at.must_be(data, what, known=list(PRESETS))
    learners = {name: rule.learner for name, rule in PRESETS.items() if isinstance(rule, CombGame)}
    if not {"rule", "learner"} & set(data):
        remedy = "name a learner, one of {known:quoted}, or a rule, such as rule = 'uniform'"
        raise at.missing("learner", remedy, known=list(learners))
    rule: Any = _preset(data["rule"], at.at("rule"), PRESETS) if "rule" in data else CombGame()
    learner: Any = getattr(rule, "learner", None)
    if learner is not None and "learner" in data:
        learner = _preset(data["learner"], at.at("learner"), learners)
    own, its = _options(rule), _options(learner)
    own.pop("learner", None)
    keys = [
        "label",
        "rule",
        *(["learner"] if learner is not None else []),
        *own,
        *(key for key in its if key not in own),
    ]
    for key in data:
        if key not in keys:
            raise at.unknown_key(key, keys)
    changed = {
        key: _option(key, data[key], usual, at.at(key))
        for key, usual in (its | own).items()
        if key in data
    }
    try:
        if learner is not None:
            rule = replace(
                rule,
                learner=replace(
                    learner, **{key: changed[key] for key in changed if key not in own}
                ),
            )
        made = replace(rule, **{key: changed[key] for key in changed if key in own})
    except CombGameError as error:
        raise at.within(error) from None
    except TypeError as error:
        text, remedy = "a value has the wrong type ({why})", "check {keys:list}"
        wrong = InputError("wrong-type", text, remedy=remedy, why=str(error), keys=list(changed))
        raise at.within(wrong) from None
    return made


def _options(described: Any) -> dict[str, Any]:
    """Return the options of a rule or learner with their present values."""
    return (
        {}
        if described is None
        else {item.name: getattr(described, item.name) for item in fields(described) if item.init}
    )


def _preset(name: Any, at: Location, known: Mapping[str, Any]) -> Any:
    if not isinstance(name, str) or name not in known:
        raise at.unknown(name, known)
    return known[name]


def _option(key: str, value: Any, usual: Any, at: Location) -> Any:
    """Convert a value to the type of the option; options of several numbers are tables."""
    if key == "bonus" and isinstance(value, Mapping):
        table = keyed(value, at, [], ["b", "c"])
        given = {one: _number(table[one], at.at(one)) for one in table}
        try:
            return theory_bonus(**given)
        except InputError as error:
            raise at.within(error) from None
    if key == "geometry" and isinstance(value, Mapping):
        table = keyed(value, at, PolytopeGeometry._fields)
        kinds = (1.0, 1.0, 1.0, True)
        read = zip(PolytopeGeometry._fields, kinds, strict=True)
        return PolytopeGeometry(*(_option(one, table[one], kind, at.at(one)) for one, kind in read))
    if isinstance(usual, bool):
        if not isinstance(value, bool):
            raise at.must_be(value, "true or false")
        return value
    if isinstance(usual, int):
        try:
            return check_int(at.key, value, 0)
        except InputError as error:
            raise error.with_context(where=at.where) from None
    if isinstance(usual, float):
        return float(_number(value, at))
    if isinstance(usual, str) and not isinstance(value, str):
        raise at.must_be(value, "a text, such as {usual!r}", usual=usual)
    return tuple(value) if isinstance(value, list) else value


def _number(value: Any, at: Location) -> Any:
    if not is_real(value):
        raise at.must_be(value, "a number")
    return value


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
NORMAL = ("gaussian", "unknown")  # kinds of noise for which batch effects are supported
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
    """Options of `problem_template`.

    Attributes
    ----------
    names : sequence of str
        Names of the arms.
    play : int
        Number of arms that are measured at once.
    find : int
        Number of arms of an answer.
    noise : str
        Kind of noise, a key of ``NOISE``.
    sigma : float, optional
        Standard deviation of one value, for ``"gaussian"``.
    low, high : float
        Range of the values, for ``"bounded"``.
    goal : {"maximise", "minimise"}
        Goal of the study: large or small values.
    levels : bool
        True if every round has a batch effect.
    """

    names: Sequence[str]
    play: int = 1
    find: int = 1
    noise: str = "unknown"
    sigma: float | None = None
    low: float = 0.0
    high: float = 1.0
    goal: str = "maximise"
    levels: bool = False


def problem_template(asked: TemplateOptions, file: str = "problem.toml") -> str:
    """Return the text of a problem file with comments for beginners.

    >>> from combgame.io import problem_from
    >>> import tomllib
    >>> text = problem_template(TemplateOptions(["wt", "K7R", "L3P"], 2, 1, "gaussian", 0.1))
    >>> problem_from(tomllib.loads(text))[0]
    Problem(Subsets(3, 2), Arms(3), Gaussian(sigma=0.1), names=('wt', 'K7R', 'L3P'))
    >>> before, _, truth = text.partition("# [truth.means]")  # and without the last #
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
