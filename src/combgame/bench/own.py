"""Parts of one's own, by their names: what a shell can say of them."""

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from ..errors import CombGameError, InputError, must_be, unknown
from ..presets import make_rule
from ..rules import RuleBase
from ..stopping.own import StoppingBase


def imported_rule(path: str) -> RuleBase:
    """The rule that "module:Rule" names: an object, or a class that needs no arguments."""
    made = _made("mine", path, "setup", "a rule, a class that derives from RuleBase")
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
        raise must_be(what, path, "module:Name, such as my_parts:Mine")
    found = imported(what, module)
    if not hasattr(found, name):
        fitting = [one for one, value in vars(found).items() if hasattr(value, verb)]
        raise unknown(what, name, fitting, of=module)
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
