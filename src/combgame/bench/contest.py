"""Who meets whom: rules x instances as a campaign, and who cannot take part where."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..campaign import Campaign, Configuration
from ..errors import CombGameError, InputError, must_be, unknown
from ..instances import KnownInstance, suite
from ..learners.base import impartial
from ..presets import PRESETS
from ..problem import check_deltas
from ..rules import RuleBase
from ..rules.base import describe
from ..stopping.own import StoppingBase

BUDGETED = ("csar",)  # rules for a fixed number of rounds
RULES = tuple(name for name in PRESETS if name not in BUDGETED)
CAP = 100.0  # runs are given up after this many characteristic times, at least SHORTEST rounds
SHORTEST = 1000
ENUMERATED = (
    20_000  # actions that a learner on the simplex, which looks at each every round, may have
)
OVER = "it looks at every action in every round, and there are more than {:,}"


class Absent(NamedTuple):
    """A rule that cannot take part on an instance, and why."""

    rule: str
    instance: str
    why: str


class Contest(NamedTuple):
    """A campaign of rules on instances."""

    campaign: Campaign
    suite: str
    instances: tuple[KnownInstance, ...]
    rules: tuple[str, ...]
    mine: str | None  # the label of the user's rule
    absent: tuple[Absent, ...]


def contest(
    name: str = "all",
    rules: Sequence[str] | None = None,
    mine: RuleBase | None = None,
    *,
    runs: int = 300,
    seed: int = 0,
    delta: float = 0.1,
    threshold: str | StoppingBase = "stylised",
    instances: Sequence[KnownInstance] | None = None,
) -> Contest:
    """Some rules (all that there are) and one of the user's on the instances of a suite. instances:
    these instead.
    """
    deltas = check_deltas(delta)
    if len(deltas) > 1:
        raise must_be("delta", delta, "one number, such as 0.1", of="bench")
    for one in rules or ():
        if one not in RULES:
            raise unknown("rule", one, RULES, of="bench")
    chosen: dict[str, RuleBase] = {one: PRESETS[one] for one in rules or RULES}
    label = None
    if mine is not None:
        label = describe(mine)
        chosen = {label: mine, **chosen}
    where = tuple(suite(name) if instances is None else instances)
    made, absent = [], []
    for instance in where:
        most = cap(instance)
        for shown, rule in chosen.items():
            configuration = Configuration(
                instance,
                shown,
                rule,
                threshold,
                tuple(deltas),
                most,
                seed,
                runs,
                impartial(rule),
            )
            why = _misfit(configuration)
            if why is None:
                made.append(configuration)
            elif rule is mine:
                raise InputError(
                    "cannot-take-part",
                    "{rule} cannot take part on {instance!r}: {why}",
                    remedy="choose a suite that it is for with --suite",
                    rule=shown,
                    instance=instance.name,
                    why=why,
                )
            else:
                absent.append(Absent(shown, instance.name, why))
    return Contest(
        Campaign(f"bench {name}", tuple(made)), name, where, tuple(chosen), label, tuple(absent)
    )


def cap(instance: KnownInstance) -> int:
    """How many rounds a run may take: two digits of CAP characteristic times."""
    most = max(CAP * instance.time, SHORTEST)
    scale = 10 ** (math.floor(math.log10(most)) - 1)
    return int(math.ceil(most / scale) * scale)


def _misfit(configuration: Configuration) -> str | None:
    """Why a rule cannot be played somewhere; None if it can."""
    size = configuration.instance.problem.actions.size()
    if getattr(getattr(configuration.rule, "learner", None), "on_simplex", False):
        return None if size is not None and size <= ENUMERATED else OVER.format(ENUMERATED)
    try:
        configuration.rule.setup(configuration.instance.problem.maximised)
    except CombGameError as error:
        return str(error)
    return None
