"""What one waits for before the first round: python benchmarks/first_call.py [--against
ANOTHER_CHECKOUT]

CPU seconds of a first combination (LLOO on Subsets(20, 3), best arm, Gaussian, mixture) with
nothing compiled; of the same in a fresh process, with it on disk; of a second one that shares its
structure (OFW) in a fresh process; ms per run before its first round; us per round. With --against,
both checkouts take turns, and the best of `--repeats` counts: on a busy machine look at the ratios.
"""

import argparse
import tempfile
from pathlib import Path

from against import checkouts, interleaved, measure, table
from made import PYTHON, save


def once(name: str, checkout: Path, repeat: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as cache:
        first = measure(checkout, Path(cache), "lloo")
        again = measure(checkout, Path(cache), "lloo", runs=200, rounds=20_000)
        second = measure(checkout, Path(cache), "ofw")
        third = measure(checkout, Path(cache), "ofw", runs=200, rounds=20_000)
    return {
        "first combination": first["call"],
        "the same in a fresh process": again["call"],
        "a second one in a fresh process": second["call"],
        "a run before its first round, lloo": again["run"],
        "a run before its first round, ofw": third["run"],
        "round, lloo": again["round"],
        "round, ofw": third["round"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--against",
        type=Path,
        default=None,
        help="another checkout of combgame, such as a git worktree of an older commit",
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, default=None, help="also write the table to this file")
    parser.add_argument(
        "--busy", action="store_true", help="say in the file that the machine had other work to do"
    )
    options = parser.parse_args()
    best = interleaved(checkouts(options.against), options.repeats, once)
    units = {
        "first": ("CPU s", 1.0),
        "the same": ("CPU s", 1.0),
        "a second": ("CPU s", 1.0),
        "a run": ("ms", 1e3),
        "round": ("us", 1e6),
    }
    text = table(best, units)
    print(text)
    busy = (
        " The two cores were busy with other work all the time: look at the ratios."
        if options.busy
        else ""
    )
    save(
        options.out,
        f"CPU time, the best of {options.repeats}; the checkouts took turns.{busy}\n\n{text}",
        PYTHON,
    )


if __name__ == "__main__":
    main()
