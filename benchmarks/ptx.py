"""What can be compiled for an NVIDIA card, without one: python benchmarks/ptx.py [--only TEXT ...]
[--fast] [--out FILE]

Every rule on every structure, and every kind of rewards and threshold on every structure with
frank-wolfe, for sm_90 (H100, H200). --only: cells whose names have one of these texts; --fast:
without optimising, and so without registers, for errors alone. It needs combgame[cuda].
"""

import argparse
import re
import time
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from made import save

import combgame as cg
from combgame._display.text import markdown
from combgame.engine import cuda
from combgame.engine.cuda._compile import cuda as numba_cuda
from combgame.engine.cuda._compile import plain_addresses, quiet
from combgame.simulation import cuda as card
from combgame.simulation.runner import Runner, RunSpec

HEAD = ["cell", "bytes a run", "PTX kB", "registers", "stack", "local", "seconds"]
ARCH = (9, 0)
MEANS = [0.52, 0.31, 0.77, 0.12, 0.64, 0.41, 0.05]
EDGES = [("s", "a"), ("s", "b"), ("a", "b"), ("a", "t"), ("b", "t"), ("s", "t"), ("a", "t")]
LINKS = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (2, 4), (3, 4)]
STRUCTURES = {
    "arms": cg.Arms(7),
    "subsets": cg.Subsets(7, 3),
    "partition": cg.Partition([[0, 1, 2], [3, 4, 5, 6]], [1, 2]),
    "paths": cg.Paths(EDGES, "s", "t"),
    "trees": cg.SpanningTrees(LINKS),
    "matchings": cg.Matchings(2, 3),
    "almost all": cg.AlmostAllSets(7, [2, 5]),
    "listed": cg.Listed([(0, 1), (2, 3, 4), (1, 2, 5), (0, 6), (3, 5, 6), (4, 6)], 7),
}


@dataclass(frozen=True, eq=False, repr=False)
class Foreign(cg.TopTwo):
    """Ours, but of a module that is not: it is watched."""


RULES = {
    **{
        name: name
        for name in (
            "frank-wolfe",
            "uniform",
            "top-two",
            "clucb",
            "ofw",
            "lloo",
            "product-adahedge",
            "hedge",
            "adahedge",
        )
    },
    "gcb-pe": cg.GCBPE(0.0325),
    "watched": Foreign(),
}
REWARDS = {
    "gaussian": (cg.Gaussian(0.1), None, ("mixture", "proved")),
    "boxed": (cg.Gaussian(0.1), (0.0, 0.8), ("stylised", "mixture")),
    "unknown": (
        cg.Gaussian(simulation_sigma=0.1, shared_sigma=False),
        None,
        ("mixture", "stylised"),
    ),
    "one sigma": (cg.Gaussian(simulation_sigma=0.1), None, ("mixture",)),
    "bernoulli": (cg.Bernoulli(), None, ("stylised", "mixture", "proved")),
    "bounded": (cg.Bounded(0.0, 1.0), None, ("mixture", "proved")),
}


def cells():
    """(name, problem, rule, threshold)."""
    for shape, actions in STRUCTURES.items():
        problem = cg.Problem(actions, None, cg.Gaussian(0.1))
        for name, rule in RULES.items():
            threshold = "proved" if name in ("gcb-pe", "clucb") else "stylised"
            yield f"{shape}, gaussian, {threshold}, {name}", problem, rule, threshold
        for kind, (rewards, bounds, thresholds) in REWARDS.items():
            problem = cg.Problem(actions, None, rewards, bounds=bounds)
            for threshold in thresholds:
                yield (
                    f"{shape}, {kind}, {threshold}, frank-wolfe",
                    problem,
                    "frank-wolfe",
                    threshold,
                )


def as_if_there_were_a_card() -> None:
    """An H200's memory and multiprocessors."""
    from numba.cuda import dispatcher

    cuda.memory, cuda._room, cuda.name = lambda: 140 << 30, lambda: 512 * 132, lambda: "none"
    card.card, card.CudaSimulation._warm = lambda: cuda, lambda self: None
    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=ARCH)


def ptx(runner: Runner, optimised: bool) -> tuple[int, str]:
    """Bytes of a run, and the kernel."""
    from numba import types

    def array(kind, n):
        return types.Array(kind, n, "C")

    number, real, byte = types.int64, types.float64, types.uint8
    slots = (array(real, 1), array(number, 1))
    begin = (array(real, 2), array(number, 2), *slots)
    start = (array(number, 1), array(number, 3), array(number, 2))
    out = (array(number, 2), array(byte, 3), array(byte, 2), array(real, 1), *[slots[1]] * 2)
    takes = (slots[1], *[number] * 6, *slots, *begin, *start, *out)
    player = card.CudaSimulation(runner, 1)._player
    with plain_addresses(), quiet():
        text, _ = numba_cuda.compile_ptx(
            player._kernel.py_func, types.void(*takes), cc=ARCH, opt=optimised
        )
    return player.plan.bytes, text


def linked(text: str) -> list[str]:
    """Registers, bytes of stack and of local memory of a thread."""
    from cuda.bindings import nvjitlink

    link, data = nvjitlink.create(2, ["-arch=sm_90", "-verbose"]), text.encode()
    nvjitlink.add_data(link, nvjitlink.InputType.PTX, data, len(data), "kernel")
    nvjitlink.complete(link)
    said = bytearray(nvjitlink.get_info_log_size(link))
    nvjitlink.get_info_log(link, said)
    found = re.findall(r"used (\d+) registers.*?(\d+) stack.*?(\d+) bytes lmem", said.decode())
    return list(found[-1]) if found else ["?"] * 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[""])
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    as_if_there_were_a_card()
    rows = []
    for name, problem, rule, threshold in cells():
        if not any(text in name for text in options.only):
            continue
        began, means = time.process_time(), MEANS[: problem.d]
        try:
            deltas = [0.1, 0.01] if problem.rewards.variance_known else 0.1
            runner = Runner(RunSpec(problem, means, rule, deltas, threshold, 0, 1000, "cuda"))
            size, text = ptx(runner, not options.fast)
            figures = ["-"] * 3 if options.fast else linked(text)
            row = [name, f"{size:,}", f"{len(text) / 1000:,.0f}", *figures]
        except Exception as error:  # whatever it is, it is what was asked
            said = [line.strip() for line in str(error).splitlines() if line.strip()]
            row = [name, f"{type(error).__name__}: {said[-1] if said else ''}", *[""] * 4]
        rows.append([*row, f"{time.process_time() - began:.0f}"])
        print(*rows[-1], sep=" | ", flush=True)
    save(options.out, "sm_90, no card.\n\n" + markdown(HEAD, rows, left=1))


if __name__ == "__main__":
    main()
