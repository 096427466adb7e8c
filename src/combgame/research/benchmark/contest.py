"""The campaign of rules on instances, and the import of the user's rules by name."""

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
CAP = 100.0  # runs are truncated after this many characteristic times, at least SHORTEST rounds
SHORTEST = 1000
ENUMERATED = 20_000  # largest number of actions for learners that visit each of them every round
OVER = "it looks at every action in every round, and there are more than {:,}"


class Excluded(NamedTuple):
    """A rule that cannot be played on an instance, and the reason."""

    rule: str
    instance: str
    why: str


class Benchmark(NamedTuple):
    """A campaign of rules on instances.

    Attributes
    ----------
    campaign : Campaign
        The configurations.
    suite : str
        Name of the suite of instances.
    instances : tuple of PublishedInstance
        The instances.
    rules : tuple of str
        Labels of the rules.
    mine : str or None
        Label of the user's rule.
    absent : tuple of Excluded
        Rules that cannot be played on an instance.
    """

    campaign: Campaign
    suite: str
    instances: tuple[PublishedInstance, ...]
    rules: tuple[str, ...]
    mine: str | None
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
    """Set up a comparison of rules on the instances of a suite.

    Parameters
    ----------
    name : str, default="all"
        Name of the suite.
    rules : sequence of str, optional
        Names of the rules. Defaults to all.
    mine : RuleBase, optional
        A rule of the user.
    runs : int, default=300
        Runs of each rule on each instance.
    seed : int, default=0
        Seed of the runs.
    delta : float, default=0.1
        Error probability.
    threshold : str or StoppingBase, default="stylised"
        Stopping rule of all rules.
    instances : sequence of PublishedInstance, optional
        Instances to use instead of those of the suite.

    Returns
    -------
    Benchmark
        The campaign, ready for `bench`.

    Raises
    ------
    InputError
        If a name is not known, or the user's rule cannot be played on an instance.
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
    """Return the maximal number of rounds: CAP characteristic times, rounded to two digits."""
    most = max(CAP * instance.time, SHORTEST)
    scale = 10 ** (math.floor(math.log10(most)) - 1)
    return int(math.ceil(most / scale) * scale)


def _misfit(configuration: Configuration) -> str | None:
    """Return why a rule cannot be played on an instance; None if it can."""
    size = configuration.instance.problem.actions.n_sets()
    if getattr(getattr(configuration.rule, "learner", None), "enumerates_actions", False):
        return None if size is not None and size <= ENUMERATED else OVER.format(ENUMERATED)
    try:
        configuration.rule.bind(configuration.instance.problem.as_maximisation)
    except CombGameError as error:
        return str(error)
    return None


def imported_rule(path: str) -> RuleBase:
    """Import the rule "module:Rule": an object, or a class that needs no arguments."""
    made = _made("mine", path, "bind", "a rule, a class that derives from RuleBase")
    return make_rule(made)


def imported_threshold(name: str) -> str | StoppingBase:
    """Import the stopping rule "module:Stopping"; a plain name is returned as it is."""
    if ":" not in name:
        return name
    made: StoppingBase = _made(
        "threshold", name, "validity", "a stopping rule, a class that derives from StoppingBase"
    )
    return made


def imported(what: str, module: str) -> ModuleType:
    """Import a module, also from the working directory."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)  # last, so that the directory hides no other module
    try:
        return importlib.import_module(module)
    except (Exception, SystemExit) as error:  # a user's module may raise anything
        raise InputError(
            "not-imported",
            "{what} = {module!r}: the module cannot be imported ({why})",
            remedy="run it in the folder of {module}.py, or install it",
            what=what,
            why=f"{type(error).__name__}: {error}",
            module=module,
        ) from error


def _made(what: str, path: str, verb: str, kind: str) -> Any:
    """Import the object "module:Name", or make one of the class of that name.

    `verb` is an attribute that every object of its `kind` has.
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
