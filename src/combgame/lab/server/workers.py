"""The open studies of a storage, and live notifications of their changes.

Every study has its own thread, in which its requests run one after the other. Neither a slow
database nor a long computation delays the requests of other studies.
"""

import asyncio
import contextvars
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple, TypeVar

from ...errors import CombGameError, StoreError
from ...storage.transaction import AlreadyApplied, IdempotencyKey, once
from ..monitor import COMPILED_FROM
from ..study import Study
from .errors import too_many
from .registry import StudyRegistry
from .settings import ServerSettings
from .telemetry import log


class StudyChanged(NamedTuple):
    """A study has events up to number `seq`."""

    name: str
    seq: int


class EventBroadcaster:
    """Notify subscribers of changes of studies. Belongs to one event loop."""

    def __init__(self, most: int, beat: float = 15.0) -> None:
        self.most, self.beat = most, beat
        self.known: dict[str, int] = {}  # last published event by study
        self.closed = False
        self._watchers: dict[asyncio.Queue[StudyChanged | None], str | None] = {}

    def __len__(self) -> int:
        return len(self._watchers)

    @property
    def watched(self) -> set[str | None]:
        """Names of the studies with subscribers; None stands for all studies."""
        return set(self._watchers.values())

    def publish(self, name: str, seq: int) -> None:
        """Notify the subscribers of a study, unless this event is known already."""
        if self.known.get(name) == seq:
            return
        self.known[name] = seq
        for queue, wanted in self._watchers.items():
            if wanted is None or wanted == name:
                if queue.full():  # a slow reader needs the last change only
                    queue.get_nowait()
                queue.put_nowait(StudyChanged(name, seq))

    def close(self) -> None:
        """End every stream, so that the server can stop."""
        self.closed = True
        for queue in self._watchers:
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(None)

    def check_room(self) -> None:
        """Raise an error if there are too many subscribers for one more."""
        if len(self._watchers) >= self.most:
            raise too_many("watchers", self.most)

    @contextmanager
    def subscribe(self, name: str | None) -> Iterator[asyncio.Queue[StudyChanged | None]]:
        """Yield a queue of the changes of one study, or of all (`name` is None); None ends it."""
        queue: asyncio.Queue[StudyChanged | None] = asyncio.Queue(100)
        self._watchers[queue] = name
        try:
            yield queue
        finally:
            del self._watchers[queue]

    async def stream(
        self, queue: "asyncio.Queue[StudyChanged | None]"
    ) -> AsyncIterator[StudyChanged | None]:
        """Yield changes as they come, and None every `beat` seconds without changes."""
        while not self.closed:
            try:
                change = await asyncio.wait_for(queue.get(), self.beat)
            except TimeoutError:
                yield None
                continue
            if change is None:
                return
            yield change


T = TypeVar("T")
ANEW = ("other-study", "event-replaced", "file-gone", "journal-gone")  # then reopen the study


class StudyWorker:
    """A study and the thread that works on it; `users` is the number of requests that use it."""

    def __init__(self, name: str) -> None:
        self.name, self.users = name, 0
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="study")
        self.study: Study | None = None
        self.warm = False  # True once everything is compiled

    def close(self) -> None:
        """Close the study."""
        study, self.study, self.warm = self.study, None, False
        if study is not None:
            study.close()

    def leave(self) -> None:
        """Close the study, and end the thread, after the calls that are queued."""
        self.thread.submit(self.close)
        self.thread.shutdown(wait=False)


class StudyPool:
    """All studies of a storage, opened on demand.

    Every call reads what other processes have written before, as `Study` does, so several servers
    may share a storage.
    """

    def __init__(self, storage: str, limits: ServerSettings, engine: str = "auto") -> None:
        self.storage, self.limits, self.engine = storage, limits, engine
        self.shelf = StudyRegistry(storage, limits.lock_timeout_s)
        self.changes = EventBroadcaster(limits.watchers)
        self._places: OrderedDict[str, StudyWorker] = OrderedDict()
        self._pool = ThreadPoolExecutor(limits.threads, thread_name_prefix="desk")
        self._aside = asyncio.Semaphore(2)
        self._polling: asyncio.Task[None] | None = None

    @property
    def open(self) -> int:
        """Number of open studies."""
        return sum(one.study is not None for one in self._places.values())

    # ---- work

    async def run_in_pool(self, call: Callable[..., T], *given: Any) -> T:
        """Run a call in a thread of the pool."""
        return await _run(self._pool, call, *given)

    async def names(self) -> list[str]:
        """Return the names of all studies."""
        return await self.run_in_pool(self.shelf.names)

    async def look(self, name: str, view: Callable[[Study], T]) -> T:
        """Return a view of a study; the call waits for its turn in the study's thread."""
        with self._taken(name) as place:
            return await _run(place.thread, self._at, place, view)

    async def do(
        self, name: str, verb: Callable[[Study], T], request: IdempotencyKey | None = None
    ) -> T | Any:
        """Run a verb that writes, and return its result.

        If the request was made before, return its first result instead, as plain data.
        """
        with self._taken(name) as place:
            try:
                return await _run(place.thread, self._at, place, verb, request)
            except AlreadyApplied as done:
                return done.answer
            finally:
                if place.study is not None and place.study.seq:
                    self.changes.publish(name, place.study.seq)

    async def aside(self, name: str, view: Callable[[Study], T]) -> T:
        """Return a view that takes long, without delaying the other requests of the study."""
        async with self._aside:
            return await self.run_in_pool(self._run_isolated, name, view)

    async def create(
        self, make: Callable[[str], Study], name: str, request: IdempotencyKey | None = None
    ) -> None:
        """Make a study; `make` takes the URL of the storage."""
        with self._taken(name) as place:
            with suppress(AlreadyApplied):
                await _run(place.thread, self._make, place, make, request)
            if place.study is not None:
                self.changes.publish(name, max(place.study.seq, 1))

    def _at(
        self, place: StudyWorker, view: Callable[[Study], T], request: IdempotencyKey | None = None
    ) -> T:
        """Run a view, and reopen the study first if another one has its name by now."""
        for last in (False, True):
            try:
                if request is not None:  # its key will be stored beside the studies
                    self.shelf.furnish()
                if place.study is None:
                    place.study = self._opened(place.name)
                if not place.warm:
                    warm(place.study)
                    place.warm = True
                with once(request):
                    return view(place.study)
            except CombGameError as error:
                if error.code in ANEW:
                    place.close()
                    if not last:
                        self.shelf.renew()
                        continue
                raise
        raise AssertionError

    def _opened(self, name: str) -> Study:
        return Study.open(
            self.storage, name, engine=self.engine, timeout=self.limits.lock_timeout_s
        )

    def _run_isolated(self, name: str, view: Callable[[Study], T]) -> T:
        with self._opened(name) as study:
            return view(study)

    def _make(
        self, place: StudyWorker, make: Callable[[str], Study], request: IdempotencyKey | None
    ) -> None:
        self.shelf.furnish()
        with once(request):
            made = make(self.storage)
        place.close()
        place.study = made

    @contextmanager
    def _taken(self, name: str) -> Iterator[StudyWorker]:
        place = self._places.get(name)
        if place is None:
            place = self._places[name] = StudyWorker(name)
        self._places.move_to_end(name)
        place.users += 1
        try:
            yield place
        finally:
            place.users -= 1
            self._tidy()

    def _tidy(self) -> None:
        """Close the studies that were not used for longest, and forget names without a study."""
        if len(self._places) > self.limits.studies or not all(
            one.study for one in self._places.values()
        ):
            idle = [one for one in self._places.values() if not one.users]
            much = max(len(self._places) - self.limits.studies, 0)
            for place in {*(one for one in idle if one.study is None), *idle[:much]}:
                del self._places[place.name]
                place.leave()

    # ---- changes by other processes

    async def start(self) -> None:
        """Start to poll for changes by other processes."""
        self._polling = asyncio.create_task(self._poll())

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(self.limits.poll)
            watched = self.changes.watched
            if watched:
                try:
                    for name, seq in (await self.run_in_pool(self._last, watched)).items():
                        self.changes.publish(name, seq)
                except StoreError as error:  # requests get this error themselves
                    log("warning", "unreadable", code=error.code)

    def _last(self, watched: set[str | None]) -> dict[str, int]:
        names = self.shelf.names() if None in watched else [one for one in watched if one]
        return self.shelf.last(names)

    async def stop(self) -> None:
        """Close everything, after the last request."""
        self.changes.close()
        if self._polling is not None:
            self._polling.cancel()
        for place in self._places.values():
            place.leave()
            await self.run_in_pool(place.thread.shutdown)
        self._places.clear()
        await self.run_in_pool(self.shelf.close)
        self._pool.shutdown(wait=True)


async def _run(pool: ThreadPoolExecutor, call: Callable[..., T], *given: Any) -> T:
    context = contextvars.copy_context()
    return await asyncio.get_running_loop().run_in_executor(
        pool, partial(context.run, call, *given)
    )


def warm(study: Study) -> None:
    """Compile what a large study needs before its first use.

    Compiling takes seconds, and a transaction that waits for it would block all other writers.
    """
    if study.problem.d >= COMPILED_FROM:
        twin = study.clone()
        for todo in twin.ask(1):
            twin.tell(todo, {})
