"""Everything this package asks of numba-cuda, in one place; imported when a card is asked for.

One thread plays one run at a time, with the same source as the other engines: `kernel.py` puts a
kernel together, `columns.py` says where the arrays lie, `compiling.py` and `methods.py` teach
numba-cuda the parts. NUMBA_ENABLE_CUDASIM=1 runs kernels as plain Python on the processor, slowly:
for tests.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..dispatch import ours
from ..kernels import iter_leaves
from ..philox import philox
from ..state import BatchResult
from ._compile import SIMULATED, compiled, cuda, plain_addresses, quiet, view
from ._kernel import source_of
from ._memory import KINDS, SLOTS, WARP, MemoryLayout, arrays_of, fixed_in, plan, stacked, widened

__all__ = ["CudaRunner", "RunTemplate", "memory", "misfit", "name", "unusable", "widened"]
THREADS = 128  # of a block
PER_UNIT = 512  # slots per multiprocessor
SHARE = 0.8  # of the free memory, for slots


def unusable() -> str | None:
    """Why no card can be used; None: one can."""
    try:
        if cuda.is_available():
            return None
        said = str(cuda.cuda_error() or "none was found")
    except Exception as error:  # whatever it is, there is no card
        said = str(error)
    return " ".join(said.split())


def name() -> str:
    """The card's."""
    if SIMULATED:
        return "a simulated card"
    said = cuda.get_current_device().name
    return said.decode() if isinstance(said, bytes) else str(said)


def memory() -> int:
    """Bytes that are free on the card."""
    return 1 << 30 if SIMULATED else int(cuda.current_context().get_memory_info().free)


def _room() -> int:
    """How many slots keep the card busy."""
    return 4 if SIMULATED else PER_UNIT * int(cuda.get_current_device().MULTIPROCESSOR_COUNT)


class RunTemplate(NamedTuple):
    """What a run begins with."""

    parts: dict[str, Any]  # what `round.step` takes, but for start, rng and last
    start: Any
    order: Any  # what the user calls its arms


def misfit(template: RunTemplate) -> str | None:
    """What a run has in it that cannot be on a card; None: nothing."""
    for leaf in [leaf for kernel in template.parts.values() for leaf in iter_leaves(kernel)]:
        if not isinstance(leaf, np.ndarray | bool | int | float | np.generic):
            return f"{type(leaf).__name__}, which is Python's"
    if plan(arrays_of(template.parts.values())) is None:
        return "arrays of other numbers than float64 and int64, or some that overlap"
    return None


class CudaRunner:
    """Plays runs that begin like some templates; run i begins like template i % len(templates)."""

    def __init__(self, templates: Sequence[RunTemplate], seed: int) -> None:
        self._seed, self._templates = seed, len(templates)
        many = [{**one.parts, "rng": philox(0, 0)} for one in templates]
        arrays = [arrays_of(parts.values()) for parts in many]
        made = plan(arrays[0], _common(many, arrays))
        assert made is not None
        self.plan: MemoryLayout = made
        self.slots = min(_room(), int(SHARE * memory() / self.plan.bytes) // WARP * WARP)
        kept = all(ours(kernel) for kernel in templates[0].parts.values())
        self._kernel = compiled(*source_of(many[0], self.plan, arrays[0], view), kept)
        begin = stacked(self.plan, arrays)
        self._fixed = [
            *begin[:SLOTS],
            *(x.ravel() for x in begin[SLOTS:]),
            np.array([len(one.start) for one in templates]),
            _starts([one.start for one in templates]),
            np.array([one.order for one in templates], np.int64),
        ]
        self._shape = templates[0].parts["winners"].shape

    def play(self, first: int, runs: int, last: int) -> BatchResult:
        """Runs first, first + 1, ... until every delta has stopped or `last` rounds are played."""
        deltas, d = self._shape
        kinds = (np.int64, np.uint8, np.uint8, np.float64, np.int64, np.int64)
        shapes = ((deltas,), (deltas, d), (d,), (), (), ())
        slots = min(self.slots, runs if SIMULATED else WARP * -(-runs // WARP))
        arenas = [
            cuda.device_array(max(n, 1) * WARP * -(-slots // WARP), kind)
            for n, kind in zip(self.plan.words, KINDS, strict=False)
        ]
        out = [
            cuda.device_array((runs, *shape), kind)
            for shape, kind in zip(shapes, kinds, strict=True)
        ]
        fixed = [cuda.to_device(x) for x in (np.zeros(1, np.int64), *self._fixed)]
        threads = min(THREADS, slots)
        numbers = (slots, runs, first, last, self._seed, self._templates)
        with plain_addresses(), quiet():
            self._kernel[-(-slots // threads), threads](
                fixed[0], *numbers, *arenas, *fixed[1:], *out
            )
        return BatchResult(*(x.copy_to_host() for x in out))


def _common(many: Sequence[dict[str, Any]], arrays: Sequence[list[Any]]) -> set[int]:
    """The ids of arrays of the first run that nobody writes, and that are the same in all runs."""
    fixed = {one for kernel in many[0].values() for one in fixed_in(kernel)}
    return {
        id(x)
        for k, x in enumerate(arrays[0])
        if id(x) in fixed and all(np.array_equal(x, others[k]) for others in arrays)
    }


def _starts(many: Sequence[Any]) -> Any:
    """Starts of several lengths, filled up with -1."""
    shape = tuple(max(one.shape[k] for one in many) for k in range(2))
    out = np.full((len(many), *shape), -1, np.int64)
    for row, one in zip(out, many, strict=True):
        row[: one.shape[0], : one.shape[1]] = one
    return out
