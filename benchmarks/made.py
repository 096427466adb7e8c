"""Results with the command that made them."""

import sys
from pathlib import Path

PYTHON = f", Python {sys.version.split()[0]}"


def save(out: Path | None, text: str, where: str = "") -> None:
    """Write a result to `out`, if there is one; `where`: more on the machine, such as PYTHON."""
    if out is not None:
        out.write_text(f"Made by `python {' '.join(sys.argv)}`{where}.\n\n{text.rstrip()}\n")
