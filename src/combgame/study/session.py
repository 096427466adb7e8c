"""A study as one process has it: the fold, brought up to date and written to in transactions."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import InputError, StoreError
from ..game.sources import digest
from ..storage.events import Event, Sealed, check_seal, checked, seal
from ..storage.interrupts import deferred
from ..storage.memory import Log, Storage
from .fold import Fold
from .setting import Setting, now
from .snapshot import EVERY, dump, load


class Batch:
    """The events of one transaction."""

    def __init__(self, fold: Fold, log: Log, name: str, client: str | None) -> None:
        self.fold, self.log, self.name, self.client = fold, log, name, client
        self.at, self.before = now(), fold.state.seq
        self.events: list[Sealed] = []
        self.clean = True  # the fold is still that of what is stored
        self._was = fold.ended

    @property
    def certified(self) -> bool:
        """By this very transaction."""
        ended = self.fold.ended
        return ended is not None and ended is not self._was and ended["why"] == "certified"

    def choose(self) -> list[int]:
        self.clean = False
        return list(self.fold.choose())

    def add(self, kind: str, round: int | None = None, reason: str | None = None, chosen: bool = False, **data: Any) -> None:
        for what, value, kind_of in (("round", round, int), ("client", self.client, str), ("reason", reason, str)):
            if value is not None and type(value) is not kind_of:  # a database would give back another value than was sealed
                raise InputError(f"{what} = {value!r} must be of the type {kind_of.__name__}, or None.")
        self.clean = False
        event = Event(self.fold.state.seq + 1, kind, self.at, round, self.client, reason, data)
        sealed = seal(self.fold.state.seal, event)
        self.events.append((event, sealed))
        go_on(self.fold, event, sealed, self.log, self.name, chosen)


class Session:
    """One study in one process; its threads take turns."""

    def __init__(self, setting: Setting, storage: Storage, name: str, engine: str) -> None:
        self.setting, self.storage, self.name, self.engine = setting, storage, name, engine
        self.lock = threading.RLock()
        self._fold: Fold | None = None
        self._lost: str | None = None  # why it cannot go on

    @contextmanager
    def writing(self, client: str | None) -> Iterator[Batch]:
        """Catch up, do, store: nobody else writes in the meantime, and what fails has changed nothing."""
        with self.lock, deferred():
            batch = None
            try:
                with self.storage.writing() as log:
                    fold, behind = self._catch_up(log)
                    batch = Batch(fold, log, self.name, client)
                    yield batch
                    if batch.events:
                        log.append(batch.events)
                    if behind or fold.state.seq // EVERY > batch.before // EVERY:
                        self._keep(log, fold)
            except BaseException:
                if batch is None or not batch.clean:
                    self._fold = None  # it may be ahead of what is stored: to be made again
                raise

    @contextmanager
    def reading(self) -> Iterator[Fold]:
        with self.lock:
            with deferred():
                try:
                    with self.storage.reading() as log:
                        fold, _ = self._catch_up(log)
                except BaseException:
                    self._fold = None
                    raise
            yield fold

    def events(self) -> list[Event]:
        with self.lock, self.storage.reading() as log:
            return checked(log.events(), self.name)

    def head(self, fold: Fold) -> str:
        """The number and the seal of the last event; "" where nothing outlives the process, so that there is nothing to compare."""
        return f"{fold.state.seq}:{fold.state.seal}" if self.storage.url else ""

    def _catch_up(self, log: Log) -> tuple[Fold, bool]:
        """Fold what others have stored; whether that was so much that a snapshot is due."""
        if self._lost is not None:
            raise StoreError(self._lost)
        fold = self._fold or load(self.setting, self.engine, log.snapshot(digest()))
        found = log.events(after=max(fold.state.seq - 1, 0))  # the last one that it knows must be there, as it knows it
        if fold.state.seq and (not found or (found[0][0].seq, found[0][1]) != (fold.state.seq, fold.state.seal)):
            if self._fold is not None:
                self._lost = (  # for good: a worker that tries again must not go on with other data unawares
                    f"study {self.name!r}: event {fold.state.seq} is not what was stored, because the file was changed or put back; "
                    "open it again to go on with what it has now."
                )
                raise StoreError(self._lost)
            fold, found = load(self.setting, self.engine, None), log.events()  # a snapshot of other events
        self._fold, before = fold, fold.state.seq
        for event, sealed in found[1:] if before else found:
            check_seal(fold.state.seal, event, sealed, self.name)
            go_on(fold, event, sealed, log, self.name)
        return fold, fold.state.seq - before > EVERY

    def _keep(self, log: Log, fold: Fold) -> None:
        body = dump(fold) if self.storage.url else None
        if body is not None:
            log.keep(fold.state.seq, digest(), body)


def go_on(fold: Fold, event: Event, sealed: str, log: Log, name: str, chosen: bool = False) -> None:
    fold.apply(event, lambda: checked(log.events(before=event.seq), name), chosen)
    fold.state.seal = sealed
