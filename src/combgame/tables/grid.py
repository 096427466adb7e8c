"""A table before anybody has looked at what it means: cells, and how they were written."""

from typing import Any, NamedTuple

from ..sentences import Sentence

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
DECIMALS = {".": "decimal points", ",": "decimal commas"}


class Form(NamedTuple):
    """How a table was written: what was detected, or said."""

    kind: str  # "text", "excel" or "frame"
    encoding: str | None = None
    sep: str | None = None
    page: str | None = None  # of a workbook
    pages: int = 1  # that it has
    decimal: str = "."
    wide: bool = False  # a column per arm, rather than a line per value

    @property
    def plain(self) -> bool:
        """As `combgame study ask` writes it."""
        return self in (
            Form("text", "UTF-8", ","),
            Form("frame"),
            Form("excel", page=self.page),
        )

    @property
    def sentence(self) -> Sentence:
        """
        >>> print(Form("text", "UTF-16", ";", decimal=",", wide=True).sentence)
        Read as UTF-16, semicolons between cells, decimal commas, a column per arm.
        """
        parts = {
            "text": [
                str(self.encoding),
                f"{SEPARATORS.get(self.sep or ',', repr(self.sep))} between cells",
            ],
            "excel": [f"the page {self.page!r} of a workbook"],
            "frame": ["a data frame"],
        }[self.kind]
        parts = [*parts, DECIMALS[self.decimal]]
        parts.append("a column per arm" if self.wide else "a line per value")
        return Sentence("table-read", "Read as {parts:list}", parts=parts)


class Grid(NamedTuple):
    """The first line, and the others that are not empty, each with its number. The cells of a text
    are texts; others may be numbers, dates or None.
    """

    head: list[str]
    lines: list[tuple[int, list[Any]]]
    form: Form
    whole: bool = True  # the last line has its end
