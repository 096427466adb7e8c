"""A worker that asks and tells, and says of every call when it began, when it ended, and how. It is
killed, interrupted and paused at any moment by `schedule`.
"""

import json
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import combgame as cg
from tests.studies import state_of

# refusals that say that nothing was changed; of the others nobody knows
CERTAIN = ("busy", "collided", "disk-full", "read-only", "refused", "unwritable")


@dataclass
class Call:
    """What a worker has said of a call. result: "done", "interrupted", the code of a refusal,
    "foreign", or None if its end was never heard.
    """

    what: str  # open, ask, tell or read
    given: Any
    began: float
    result: str | None = None
    value: Any = None
    ended: float = 0.0


@dataclass
class Worker:
    """One process, as the schedule sees it."""

    pid: int
    client: str
    pipe: int
    calls: list[Call] = field(default_factory=list)
    pauses: list[list[float]] = field(default_factory=list)  # from, to
    _rest: bytes = b""

    @property
    def ready(self) -> bool:
        return any(call.what == "ask" and call.result == "done" for call in self.calls)

    @property
    def paused(self) -> bool:
        return bool(self.pauses) and len(self.pauses[-1]) == 1

    def hear(self) -> bool:
        """Read what it has said; False when it has ended."""
        try:
            read = os.read(self.pipe, 1 << 16)
        except BlockingIOError:
            return True
        *lines, self._rest = (self._rest + read).split(b"\n")
        for line in lines:
            said = json.loads(line)
            if said[0] == "begin":
                self.calls.append(Call(*said[1:]))
            else:
                last = self.calls[-1]
                last.result, last.value, last.ended = said[1:]
        return bool(read)

    def waited(self, call: Call, now: float | None = None) -> float:
        """Seconds that a call took, without those for which its process was paused."""
        ended = call.ended if call.result is not None or now is None else now
        paused = sum(
            max(min(ended, pause[1] if pause[1:] else ended) - max(call.began, pause[0]), 0.0)
            for pause in self.pauses
        )
        return ended - call.began - paused


def start(url: str, client: str, timeout: float, seed: str) -> Worker:
    read, write = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(read)
            Working(url, client, timeout, seed, write).work()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(write)
    os.set_blocking(read, False)
    return Worker(pid, client, read)


class Working:
    """Inside the process."""

    def __init__(self, url: str, client: str, timeout: float, seed: str, pipe: int) -> None:
        self.url, self.client, self.timeout, self.pipe = url, client, timeout, pipe
        self.rng, self.armed = random.Random(seed), False
        signal.signal(signal.SIGINT, self.interrupt)

    def interrupt(self, number: int, frame: Any) -> None:
        if self.armed:
            self.armed = False
            raise KeyboardInterrupt

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        self.armed = True
        try:
            yield
        finally:
            self.armed = False

    def say(self, *what: Any) -> None:
        os.write(self.pipe, json.dumps([*what, time.monotonic()]).encode() + b"\n")

    def call(self, what: str, given: Any, act: Callable[[], Any], shown: Any = None) -> Any:
        """The result, and what came out; shown: what is said of it."""
        self.say("begin", what, given)
        result, value, said = "done", None, None
        try:
            with self.interruptible():
                value = act()
            said = shown(value) if shown else None
        except KeyboardInterrupt:
            result = "interrupted"
        except cg.CombGameError as error:
            result, said = error.code, str(error)
        except BaseException:
            result, said = "foreign", traceback.format_exc()
        self.say("end", result, said)
        if result not in ("done", "interrupted"):
            time.sleep(0.05)
        return result, value

    def work(self) -> None:
        study: Any = None
        while study is None:
            study = self.call("open", None, self.open)[1]
        while True:
            if self.rng.random() < 0.1:
                self.call("read", None, lambda: state_of(study).history.n_told, int)
            result, todo = self.call(
                "ask", None, study.ask, lambda one: [one.id, [int(arm) for arm in one.arms]]
            )
            if result == "done":
                self.tell(study, todo)
            time.sleep(self.rng.uniform(0.0, 0.01))

    def open(self) -> Any:
        return cg.Study.open(self.url, client=self.client, timeout=self.timeout, engine="python")

    def tell(self, study: Any, todo: Any) -> None:
        """Until it is told: what is certainly not stored may be told otherwise, which shows if it
        was.
        """
        values: dict[int, float] = {}
        result = "busy"
        while result != "done":
            if result in CERTAIN:
                values = {int(arm): self.rng.random() for arm in todo.remaining}
            given = [todo.id, {str(arm): value for arm, value in values.items()}]
            result = self.call("tell", given, lambda: study.tell(todo, values))[0]  # noqa: B023
