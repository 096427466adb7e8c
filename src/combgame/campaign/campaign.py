"""Many configurations: made, read from a file, run."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..data import problem_from, read_toml, rule_from
from ..errors import InputError, whole
from ..presets import make_rule
from ..problem import check_deltas
from ..rules import RuleBase
from ..rules.base import describe
from .execute import run_campaign
from .spec import Configuration, Instance, Specification, label_of

KEYS = ("name", "runs", "seed", "delta", "threshold", "max_rounds", "relabel", "rules", "problems")


@dataclass(frozen=True)
class Campaign(Specification):
    """A named list of configurations; `Campaign.cross` makes the usual one.

    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Subsets(5, 3), cg.Arms(5), cg.Gaussian(0.1))
    >>> five = cg.Instance("five", problem, (0.5, 0.4, 0.3, 0.2, 0.1))
    >>> rules = ["lloo", "uniform"]
    >>> campaign = cg.Campaign.cross("demo", [five], rules, delta=0.1, runs=10)
    >>> [c.label for c in campaign.configurations], campaign.runs
    (['lloo', 'uniform'], 20)
    """

    @staticmethod
    def cross(
        name: str,
        problems: Sequence[Instance],
        rules: Sequence[str | RuleBase] | Mapping[str, str | RuleBase],
        *,
        delta: float | Sequence[float] = 0.05,
        threshold: str | Sequence[str] = "mixture",
        runs: int = 100,
        seed: int = 0,
        max_rounds: int = 10**6,
        relabel: bool = False,
    ) -> "Campaign":
        """Every rule on every problem with every threshold. rules: a list, or labels -> rules.
        relabel: as in `simulate`.
        """
        if not isinstance(problems, list | tuple) or not all(
            isinstance(one, Instance) for one in problems
        ):
            raise InputError(
                f"campaign {name!r}: problems = {problems!r} must be a list of instances, such "
                "as [cg.Instance(...)]."
            )
        if not isinstance(rules, list | tuple | Mapping):
            raise InputError(
                f"campaign {name!r}: rules = {rules!r} must be a list of rules, or labels -> rules."
            )
        named = (
            dict(rules) if isinstance(rules, Mapping) else {label_of(rule): rule for rule in rules}
        )
        thresholds: list[Any] = (
            list(threshold) if isinstance(threshold, list | tuple) else [threshold]
        )
        if not thresholds or not all(isinstance(word, str) for word in thresholds):
            raise InputError(
                f"threshold = {threshold!r} must be a name, such as 'proved', or a list of names."
            )
        deltas, runs, seed = (
            tuple(check_deltas(delta)),
            whole("runs", runs, 1),
            whole("seed", seed, 0),
        )
        max_rounds = whole("max_rounds", max_rounds, 1)
        found = []
        for instance in problems:
            for word in thresholds:
                for label, rule in named.items():
                    shown = label if len(thresholds) == 1 else f"{label}, {word}"
                    if getattr(chosen := make_rule(rule), "record", False):
                        raise InputError(
                            f"{label}: record=True is for cg.regret, a campaign stores no "
                            "regret; leave it out."
                        )
                    own = chosen.stopping(instance.problem, deltas)
                    if own is not None and word not in ("proved", own.name):
                        shown += f", stopped by {word}"
                    found.append(
                        Configuration(
                            instance, shown, chosen, word, deltas, max_rounds, seed, runs, relabel
                        )
                    )
        return Campaign(name, tuple(found))

    def run(
        self,
        path: str | Path,
        jobs: int = 1,
        cluster: str | None = None,
        engine: str = "auto",
        progress: bool | None = None,
        say: Callable[[str], None] | None = None,
    ) -> list[dict[str, Any]]:
        """Make every run that the campaign file does not hold yet, and report on all of them.

        path: the campaign file, made if it is not there. jobs: processes on this machine; cluster:
        a dask scheduler's address, or "local". The same call again goes on where the last one
        ended, however it ended. say: is told of a damaged file that was mended, and of runs that
        other sources have made.
        """
        return run_campaign(
            self,
            Path(path),
            whole("jobs", jobs, 1),
            cluster,
            engine,
            progress,
            say or (lambda text: None),
        )

    def __add__(self, other: "Campaign") -> "Campaign":
        """Both; what is in both is run once."""
        keys = {c.key for c in self.configurations}
        return replace(
            self,
            configurations=self.configurations
            + tuple(c for c in other.configurations if c.key not in keys),
        )


def read_campaign(path: str | Path) -> Campaign:
    """A campaign file (TOML); its problems stand in it, or in files of their own beside it. See
    docs/campaigns.md.
    """
    path = Path(path)
    data = read_toml(path)
    unknown = sorted(set(data) - set(KEYS))
    if unknown:
        raise InputError(
            f"{path}: {unknown[0]!r} is not known; a campaign file has {', '.join(KEYS)}."
        )
    return Campaign.cross(
        str(data.get("name", path.stem)),
        list(_instances(data.get("problems"), path)),
        dict(_rules(data.get("rules"), path)),
        delta=data.get("delta", 0.05),
        threshold=data.get("threshold", "mixture"),
        runs=data.get("runs", 100),
        seed=data.get("seed", 0),
        max_rounds=data.get("max_rounds", 10**6),
        relabel=data.get("relabel", False),
    )


def _instances(given: Any, path: Path) -> Iterable[Instance]:
    if not isinstance(given, list) or not given or not all(isinstance(p, dict) for p in given):
        raise InputError(
            f"{path}: problems must be one or more [[problems]] tables, inline or with file = "
            "'problem.toml'."
        )
    names = set()
    for number, table in enumerate(given):
        table, where = dict(table), f"{path}: problems[{number}]"
        name, x, file = table.pop("name", None), table.pop("x", None), table.pop("file", None)
        if file is not None:
            if table:
                raise InputError(
                    f"{where}: {next(iter(table))!r} cannot stand beside file; put it into "
                    f"{file!r}."
                )
            where = str(path.parent / str(file))
            table = read_toml(where)
        problem, means = problem_from(table, where)
        if means is None:
            raise InputError(
                f"{where}: a campaign simulates, so it needs the true means: add [truth] means = "
                "[...]."
            )
        if x is not None and (
            isinstance(x, bool) or not isinstance(x, int | float) or not math.isfinite(x)
        ):
            raise InputError(
                f"{where}: x = {x!r} must be a number: where the problem stands in a plot."
            )
        name = str(
            name if name is not None else Path(str(file)).stem if file else f"problem {number + 1}"
        )
        if name in names:
            raise InputError(f"{path}: two problems are called {name!r}; names must differ.")
        names.add(name)
        yield Instance(name, problem, tuple(means), x)


def _rules(given: Any, path: Path) -> Iterable[tuple[str, RuleBase]]:
    if not isinstance(given, list) or not given:
        raise InputError(
            f"{path}: rules must be a list of at least one rule, such as rules = ['lloo', "
            "'uniform']."
        )
    labels = set()
    for number, entry in enumerate(given):
        rule = rule_from(entry, f"{path}: rules[{number}]")
        label = entry if isinstance(entry, str) else str(entry.get("label", describe(rule)))
        if label in labels:
            raise InputError(
                f"{path}: two rules are called {label!r}; give one of them another label."
            )
        labels.add(label)
        yield label, rule
