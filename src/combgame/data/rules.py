"""What people write -> rules: a preset's name, or a table of options."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from ..errors import CombGameError, InputError
from ..presets import PRESETS
from ..rules import CombGame, RuleBase
from ..rules.bonuses import theory_bonus
from ..structures import Geometry
from .places import Place
from .values import at_least, keyed, number, truth


def rule_from(data: str | Mapping[str, Any], where: str | Place = "rule") -> RuleBase:
    """The rule of a preset's name, or of a table: a rule or a learner by name, with other values
    for their options.

    A key `label`, which is for whoever prints the rule, is left alone.

    >>> rule_from({"learner": "ofw", "tracking": "D", "sparsify": False}).learner
    OFW(sparsify=False)
    >>> rule_from({"rule": "uniform", "start": "full"})
    Uniform(start='full')
    """
    at = where if isinstance(where, Place) else Place(where)
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
    """The options of a rule or learner, with the values that they have now."""
    return (
        {}
        if described is None
        else {item.name: getattr(described, item.name) for item in fields(described) if item.init}
    )


def _preset(name: Any, at: Place, known: Mapping[str, Any]) -> Any:
    if not isinstance(name, str) or name not in known:
        raise at.unknown(name, known)
    return known[name]


def _option(key: str, value: Any, usual: Any, at: Place) -> Any:
    """A value of the type that the option has now; those that are made of several numbers are
    tables.
    """
    if key == "bonus" and isinstance(value, Mapping):
        table = keyed(value, at, [], ["b", "c"])
        given = {one: number(table[one], at.at(one)) for one in table}
        try:
            return theory_bonus(**given)
        except InputError as error:
            raise at.within(error) from None
    if key == "geometry" and isinstance(value, Mapping):
        table = keyed(value, at, Geometry._fields)
        diameter, psi, phi = (float(number(table[one], at.at(one))) for one in Geometry._fields[:3])
        return Geometry(diameter, psi, phi, truth(table["exact"], at.at("exact")))
    if isinstance(usual, bool):
        return truth(value, at)
    if isinstance(usual, int):
        return at_least(0)(value, at)
    if isinstance(usual, float):
        return float(number(value, at))
    if isinstance(usual, str) and not isinstance(value, str):
        raise at.must_be(value, "a text, such as {usual!r}", usual=usual)
    return tuple(value) if isinstance(value, list) else value
