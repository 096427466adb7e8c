"""What is compiled is kept on disk, one function at a time, so that another rule on a structure
does not compile the structure again.

A function that Python calls is kept as machine code; one that only compiled code calls as LLVM
code, with all that it calls. Its file is named by everything that it depends on: the sources in the
folders that are compiled, the versions, the processor, the function, the types and the options. A
file is written aside and then renamed, and begins with the hash of the rest, so that any number of
processes may share a folder; what cannot be read is compiled anew. Only functions of this package
are kept, for arguments whose classes are of this package: the key knows nothing of other sources.
"""

import contextlib
import functools
import getpass
import hashlib
import os
import pickle
import shutil
import stat
import sys
import tempfile
import warnings
import zlib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core import config, serialize
from numba.core import types as kinds
from numba.core.compiler import CompileResult
from numba.core.registry import cpu_target

from ...sentences import Sentence
from ..sources import digest
from .lazy import LazyLibrary

types: Any = kinds  # whose stubs lack most of it
# where marked functions and parts live
COMPILED = ("game", "rewards", "structures", "learners", "stopping", "rules")
KEPT_SOURCES = 12  # how many versions of the sources have a folder: those used last
LARGEST = 512 * 2**20  # bytes of one of them; beyond, what was used longest ago goes
PLAIN = (types.Number, types.Boolean, types.NoneType, types.Omitted, types.NumPyRandomGeneratorType)
_ALIVE: list[Any] = []  # machine code has the address of these, which counts for nothing


def root() -> Path:
    """NUMBA_CACHE_DIR, the package's own __pycache__, or the user's cache; if none of them can be
    written, a private temporary folder, which is said once.
    """
    for folder in [config.CACHE_DIR] if config.CACHE_DIR else _usual():
        with contextlib.suppress(OSError):
            mine = Path(folder) / "combgame"
            mine.mkdir(parents=True, exist_ok=True)
            if os.access(mine, os.W_OK):
                return mine
    return _temporary()


def _usual() -> list[Path]:
    places = [Path(__file__).parent / "__pycache__"]
    with contextlib.suppress(RuntimeError):  # nobody's home is known
        places.append(Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()))
    return places


@functools.cache
def _temporary() -> Path:
    """A folder that only this user can read and write: what is in it is run."""
    user = os.getuid() if hasattr(os, "getuid") else getpass.getuser()
    folder = Path(tempfile.gettempdir()) / f"combgame-{user}"
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
    if not _private(folder):
        folder = Path(tempfile.mkdtemp(prefix="combgame-"))
    said = Sentence(
        "cache-elsewhere",
        "no folder for what is compiled can be written, so it is kept in {folder}, which may be "
        "emptied at any time",
        remedy="set {variable} to a folder that stays",
        folder=str(folder),
        variable="NUMBA_CACHE_DIR",
    )
    warnings.warn(str(said), stacklevel=2)
    return folder


def _private(folder: Path) -> bool:
    """Whether it is a folder of this user's own, which nobody else can write."""
    try:
        here = folder.lstat()
    except OSError:
        return False
    mine = not hasattr(os, "getuid") or here.st_uid == os.getuid()
    return stat.S_ISDIR(here.st_mode) and mine and not here.st_mode & 0o077


@functools.cache
def _folder(base: Path, plain: bool) -> Path:
    """That of these sources, versions and processor; those of older sources are removed."""
    machine = cpu_target.target_context.codegen().magic_tuple()
    versions = (sys.version, numba.__version__, version("llvmlite"), np.__version__)
    text = repr((digest(*COMPILED), versions, machine, plain))
    mine = base / hashlib.sha256(text.encode()).hexdigest()[:24]
    with contextlib.suppress(OSError):
        mine.mkdir(exist_ok=True)
        os.utime(mine)
        used = sorted(
            (path for path in base.iterdir() if path.is_dir() and path != mine),
            key=lambda path: path.stat().st_mtime,
        )
        for old in used[: -KEPT_SOURCES + 1]:
            shutil.rmtree(old, ignore_errors=True)
    return mine


def spelled(kind: Any) -> str | None:
    """A type in letters that tell it from all others; None: it has something in it that is not this
    package's, or unknown.
    """
    if isinstance(kind, types.BaseTuple):
        inner = [spelled(part) for part in kind.types]
        if None in inner:
            return None
        name = type(kind).__name__
        if isinstance(kind, types.BaseNamedTuple):
            if not ours(kind.instance_class.__module__):
                return None
            name += f" {kind.instance_class.__module__}.{kind.instance_class.__qualname__}"
        return f"{name}({', '.join(map(str, inner))})"
    if isinstance(kind, PLAIN) or (
        isinstance(kind, types.Array) and isinstance(kind.dtype, types.Number | types.Boolean)
    ):
        return str(kind)
    return None


def ours(module: str) -> bool:
    """Whether the sources of a module are part of the key."""
    return module.split(".")[:1] == ["combgame"] and module.split(".")[1:2] in [
        [folder] for folder in COMPILED
    ]


def file_of(function: Any, state: Any, plain: bool) -> Path | None:
    """Where a function is kept for the types and options of `state`; None: it is not."""
    kept = getattr(function, "kept", function)  # an entry point says whose it is
    if (
        kept is None
        or kept.__closure__
        or not ours(kept.__module__)
        or (plain and kept is function)
    ):
        return None
    written = spelled(types.Tuple(state.args))
    if written is None or state.return_type is not None:
        return None
    base = root()
    name = (kept.__module__, kept.__qualname__, kept.__code__.co_firstlineno)
    what = (name, kept is function, written, state.flags.summary(), config.BOUNDSCHECK)
    return _folder(base, plain) / hashlib.sha256(repr(what).encode()).hexdigest()


def load(file: Path, context: Any) -> Any:
    """The compiled function in a file; None: there is none that can be read."""
    try:
        data = file.read_bytes()
        if hashlib.sha256(data[32:]).digest() != data[:32]:
            return None
        state = pickle.loads(zlib.decompress(data[32:]))
        result = CompileResult._rebuild(context, *state)
    except Exception:  # whatever is wrong with it: it is compiled anew, and written over
        return None
    _ALIVE.append((state[2], state[-1]))  # its environment, and those of all that it calls
    with contextlib.suppress(OSError):
        os.utime(file)
    return result


def save(file: Path, result: Any) -> None:
    """Keep a compiled function, if it can be; a full disk is no reason to stop."""
    library, about = result.library, result.fndesc
    inner = isinstance(library, LazyLibrary) and library.inner
    # addresses of this process
    if result.objectmode or result.lifted or library.has_dynamic_globals:
        return
    before = about.typemap, about.calltypes  # not to be kept
    with contextlib.suppress(Exception):
        try:
            state = (*result._reduce()[:-1], library.environments()) if inner else result._reduce()
            data = zlib.compress(serialize.dumps(state), 1)
        finally:
            about.typemap, about.calltypes = before
        _write(file, hashlib.sha256(data).digest() + data)
        if not inner:
            _bound(file.parent)


def _write(file: Path, data: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent, prefix="new-")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _bound(folder: Path, largest: int = LARGEST) -> None:
    """Remove what was used longest ago, until the rest is small enough."""
    files = sorted(
        ((path.stat(), path) for path in folder.iterdir()), key=lambda item: -item[0].st_mtime
    )
    total = 0
    for state, path in files:
        total += state.st_size
        if total > largest:
            path.unlink(missing_ok=True)
