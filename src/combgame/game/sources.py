"""Which sources this process runs: what is compiled and what is stored depends on them."""

import functools
import hashlib
import pathlib


@functools.cache
def digest(*folders: str) -> str:
    """Hash of the package's sources; of some of its folders only."""
    root, seal = pathlib.Path(__file__).parents[1], hashlib.sha256()
    for path in sorted(
        path for folder in folders or ("",) for path in (root / folder).rglob("*.py")
    ):
        seal.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return seal.hexdigest()
