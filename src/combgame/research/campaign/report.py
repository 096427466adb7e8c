"""Report on a campaign: one line per configuration and delta, as a table, CSV, Markdown or JSON.

Configurations of one file may have the same names and differ all the same, for instance after the
means in a campaign file were edited. They are told apart by their keys.

While a campaign runs, a bar shows its progress; in a file or a pipe, a line every half minute if
that is asked for.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import numpy as np

from ..._display import progress as _progress
from ..._display.text import Column, rendered
from ..._messages import Message, escape_control
from ...simulation.result import summary
from ...simulation.runner import RELABELLED, drawn
from .store import RunChunk, RunRow, Store

TRYING = "compiling and trying each configuration"
Stored = Callable[[RunChunk, float | None], None]  # a chunk is; about so many seconds are left


@contextmanager
def bar(runs: int, done: int, name: str, progress: bool | None) -> Iterator[Stored]:
    """Show a bar while a campaign runs.

    Parameters
    ----------
    runs : int
        Number of runs of the campaign.
    done : int
        Number of runs that are stored already.
    name : str
        Name of the campaign.
    progress : bool, optional
        Whether the bar is shown, as in `Campaign.run`.

    Yields
    ------
    callable
        To be called with every chunk that was stored and the number of seconds that are left.
    """
    form = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} runs, {elapsed}{postfix}"
    about = {"total": runs, "initial": done, "desc": escape_control(name), "bar_format": form}
    with _progress.bar(progress, patient=True, postfix=TRYING, **about) as drawn:
        began, made = time.perf_counter(), 0

        def stored(chunk: RunChunk, left: float | None) -> None:
            nonlocal made
            made += len(chunk.rows)
            rate = made / (time.perf_counter() - began)
            rest = TRYING if left is None else f"about {duration(left)} left"
            drawn.set_postfix_str(f"{rate:,.1f} runs/s, {rest}", refresh=False)
            drawn.update(len(chunk.rows))

        yield stored


def duration(seconds: float) -> str:
    """Return a number of seconds as people say it.

    Examples
    --------
    >>> duration(3), duration(150), duration(7000)
    ('3 s', '2 min 30 s', '1 h 56 min')
    """
    whole_seconds = round(seconds)
    if whole_seconds < 60:
        return f"{whole_seconds} s"
    minutes, rest = divmod(whole_seconds, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


SHORT = 6  # characters of a key


def disambiguate(configurations: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mark the labels of configurations that would look the same in a report.

    Parameters
    ----------
    configurations : sequence of dict
        Configurations, as `Store.configurations` returns them.

    Returns
    -------
    list of dict
        The same, with the first characters of the key in the labels that need it.

    Examples
    --------
    >>> how = {"threshold": "t", "seed": 0, "deltas": [0.1]}
    >>> one = {"key": "1a2b3c4d", "instance": "five", "label": "lloo", "description": how}
    >>> others = [{**one, "key": "5e6f7a8b"}, {**one, "key": "9c0d1e2f", "label": "ofw"}]
    >>> [c["label"] for c in disambiguate([one, *others])]
    ['lloo [1a2b3c]', 'lloo [5e6f7a]', 'ofw']
    """
    alike = {one["key"] for group in groups(configurations) for one in group}
    return [
        {**c, "label": f"{c['label']} {mark(c)}"} if c["key"] in alike else c
        for c in configurations
    ]


def mark(c: Mapping[str, Any]) -> str:
    """Return the first characters of a configuration's key, in brackets."""
    return f"[{c['key'][:SHORT]}]"


def groups(configurations: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Group the configurations that would share a line of a report.

    They have the same names, threshold and seed, and one of the deltas. Configurations that stand
    alone are left out.
    """
    lines: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for c in configurations:
        described = c["description"]
        for delta in described["deltas"]:
            lines.setdefault(
                (c["instance"], c["label"], described["threshold"], described["seed"], delta), []
            ).append(c)
    several = {
        tuple(one["key"] for one in group): group for group in lines.values() if len(group) > 1
    }
    return list(several.values())


def remarks(configurations: Sequence[dict[str, Any]], most: int = 3) -> list[Message]:
    """Describe each group of configurations that share a line.

    Parameters
    ----------
    configurations : sequence of dict
        Configurations, as `Store.configurations` returns them.
    most : int
        Number of groups that are described.

    Returns
    -------
    list of Message
        In what the configurations of a group differ, and when the last run of each was stored.
    """
    said, alike = [], groups(configurations)
    for group in alike[:most]:
        first, *others = (one["description"] for one in group)
        places = sorted({place for other in others for place in differing(first, other)}) or [
            "nothing that is known"
        ]
        when = "; ".join(f"{mark(one)} {stored(one.get('last'))}" for one in group)
        text = (
            "{label} on {instance} stands there {times} times, because the campaign was changed "
            "between runs: {places} ({when})"
        )
        remedy = "All are kept, and marked in reports; a new file keeps them apart"
        names = {"label": group[0]["label"], "instance": group[0]["instance"], "when": when}
        about = {**names, "places": ", ".join(places), "times": len(group)}
        said.append(Message("same-names", text, remedy=remedy, **about))
    if len(alike) > most:
        said.append(Message("more-alike", "the same holds for {n:,} more", n=len(alike) - most))
    return said


def stored(at: float | None) -> str:
    """Return when the last run of a configuration was stored, in words."""
    if at is None:
        return "without runs"
    try:
        return f"last stored {datetime.fromtimestamp(at).isoformat(' ', 'seconds')}"
    except (OverflowError, OSError, ValueError):  # a clock beyond all calendars
        return f"last stored {at:g} seconds after 1970"


def differing(one: Any, other: Any, place: str = "") -> Iterator[str]:
    """Find the places in which two descriptions differ.

    Parameters
    ----------
    one, other : any
        Plain data.
    place : str
        Where the data are, in what contains them.

    Yields
    ------
    str
        A place.

    Examples
    --------
    >>> three, four = ({"seed": 0, "problem": {"actions": {"d": d}}} for d in (3, 4))
    >>> list(differing(three, four))
    ['problem.actions.d']
    """
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in sorted({*one, *other}, key=str):
            yield from differing(
                one.get(key), other.get(key), f"{place}.{key}" if place else str(key)
            )
    elif one != other:
        yield place


def report(store: Store, wanted: Mapping[str, int] | None = None) -> list[dict[str, Any]]:
    """Summarise the stored runs.

    Parameters
    ----------
    store : Store
        The campaign file.
    wanted : mapping, optional
        Number of runs by key, to report on these configurations and on so many of their runs only.

    Returns
    -------
    list of dict
        For every configuration and delta: the rounds, the errors with their exact 95 % interval,
        the lower bound, the limit, and the ratio to it.
    """
    configurations = [c for c in store.configurations() if wanted is None or c["key"] in wanted]
    if wanted is not None:
        configurations = [{**c, "runs": wanted[c["key"]]} for c in configurations]
    rows = {
        c["key"]: [row for row in store.rows(c["key"]) if row.run < c["runs"]]
        for c in configurations
    }
    shown = disambiguate([c for c in configurations if rows[c["key"]]])
    return [
        line(c, rows[c["key"]], k) for c in shown for k in range(len(c["description"]["deltas"]))
    ]


def line(c: dict[str, Any], rows: list[RunRow], k: int) -> dict[str, Any]:
    """Summarise the runs of a configuration for one delta.

    Parameters
    ----------
    c : dict
        The configuration.
    rows : list of RunRow
        Its runs.
    k : int
        Index of the delta.
    """
    described, reference = c["description"], c["reference"]
    stops, correct = (
        np.array([row.stops[k] for row in rows]),
        np.array([row.correct[k] for row in rows]),
    )
    figures = summary(stops, correct, described["max_rounds"])
    end = reference["limits"][k]
    return {
        "instance": c["instance"],
        "x": c["x"],
        "rule": c["label"],
        "threshold": described["threshold"],
        "seed": described["seed"],
        "delta": described["deltas"][k],
        **figures,
        "planned": c["runs"],
        "standard_error": float(
            np.where(stops < 0, described["max_rounds"], stops).std(ddof=1) / math.sqrt(len(rows))
        )
        if len(rows) > 1
        else None,
        "time": reference["time"],
        "bound": reference["bounds"][k],
        "limit": end,
        "ratio": None if not end else figures["mean"] / end,
        "us_per_round": 1e6
        * sum(row.seconds for row in rows)
        / max(sum(row.rounds for row in rows), 1),
        **{name: float(np.mean([row.figures[name] for row in rows])) for name in rows[0].figures},
        "proved": reference["proved"],
        "label": reference["validity"].partition(":")[0],
        "key": c["key"],
    }


def rows(store: Store) -> list[dict[str, Any]]:
    """List the stored runs, one line per run and delta.

    All columns but ``seconds`` and ``rounds_per_second`` are the same whatever engine, workers or
    order made the runs.
    """
    lines = []
    for c in disambiguate(store.configurations()):
        described = c["description"]
        for row in store.rows(c["key"]):
            labels = None  # a function of the seed and the run, so not stored
            if described.get("shuffle_arms"):
                means = (
                    described["means"]
                    if "means" in described
                    else described["problem"]["truth"]["means"]
                )  # as 0.1.0 had it
                labels = drawn(len(means), described["seed"], row.run, RELABELLED)
            for k, delta in enumerate(described["deltas"]):
                stop = row.stops[k]
                lines.append(
                    {
                        "identity": f"{c['key']}-{row.run}",
                        "instance": c["instance"],
                        "rule": c["label"],
                        "threshold": described["threshold"],
                        "seed": described["seed"],
                        "delta": delta,
                        "run": row.run,
                        "rounds": stop if stop >= 0 else described["max_rounds"],
                        "answer": " ".join(map(str, row.answers[k])),
                        "correct": row.correct[k],
                        "capped": stop < 0,
                        **row.figures,
                        "played": row.rounds,
                        **({"labels": " ".join(map(str, labels))} if labels is not None else {}),
                        "rounds_per_second": row.rounds / max(row.seconds, 1e-9),
                        "seconds": row.seconds,
                    }
                )
    return lines


COLUMNS: dict[str, Column] = {
    "problem": lambda r: r["instance"],
    "rule": lambda r: r["rule"],
    "threshold": lambda r: r["threshold"] + ("" if r["label"] == "proved" else f" ({r['label']})"),
    "delta": lambda r: f"{r['delta']:g}",
    "seed": lambda r: str(r["seed"]),
    "runs": lambda r: (
        f"{r['runs']:,}" + (f" of {r['planned']:,}" if r["runs"] < r["planned"] else "")
    ),
    "mean": lambda r: (">= " if r["capped"] else "") + f"{r['mean']:,.0f}",
    "q25": lambda r: f"{r['q25']:,.0f}",
    "median": lambda r: f"{r['median']:,.0f}",
    "q75": lambda r: f"{r['q75']:,.0f}",
    "errors": lambda r: f"{r['error_rate']:.1%} [{r['error_low']:.1%}, {r['error_high']:.1%}]",
    "capped": lambda r: str(r["capped"]),
    "bound": lambda r: "-" if r["bound"] is None else f"{r['bound']:,.0f}",
    "limit": lambda r: "-" if r["limit"] is None else f"{r['limit']:,.0f}",
    "mean/limit": lambda r: (
        "-" if r["ratio"] is None else (">= " if r["capped"] else "") + f"{r['ratio']:.2f}"
    ),
    "us/round": lambda r: f"{r['us_per_round']:,.1f}",
}


EXPLANATION = (
    "rounds: mean and quartiles of the stopping time; capped runs count with their cap. errors: "
    "share of runs that stopped with a wrong "
    "answer, with the exact 95 % interval (Clopper-Pearson). bound: ln(1/(2.4 delta))/D_nu, "
    "below which no rule can go on average "
    "(- for bounded rewards, whose divergence is a surrogate). "
    "limit: the root of t = beta(t, delta)/D_nu, at which the optimal proportions stop without "
    "noise. us/round: measured on whichever "
    "machine, start included (which is cheap for learners on the simplex)."
)


def show(
    rows: list[dict[str, Any]],
    form: str = "text",
    without: Sequence[str] = (),
    below: Sequence[str] = (),
) -> str:
    """Render a report.

    Parameters
    ----------
    rows : list of dict
        The report.
    form : str
        The format.
    without : sequence of str
        Columns that a table for people leaves out.
    below : sequence of str
        Sentences that stand below such a table.

    Returns
    -------
    str
        The report in this format.
    """
    columns = {name: column for name, column in COLUMNS.items() if name not in without}
    return rendered(rows, form, columns, 3, (EXPLANATION, *below))
