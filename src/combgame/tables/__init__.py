"""Read tables (text, Excel, data frames) into values by round and arm."""

from .cells import RawTable, TableFormat, is_frame, read_frame
from .reader import COLUMNS, LETTERS, MARK, ParsedTable, known_column, read_file, read_table, totals

__all__ = [
    "COLUMNS",
    "LETTERS",
    "MARK",
    "ParsedTable",
    "RawTable",
    "TableFormat",
    "is_frame",
    "known_column",
    "read_file",
    "read_frame",
    "read_table",
    "totals",
]
