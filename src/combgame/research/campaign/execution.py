"""Running a campaign: chunks of runs on a pool of workers, each stored as soon as it is finished.

The pool is this process (jobs = 1), joblib's processes, or a dask cluster. Which worker makes a
run, and in which company, changes nothing in its row. A configuration is first tried with one run;
from its time, chunks are cut that take about CHUNK seconds, so that handing them out and storing
them costs little.
"""

import math
import os
import platform
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..._display.progress import waiting
from ..._fingerprint import digest
from ..._messages import Message
from ..._version import __version__
from ...engine.state import arms_of
from ...errors import CombGameError, EngineError, InputError, StoreError
from ...problem import Problem
from ...simulation.cuda import PORTION, CudaSimulation
from ...simulation.runner import CARD, TEMPLATES, Runner, RunResult
from ...theory.complexity import Complexity, least_time, lower_bound
from ...theory.stopping_time import oracle_stopping_time
from .executors import InlineExecutor, WorkerPool, open_pool
from .lock import locked
from .report import Stored, bar, remarks, report
from .spec import CampaignSpec, Configuration
from .store import RunChunk, RunRow, Store, open_store

CHUNK, LEAST = 3.0, 0.3  # seconds of work in a chunk, and towards the end of a configuration
TRIES = 3  # a chunk that has cost so many workers their lives is not tried again


def run_chunk(
    configuration: Configuration, first: int, number: int, engine: str, sources: str
) -> RunChunk:
    """Make some runs of a configuration, in whichever process this is.

    Parameters
    ----------
    configuration : Configuration
        What is run.
    first : int
        Number of the first run.
    number : int
        Number of runs.
    engine : str
        The engine, as in `simulate`.
    sources : str
        The version of the package that the campaign was started with (see `here`).

    Returns
    -------
    RunChunk
        The finished runs.

    Raises
    ------
    InputError
        If this process has another version of the package.
    """
    if sources != here():
        text = "worker {worker} has combgame {theirs}, but the campaign was started with {ours}"
        remedy, about = "install the same one everywhere", {"theirs": here(), "ours": sources}
        raise InputError("other-sources", text, remedy=remedy, worker=worker(), **about)
    began = time.perf_counter()
    card = _on_card(configuration) if engine == CARD else None
    runner = _runner(configuration, "auto" if engine == CARD else engine)
    best = runner.problem.best_two(runner.means)[0]
    if card is not None:
        found = card.batch(first, number)
        each = (time.perf_counter() - began) / number
        made = [
            RunResult(found.stopping_times[k], found.recommended[k], int(found.rounds[k]), {}, each)
            for k in range(number)
        ]
        rows = [_row(result, first + k, best) for k, result in enumerate(made)]
        who = f"{worker()}, {card.name}"
        return RunChunk(configuration.key, first, rows, sources, who, time.perf_counter() - began)
    rows = [_row(runner.run(run), run, best) for run in range(first, first + number)]
    return RunChunk(configuration.key, first, rows, sources, worker(), time.perf_counter() - began)


@cache
def here() -> str:
    """Describe what makes the runs in this process.

    Returns
    -------
    str
        The version of the package, a digest of its sources, and the versions of what it computes
        with.
    """
    used = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba"))
    return f"{__version__} ({digest()[:12]}; {used})"


def worker() -> str:
    """Return the machine and the process."""
    return f"{platform.node()}:{os.getpid()}"


@lru_cache(maxsize=4)
def _on_card(configuration: Configuration) -> CudaSimulation | None:
    """Prepare the runs of a configuration on a card; None if its parts cannot run there."""
    try:
        return CudaSimulation(configuration.runner(CARD), TEMPLATES)
    except EngineError as error:
        if error.code in ("card-part", "card-memory", "card-compile"):
            return None
        raise


@lru_cache(maxsize=8)
def _runner(configuration: Configuration, engine: str) -> Runner:
    return configuration.runner(engine)


def _row(result: RunResult, run: int, best: tuple[int, ...]) -> RunRow:
    stops = [int(stop) for stop in result.stopping_times]
    answers = [
        [int(a) for a in arms_of(winner)] if stop >= 0 else []
        for winner, stop in zip(result.recommended, stops, strict=True)
    ]
    correct = [
        stop >= 0 and tuple(answer) == best for answer, stop in zip(answers, stops, strict=True)
    ]
    return RunRow(run, stops, answers, correct, result.rounds, result.figures, result.seconds)


@dataclass
class ConfigurationProgress:
    """What is left to do of a configuration.

    Parameters
    ----------
    configuration : Configuration
        What is run.
    missing : list of int
        Numbers of the runs that are not handed out yet, in ascending order.
    seconds : float, optional
        Computing time of a run, once one has been made.
    out : int
        Number of runs that are handed out and not back yet.
    """

    configuration: Configuration
    missing: list[int]  # ascending
    seconds: float | None = None  # per run, once one has been made
    out: int = 0  # runs handed out and not back yet

    def ahead(self) -> float:
        """Return the number of seconds of work that are left.

        What is nearly complete comes first, so that a campaign that is stopped has as many complete
        configurations as possible.
        """
        return len(self.missing) * (self.seconds or 0.0)

    def cut(self, workers: int, card: bool = False) -> tuple[int, int]:
        """Take the next chunk: consecutive runs that take about `CHUNK` seconds.

        Parameters
        ----------
        workers : int
            Number of workers; a chunk leaves work for all of them.
        card : bool
            Whether the runs are made on a card, which takes as many as there are.

        Returns
        -------
        first, number : int
            The first run of the chunk and the number of its runs.
        """
        most = PORTION if card else 1
        if self.seconds is not None and not card:
            per_second = 1.0 / max(self.seconds, 1e-9)
            most = max(
                round(min(CHUNK * per_second, len(self.missing) / (2 * workers))),
                round(LEAST * per_second),
                1,
            )
        number = 1
        while (
            number < most
            and number < len(self.missing)
            and self.missing[number] == self.missing[0] + number
        ):
            number += 1
        first = self.missing[0]
        self.missing = self.missing[number:]
        self.out += number
        return first, number


@dataclass
class Coordinator:
    """Hands out chunks, stores what comes back, and repeats what a dead worker had.

    Parameters
    ----------
    store : Store
        The campaign file.
    pool : WorkerPool
        The workers.
    shares : list of ConfigurationProgress
        What is left to do.
    engine : str
        The engine, as in `simulate`.
    stored : callable
        Called with every chunk that was stored and the number of seconds that are left.
    tries : dict
        How often the worker died, by key of the configuration and first run of the chunk.
    suspects : list of tuple
        Chunks that were out when a worker died; each is tried again alone.
    """

    store: Store
    pool: WorkerPool
    shares: list[ConfigurationProgress]
    engine: str
    stored: Stored
    tries: dict[tuple[str, int], int] = field(default_factory=dict)
    # out when a worker died: each is tried alone
    suspects: list[tuple[ConfigurationProgress, int, int]] = field(default_factory=list)

    def run(self) -> None:
        """Make all runs that are missing."""
        sources = here()
        pending: dict[Future[RunChunk], tuple[ConfigurationProgress, int, int]] = {}
        untried = [share for share in self.shares if share.missing]
        while True:
            while len(pending) < self._room() and (task := self._next(untried)) is not None:
                pending[self._submit(task, sources)] = task
            if not pending:
                return
            done, _ = wait(pending, return_when=FIRST_COMPLETED)
            broken = False
            for future in done:
                broken |= not self._take(future, pending.pop(future))
            if broken and self.pool.renew is not None:
                wait(pending, timeout=10.0)  # all of them have failed with the pool
                for future, task in pending.items():
                    if not future.done():
                        self.suspects.append(task)
                    else:
                        self._take(future, task)
                pending = {}
                self.pool.executor = self.pool.renew()
            self.suspects.sort(
                key=lambda task: self.tries.get((task[0].configuration.key, task[1]), 0),
                reverse=True,
            )

    def _room(self) -> int:
        return (
            1
            if self.suspects or isinstance(self.pool.executor, InlineExecutor)
            else 2 * self.pool.workers
        )

    def _next(
        self, untried: list[ConfigurationProgress]
    ) -> "tuple[ConfigurationProgress, int, int] | None":
        if self.suspects:
            return self.suspects.pop()
        if untried:
            share = untried.pop(0)
        else:
            left = [share for share in self.shares if share.missing]
            timed = [share for share in left if share.seconds is not None]
            ready = timed or [share for share in left if share.out == 0]
            if not ready:
                return None
            share = min(ready, key=ConfigurationProgress.ahead)
        return share, *share.cut(self.pool.workers, self.engine == CARD)

    def _submit(
        self, task: tuple[ConfigurationProgress, int, int], sources: str
    ) -> Future[RunChunk]:
        share, first, number = task
        try:
            return self.pool.executor.submit(
                run_chunk, share.configuration, first, number, self.engine, sources
            )
        except Exception as error:
            if not _died(error):
                raise
            failed: Future[RunChunk] = Future()  # a worker died since the last chunk came back
            failed.set_exception(error)
            return failed

    def _take(self, future: Future[RunChunk], task: tuple[ConfigurationProgress, int, int]) -> bool:
        """Store a finished chunk.

        Returns False if its worker died; its runs are made again then.
        """
        share, first, number = task
        try:
            chunk = future.result()
        except CombGameError:
            raise
        except CancelledError as error:
            text = "the cluster is gone: its scheduler does not answer any more"
            remedy = "start it, then run the same command again: what was finished is stored"
            raise StoreError("cluster-gone", text, remedy=remedy) from error
        except Exception as error:
            if not _died(error):
                raise
            tries = self.tries[share.configuration.key, first] = (
                self.tries.get((share.configuration.key, first), 0) + 1
            )
            if tries >= TRIES:
                raise _deadly(share.configuration, first, number) from error
            self.suspects.append(task)
            return False
        self.store.add(chunk)
        share.out -= number
        mean = sum(row.seconds for row in chunk.rows) / number
        share.seconds = (
            mean if share.seconds is None or number > 1 else 0.5 * (mean + share.seconds)
        )
        self.stored(chunk, self._left())
        return True

    def _left(self) -> float | None:
        """Seconds until the end, once every configuration has been tried."""
        open_ones = [s for s in self.shares if s.missing or s.out]
        if any(s.seconds is None for s in open_ones):
            return None
        return (
            sum((len(s.missing) + s.out) * (s.seconds or 0.0) for s in open_ones)
            / self.pool.workers
        )


def _deadly(configuration: Configuration, first: int, number: int) -> StoreError:
    text = (
        "{label} on {instance}: the worker died {tries} times at {number:run|runs} {runs} (out of "
        "memory?)"
    )
    remedy = "use fewer jobs or a smaller problem: what was finished is stored"
    names = {"label": configuration.label, "instance": configuration.instance.name}
    runs = str(first) if number == 1 else f"{first} to {first + number - 1}"
    return StoreError(
        "worker-dies", text, remedy=remedy, tries=TRIES, number=number, runs=runs, **names
    )


def _died(error: Exception) -> bool:
    names = {kind.__name__ for kind in type(error).__mro__}
    return isinstance(error, BrokenProcessPool) or bool(
        names & {"TerminatedWorkerError", "KilledWorker", "ShutdownExecutorError"}
    )


def run_campaign(
    campaign: CampaignSpec,
    path: Path,
    jobs: int,
    cluster: str | None,
    engine: str,
    progress: bool | None,
    say: Callable[[str], None],
    mode: int,
) -> list[dict[str, Any]]:
    """Make every run of a campaign that its file does not hold yet, and report on all of them.

    The parameters are those of `Campaign.run`.
    """
    with locked(path, mode):
        store, mended = open_store(path, campaign.name, mode)
        if mended:
            say(str(mended))
        with store:
            others = [made for made in store.sources() if made != here()]
            if others:
                text = "{path} has runs that were made by {others}, and this is {here}"
                remedy = (
                    "They are kept: if what was changed in between changes runs, use a new file"
                )
                about = {"path": str(path), "others": " and by ".join(others), "here": here()}
                say(str(Message("made-by-others", text, remedy=remedy, **about)))
            limits = f"the limits of the problems of {campaign.name}"
            with waiting(f"working out {limits}", f"worked out {limits}", progress):
                store.register(campaign, references(campaign.configurations, store))
            mine = {c.instance.name for c in campaign.configurations}
            for said in remarks([c for c in store.configurations() if c["instance"] in mine]):
                say(str(said.with_context(where=str(path))))
            shares = [
                ConfigurationProgress(c, sorted(set(range(c.runs)) - store.stored(c.key)))
                for c in campaign.configurations
            ]
            total = sum(len(share.missing) for share in shares)
            if total > 0:
                done, name = campaign.runs - total, campaign.name
                with (
                    open_pool(jobs, cluster) as pool,
                    bar(campaign.runs, done, name, progress) as stored,
                ):
                    Coordinator(store, pool, shares, engine, stored).run()
            return report(store, {c.key: c.runs for c in campaign.configurations})


def references(configurations: Sequence[Configuration], store: Store) -> list[dict[str, Any]]:
    """Compute what the runs are compared with; what is stored already is kept.

    Parameters
    ----------
    configurations : sequence of Configuration
        The configurations.
    store : Store
        The campaign file.

    Returns
    -------
    list of dict
        For every configuration: the correct answer, the characteristic time 1/D_nu, and the lower
        bound and the limit for every delta.
    """
    known = {row["key"]: row["reference"] for row in store.configurations()}
    times: dict[tuple[Problem, tuple[float, ...]], Complexity] = {}
    compared = []
    for c in configurations:
        if c.key in known:
            compared.append(known[c.key])
            continue
        place = (c.instance.problem, c.instance.means)
        if place not in times:
            times[place] = least_time(c.instance.problem, c.instance.means)
        solved, runner = times[place], c.runner()
        best = runner.problem.best_two(runner.means)[0]
        bounds = [lower_bound(runner.problem, solved, delta) for delta in c.deltas]
        stopping = runner.stopping
        ends = [
            oracle_stopping_time(stopping, runner.problem, runner.means, solved, k)
            for k in range(len(c.deltas))
        ]
        compared.append(
            {
                "best": list(best),
                "answer": runner.problem.label(best),
                "time": solved.characteristic_time,
                "gap": solved.duality_gap,
                "bounds": [None if math.isnan(bound) else bound for bound in bounds],
                "limits": [None if math.isnan(end) else end for end in ends],
                "validity": str(stopping.validity),
                "proved": stopping.validity.proved,
            }
        )
    return compared
