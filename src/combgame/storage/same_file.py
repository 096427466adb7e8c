"""Whether the SQLite file that is open is still the one that the path leads to.

Who deletes, moves or replaces a file that a process has open leaves that process with a file
without a name, and what it writes there is gone when it ends. The same holds for the -wal beside it
(the last transactions are in there, and nowhere else) and the -shm (its index).
"""

import os

from ..errors import StoreError

Identity = tuple[int, int]


class SameFile:
    """A file that has just been opened. What SQLite puts beside it is known from the first look
    inside a transaction on.
    """

    def __init__(self, path: str) -> None:
        beside = os.path.realpath(path)  # SQLite follows links before it adds its endings
        self.path = path
        self._places = {"": path, "-wal": beside + "-wal", "-shm": beside + "-shm"}
        self._known = {"": identity(path)}

    def changed(self) -> str | None:
        """The ending of what is no longer there, or is another file: "" (the file itself), "-wal"
        or "-shm"; None: all is well.
        """
        for tail, place in self._places.items():
            found = identity(place)
            if self._known.get(tail) is None:  # without a journal of that kind there is none
                self._known[tail] = found
            elif found != self._known[tail]:
                return tail
        return None


def identity(path: str) -> Identity | None:
    try:
        found = os.stat(path)  # noqa: PTH116  (a Path would cost more than the look)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def sentence(shown: str, tail: str, stored: bool) -> StoreError:
    """stored: it was found out after the transaction had ended."""
    what = "what was given just now counts as not stored" if stored else "nothing was stored"
    if tail:
        return StoreError(
            f"{shown}{tail} was deleted or replaced while {shown} was in use, so {what}; it "
            "belongs to the file as long as anybody has it "
            "open. Try again: the file is opened anew, and if something is missing there, that "
            "is said."
        )
    return StoreError(
        f"{shown} is no longer the file that is open here: it was deleted, moved or replaced, so "
        f"{what}; put it back, or open the study "
        "again to go on with what is there now. Until then, copy() saves what this process still "
        "has."
    )
