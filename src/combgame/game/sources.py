"""Which sources this process runs: what is compiled and what is stored depends on them."""

import functools
import hashlib
import pathlib


@functools.cache
def digest(without: frozenset[str] = frozenset()) -> str:
    """Hash of the package's sources, but for some files and folders at its top."""
    root, found = pathlib.Path(__file__).parents[1], hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        if path.relative_to(root).parts[0] not in without:
            found.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return found.hexdigest()
