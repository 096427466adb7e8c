"""The bench, run and written: a campaign file that resumes, a page in Markdown and in HTML, a table
and a picture.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..campaign.execute import duration
from ..campaign.opening import open_store
from ..report.figures import save as save_figure
from ..report.files import save
from ..report.tables import as_csv
from .contest import Contest
from .page import as_html, as_markdown
from .profile import picture, places, ranked

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
) -> list[dict[str, Any]]:
    """Make every run that the folder's campaign file does not hold yet, and write the page. The
    same call again goes on where the last one ended.
    """
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    rows = contest.campaign.run(
        folder / STORE, jobs, cluster, engine=engine, say=say, progress=progress
    )
    with open_store(folder / STORE)[0] as store:
        spent = f"{duration(store.busy())} of work of one processor (with compiling)"
    write(contest, rows, folder, command, spent)
    return rows


def write(
    contest: Contest, rows: list[dict[str, Any]], folder: Path, command: str, spent: str
) -> None:
    """The page, in both forms, with its table and its picture."""
    found = places(rows, contest.rules)
    save_figure(picture(found, ranked(found, contest.rules), contest.mine), folder / PROFILE)
    text = as_markdown(contest, rows, command, spent, f"{PROFILE}.svg")
    save(folder / PAGE, text)
    save(folder / HTML, as_html(contest, rows, command, spent))
    save(folder / TABLE, as_csv(rows))
