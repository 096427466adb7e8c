"""Which mutant is best? Four fit on a plate. Only the command line and CSV files, as in a lab: ask
for plates, fill in the table, tell it.

A robot stands in for the lab here. Now and then a well stays dry, and its cell in the table is left
blank.
"""

import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

PROBLEM = """
names = ["wt", "A12G", "K7R", "L3P", "T9S", "V4I", "D2N", "G8A"]
[actions]
kind = "subsets"
arms = 8
size = 4
[answers]
kind = "arms"
[rewards]
kind = "gaussian"
sigma = 0.1
"""
TRUTH = {
    "wt": 0.50,
    "A12G": 0.95,
    "K7R": 0.60,
    "L3P": 0.10,
    "T9S": 0.55,
    "V4I": 0.70,
    "D2N": 0.30,
    "G8A": 0.40,
}
CERTIFIED = 3  # what `ask` leaves with when there is nothing left to do


def combgame(*words: str, storage: str) -> tuple[int, str]:
    command = [
        sys.executable,
        "-c",
        "from combgame.cli.app import main; main()",
        "study",
        *words,
        "--storage",
        storage,
        "--name",
        "plates",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 2:
        sys.exit(done.stderr)
    return done.returncode, done.stdout


def robot(table: Path, rng: np.random.Generator) -> None:
    """Fill in the column of values."""
    with table.open(newline="") as file:
        lines = list(csv.DictReader(file))
    for line in lines:
        line["value"] = (
            "" if rng.random() < 0.05 else f"{TRUTH[line['arm']] + 0.1 * rng.standard_normal():.4f}"
        )
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)


def main() -> None:
    rng = np.random.default_rng(7)
    with tempfile.TemporaryDirectory() as folder:
        storage, todo, problem = (
            f"sqlite:///{folder}/lab.db",
            Path(folder) / "todo.csv",
            Path(folder) / "screen.toml",
        )
        problem.write_text(PROBLEM)
        combgame("create", str(problem), "--delta", "0.05", storage=storage)
        while combgame("ask", "-n", "10", "--out", str(todo), storage=storage)[0] == 0:
            robot(todo, rng)
            print(combgame("tell", str(todo), storage=storage)[1].strip())
        code, told = combgame("status", "--json", storage=storage)
        assert code == CERTIFIED
        print(json.loads(told)["decision"]["headline"]["text"])


if __name__ == "__main__":
    main()
