"""Executors: this process, joblib's processes, or a dask cluster."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..._messages import OptionHint, ReprText
from ...errors import InputError, invalid_argument, missing_extra

ANSWER = 20.0  # seconds in which a scheduler must answer; its workers may take a little longer


class InlineExecutor(Executor):
    """An executor that works in this process, when a call is submitted."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Make the call at once."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@dataclass
class WorkerPool:
    """Workers, and a way to replace them.

    Parameters
    ----------
    workers : int
        Number of workers.
    executor : Executor
        Hands calls to the workers.
    renew : callable, optional
        Makes another executor when a worker has died.
    """

    workers: int
    executor: Executor
    renew: Callable[[], Executor] | None = None


@contextmanager
def open_pool(jobs: int, cluster: str | None) -> Iterator[WorkerPool]:
    """Start workers, and stop them at the end of the context.

    Parameters
    ----------
    jobs : int
        Number of processes on this machine; 1 is this process.
    cluster : str, optional
        Address of a dask scheduler, or ``"local"``.
    """
    if cluster is not None:
        with _dask(jobs, cluster) as pool:
            yield pool
    elif jobs == 1:
        yield WorkerPool(1, InlineExecutor())
    else:
        from joblib.externals.loky import get_reusable_executor

        def start() -> Executor:
            return get_reusable_executor(  # type: ignore[no-any-return]
                max_workers=jobs,
                timeout=60,
                kill_workers=True,
                initializer=_ends_with,
                initargs=(os.getpid(),),
            )

        pool = WorkerPool(jobs, start(), start)
        try:
            yield pool
        finally:
            pool.executor.shutdown(wait=True, kill_workers=True)  # type: ignore[call-arg]


def _ends_with(driver: int) -> None:
    """End this worker with its driver, even if that is killed.

    Nobody would store what it makes.
    """

    def watch() -> None:
        while os.getppid() == driver:
            time.sleep(1.0)
        os._exit(1)

    if os.name == "posix":
        threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _dask(jobs: int, cluster: str) -> Iterator[WorkerPool]:
    """Connect to a dask cluster.

    cluster: address of a scheduler, or "local" for a cluster of `jobs` processes on this machine.
    """
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise missing_extra("a cluster (dask.distributed)", "cluster") from None
    secret = "@" in cluster or "?" in cluster  # perhaps: then it is not shown
    if cluster != "local" and (secret or "://" not in cluster):
        shown = ReprText("<not shown>") if secret else cluster
        what = "a scheduler's address, such as tcp://host:8786, without a user or options"
        raise invalid_argument("cluster", shown, what, "give 'local' for one on this machine")
    local = None
    try:
        # the port of its web page is any that is free: several may run side by side
        if cluster == "local":
            local = LocalCluster(
                n_workers=jobs,
                threads_per_worker=1,
                processes=True,
                dashboard_address="127.0.0.1:0",
            )
        client = Client(
            local if local is not None else cluster, timeout=ANSWER, set_as_default=False
        )
    except Exception as error:  # of many kinds
        why = " ".join(str(error).split()) or type(error).__name__
        if cluster == "local":
            text, remedy = "cluster = 'local' cannot be started ({why})", "use {jobs} without it"
            how = OptionHint("jobs", jobs)
            raise InputError("no-local-cluster", text, remedy=remedy, why=why, jobs=how) from error
        text = "cluster = {cluster!r}: no scheduler answers there ({why})"
        remedy = "start one with `dask scheduler`"
        raise InputError("no-scheduler", text, remedy=remedy, cluster=cluster, why=why) from error
    try:
        try:
            client.wait_for_workers(1, timeout=1.5 * ANSWER)
        except TimeoutError as error:
            text, remedy = "cluster = {cluster!r} has no workers", "start `dask worker {cluster}`"
            raise InputError("no-workers", text, remedy=remedy, cluster=cluster) from error
        yield WorkerPool(sum(client.nthreads().values()), client.get_executor(pure=False))
    finally:
        client.close()
        if local is not None:
            local.close()
