"""Whether the SQLite file that is open is still the one that the path leads to; and which files
this process has open.

Who deletes, moves or replaces a file that a process has open leaves that process with a file
without a name, and what it writes there is gone when it ends. The same holds for the -wal beside it
(the last transactions are in there, and nowhere else) and the -shm (its index).
"""

import os
import threading
from pathlib import Path
from weakref import WeakSet

from .files import identity
from .forks import LOCKS

OPENING = threading.RLock()
LOCKS.append(OPENING)
OPEN: WeakSet["SameFile"] = WeakSet()  # the files that this process has open


class SameFile:
    """A file that has just been opened. What SQLite puts beside it is known from the first look
    inside a transaction on.
    """

    def __init__(self, path: str) -> None:
        real = os.path.realpath(path)  # SQLite follows links before it adds its endings
        self.path = path
        self.places = {"": path, "-wal": real + "-wal", "-shm": real + "-shm"}
        self._known = {"": identity(path)}
        with OPENING:
            OPEN.add(self)

    def changed(self) -> str | None:
        """The ending of what is no longer there, or is another file: "" (the file itself), "-wal"
        or "-shm"; None: all is well.
        """
        for tail, place in self.places.items():
            here = identity(place)
            if self._known.get(tail) is None:  # without a journal of that kind there is none
                self._known[tail] = here
            elif here != self._known[tail]:
                return tail
        return None

    def leads_to(self, path: Path) -> bool:
        """Whether a path leads to this file, by whatever name."""
        return self._known[""] == identity(path)

    def close(self) -> None:
        with OPENING:
            OPEN.discard(self)


def read_head(path: Path) -> bytes | None:
    """The first 100 bytes of a file; None if this process has it open, so that it was looked at
    before.

    Whoever closes a file drops all locks that its process has on it, SQLite's too: that is what
    POSIX says.
    """
    with OPENING:
        if any(one.leads_to(path) for one in OPEN):
            return None
        with path.open("rb") as file:
            return file.read(100)
