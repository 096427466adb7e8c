"""What the tests cost and what they reach: python benchmarks/suite.py [--against ANOTHER_CHECKOUT]

Items and lines of the tests, processor seconds of the lanes `make test` and `make test-all`, and
the lines and the branches of combgame that they reach, subprocesses left out. With --against, the
same of another checkout, and what is reached there and not here, in the files that are alike.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from against import checkouts
from made import PYTHON, save

LANES = {"make test": "not late", "make test-all": "late"}
Reached = dict[str, set[tuple[int, ...]]]


def pytest(checkout: Path, *words: str) -> str:
    environment = {**os.environ, "PYTHONPATH": f"{checkout / 'src'}{os.pathsep}{checkout}"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.strip().splitlines()
    if done.returncode not in (0, 5):  # 5: nothing was collected
        print(f"pytest ends with {done.returncode} in {checkout}", file=sys.stderr)
    print(*lines[-8:], sep="\n", file=sys.stderr, flush=True)
    return done.stdout


def size(checkout: Path) -> dict[str, int]:
    """How many items and lines; doctests of the package are items."""
    counts = pytest(checkout, "--collect-only", "-q", "tests", "src").splitlines()
    items = sum(int(n) for _, colon, n in (line.rpartition(": ") for line in counts) if colon)
    files = (checkout / "tests").rglob("*.py")
    return {"items": items, "lines": sum(len(file.read_text().splitlines()) for file in files)}


def spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def reached(checkout: Path, lane: str, folder: Path) -> tuple[float, dict[str, Any]]:
    """Processor seconds of a lane, and what coverage.py says of it."""
    out = folder / f"{checkout.name}-{lane.replace(' ', '-')}.json"
    began = spent()
    words = ["tests", "src", "-n", "2", "--dist", "worksteal", "-m", LANES[lane], "--cov-branch"]
    cover = ["--cov", str(checkout / "src" / "combgame"), f"--cov-report=json:{out}"]
    pytest(checkout, *words, *cover)
    return spent() - began, json.loads(out.read_text())


def share(some: int, every: int) -> str:
    return f"{some:,} of {every:,} ({100.0 * some / every:.1f} %)"


def parts(found: dict[str, Any]) -> Reached:
    """The lines and the branches of each file: (line,) and (from, to)."""
    return {
        name.partition("src/combgame/")[2]: {(line,) for line in file["executed_lines"]}
        | {tuple(branch) for branch in file["executed_branches"]}
        for name, file in found["files"].items()
    }


def union(many: list[Reached]) -> Reached:
    return {file: set().union(*(one.get(file, set()) for one in many)) for file in many[0]}


def lost(before: Reached, now: Reached, places: list[Path]) -> list[str]:
    """What the tests of before reach and those of now do not, where the file is the same."""
    found = []
    for file in sorted(before.keys() & now.keys()):
        old, new = [(place / "src" / "combgame" / file).read_bytes() for place in places]
        if old == new:
            found += [
                f"{file}: {'->'.join(map(str, part))}" for part in sorted(before[file] - now[file])
            ]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, default=None, help="another checkout of combgame")
    parser.add_argument("--lane", choices=list(LANES), action="append", help="this lane alone")
    parser.add_argument("--keep", type=Path, default=None, help="keep coverage's files here")
    parser.add_argument("--out", type=Path, default=None, help="also write the table to this file")
    options = parser.parse_args()
    rows: dict[str, dict[str, str]] = {}
    seen: dict[str, Reached] = {}
    places = checkouts(options.against)
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        for name, place in places.items():
            row = {key: f"{value:,}" for key, value in size(place).items()}
            covered = []
            for lane in options.lane or LANES:
                seconds, found = reached(place, lane, folder)
                covered.append(parts(found))
                totals = found["totals"]
                row[f"{lane}, CPU s under coverage.py"] = f"{seconds:.0f}"
                row[f"{lane}, lines reached"] = share(
                    totals["covered_lines"], totals["num_statements"]
                )
                row[f"{lane}, branches reached"] = share(
                    totals["covered_branches"], totals["num_branches"]
                )
            rows[name], seen[name] = row, union(covered)
    text = [f"| | {' | '.join(rows)} |", "| --- |" + " ---: |" * len(rows)]
    text += [
        f"| {what} | {' | '.join(rows[name][what] for name in rows)} |" for what in rows["now"]
    ]
    if options.against:
        gone = lost(seen["before"], seen["now"], list(places.values()))
        text += ["", f"Reached before and not now, in files that are alike: {len(gone)}", *gone]
    print("\n".join(text))
    save(options.out, "\n".join(text), PYTHON)


if __name__ == "__main__":
    main()
