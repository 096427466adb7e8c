"""Write and read the tables of the experiments in a folder."""

import csv
import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from combgame._display.text import restored
from combgame.research.campaign.report import show

Rows = list[dict[str, Any]]


class Tables(dict[str, Rows]):
    """The rows of every table by its name.

    A table is read from the folder on first access; it is empty if there is no such file.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def __missing__(self, name: str) -> Rows:
        self[name] = read(self.folder, name)
        return self[name]


def write(out: Path, name: str, rows: Sequence[dict[str, Any]]) -> None:
    """Write rows as CSV with six digits, so that files are small and differences readable."""
    shown = [
        {k: float(f"{v:.6g}") if isinstance(v, float) else v for k, v in row.items()}
        for row in rows
    ]
    (out / f"{name}.csv").write_text(show(shown, "csv"), encoding="utf-8")


def read(out: Path, name: str) -> Rows:
    """Read the rows of a table that `write` made; an empty list if it is not there."""
    path = out / f"{name}.csv"
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [
            {key: _value(restored(text)) for key, text in row.items()}
            for row in csv.DictReader(file)
        ]


def _value(text: str) -> Any:
    if text in ("True", "False"):
        return text == "True"
    try:
        return json.loads(text)
    except ValueError:
        return text or None


def digitised() -> Rows:
    """Return Figure 1 as read off the authors' talk.

    Part 1a is in rounds (within 150), part 1b in milliseconds per round.
    """
    text = files(__package__).joinpath("figure1_digitised.csv").read_text(encoding="utf-8")
    return [
        {key: _value(cell) for key, cell in row.items()}
        for row in csv.DictReader(text.splitlines())
    ]
