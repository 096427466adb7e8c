"""Play the runs of a `Runner` on a GPU.

Run i of seed s has the permutation of the arms, the initial design and the rule of run i %
TEMPLATES on the processor. Its noise is counted from (s, i) by `engine/philox.py`: it is the same
on any GPU, in any portion, and beside any other runs. It is not run i of the engines of the
processor, whose noise comes from another generator.
"""

import re
from typing import Any

import numpy as np

from .._display.progress import waiting
from ..engine.kernels import iter_leaves
from ..engine.round import NEEDS_RESIZE
from ..engine.state import BatchResult, Ints
from ..errors import EngineError, missing_extra
from ..stopping.base import check_compared
from .result import Simulation
from .runner import TEMPLATES, Run, Runner

PORTION = 1 << 22  # runs per batch; the runs of a batch wait for the longest one
ROOM = 1 << 16  # bytes up to which the arrays of a rule are enlarged in advance


def card() -> Any:
    """Return the module `engine.cuda`; raise an error if there is no usable GPU."""
    try:
        from ..engine import cuda
    except ImportError:
        raise missing_extra("engine = 'cuda'", "cuda") from None
    why = cuda.unusable()
    if why is not None:
        raise EngineError(
            "no-card",
            "engine = 'cuda' needs an NVIDIA card, and none can be used here ({why})",
            remedy="leave engine out, which takes the processor, or run it on a machine with a "
            "card and its driver",
            why=why,
        )
    return cuda


class CudaSimulation:
    """The runs of a runner, prepared for a GPU."""

    def __init__(self, runner: Runner, runs: int) -> None:
        self.runner, self._cuda = runner, card()
        self.name: str = self._cuda.name()
        templates, often = [], 0
        for number in range(min(runs, TEMPLATES)):
            mine = runner.numbers(number)
            run = runner.begin(number, mine)
            if number == 0:
                often = self._enlargements(run)
            rule = run.rule
            for _ in range(often):
                rule = run.bound.resize(rule)
            templates.append(self._template(run, rule, mine.order))
        self._player = self._cuda.CudaRunner(templates, runner.seed)
        if self._player.slots < 1:
            raise EngineError(
                "card-memory",
                "the card has too little memory: a run of this problem needs {bytes:,} bytes",
                remedy="use engine = 'auto', which takes the processor",
                bytes=self._player.plan.bytes,
            )
        self._warm()

    def _enlargements(self, run: Run) -> int:
        """Return how often the arrays of the rule are enlarged: a GPU cannot grow them later."""
        rule, size, often = run.rule, _bytes(run.rule), 0
        while True:
            rule = run.bound.resize(rule)
            larger = _bytes(rule)
            if larger == size or larger > ROOM:
                return often
            size, often = larger, often + 1

    def _template(self, run: Run, rule: Any, order: Ints) -> Any:
        parts = {
            "game": run.kernel,
            "rule": self._cuda.widened(rule),
            "truth": np.array(run.means, dtype=np.float64),
            "seen": run.stats,
            "view": run.state,
            "stops": run.stopping_times,
            "winners": run.recommended,
        }
        made = self._cuda.RunTemplate(parts, run.start, order)
        why = self._cuda.misfit(made)
        if why is not None:
            raise EngineError(
                "card-part",
                "engine = 'cuda' cannot play this, because it has in it {why}",
                remedy="use engine = 'auto', or a structure that is not asked through Python",
                why=why,
            )
        return made

    def _warm(self) -> None:
        """Compile the runs if necessary; raise an error if that fails."""
        try:
            self._player.play(0, 1, 0)
        except Exception as error:
            plain = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
            said = [line.strip() for line in plain.splitlines() if line.strip()]
            raise EngineError(
                "card-compile",
                "engine = 'cuda' cannot play this, because it cannot be compiled for a card: {why}",
                remedy="use engine = 'auto'; docs/cuda.md names what stays on the processor",
                why=said[-1] if said else type(error).__name__,
            ) from error

    def batch(self, first: int, runs: int) -> BatchResult:
        """Play the runs from `first` on; runs that outgrow the GPU are played on the processor."""
        found: BatchResult = self._player.play(first, runs, self.runner.max_rounds)
        check_compared(self.runner.stopping, found.stopping_times.min(axis=0, initial=0))
        for k in np.flatnonzero(found.status == NEEDS_RESIZE):
            made = self.runner.run(first + int(k))
            found.stopping_times[k], found.rounds[k], found.final_leads[k] = (
                made.stopping_times,
                made.rounds,
                made.lead,
            )
            found.recommended[k], found.final_leaders[k] = made.recommended, made.leader
        return found


def simulated(runner: Runner, label: str, runs: int, progress: bool | None) -> Simulation:
    """Play all runs of a runner in portions."""
    with waiting(f"compiling {label} for the card", f"compiled {label} for the card", progress):
        played = CudaSimulation(runner, runs)
    made, what = [], f"{runs:,} run{'s' * (runs != 1)} of {label[:60]} on the card"
    with waiting(f"simulating {what}", f"simulated {what}", progress) as say:
        for first in range(0, runs, PORTION):
            made.append(played.batch(first, min(PORTION, runs - first)))
            say(f" ({first + len(made[-1].stopping_times):,} done)")
    names = ("stopping_times", "recommended", "final_leaders", "final_leads")
    arrays = {name: np.concatenate([getattr(one, name) for one in made]) for name in names}
    if runner.spec.shuffle_arms:
        known = np.array([runner.labels(i) for i in range(min(runs, TEMPLATES))])
        arrays["labels"] = known[np.arange(runs) % TEMPLATES]
    n_cpu_fallback = sum(int((one.status == NEEDS_RESIZE).sum()) for one in made)
    return runner.found(label, n_cpu_fallback=n_cpu_fallback, **arrays)


def _bytes(kernel: Any) -> int:
    return sum(leaf.nbytes for leaf in iter_leaves(kernel) if isinstance(leaf, np.ndarray))
