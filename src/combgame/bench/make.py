"""The bench, run and written: a campaign file that resumes, a page in Markdown and in HTML, a table
and a picture.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..campaign import Campaign, Configuration
from ..campaign.campaign import LEAST
from ..campaign.opening import open_store
from ..campaign.shown import duration
from ..errors import InputError, whole
from ..report.figures import save as save_figure
from ..report.files import save
from ..report.tables import as_csv
from .contest import Contest
from .page import as_html, as_markdown, asked, standing
from .profile import Row, picture, ranked

STORE, PAGE, HTML, TABLE, PROFILE = "bench.db", "bench.md", "bench.html", "bench.csv", "profile"


def bench(
    contest: Contest,
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
    """Make every run that the folder's campaign file does not hold yet, and write the page. The
    same call again goes on where the last one ended. so_far: make no more runs, and write the page
    of those that are there. decide: where the runs cannot tell who is near the best, those who may
    be the best have so many.
    """
    folder = Path(out)
    if not so_far:
        folder.mkdir(parents=True, exist_ok=True)
    if decide is not None:
        least = contest.campaign.configurations[0].runs + 1
        decide = whole("decide", decide, least, of="bench")

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


def undecided(contest: Contest, rows: Sequence[Row], runs: int) -> tuple[Configuration, ...]:
    """With so many runs: every rule that the page asks about where the rows cannot tell whether it
    is near the best, and those that it is not told apart from.
    """
    found = [
        one
        for one in standing(contest, rows)
        if one.rule in asked(contest) and one.verdict == "open"
    ]
    wanted = {(one.instance, rule) for one in found for rule in (one.rule, *one.against)}
    return tuple(
        replace(c, runs=runs)
        for c in contest.campaign.configurations
        if c.runs < runs and (c.instance.name, c.label) in wanted
    )


def write(
    contest: Contest, rows: list[dict[str, Any]], folder: Path, command: str, spent: str
) -> None:
    """The page, in both forms, with its table and its picture."""
    found = standing(contest, rows)
    save_figure(picture(found, ranked(found, contest.rules), contest.mine), folder / PROFILE)
    text = as_markdown(contest, rows, command, spent, f"{PROFILE}.svg")
    save(folder / PAGE, text)
    save(folder / HTML, as_html(contest, rows, command, spent))
    save(folder / TABLE, as_csv(rows))
