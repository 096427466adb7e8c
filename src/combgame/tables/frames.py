"""Data frames (of pandas, of polars), which are read without importing either."""

from typing import Any

from .grid import Form, Grid


def is_frame(given: Any) -> bool:
    """Whether it is a table with named columns."""
    return hasattr(given, "columns") and len(getattr(given, "shape", ())) == 2


def read_frame(frame: Any) -> Grid:
    """The cells; an index with a name is a column."""
    names = list(getattr(getattr(frame, "index", None), "names", ()))
    if any(name is not None for name in names):
        frame = frame.reset_index()
    head = [str(name).strip() for name in frame.columns]
    if hasattr(frame, "iloc"):
        columns = [frame.iloc[:, k].tolist() for k in range(len(head))]
    else:
        columns = [frame[name].to_list() for name in frame.columns]
    lines = [(k, list(row)) for k, row in enumerate(zip(*columns, strict=True), start=1)]
    return Grid(head, lines, Form("frame"))
