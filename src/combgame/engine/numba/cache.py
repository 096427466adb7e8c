"""Compiled functions on disk, one at a time.

Another rule on a structure therefore does not compile the structure again. A function that Python
calls is kept as machine code; with the accelerator, a function that only compiled code calls is
kept as LLVM code, with everything that it calls. The name of its file depends on everything on
which the code depends: the behaviour of the function (`identity.py`), no matter who wrote it, the
types, the options, the versions and the processor. A file is written aside and then renamed, and it
begins with the hash of its contents, so that any number of processes can share a folder. A function
whose file cannot be read is compiled anew.
"""

import contextlib
import functools
import getpass
import hashlib
import inspect
import io
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
from typing import Any, NamedTuple

from numba.core import config, serialize
from numba.core import types as kinds
from numba.core.compiler import CompileResult
from numba.core.registry import cpu_target

from ..._messages import Message
from ._identity import Identity, identity, stripped

types: Any = kinds  # whose stubs lack most of it
KEPT_VERSIONS = 12  # folders of versions (of numba and so on) that are kept: those used last
LARGEST = 512 * 2**20  # bytes of one folder; files used longest ago are removed
PLAIN = (types.Number, types.Boolean, types.NoneType, types.Omitted, types.NumPyRandomGeneratorType)
_ALIVE: list[Any] = []  # machine code holds addresses of these objects without references


def root() -> Path:
    """Return the folder of compiled code.

    It is NUMBA_CACHE_DIR, the package's own __pycache__, or the user's cache. If none of them can
    be written, it is a private temporary folder, and a warning is shown once.
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
    with contextlib.suppress(RuntimeError):  # the home directory is unknown
        places.append(Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()))
    return places


@functools.cache
def _temporary() -> Path:
    """Return a folder that only this user can read and write, because its contents are run."""
    user = os.getuid() if hasattr(os, "getuid") else getpass.getuser()
    folder = Path(tempfile.gettempdir()) / f"combgame-{user}"
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
    if not _private(folder):
        folder = Path(tempfile.mkdtemp(prefix="combgame-"))
    said = Message(
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
    """Return whether a folder is this user's own and nobody else can write it."""
    try:
        here = folder.lstat()
    except OSError:
        return False
    mine = not hasattr(os, "getuid") or here.st_uid == os.getuid()
    return stat.S_ISDIR(here.st_mode) and mine and not here.st_mode & 0o077


@functools.cache
def folder(base: Path, active: bool) -> Path:
    """Return the folder of these versions and this processor; remove those used longest ago."""
    machine = cpu_target.target_context.codegen().magic_tuple()
    packages = tuple(version(name) for name in ("numba", "llvmlite", "numpy", "scipy"))
    versions = (sys.version, *packages)
    text = repr((_way(), versions, machine, active))
    mine = base / hashlib.sha256(text.encode()).hexdigest()[:24]
    with contextlib.suppress(OSError):
        mine.mkdir(exist_ok=True)
        os.utime(mine)
        used = sorted(
            (
                path
                for path in base.iterdir()
                if path.is_dir() and path not in (mine, base / "cuda")
            ),
            key=lambda path: path.stat().st_mtime,
        )
        for old in used[: -KEPT_VERSIONS + 1]:
            shutil.rmtree(old, ignore_errors=True)
    return mine


def _way() -> list[str]:
    """Return the behaviour of the modules that decide how functions are compiled."""
    here = Path(__file__).parent
    return [stripped(path.read_text(encoding="utf-8")) for path in sorted(here.glob("*.py"))]


def spelled(kind: Any, classes: dict[type, None]) -> str | None:
    """Return a text that identifies a type, or None if the type contains something unknown.

    The classes in the type are added to `classes`.
    """
    if isinstance(kind, types.BaseTuple):
        name = type(kind).__name__
        if isinstance(kind, types.BaseNamedTuple):
            whole = kind.instance_class
            classes[whole] = None
            name += f" {whole.__module__}.{whole.__qualname__}"
        inner = [spelled(kernel, classes) for kernel in kind.types]
        return None if None in inner else f"{name}({', '.join(map(str, inner))})"
    if isinstance(kind, PLAIN) or (
        isinstance(kind, types.Array) and isinstance(kind.dtype, types.Number | types.Boolean)
    ):
        return str(kind)
    return None


class File(NamedTuple):
    """The file of a function.

    Attributes
    ----------
    path : Path
        The file.
    classes : tuple of type
        The classes in the function or its arguments. They stand in the file by their numbers,
        because another process has other classes of the same name.
    """

    path: Path
    classes: tuple[type, ...]


def file_of(function: Any, state: Any, active: bool) -> File | None:
    """Return the file of a function for the types and options of a compiler state.

    Return None if the function is not kept. `active` says whether the accelerator is used, which
    keeps functions one by one.
    """
    entry = getattr(function, "kept", None)  # the function of an entry point
    if (entry is None and not active) or state.return_type is not None:
        return None
    if entry is not None:
        return _file(entry, state.args[0], "", active, config.BOUNDSCHECK)
    whole = types.Tuple(state.args)
    return _file(function, whole, state.flags.summary(), active, config.BOUNDSCHECK)


def is_kept(function: Any, kind: Any, active: bool, checks: Any) -> bool:
    """Return whether the entry point of a function is on disk for arguments of a type.

    `checks` is the setting for checks of array bounds.
    """
    file = _file(function, kind, "", active, checks)
    return file is not None and file.path.exists()


def _file(function: Any, kind: Any, options: str, active: bool, checks: Any) -> File | None:
    """Return the file of a function; `options` is "" for an entry point (they never change)."""
    classes: dict[type, None] = {}
    written = spelled(kind, classes)
    known = identity(function, classes) if written is not None else Identity(None, ())
    if known.digest is None:
        return None
    name = hashlib.sha256(repr((known.digest, written, options, checks)).encode()).hexdigest()
    return File(folder(root(), active) / name, known.classes)


class Writer(serialize.NumbaPickler):  # type: ignore[misc]
    """A pickler that writes classes by their numbers."""

    def __init__(self, out: Any, classes: tuple[type, ...]) -> None:
        super().__init__(out)
        self.numbers = {kind: k for k, kind in enumerate(classes)}

    def persistent_id(self, thing: Any) -> int | None:
        """Return the number of a class."""
        if not inspect.isclass(thing):
            return None
        known = thing in self.numbers
        if not known and (thing.__module__ == "__main__" or "<locals>" in thing.__qualname__):
            raise pickle.PicklingError(f"{thing} is not known elsewhere")
        return self.numbers.get(thing)


class Reader(pickle.Unpickler):
    """An unpickler that reads classes by their numbers."""

    def __init__(self, data: bytes, classes: tuple[type, ...]) -> None:
        super().__init__(io.BytesIO(data))
        self.classes = classes

    def persistent_load(self, number: int) -> type:
        """Return the class of a number."""
        return self.classes[number]


def load(file: File, context: Any) -> Any:
    """Return the compiled function in a file, or None if the file cannot be read."""
    try:
        data = file.path.read_bytes()
        if hashlib.sha256(data[32:]).digest() != data[:32]:
            return None
        state = Reader(zlib.decompress(data[32:]), file.classes).load()
        result = CompileResult._rebuild(context, *state)
    except Exception:  # whatever the reason is, the function is compiled anew
        return None
    # the function's environment, and those of the functions that it calls
    _ALIVE.append((state[2], state[-1]))
    with contextlib.suppress(OSError):
        os.utime(file.path)
    return result


def save(file: File, result: Any) -> None:
    """Keep a compiled function if that is possible; a full disk is not an error."""
    library, about = result.library, result.fndesc
    inner = getattr(library, "inner", False)
    # the code holds addresses of this process
    if result.objectmode or result.lifted or library.has_dynamic_globals:
        return
    before = about.typemap, about.calltypes  # these are not written
    with contextlib.suppress(Exception):
        try:
            state = (*result._reduce()[:-1], library.environments()) if inner else result._reduce()
            out = io.BytesIO()
            Writer(out, file.classes).dump(state)
            data = zlib.compress(out.getvalue(), 1)
        finally:
            about.typemap, about.calltypes = before
        _write(file.path, hashlib.sha256(data).digest() + data)
        if not inner:
            _bound(file.path.parent)


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
    """Remove the files used longest ago until the rest is small enough."""
    files = sorted(
        ((path.stat(), path) for path in folder.iterdir()), key=lambda item: -item[0].st_mtime
    )
    total = 0
    for state, path in files:
        total += state.st_size
        if total > largest:
            path.unlink(missing_ok=True)
