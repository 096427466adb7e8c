"""What one waits for before the first round: python benchmarks/first_call.py [--against
ANOTHER_CHECKOUT]

CPU seconds of a first call with nothing compiled, of each of three combinations by itself (frank-
wolfe and LLOO on Subsets(20, 3), best arm; frank-wolfe on paths of a grid of 24 edges, best path;
Gaussian, mixture); of the same in a fresh process, with it on disk; of LLOO after frank-wolfe, a
second rule on a known structure; without the accelerator of compiling; ms per run before its first
round; us per round. With --against, both checkouts take turns, and the best of `--repeats` counts:
on a busy machine look at the ratios.
"""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from against import checkouts, interleaved, measure, table
from made import PYTHON, save


def once(name: str, checkout: Path, repeat: int) -> dict[str, float]:
    found = {}

    def call(what: str, cache: str, rule: str, **more: Any) -> dict[str, float]:
        made = measure(checkout, Path(cache), rule, **more)
        found[what] = made["call"]
        return made

    with TemporaryDirectory() as cache:
        call("first call, frank-wolfe", cache, "frank-wolfe")
        one = call("again in a fresh process", cache, "frank-wolfe", runs=200, rounds=20_000)
        call("second rule on a known structure, lloo", cache, "lloo")
        two = measure(checkout, Path(cache), "lloo", rounds=20_000)
    with TemporaryDirectory() as cache:
        call("first call, lloo", cache, "lloo")
    with TemporaryDirectory() as cache:
        call("first call, grid", cache, "frank-wolfe", grid=True)
        three = measure(checkout, Path(cache), "frank-wolfe", rounds=5_000, grid=True)
    with TemporaryDirectory() as cache:
        call("first call, plain, frank-wolfe", cache, "frank-wolfe", plain=True)
        four = measure(checkout, Path(cache), "frank-wolfe", rounds=20_000, plain=True)
    return found | {
        "run before its first round": one["run"],
        "round, frank-wolfe": one["round"],
        "round, lloo": two["round"],
        "round, grid": three["round"],
        "round, plain, frank-wolfe": four["round"],
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
        "again": ("CPU s", 1.0),
        "second": ("CPU s", 1.0),
        "run": ("ms", 1e3),
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
