"""A random schedule of faults over several workers, and what must hold afterwards whatever
happened: python -m tests.storage.faults.schedule URL FAULTS SEED (benchmarks/faults.py runs it at
length).

Every worker says what it has been told (`workers`). The naive model is that list: what a call has
acknowledged must be in the database, what stands there must have been given by somebody, and what
was refused as not stored must not be there.
"""

import json
import os
import random
import resource
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import combgame as cg

from .model import Tally, judge
from .workers import Worker, start

PROBLEM = cg.Problem(cg.Subsets(6, 2), cg.Arms(6), cg.Gaussian(1.0))
SLACK = 5.0  # seconds beyond the timeout: a connection that is made anew, a busy machine
WORKERS = 4


class Server:
    """A PostgreSQL of our own that can be mistreated."""

    def __init__(self, pgdata: Path, url: str) -> None:
        self.pgdata, self.uri = pgdata, url.replace("+psycopg", "")

    def restart(self, how: str) -> None:
        from pgserver._commands import pg_ctl

        self.ready()  # a server that recovers does not end at once
        words = ["-m", how, "-w", "-l", str(self.pgdata / "log"), "restart"]
        user = self.pgdata.owner() if os.getuid() == 0 else None
        pg_ctl(words, pgdata=self.pgdata, user=user, timeout=60)

    def ready(self) -> None:
        import psycopg

        for _ in range(600):
            with suppress(psycopg.OperationalError):
                psycopg.connect(self.uri, connect_timeout=2).close()
                return
            time.sleep(0.1)

    def backends(self) -> list[int]:
        """The processes that serve clients."""
        first = int((self.pgdata / "postmaster.pid").read_text().split()[0])
        said = subprocess.run(
            ["ps", "-o", "pid=,args=", "--ppid", str(first)], capture_output=True, text=True
        ).stdout
        return [int(line.split()[0]) for line in said.splitlines() if "postgres: postgres " in line]


class Schedule:
    """One study, its workers, and what is done to them."""

    def __init__(self, url: str, seed: str, timeout: float, server: Server | None) -> None:
        self.url, self.seed, self.timeout, self.server = url, seed, timeout, server
        self.rng, self.tally = random.Random(seed), Tally()
        self.workers: list[Worker] = []
        self.ended: list[Worker] = []
        self.later: list[tuple[float, Callable[[], None]]] = []  # what ends a fault
        with self.fresh():
            pass
        kinds: dict[Callable[[], None], int] = {
            self.kill: 40,
            self.interrupt: 25,
            self.pause: 20,
        }
        if server is None:
            kinds |= {self.full_disk: 12, self.kill_all: 3}
        else:
            kinds |= {self.freeze: 6, self.restart: 3, self.crash: 3, self.full_server: 1}
        self.kinds = kinds

    def fresh(self) -> cg.Study:
        return cg.Study(
            PROBLEM,
            delta=1e-12,
            rule="uniform",
            storage=self.url,
            if_exists="resume",
            timeout=10 * self.timeout,
            engine="python",
        )

    def run(self, faults: int) -> Tally:
        try:
            for k in range(WORKERS):
                self.start(f"worker {k}")
            while self.tally.faults.total() < faults and not self.tally.wrong:
                self.wait(self.rng.uniform(0.0, 0.2))
                fault = self.rng.choices(list(self.kinds), list(self.kinds.values()))[0]
                fault()
            self.mend()
            self.wait(0.3)  # everybody is at work again
        finally:
            self.mend()
            for worker in list(self.workers):
                self.end(worker)
        self.check()
        return self.tally

    # ---- workers

    def start(self, client: str) -> None:
        seed = f"{self.seed} {client} {len(self.ended)}"
        self.workers.append(start(self.url, client, self.timeout, seed))

    def end(self, worker: Worker) -> None:
        """kill -9."""
        os.kill(worker.pid, signal.SIGKILL)
        os.waitpid(worker.pid, 0)
        while worker.hear():
            pass
        os.close(worker.pipe)
        self.workers.remove(worker)
        self.ended.append(worker)

    def wait(self, seconds: float) -> None:
        """Listen, end what is to end, and see that nobody hangs."""
        until = time.monotonic() + seconds
        while True:
            now = time.monotonic()
            for at, act in list(self.later):
                if at <= now:
                    self.later.remove((at, act))
                    act()
            pipes = {worker.pipe: worker for worker in self.workers}
            for pipe in select.select(list(pipes), [], [], min(max(until - now, 0.0), 0.01))[0]:
                if not pipes[pipe].hear():
                    self.tally.wrong.append(f"{pipes[pipe].client} has ended by itself")
            for worker in self.workers:
                last = worker.calls[-1] if worker.calls else None
                if last and last.result is None and not worker.paused:
                    waited = worker.waited(last, now)
                    if waited > self.timeout + SLACK:
                        said = f"{last.what} of {worker.client} has not ended for {waited:.0f} s"
                        self.tally.wrong.append(said)
            if now >= until or self.tally.wrong:
                return

    def some(self) -> Worker:
        """Somebody who is at work, as a rule."""
        if self.rng.random() < 0.9:
            began = time.monotonic()
            while time.monotonic() < began + 2.0 and not any(one.ready for one in self.workers):
                self.wait(0.02)
        ready = [one for one in self.workers if one.ready]
        return self.rng.choice(ready or self.workers)

    def soon(self, seconds: float, act: Callable[[], None]) -> None:
        self.later.append((time.monotonic() + seconds, act))

    def mend(self) -> None:
        """End all faults that are still there."""
        for _, act in self.later:
            act()
        self.later.clear()

    # ---- faults

    def kill(self) -> None:
        self.tally.faults["kill -9"] += 1
        worker = self.some()
        self.end(worker)
        self.start(worker.client)

    def kill_all(self) -> None:
        self.tally.faults["kill -9 of all"] += 1
        clients = [worker.client for worker in self.workers]
        for worker in list(self.workers):
            self.end(worker)
        for client in clients:
            self.start(client)

    def interrupt(self) -> None:
        self.tally.faults["interrupt"] += 1
        os.kill(self.some().pid, signal.SIGINT)

    def pause(self) -> None:
        """Now and then for longer than the others wait."""
        self.tally.faults["pause"] += 1
        worker = self.some()
        if not worker.paused:
            os.kill(worker.pid, signal.SIGSTOP)
            worker.pauses.append([time.monotonic()])
            long = self.rng.random() < 0.1
            self.soon(self.rng.uniform(0, 2 if long else 0.3), lambda: self.resume(worker))

    def resume(self, worker: Worker) -> None:
        if worker in self.workers:
            os.kill(worker.pid, signal.SIGCONT)
            worker.pauses[-1].append(time.monotonic())

    def full_disk(self) -> None:
        """For some of them no file grows any more, wherever its end is."""
        self.tally.faults["full disk"] += 1
        path = Path(self.url.removeprefix("sqlite:///"))
        wal = path.with_name(path.name + "-wal")
        size = wal.stat().st_size if wal.exists() else 0
        limit = self.rng.choice([size, size // 2, self.rng.randrange(size + 1)])
        for worker in self.rng.sample(self.workers, self.rng.randint(1, len(self.workers))):
            limited(worker.pid, limit)
            self.soon(self.rng.uniform(0.0, 0.2), lambda pid=worker.pid: limited(pid, -1))

    def full_server(self) -> None:
        self.tally.faults["full disk"] += 1
        for backend in self.server.backends():
            limited(backend, self.rng.randrange(1 << 20))
            self.soon(self.rng.uniform(0.0, 0.2), lambda pid=backend: limited(pid, -1))

    def freeze(self) -> None:
        """A backend stops answering; now and then for longer than its client waits."""
        backends = self.server.backends()
        if backends:
            self.tally.faults["frozen server process"] += 1
            pid = self.rng.choice(backends)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
            long = self.rng.random() < 0.3
            self.soon(self.rng.uniform(0, 3 if long else 0.5), lambda: thaw(pid))

    def restart(self) -> None:
        how = self.rng.choice(["fast", "immediate"])
        self.tally.faults[f"server restart ({how})"] += 1
        self.mend()  # a server that is frozen does not restart
        self.server.restart(how)

    def crash(self) -> None:
        """The kill of one backend brings all of them down."""
        backends = self.server.backends()
        if backends:
            self.tally.faults["kill -9 of a server process"] += 1
            with suppress(ProcessLookupError):
                os.kill(self.rng.choice(backends), signal.SIGKILL)

    def check(self) -> None:
        """The naive model, and whether the study can go on."""
        calls = [(worker, call) for worker in self.ended for call in worker.calls]
        if self.server is not None:
            self.server.ready()  # the last fault may have been a crash
        with self.fresh() as study:
            events = study.events()
            judge(calls, events, self.timeout + SLACK, self.tally)
            if not study.replay().same:
                self.tally.wrong.append("replaying gives something else")
            told = study.status.rounds
            todo = study.ask(client="afterwards")
            study.tell(todo, dict.fromkeys(todo.arms, 0.5))
            if study.status.rounds != told + 1:
                self.tally.wrong.append("the study does not go on")


def limited(pid: int, size: int) -> None:
    """Files of a process cannot grow beyond a size; -1: any more."""
    with suppress(ProcessLookupError, PermissionError):
        hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)[1]
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, hard))


def thaw(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


def run(url: str, faults: int, seed: str, pgdata: str | None = None, timeout: float = 1.0) -> Tally:
    server = None if pgdata is None else Server(Path(pgdata), url)
    return Schedule(url, seed, timeout, server).run(faults)


if __name__ == "__main__":
    url, faults, seed, *pgdata = sys.argv[1:]
    print(json.dumps(vars(run(url, int(faults), seed, *pgdata))))
