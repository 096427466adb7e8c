"""Results with the command, and the commit, that made them."""

import subprocess
import sys
from pathlib import Path

PYTHON = f", Python {sys.version.split()[0]}"


def save(out: Path | None, text: str, where: str = "") -> None:
    """Write a result to `out`, if there is one; `where`: more on the machine, such as PYTHON."""
    if out is not None:
        made = f"Made by `python {' '.join(sys.argv)}`{_commit()}{where}."
        out.write_text(f"{made}\n\n{text.rstrip()}\n")


def _commit() -> str:
    """The commit whose files these are; nothing where git does not say."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    here = Path(__file__).parent
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False)
    return f", commit {done.stdout.strip()}" if done.returncode == 0 else ""
