"""Tables as people have them, text or Excel or a data frame, read to values by round and arm."""

from .files import read_file
from .frames import is_frame, read_frame
from .grid import Form, Grid
from .reading import COLUMNS, LETTERS, MARK, Sheet, known_column, read_table
from .totals import totals

__all__ = [
    "COLUMNS",
    "LETTERS",
    "MARK",
    "Form",
    "Grid",
    "Sheet",
    "is_frame",
    "known_column",
    "read_file",
    "read_frame",
    "read_table",
    "totals",
]
