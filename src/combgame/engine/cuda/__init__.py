"""The CUDA engine: the interface to numba-cuda, imported when a GPU is requested.

One thread plays one run at a time, with the same source as the other engines. `_kernel.py` puts a
CUDA kernel together, `_memory.py` lays out the arrays, and `_compile.py` registers the methods of
kernels with numba-cuda and compiles. NUMBA_ENABLE_CUDASIM=1 runs CUDA kernels as plain Python on
the CPU, slowly, for tests.
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
THREADS = 128  # per block
PER_UNIT = 512  # slots per multiprocessor
SHARE = 0.8  # share of the free memory for slots


def unusable() -> str | None:
    """Return the reason why no GPU can be used, or None if one can."""
    try:
        if cuda.is_available():
            return None
        said = str(cuda.cuda_error() or "none was found")
    except Exception as error:  # whatever the reason is, there is no GPU
        said = str(error)
    return " ".join(said.split())


def name() -> str:
    """Return the name of the GPU."""
    if SIMULATED:
        return "a simulated card"
    said = cuda.get_current_device().name
    return said.decode() if isinstance(said, bytes) else str(said)


def memory() -> int:
    """Return the number of free bytes on the GPU."""
    return 1 << 30 if SIMULATED else int(cuda.current_context().get_memory_info().free)


def _room() -> int:
    """Return the number of slots that keep the GPU busy."""
    return 4 if SIMULATED else PER_UNIT * int(cuda.get_current_device().MULTIPROCESSOR_COUNT)


class RunTemplate(NamedTuple):
    """The state with which a run begins."""

    parts: dict[str, Any]  # the arguments of `round.step` except start, rng and last
    start: Any
    order: Any  # the user's number of each arm


def misfit(template: RunTemplate) -> str | None:
    """Return what a run contains that cannot be on a GPU, or None."""
    for leaf in [leaf for kernel in template.parts.values() for leaf in iter_leaves(kernel)]:
        if not isinstance(leaf, np.ndarray | bool | int | float | np.generic):
            return f"{type(leaf).__name__}, which is Python's"
    if plan(arrays_of(template.parts.values())) is None:
        return "arrays of other numbers than float64 and int64, or some that overlap"
    return None


class CudaRunner:
    """Runner of many runs that begin like some templates.

    Run i begins like template i % len(templates).
    """

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
        """Play runs first, first + 1, ... until they stop or `last` rounds are played."""
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
    """Return the ids of arrays of the first run that are never written and equal in all runs."""
    fixed = {one for kernel in many[0].values() for one in fixed_in(kernel)}
    return {
        id(x)
        for k, x in enumerate(arrays[0])
        if id(x) in fixed and all(np.array_equal(x, others[k]) for others in arrays)
    }


def _starts(many: Sequence[Any]) -> Any:
    """Return initial designs of several lengths in one array, filled up with -1."""
    shape = tuple(max(one.shape[k] for one in many) for k in range(2))
    out = np.full((len(many), *shape), -1, np.int64)
    for row, one in zip(out, many, strict=True):
        row[: one.shape[0], : one.shape[1]] = one
    return out
