"""Many configurations: made, read from a file, run."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..._display.files import PRIVATE, check_mode, check_path
from ...errors import (
    SEED,
    CombGameError,
    InputError,
    check_int,
    error_from,
    invalid_argument,
    is_real,
)
from ...io import problem_from, read_toml, rule_from
from ...io.parsing import Location
from ...problem import check_deltas
from ...rules import RuleBase
from ...rules.base import brought, describe
from ...rules.presets import make_rule
from ...stopping.base import StoppingBase
from .execution import run_campaign
from .report import report
from .spec import CampaignSpec, Configuration, Instance, label_of
from .store import open_store

KEYS = (
    "name",
    "runs",
    "seed",
    "delta",
    "threshold",
    "max_rounds",
    "shuffle_arms",
    "rules",
    "problems",
)

LEAST = 10  # runs of a configuration that is shown before it is complete


@dataclass(frozen=True)
class Campaign(CampaignSpec):
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
        threshold: str | StoppingBase | Sequence[str | StoppingBase] = "mixture",
        runs: int = 100,
        seed: int = 0,
        max_rounds: int = 10**6,
        shuffle_arms: bool = False,
    ) -> "Campaign":
        """Every rule on every problem with every threshold. rules: a list, or labels -> rules.
        shuffle_arms: as in `simulate`.
        """
        if not isinstance(problems, list | tuple) or not all(
            isinstance(one, Instance) for one in problems
        ):
            raise invalid_argument(
                "problems", problems, "a list of instances, such as [cg.Instance(...)]"
            )
        if not isinstance(rules, list | tuple | Mapping):
            raise invalid_argument("rules", rules, "a list of rules, or labels -> rules")
        named = (
            dict(rules) if isinstance(rules, Mapping) else {label_of(rule): rule for rule in rules}
        )
        thresholds: list[Any] = (
            list(threshold) if isinstance(threshold, list | tuple) else [threshold]
        )
        if not thresholds or not all(isinstance(word, str | StoppingBase) for word in thresholds):
            what = "a name, such as 'proved', an object that derives from StoppingBase, or a list"
            raise invalid_argument("threshold", threshold, what)
        deltas, runs, seed = (
            tuple(check_deltas(delta)),
            check_int("runs", runs, 1),
            check_int("seed", seed, 0, most=SEED),
        )
        max_rounds = check_int("max_rounds", max_rounds, 1)
        configurations = []
        for instance in problems:
            for word in thresholds:
                for label, rule in named.items():
                    shown = label if len(thresholds) == 1 else f"{label}, {word}"
                    if getattr(chosen := make_rule(rule), "track_regret", False):
                        text = "{label}: track_regret=True is for cg.regret, "
                        text += "a campaign stores no regret"
                        raise InputError("record", text, remedy="leave it out", label=label)
                    own = brought(chosen, instance.problem, deltas)
                    if own is not None and word not in ("proved", own.name):
                        shown += f", stopped by {word}"
                    configurations.append(
                        Configuration(
                            instance,
                            shown,
                            chosen,
                            word,
                            deltas,
                            max_rounds,
                            seed,
                            runs,
                            shuffle_arms,
                        )
                    )
        return Campaign(name, tuple(configurations))

    def run(
        self,
        path: str | Path,
        jobs: int = 1,
        cluster: str | None = None,
        engine: str = "auto",
        progress: bool | None = None,
        say: Callable[[str], None] | None = None,
        mode: int = PRIVATE,
    ) -> list[dict[str, Any]]:
        """Make every run that the campaign file does not hold yet, and report on all of them.

        path: the campaign file, made if it is not there. jobs: processes on this machine; cluster:
        a dask scheduler's address, or "local". The same call again goes on where the last one
        ended, however it ended. progress: a bar on a terminal (False: never); True: elsewhere too,
        in a notebook as a bar, in a file or a pipe as a line every half a minute. say: called with
        a sentence on a damaged file that was mended, or on runs that other sources have made. mode:
        who may read a new file, its owner alone (0o600), or its group too (0o640, 0o660).
        """
        return run_campaign(
            self,
            check_path("path", path),
            check_int("jobs", jobs, 1),
            cluster,
            engine,
            progress,
            say or (lambda text: None),
            check_mode(mode),
        )

    def so_far(self, path: str | Path, least: int = LEAST) -> list[dict[str, Any]]:
        """Report on the runs that a campaign file holds, and make none: the configurations that
        have `least` of them, with as many as there are from the first on without a gap. (What comes
        after a gap was made sooner than that, and so is rather short.)
        """
        least = check_int("least", least, 1)
        store, _ = open_store(check_path("path", path))
        with store:
            begun = {c["key"] for c in store.configurations()}
            wanted = {
                c.key: min(set(range(c.runs + 1)) - (store.stored(c.key) - {c.runs}))
                for c in self.configurations
                if c.key in begun
            }
            known = report(store, wanted)
        return [row for row in known if row["runs"] >= least]

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
    path = check_path("path", path)
    root, data = Location(str(path)), read_toml(path)
    unread = sorted(set(data) - set(KEYS))
    if unread:
        raise root.unknown_key(unread[0], KEYS)
    instances = list(_instances(data.get("problems"), path))
    rules = dict(_rules(data.get("rules"), path))
    try:
        return Campaign.cross(
            str(data.get("name", path.stem)),
            instances,
            rules,
            delta=data.get("delta", 0.05),
            threshold=data.get("threshold", "mixture"),
            runs=data.get("runs", 100),
            seed=data.get("seed", 0),
            max_rounds=data.get("max_rounds", 10**6),
            shuffle_arms=data.get("shuffle_arms", False),
        )
    except CombGameError as error:
        raise error_from(type(error), error.sentence.with_context(where=str(path))) from None


def _instances(given: Any, path: Path) -> Iterable[Instance]:
    root = Location(str(path)).at("problems")
    if not isinstance(given, list) or not given or not all(isinstance(p, dict) for p in given):
        what = "one or more [[problems]] tables, inline or with file = 'problem.toml'"
        raise root.must_be(given, what)
    names = set()
    for number, table in enumerate(given):
        table, at = dict(table), root.at(number)
        name, x, file = table.pop("name", None), table.pop("x", None), table.pop("file", None)
        batch_sd = table.pop("batch_sd", 0.0)
        if x is not None and not (is_real(x) and math.isfinite(x)):
            raise at.at("x").must_be(x, "a number: where the problem stands in a plot")
        if file is not None:
            if table:
                text, remedy = "{other} cannot stand beside file", "put it into {file!r}"
                other = next(iter(table))
                twice = InputError("beside-file", text, remedy=remedy, other=other, file=file)
                raise at.within(twice)
            at = Location(str(path.parent / str(file)))
            table = read_toml(at.where)
        problem, means = problem_from(table, at)
        if means is None:
            text = "a campaign simulates, so it needs the true means"
            remedy = "add [truth] means = [...]"
            raise at.within(InputError("no-truth", text, remedy=remedy))
        name = str(
            name if name is not None else Path(str(file)).stem if file else f"problem {number + 1}"
        )
        if name in names:
            raise root.within(resolve_instance(name, "name"))
        names.add(name)
        yield Instance(name, problem, tuple(means), x, batch_sd=batch_sd)


def _rules(given: Any, path: Path) -> Iterable[tuple[str, RuleBase]]:
    root = Location(str(path)).at("rules")
    if not isinstance(given, list) or not given:
        what = "a list of at least one rule, such as rules = ['lloo', 'uniform']"
        raise root.must_be(given, what)
    labels = set()
    for number, entry in enumerate(given):
        rule = rule_from(entry, root.at(number))
        label = entry if isinstance(entry, str) else str(entry.get("label", describe(rule)))
        if label in labels:
            raise root.within(resolve_instance(label, "label"))
        labels.add(label)
        yield label, rule


def resolve_instance(name: str, kind: str) -> InputError:
    """Two with the same name; kind: how it is called, a name or a label."""
    text, remedy = "two are called {name!r}", "give one of them another {kind}"
    return InputError("same-name", text, remedy=remedy, name=name, kind=kind)
