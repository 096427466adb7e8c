"""Whether numba compiles here, and the versions with which its accelerator is used
(`numba/_private.py`); asked without importing numba.
"""

import importlib.util
import os

from .._messages import Message

TRIED = ("0.63", "0.65", "0.67", "0.68")


def tried(version: str) -> bool:
    """Whether a version of numba is one of those.

    >>> tried("0.68.1"), tried("0.6.0"), tried("0.680.0")
    (True, False, False)
    """
    return ".".join(version.split(".")[:2]) in TRIED


def idle() -> str:
    """Why numba compiles nothing here; "" if it does."""
    if importlib.util.find_spec("numba") is None:
        return "numba is not installed"
    off = os.environ.get("NUMBA_DISABLE_JIT", "0").strip() not in ("", "0")
    return "NUMBA_DISABLE_JIT is set" if off else ""


def unaccelerated(version: str, why: str) -> Message:
    """What is said, once, where it is not used."""
    return Message(
        "no-accelerator",
        "under numba {version} combgame compiles without its accelerator ({why}): results and the "
        "time of a round are the same, but a first call takes up to three times as long",
        remedy="install numba {best}, if that matters",
        version=version,
        why=why,
        best=TRIED[-1],
    )
