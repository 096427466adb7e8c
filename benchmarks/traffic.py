"""How much memory a round touches: python benchmarks/traffic.py [--rules ...] [--arms 20]

A round on a card waits for memory (docs/cuda.md), and this counts what it asks for, without a card:
rounds 801 to 820 of a run, k = 3 of d arms, are interpreted with arrays that count. loads, stores:
accesses to an element, per round. words: different elements that these rounds touch, each eight
bytes, those that all runs share left out; times the runs that play at a time, that is what should
fit into a card's caches. most: the arrays asked most often.
"""

import argparse
import math
from bisect import bisect_right
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from made import save

import combgame as cg
from combgame._display.text import markdown
from combgame.engine.cuda._memory import fixed_in
from combgame.engine.round import step
from combgame.research.instances.alt2021 import matroid_means
from combgame.simulation.runner import Runner, RunSpec

HEAD = ["d", "rule", "threshold", "loads", "stores", "words", "most (accesses a round)"]
BEFORE, COUNTED = 800, 20
LOADS, STORES = list[int](), list[int]()  # addresses


class Watched(np.ndarray):  # type: ignore[type-arg]
    """An array that notes which of its elements are read and written."""

    def _at(self, index: Any) -> int:
        place = index if isinstance(index, tuple) else (index,)
        steps = sum(i * step for i, step in zip(place, self.strides, strict=True))
        return int(self.__array_interface__["data"][0] + steps)

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        if not isinstance(found, np.ndarray):
            LOADS.append(self._at(index))
        return found

    def __setitem__(self, index: Any, value: Any) -> None:
        if not isinstance(super().__getitem__(index), np.ndarray):
            STORES.append(self._at(index))
        super().__setitem__(index, value)


def watched(part: Any, name: str, known: dict[int, str]) -> Any:
    """A part with watched arrays; known: their addresses and names."""
    if isinstance(part, np.ndarray):
        known[part.ctypes.data] = name
        return part.view(Watched)
    if isinstance(part, tuple) and hasattr(part, "_fields"):
        inner = zip(part._fields, part, strict=True)
        return type(part)(*(watched(x, f"{name}.{field}", known) for field, x in inner))
    return part


def shared(part: Any) -> set[int]:
    """The addresses of arrays that nobody writes."""
    fixed, found = set(fixed_in(part)), set[int]()

    def look(x: Any) -> None:
        if isinstance(x, np.ndarray) and id(x) in fixed:
            found.add(x.ctypes.data)
        elif isinstance(x, tuple) and hasattr(x, "_fields"):
            for one in x:
                look(one)

    look(part)
    return found


def counted(d: int, rule: str, threshold: str) -> list[str]:
    problem = cg.Problem(cg.Subsets(d, 3), cg.Arms(d), cg.Gaussian(0.1))
    deltas = 1e-200  # nothing stops
    runner = Runner(
        RunSpec(problem, matroid_means(d), rule, deltas, threshold, 0, 10**6, "compiled")
    )
    run = runner.begin(0)
    run.advance(BEFORE)
    parts = (run.kernel, run.rule, run.stats, run.state, run.stopping_times, run.recommended)
    names = ("problem", "rule", "stats", "state", "stops", "winners")
    known, common = dict[int, str](), set[int]().union(*map(shared, parts[:4]))
    kernel, chosen, stats, state, stops, winners = (
        watched(part, name, known) for part, name in zip(parts, names, strict=True)
    )
    LOADS.clear(), STORES.clear()
    for _ in range(COUNTED):
        step(kernel, chosen, run.start, run.means, run.rng, 10**6, stats, state, stops, winners)
    starts = sorted(known)

    def array(address: int) -> int:
        return starts[bisect_right(starts, address) - 1]

    asked = Counter(known[array(x)] for x in LOADS + STORES)
    words = {x for x in LOADS + STORES if array(x) not in common}
    most = ", ".join(f"{name} {math.ceil(n / COUNTED)}" for name, n in asked.most_common(6))
    rates = (f"{len(x) / COUNTED:,.0f}" for x in (LOADS, STORES))
    return [f"{d}", rule, threshold, *rates, f"{len(words):,}", most]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arms", type=int, nargs="+", default=[20, 50])
    rules = ["frank-wolfe", "top-two", "uniform", "clucb", "ofw", "lloo", "product-adahedge"]
    parser.add_argument("--rules", nargs="+", default=rules)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rows = [counted(d, rule, "stylised") for d in given.arms for rule in given.rules]
    rows += [counted(d, "frank-wolfe", "mixture") for d in given.arms]
    text = markdown(HEAD, rows, left=3)
    print(text)
    save(given.out, text)


if __name__ == "__main__":
    main()
