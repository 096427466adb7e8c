"""Who meets whom: rules x instances as a campaign, and who cannot take part where.

Parts of one's own, by their names: what a shell can say of them.
"""

import importlib
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from ..._values import symmetric
from ...errors import CombGameError, InputError, invalid_argument, unknown_name
from ...problem import check_deltas
from ...rules import RuleBase
from ...rules.base import describe
from ...rules.presets import PRESETS, make_rule
from ...stopping.base import StoppingBase
from ..campaign import Campaign, Configuration
from ..instances import PublishedInstance, suite

BUDGETED = ("csar",)  # rules for a fixed number of rounds
RULES = tuple(name for name in PRESETS if name not in BUDGETED)
CAP = 100.0  # runs are given up after this many characteristic times, at least SHORTEST rounds
SHORTEST = 1000
ENUMERATED = (
    20_000  # actions that a learner on the simplex, which looks at each every round, may have
)
OVER = "it looks at every action in every round, and there are more than {:,}"


class Excluded(NamedTuple):
    """A rule that cannot take part on an instance, and why."""

    rule: str
    instance: str
    why: str


class Benchmark(NamedTuple):
    """A campaign of rules on instances."""

    campaign: Campaign
    suite: str
    instances: tuple[PublishedInstance, ...]
    rules: tuple[str, ...]
    mine: str | None  # the label of the user's rule
    absent: tuple[Excluded, ...]


def contest(
    name: str = "all",
    rules: Sequence[str] | None = None,
    mine: RuleBase | None = None,
    *,
    runs: int = 300,
    seed: int = 0,
    delta: float = 0.1,
    threshold: str | StoppingBase = "stylised",
    instances: Sequence[PublishedInstance] | None = None,
) -> Benchmark:
    """Some rules (all that there are) and one of the user's on the instances of a suite. instances:
    these instead.
    """
    deltas = check_deltas(delta)
    if len(deltas) > 1:
        raise invalid_argument("delta", delta, "one number, such as 0.1", of="bench")
    for one in rules or ():
        if one not in RULES:
            raise unknown_name("rule", one, RULES, of="bench")
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
                symmetric(rule),
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
                absent.append(Excluded(shown, instance.name, why))
    return Benchmark(
        Campaign(f"bench {name}", tuple(made)), name, where, tuple(chosen), label, tuple(absent)
    )


def cap(instance: PublishedInstance) -> int:
    """How many rounds a run may take: two digits of CAP characteristic times."""
    most = max(CAP * instance.time, SHORTEST)
    scale = 10 ** (math.floor(math.log10(most)) - 1)
    return int(math.ceil(most / scale) * scale)


def _misfit(configuration: Configuration) -> str | None:
    """Why a rule cannot be played somewhere; None if it can."""
    size = configuration.instance.problem.actions.n_sets()
    if getattr(getattr(configuration.rule, "learner", None), "enumerates_actions", False):
        return None if size is not None and size <= ENUMERATED else OVER.format(ENUMERATED)
    try:
        configuration.rule.bind(configuration.instance.problem.as_maximisation)
    except CombGameError as error:
        return str(error)
    return None


def imported_rule(path: str) -> RuleBase:
    """The rule that "module:Rule" names: an object, or a class that needs no arguments."""
    made = _made("mine", path, "bind", "a rule, a class that derives from RuleBase")
    return make_rule(made)


def imported_threshold(name: str) -> str | StoppingBase:
    """The stopping rule that "module:Stopping" names, likewise; a plain name stands for itself."""
    if ":" not in name:
        return name
    made: StoppingBase = _made(
        "threshold", name, "validity", "a stopping rule, a class that derives from StoppingBase"
    )
    return made


def imported(what: str, module: str) -> ModuleType:
    """A module that Python can import from here."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)  # last: nothing else is to come from there
    try:
        return importlib.import_module(module)
    except (Exception, SystemExit) as error:  # a module of somebody else's may raise anything
        raise InputError(
            "not-imported",
            "{what} = {module!r}: the module cannot be imported ({why})",
            remedy="run it in the folder of {module}.py, or install it",
            what=what,
            why=f"{type(error).__name__}: {error}",
            module=module,
        ) from error


def _made(what: str, path: str, verb: str, kind: str) -> Any:
    """The object that "module:Name" names, or one of the class that it names. verb: what its kind
    has.
    """
    module, _, name = path.partition(":")
    if not module or not name:
        raise invalid_argument(what, path, "module:Name, such as my_parts:Mine")
    found = imported(what, module)
    if not hasattr(found, name):
        fitting = [one for one, value in vars(found).items() if hasattr(value, verb)]
        raise unknown_name(what, name, fitting, of=module)
    made: Any = getattr(found, name)
    if not hasattr(made, verb):
        raise InputError(
            "not-of-its-kind",
            "{what} = {path!r}: {name} is not {kind}",
            remedy="name the description, not its part",
            what=what,
            path=path,
            name=name,
            kind=kind,
        )
    try:
        return made() if isinstance(made, type) else made
    except CombGameError:
        raise
    except Exception as error:
        raise InputError(
            "needs-arguments",
            "{what} = {path!r}: {name}() cannot be made ({why})",
            remedy="give its fields defaults, or name an object in the module, such as mine = "
            "{name}(...)",
            what=what,
            path=path,
            name=name,
            why=f"{type(error).__name__}: {error}",
        ) from error
