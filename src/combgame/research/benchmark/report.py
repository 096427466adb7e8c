"""Run a benchmark and write its page, in Markdown and as one HTML file, with a table and a picture.

The campaign file resumes where it ended, and everything on the page is computed from its rows.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ..._display.files import save
from ..._display.html import inline, render
from ..._display.plotting import save as save_figure
from ..._display.text import as_csv, count, markdown
from ..._fingerprint import foreign
from ..._version import __version__
from ...errors import InputError, check_int
from ...simulation.result import error_interval
from ..campaign import Campaign, Configuration
from ..campaign.campaign import LEAST
from ..campaign.report import duration
from ..campaign.store import open_store
from .contest import CAP, SHORTEST, Benchmark
from .profile import (
    FACTORS,
    LEVEL,
    NEAR,
    ProfileEntry,
    Row,
    picture,
    places,
    ranked,
    share,
    unplayed,
)

# rules by the names that publications give them
ALSO_HERE = {
    "P-FWS": "p-fws",
    "CombGame-OFW (D-tracking)": "ofw",
    "uniform (cycling a list)": "uniform",
}
OURS = "frank-wolfe"  # the default rule of studies, about which the page has a verdict


class PageTable(NamedTuple):
    """A table of the page with its title and a remark."""

    title: str
    said: str
    head: list[str]
    cells: list[list[str]]
    left: int = 1


def tables(contest: Benchmark, rows: Sequence[Row]) -> list[PageTable]:
    """Return all tables of the page."""
    found = progress(contest, rows)
    rules = ranked(found, contest.rules)
    return [
        _profile(found, rules),
        _errors(rows, rules),
        *_by_suite(contest, rows, rules),
        *_published(contest, rows),
        *_unfinished(contest, rows),
        *_absent(contest),
    ]


def sentences(contest: Benchmark, rows: Sequence[Row]) -> list[str]:
    """Return the text at the beginning of the page."""
    runs = {row["runs"] for row in rows}
    many = f"{min(runs):,}" if len(runs) == 1 else f"{min(runs):,} to {max(runs):,}"
    first, planned = rows[0], contest.campaign.configurations[0].runs
    label = f"{first['threshold']} ({first['label']})"
    more = ""
    extra = sum(row["runs"] > planned for row in rows)
    if extra:
        more = (
            f" {count(extra, 'line')} of {len(rows):,} {'has' if extra == 1 else 'have'} more than "
            f"{planned:,} runs, because so many could not tell who is near the best."
        )
    fixed = sorted({c.label for c in contest.campaign.configurations if not c.shuffle_arms})
    labels = "the arms are relabelled in every run"
    if fixed:
        labels += f", but for {', '.join(fixed)}, which may go by their numbers"
    made = [
        f"{count(len(contest.rules), 'rule')} on {count(len(contest.instances), 'instance')} "
        f"(suite {contest.suite!r}), {many} runs each, all stopped by the same threshold, "
        f"{label}, at delta = {first['delta']:g}; {labels}. A run is "
        f"given up after {CAP:g} characteristic times (at least {SHORTEST:,} rounds); such means "
        f"are marked with >=. combgame {__version__}.{more}",
    ]
    found = progress(contest, rows)
    return [*made, *(comparison_verdict(found, rule) for rule in asked(contest))]


def asked(contest: Benchmark) -> tuple[str, ...]:
    """Return the rules about which the page begins with a verdict."""
    return tuple(dict.fromkeys(str(one) for one in (contest.mine, OURS) if one in contest.rules))


def comparison_verdict(found: Sequence[ProfileEntry], rule: str) -> str:
    """Describe on how many instances a rule is near the best one, and where it is not."""
    own = [one for one in found if one.rule == rule]
    said = {word: [one for one in own if one.verdict == word] for word in ("yes", "no", "open")}
    far = sorted(said["no"], key=lambda one: -one.ratio)
    text = (
        f"{rule}, on {count(len(own), 'instance')}: within {NEAR:g} of the best rule beyond doubt "
        f"on {len(said['yes'])}, not so on {len(far)}"
    )
    if far:
        text += " (" + ", ".join(f"{one.instance}: {_how_far(one)}" for one in far) + ")"
    text += (
        f", and on {len(said['open'])} these runs cannot tell. Of one instance and one look, "
        f"either verdict is wrong with a probability of {LEVEL:.1%} at most"
    )
    if any(one.capped for one in far):
        text += "; where runs were given up, *not so* is said without a test"
    return text + "."


def _how_far(one: ProfileEntry) -> str:
    if one.ratio == math.inf:
        return "it cannot take part"
    return f"{one.ratio:.2f}" + (", and some of its runs were given up" if one.capped else "")


def _profile(found: Sequence[ProfileEntry], rules: Sequence[str]) -> PageTable:
    cells = []
    for rule in rules:
        played = sum(not unplayed(one) for one in found if one.rule == rule)
        shares = (f"{share(found, rule, one):.0%}" if played else "-" for one in FACTORS)
        cells.append([rule, *shares, f"{played}"])
    return PageTable(
        "How often a rule is near the best one",
        "The share of instances on which its mean number of rounds is at most so many times the "
        "least mean there; of instances, those whose runs are still to be made left out. Where a "
        "rule cannot take part, or runs were given up, it is not near. "
        "This is the plain count: the least of many noisy means is a little too small, and the "
        "ratios a little too large. The verdicts above account for the noise.",
        ["rule", *(f"x {factor:g}" for factor in FACTORS), "instances"],
        cells,
    )


def _errors(rows: Sequence[Row], rules: Sequence[str]) -> PageTable:
    cells = []
    for rule in rules:
        own = [row for row in rows if row["rule"] == rule]
        if not own:
            continue
        runs, errors = sum(row["runs"] for row in own), sum(row["errors"] for row in own)
        low, high = error_interval(errors, runs)
        worst = max(own, key=lambda row: row["error_rate"])
        cells.append(
            [
                rule,
                f"{len(own)}",
                f"{runs:,}",
                f"{errors:,}",
                f"{errors / runs:.2%} [{low:.2%}, {high:.2%}]",
                f"{worst['error_rate']:.1%} ({worst['instance']})" if worst["errors"] else "-",
                f"{sum(row['capped'] for row in own):,}",
            ]
        )
    return PageTable(
        "Errors",
        "Runs that stopped with a wrong answer, with the exact 95 % interval (Clopper-Pearson), "
        "the worst instance, and runs that were given up. Rules have more runs where they are hard "
        "to tell apart, so that rates of different rules are not of the same mixture of instances.",
        ["rule", "instances", "runs", "errors", "rate", "worst", "capped"],
        cells,
    )


def _by_suite(contest: Benchmark, rows: Sequence[Row], rules: Sequence[str]) -> Iterable[PageTable]:
    for suite in dict.fromkeys(one.suite for one in contest.instances):
        names = [one.name for one in contest.instances if one.suite == suite]
        here = [row for row in rows if row["instance"] in names]
        taking = [rule for rule in rules if any(row["rule"] == rule for row in here)]
        played = {
            name: {row["rule"]: row for row in here if row["instance"] == name}
            for name in names
            if any(row["instance"] == name for row in here)
        }
        for title, said, cell in COLUMNS:
            limits = ["1/D_nu", "limit"] * (cell is _mean)
            if cell is _microseconds and _watched(contest):
                said += f" {contest.mine} is watched in every round, which is in its time."
            cells = [
                [
                    name,
                    *(_limits(next(iter(own.values()))) if limits else ()),
                    *(cell(own[rule]) if rule in own else "" for rule in taking),
                ]
                for name, own in played.items()
            ]
            yield PageTable(f"{title}: {suite}", said, ["instance", *limits, *taking], cells)


def _watched(contest: Benchmark) -> bool:
    """Return True if the user's rule is from outside this package."""
    return any(c.label == contest.mine and foreign(c.rule) for c in contest.campaign.configurations)


def _limits(row: Row) -> tuple[str, str]:
    return f"{row['time']:,.1f}", f"{row['limit']:,.0f}" if row["limit"] else "-"


def _mean(row: Row) -> str:
    error = "" if row["standard_error"] is None else f" ± {row['standard_error']:,.0f}"
    return (">= " if row["capped"] else "") + f"{row['mean']:,.0f}{error}"


def _ratio(row: Row) -> str:
    return "-" if row["ratio"] is None else (">= " if row["capped"] else "") + f"{row['ratio']:.2f}"


def _wrong(row: Row) -> str:
    return f"{row['errors']:,} of {row['runs']:,}"


def _microseconds(row: Row) -> str:
    return f"{row['us_per_round']:,.1f}"


COLUMNS: tuple[tuple[str, str, Callable[[Row], str]], ...] = (
    (
        "Rounds",
        "Mean rounds ± standard error. 1/D_nu: the characteristic time; limit: the root of t = "
        "beta(t, delta)/D_nu, at which the optimal proportions stop without noise; that is no "
        "bound: with noise, many runs stop sooner.",
        _mean,
    ),
    ("Ratio to the limit", "Mean rounds over the limit.", _ratio),
    ("Errors", "Wrong answers, of so many runs.", _wrong),
    (
        "Microseconds a round",
        "Measured on whichever machine made the runs.",
        _microseconds,
    ),
)


def _published(contest: Benchmark, rows: Sequence[Row]) -> Iterable[PageTable]:
    cells = []
    for one in contest.instances:
        ours = {row["rule"]: row for row in rows if row["instance"] == one.name}
        for rule, mean in one.published if ours else ():
            best = min(ours.values(), key=lambda row: (row["capped"] > 0, row["mean"]))
            same = ours.get(ALSO_HERE.get(rule, ""))
            shown = f"{same['rule']}: {_mean(same)}" if same else ""
            here = f"{best['rule']}: {_mean(best)}"
            cells.append([one.name, rule, f"{mean:,.0f}", shown, here, one.source])
    if cells:
        yield PageTable(
            "Published figures",
            "Mean rounds as the source states them, beside the means of the same rule and of the "
            "best on this page. P-FWS's are "
            "not comparable: its public code stops on another statistic, before the limit "
            "(docs/peers.md).",
            ["instance", "rule", "published", "the same rule here", "the best here", "source"],
            cells,
            2,
        )


def _runs(rows: Sequence[Row]) -> dict[tuple[str, str], int]:
    return {(row["rule"], row["instance"]): row["runs"] for row in rows}


def progress(contest: Benchmark, rows: Sequence[Row]) -> list[ProfileEntry]:
    """Return the result of every rule on every instance, as far as it is known."""
    return places(rows, contest.rules, unmade(contest, rows))


def unmade(contest: Benchmark, rows: Sequence[Row]) -> set[tuple[str, str]]:
    """Return the pairs of a rule and an instance that are planned and have no row yet."""
    wanted = {(one.label, one.instance.name) for one in contest.campaign.configurations}
    return wanted - _runs(rows).keys()


def _unfinished(contest: Benchmark, rows: Sequence[Row]) -> Iterable[PageTable]:
    made = _runs(rows)
    short: dict[str, list[str]] = {}
    for one in contest.campaign.configurations:
        runs = made.get((one.label, one.instance.name), 0)
        if runs < one.runs:
            short.setdefault(one.label, []).append(f"{one.instance.name} ({runs or 'none'})")
    if short:
        yield PageTable(
            "Lines that have fewer runs",
            "Cheap lines are made first, so these are the ones whose runs take longest. What has "
            f"fewer than {LEAST} runs is left out everywhere else; of such an instance it is open "
            "who is near the best, but not who is far from it.",
            ["rule", "instances (runs)"],
            [[rule, ", ".join(where)] for rule, where in short.items()],
            2,
        )


def _absent(contest: Benchmark) -> Iterable[PageTable]:
    reasons: dict[tuple[str, str], list[str]] = {}
    for one in contest.absent:
        reasons.setdefault((one.rule, one.why), []).append(one.instance)
    cells = [[rule, ", ".join(where), why] for (rule, why), where in reasons.items()]
    if cells:
        yield PageTable(
            "Who could not take part",
            "Rules that are not defined on an instance, or refuse its size.",
            ["rule", "instances", "why"],
            cells,
            3,
        )


def as_markdown(
    contest: Benchmark, rows: Sequence[Row], command: str, spent: str, drawn: str
) -> str:
    """Write the page in Markdown; `drawn` is the file of the picture beside it."""
    parts = ["# The bench", f"Made by `{command}`, {spent}.", *sentences(contest, rows)]
    parts.append(f"![performance profile]({drawn})")
    for one in tables(contest, rows):
        parts += [f"## {one.title}", one.said, markdown(one.head, one.cells, one.left)]
    parts += ["## Where the instances are from", markdown(*_sources(contest), 3)]
    return "\n\n".join(parts) + "\n"


def as_html(contest: Benchmark, rows: Sequence[Row], command: str, spent: str) -> str:
    """Write the page as one HTML file with the picture inside."""
    found = progress(contest, rows)
    drawn = picture(found, ranked(found, contest.rules), contest.mine)
    label = "Performance profile: share of instances within a factor of best"
    return render(
        "benchmark.html",
        title="combgame bench",
        made=f"Made by {command}, {spent}.",
        sentences=sentences(contest, rows),
        picture=inline(drawn, label),
        tables=tables(contest, rows),
        sources=_sources(contest),
    )


def _sources(contest: Benchmark) -> tuple[list[str], list[list[str]]]:
    sources: dict[tuple[str, str], list[str]] = {}
    for one in contest.instances:
        sources.setdefault((one.source, one.date), []).append(one.name)
    cells = [[", ".join(names), source, date] for (source, date), names in sources.items()]
    return ["instances", "source", "date"], cells


def as_text(contest: Benchmark, rows: Sequence[Row]) -> str:
    """Write the verdicts and the profile for a terminal."""
    from ..._display.text import aligned

    placed = progress(contest, rows)
    found = _profile(placed, ranked(placed, contest.rules))
    return "\n\n".join([*sentences(contest, rows), aligned(found.head, found.cells), found.said])


STORE, PAGE, HTML, TABLE, PROFILE = "bench.db", "bench.md", "bench.html", "bench.csv", "profile"


def bench(
    contest: Benchmark,
    out: str | Path,
    jobs: int = 1,
    cluster: str | None = None,
    engine: str = "auto",
    command: str = "combgame bench",
    say: Callable[[str], None] | None = None,
    progress: bool | None = None,
    so_far: bool = False,
    decide: int | None = None,
) -> list[dict[str, Any]]:
    """Make the runs of a benchmark that are missing in its campaign file, and write the page.

    The same call again continues where the last one ended.

    Parameters
    ----------
    contest : Benchmark
        The rules and instances.
    out : str or Path
        Folder of the page and of the campaign file.
    jobs : int, default=1
        Number of processes.
    cluster : str, optional
        Address of a dask scheduler.
    engine : str, default="auto"
        Engine of the runs.
    command : str
        Command that the page names.
    say : callable, optional
        Receives messages.
    progress : bool, optional
        See `Campaign.run`.
    so_far : bool, default=False
        If True, no more runs are made, and the page is written from those that are there.
    decide : int, optional
        Number of runs for the rules that may be the best, where the runs cannot tell which rules
        are near the best one.

    Returns
    -------
    list of dict
        One row per rule and instance.

    Raises
    ------
    InputError
        If no rule has enough runs yet.
    """
    folder = Path(out)
    if not so_far:
        folder.mkdir(parents=True, exist_ok=True)
    if decide is not None:
        least = contest.campaign.configurations[0].runs + 1
        decide = check_int("decide", decide, least, of="bench")

    def played(campaign: Campaign) -> list[dict[str, Any]]:
        if so_far:
            rows = campaign.so_far(folder / STORE) if (folder / STORE).exists() else []
        else:
            rows = campaign.run(
                folder / STORE, jobs, cluster, engine=engine, say=say, progress=progress
            )
        known = {row["key"]: row for row in rows}
        return [known[c.key] for c in campaign.configurations if c.key in known]

    rows = played(contest.campaign)
    if not rows:
        raise InputError(
            "bench-empty",
            "{path} has no line with {least} runs yet",
            remedy="make more without so_far",
            path=str(folder / STORE),
            least=LEAST,
        )
    if decide is not None and (open_ones := undecided(contest, rows, decide)):
        campaign = Campaign(f"{contest.campaign.name}, what is open", open_ones)
        more = {row["key"]: row for row in played(campaign)}
        rows = [more.get(row["key"], row) for row in rows]
    with open_store(folder / STORE)[0] as store:
        spent = f"{duration(store.busy())} of work of one processor (with compiling)"
    write(contest, rows, folder, command, spent)
    return rows


def undecided(contest: Benchmark, rows: Sequence[Row], runs: int) -> tuple[Configuration, ...]:
    """Return the open configurations with so many `runs`.

    A configuration is open if its rule has a verdict on the page and the rows cannot tell whether
    the rule is near the best one, or if its rule cannot be distinguished from such a rule.
    """
    found = [
        one
        for one in progress(contest, rows)
        if one.rule in asked(contest) and one.verdict == "open"
    ]
    wanted = {(one.instance, rule) for one in found for rule in (one.rule, *one.against)}
    return tuple(
        replace(c, runs=runs)
        for c in contest.campaign.configurations
        if c.runs < runs and (c.instance.name, c.label) in wanted
    )


def write(
    contest: Benchmark, rows: list[dict[str, Any]], folder: Path, command: str, spent: str
) -> None:
    """Write the page in both forms, with its table and its picture."""
    found = progress(contest, rows)
    save_figure(picture(found, ranked(found, contest.rules), contest.mine), folder / PROFILE)
    text = as_markdown(contest, rows, command, spent, f"{PROFILE}.svg")
    save(folder / PAGE, text)
    save(folder / HTML, as_html(contest, rows, command, spent))
    save(folder / TABLE, as_csv(rows))
