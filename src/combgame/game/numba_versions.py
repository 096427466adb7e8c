"""The versions of numba under which this package compiles in its own, faster way."""

from ..sentences import Sentence

TRIED = ("0.68",)  # whose private parts are as `numba/borrow.py` and `numba/lazy.py` need them


def tried(version: str) -> bool:
    """Whether a version of numba is one of those.

    >>> tried("0.68.1"), tried("0.6.0"), tried("0.680.0")
    (True, False, False)
    """
    return ".".join(version.split(".")[:2]) in TRIED


def untried(version: str) -> Sentence:
    """What is said, once, where it is not."""
    return Sentence(
        "numba-untried",
        "under numba {version} combgame compiles in numba's own way: results are the same, but a "
        "first call takes about 3 times as long, and a round 7 to 20 times",
        remedy="install numba {best}, for which combgame has a faster way, if rounds should be "
        "fast",
        version=version,
        best=TRIED[-1],
    )
