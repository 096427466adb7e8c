"""How the shell speaks: what sentences advise, as one types it there."""

import shlex
from collections.abc import Mapping

from ..sentences import PYTHON, looks

STUDY = "ask create decision export extend fail observe plot replay report retract status"
STUDY += " stop tell"
COMMANDS = {
    **{verb: verb for verb in ("compare", "plan", "simulate", "warm")},
    **{verb: f"study {verb}" for verb in STUDY.split()},
}
SAME = (  # options that Python calls alike
    "arm client cluster deadline decimal delta epsilon goal head host if_exists jobs kind lease "
    "level level_sd levels max_rounds min_pulls name out planned port reason relabel "
    "replicates rule runs seed sep shrink storage store threshold unit"
)
OPTIONS = {
    **{name: "--" + name.replace("_", "-") for name in SAME.split()},
    "path": "--out",
    "form": "--format",
    "rules": "--rule",
    "thresholds": "--threshold",
}
PHRASES = {
    "missing value": "a blank cell says that a value is missing",
    "several values": "give each value a line of its own",
    "share of n": "give a share of n results as the value, with n in a column n",
    "share unrounded": "give the share with ten digits",
    "decision says": "`combgame study decision` says",
    "again": "--again",
    "copy": "`combgame study copy FILE ANOTHER`",
}


class Shell:
    """As one types it in a shell. What the shell has no word for is spelt as Python does.

    >>> shell = Shell()
    >>> shell.call("extend", (), {"max_rounds": ..., "reason": ...})
    '`combgame study extend --max-rounds ... --reason ...`'
    >>> shell.call("retract", (3, "reason"), {}), shell.option("if_exists", "replace")
    ('`combgame study retract 3 --reason ...`', '--if-exists replace')
    >>> shell.call("moment", (), {"history": True}), shell.option("ties", None)
    ('moment(history=True)', 'ties=None')
    """

    def __init__(self, **phrases: str) -> None:
        self.study = "study"  # the one that the command is about
        self.named = False  # somebody had to say which
        self.phrases = {**PHRASES, **{key.replace("_", " "): x for key, x in phrases.items()}}

    def call(self, verb: str, given: tuple[object, ...], named: Mapping[str, object]) -> str:
        words = [one for one in given if isinstance(one, str)]  # what the reader has to say
        if verb not in COMMANDS or not OPTIONS.keys() >= {*words, *named}:
            return PYTHON.call(verb, given, named)
        typed = [shlex.quote(str(one)) for one in given if not isinstance(one, str)]
        typed += [f"{OPTIONS[word]} ..." for word in words]
        typed += [self.option(name, "..." if x is ... else x) for name, x in named.items()]
        named_here = self.named or self.study != "study"
        if COMMANDS[verb].startswith("study ") and named_here and "name" not in named:
            typed.append(self.option("name", self.study))
        return f"`{' '.join(['combgame', COMMANDS[verb], *typed])}`"

    def option(self, name: str, value: object) -> str:
        if name not in OPTIONS:
            return PYTHON.option(name, value)
        typed = value if isinstance(value, str) else looks(value)
        return OPTIONS[name] + ("" if value is ... else f" {shlex.quote(typed)}")

    def phrase(self, key: str) -> str:
        return self.phrases.get(key, PYTHON.PHRASES.get(key, key))


SHELL = Shell()
