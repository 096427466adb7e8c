"""Who watches studies, and what is new: the number of a study's last event."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from .refusals import too_many


class Change(NamedTuple):
    """A study has got events up to this number."""

    name: str
    seq: int


class Changes:
    """Tells everybody who watches. It belongs to one event loop."""

    def __init__(self, most: int, beat: float = 15.0) -> None:
        self.most, self.beat = most, beat
        self.known: dict[str, int] = {}  # the last event of each study that was heard of
        self.closed = False
        self._watchers: dict[asyncio.Queue[Change | None], str | None] = {}

    def __len__(self) -> int:
        return len(self._watchers)

    @property
    def watched(self) -> set[str | None]:
        """The studies that somebody watches; None: all of them."""
        return set(self._watchers.values())

    def publish(self, name: str, seq: int) -> None:
        """To whom it concerns, unless it is known."""
        if self.known.get(name) == seq:
            return
        self.known[name] = seq
        for queue, wanted in self._watchers.items():
            if wanted is None or wanted == name:
                if queue.full():  # a reader that is slow needs the last one only
                    queue.get_nowait()
                queue.put_nowait(Change(name, seq))

    def close(self) -> None:
        """End every stream, so that a server can stop."""
        self.closed = True
        for queue in self._watchers:
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(None)

    def check_room(self) -> None:
        """Whether one more may watch."""
        if len(self._watchers) >= self.most:
            raise too_many("watchers", self.most)

    @contextmanager
    def watch(self, name: str | None) -> Iterator[asyncio.Queue[Change | None]]:
        """Changes of one study from now on, or of all; None ends them."""
        queue: asyncio.Queue[Change | None] = asyncio.Queue(100)
        self._watchers[queue] = name
        try:
            yield queue
        finally:
            del self._watchers[queue]

    async def stream(self, queue: "asyncio.Queue[Change | None]") -> AsyncIterator[Change | None]:
        """Changes as they come, and None from time to time, while there are none."""
        while not self.closed:
            try:
                change = await asyncio.wait_for(queue.get(), self.beat)
            except TimeoutError:
                yield None
                continue
            if change is None:
                return
            yield change
