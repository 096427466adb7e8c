"""The tests of what is not committed yet, interpreted: python -m tests.changed (`make quick`).

What changes in src/combgame/<folder>/ is tested by tests/unit/<folder>/, by the folders below where
it is named there, and by all of tests/unit where it stands in neither; a test of a unit is its own.
Helpers of tests and pyproject.toml ask for all of tests/unit; pages and benchmarks for nothing.
What compiles is left to `make test`.
"""

import subprocess
import sys
from pathlib import PurePosixPath

from tests.paths import ROOT

UNIT = "tests/unit"
MIRRORS = {
    "engine": ["rules", "learners", "stopping"],
    "lab/server": ["../service"],
    "lab/client": ["../service"],
    "storage": ["../storage"],
}


def changed():
    """Every file that is not as it was committed, those that are new included."""
    said = []
    for words in (["diff", "--name-only", "HEAD"], ["ls-files", "--others", "--exclude-standard"]):
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
        said += done.stdout.splitlines()
    return said


def tests_of(file):
    """Where its tests are: paths from the root."""
    path = PurePosixPath(file)
    if path.is_relative_to("src/combgame"):
        name, wing = path.parts[2], "/".join(path.parts[2:4])
        usual = [name] if (ROOT / UNIT / name).is_dir() else [""]
        return [f"{UNIT}/{folder}" for folder in MIRRORS.get(wing, MIRRORS.get(name, usual))]
    if path.is_relative_to("reproduction"):
        return [f"{UNIT}/reproduction"]
    if path.is_relative_to("tests") and path.name.startswith("test_"):
        return [file] if (ROOT / file).exists() and "engine" not in path.parts else []
    if path.suffix == ".py" and len(path.parts) == 2 and path.parts[0] == "tests":
        return [UNIT]
    return [UNIT] if path.is_relative_to("tests/naive") or file == "pyproject.toml" else []


def chosen(files):
    """The paths for all files, none below another one."""
    found = {(ROOT / path).resolve().relative_to(ROOT) for file in files for path in tests_of(file)}
    return sorted(str(path) for path in found if not found & set(path.parents))


def compiles(file):
    """Whether the tests that compile have to do with it."""
    path = PurePosixPath(file)
    return path.is_relative_to("src/combgame/game") or path.is_relative_to("tests/engine")


def main():
    files = changed()
    paths = chosen(files)
    if any(map(compiles, files)):
        print("The tests of the engine compile, and are not run here: pytest tests/engine")
    if not paths:
        print("Nothing has changed since the last commit that has tests which do not compile.")
        return 0
    print("tests of", *paths)
    words = ["-m", "pytest", "-n", "auto", "--dist", "worksteal", "--interpreted", "-m", "not late"]
    done = subprocess.run([sys.executable, *words, *paths], cwd=ROOT, check=False)
    if done.returncode in (0, 5):  # 5: all of them are late
        print("Before a commit: make check")
        return 0
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
