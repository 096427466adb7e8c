"""Whether the tests notice a slip: python benchmarks/mutants.py [--against ANOTHER_CHECKOUT]

Small slips, drawn with a seed, are put one at a time into the sources that are named (`<` for
`<=`, plus for minus, `and` for `or`, a constant one higher, a condition turned round), and their
tests are run, interpreted, until one fails. What no test notices is put before the tests of another
checkout, if there is --against: do they notice it?
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from made import PYTHON, save

HERE = Path(__file__).parents[1]
COMPARED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "is": "is not"}
OTHER = {"+": "-", "-": "+", "*": "/", "/": "*", "and": "or", "or": "and"} | COMPARED
WRITTEN: dict[type[ast.AST], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Is: "is", ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.And: "and",
    ast.Or: "or",
}  # fmt: skip


@dataclass(frozen=True)
class Slip:
    """`old` becomes `new` in columns `begin` to `end` of a line (counted from 0, in bytes)."""

    file: str
    line: int
    begin: int
    end: int
    old: str
    new: str

    def put(self, root: Path) -> None:
        path = root / self.file
        lines = path.read_bytes().splitlines(keepends=True)
        row = lines[self.line]
        lines[self.line] = row[: self.begin] + self.new.encode() + row[self.end :]
        path.write_bytes(b"".join(lines))

    def __str__(self) -> str:
        return f"{self.file}:{self.line + 1}: `{self.old}` -> `{self.new}`"


def slips(root: Path, file: str) -> Iterator[Slip]:
    """Every slip of a file; annotations and docstrings are left alone."""
    source = (root / file).read_bytes()
    rows = source.splitlines()
    tree = ast.parse(source)
    bodies = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    inside = {id(node) for body in bodies for part in body.body for node in ast.walk(part)}
    for node in ast.walk(tree):
        if id(node) not in inside:
            continue
        between: list[tuple[ast.expr, ast.AST, ast.expr]] = []
        if isinstance(node, ast.BinOp):
            between = [(node.left, node.op, node.right)]
        elif isinstance(node, ast.BoolOp):
            pairs = zip(node.values, node.values[1:], strict=False)
            between = [(left, node.op, right) for left, right in pairs]
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            between = [(node.left, node.ops[0], node.comparators[0])]
        elif isinstance(node, ast.Constant) and type(node.value) is int and abs(node.value) < 100:
            new = str(node.value + 1)
            at = (node.lineno - 1, node.col_offset, node.end_col_offset or 0)
            yield Slip(file, *at, str(node.value), new)
        elif isinstance(node, ast.If) and node.test.lineno == node.test.end_lineno:
            test = node.test
            at = (test.lineno - 1, test.col_offset, test.end_col_offset or 0)
            text = rows[at[0]][at[1] : at[2]].decode()
            yield Slip(file, *at, text, f"not ({text})")
        for left, op, right in between:
            sign = WRITTEN.get(type(op))
            if sign is None or left.end_lineno != right.lineno:
                continue
            row, start = rows[right.lineno - 1], left.end_col_offset or 0
            begin = row.find(sign.encode(), start, right.col_offset)
            if begin >= 0:
                yield Slip(file, right.lineno - 1, begin, begin + len(sign), sign, OTHER[sign])


def noticed(slip: Slip | None, checkout: Path, tests: list[str], seconds: float) -> bool | None:
    """Whether a test fails; None: they did not end in time."""
    with TemporaryDirectory() as scratch:
        place = Path(scratch)
        shutil.copytree(HERE / "src", place / "src")
        if slip is not None:
            slip.put(place)
        path = f"{place / 'src'}{os.pathsep}{checkout}"
        words = [
            "-x",
            "-q",
            "--interpreted",
            "-m",
            "not late",
            "-p",
            "no:cacheprovider",
            "--no-header",
        ]
        try:
            done = subprocess.run(
                [sys.executable, "-m", "pytest", *words, *tests],
                cwd=checkout,
                env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
                capture_output=True,
                text=True,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None
    if done.returncode not in (0, 1):  # a slip may make a module that cannot be imported
        print(done.stdout[-2000:], done.stderr[-2000:], file=sys.stderr)
    return done.returncode != 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--source", action="append", required=True, help="a file or a folder of src"
    )
    parser.add_argument("--tests", action="append", required=True, help="what is run")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--against", type=Path, default=None, help="another checkout of combgame")
    parser.add_argument("--out", type=Path, default=None, help="also write the table to this file")
    options = parser.parse_args()
    named = [HERE / source for source in options.source]
    files = sorted(
        {file for path in named for file in ([path] if path.is_file() else path.rglob("*.py"))}
    )
    every = [slip for file in files for slip in slips(HERE, str(file.relative_to(HERE)))]
    drawn = random.Random(options.seed).sample(every, min(options.count, len(every)))

    def passed(checkout: Path, some: list[Slip]) -> list[Slip]:
        """Those that its tests do not notice."""
        if noticed(None, checkout, options.tests, options.seconds) is not False:
            raise SystemExit(f"{checkout.name}: the tests fail, or take too long, without a slip")
        with ThreadPoolExecutor(options.jobs) as pool:
            found = pool.map(
                lambda one: noticed(one, checkout, options.tests, options.seconds), some
            )
            kept = []
            for slip, seen in zip(some, found, strict=True):
                if seen is None:
                    endless.add(slip)
                elif not seen:
                    kept.append(slip)
                    print(f"{checkout.name}: not noticed: {slip}", file=sys.stderr, flush=True)
        return kept

    endless: set[Slip] = set()
    kept = passed(HERE, drawn)
    text = [
        f"Of {len(every):,} slips {len(drawn)} were drawn. The tests notice "
        f"{len(drawn) - len(kept) - len(endless)} of them; with {len(endless)} they did not end in "
        f"{options.seconds:g} seconds."
    ]
    if options.against:
        still = passed(options.against.resolve(), kept)
        text[0] += f" The tests of before notice {len(kept) - len(still)} of the other {len(kept)}."
    text.append("")
    text += [
        f"- {slip}{'' if options.against is None or slip in still else ' `before`'}"
        for slip in kept
    ]
    print("\n".join(text))
    save(options.out, "\n".join(text), PYTHON)


if __name__ == "__main__":
    main()
