"""A study as one process has it: the advisor, brought up to date and written to in transactions."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import StoreError, must_be, said_by
from ..game.sources import digest
from ..sentences import Sentence
from ..storage.events import Event, Sealed, check_seal, checked, seal
from ..storage.interrupts import deferred
from ..storage.memory import Log, Storage
from ..storage.requests import CURRENT, check_repeated
from .advisor import Advisor
from .round import Record
from .settings import Setting, now
from .snapshot import EVERY, dump, load


class Batch:
    """The events of one transaction."""

    def __init__(self, advisor: Advisor, log: Log, name: str, client: str | None) -> None:
        self.advisor, self.log, self.name, self.client = advisor, log, name, client
        self.at, self.before = now(), advisor.ledger.seq
        self.events: list[Sealed] = []
        self.answer: Any = None  # what the verb returns, as plain data
        self.clean = True  # the advisor is still that of what is stored
        self._was = advisor.ended

    @property
    def certified(self) -> bool:
        """By this very transaction."""
        ended = self.advisor.ended
        return ended is not None and ended is not self._was and ended["why"] == "certified"

    def look_up(self, number: int) -> Record:
        """A round, also one that has ended."""
        return self.advisor.ledger.look_up(
            number, lambda: (one for one, _ in self.log.events(after=1, round=number))
        )

    def choose(self, wanted: int) -> dict[str, Any]:
        """The arms of a new round, and its block where plays have levels; wanted: rounds that are
        asked for together, this one included.
        """
        self.clean = False
        arms = list(self.advisor.choose(wanted))
        return {"arms": arms, "block": self.advisor.block} if self.advisor.block else {"arms": arms}

    def add(
        self,
        kind: str,
        round: int | None = None,
        reason: str | None = None,
        chosen: bool = False,
        **data: Any,
    ) -> None:
        for what, value, kind_of in (
            ("round", round, int),
            ("client", self.client, str),
            ("reason", reason, str),
        ):
            # a database would give back another value than was sealed
            if value is not None and type(value) is not kind_of:
                kinds = "of the type {kind}, or None"
                raise must_be(what, value, kinds, kind=kind_of.__name__)
        self.clean = False
        event = Event(self.advisor.ledger.seq + 1, kind, self.at, round, self.client, reason, data)
        sealed = seal(self.advisor.ledger.seal, event)
        self.events.append((event, sealed))
        go_on(self.advisor, event, sealed, self.log, self.name, chosen)


class Session:
    """One study in one process; its threads take turns."""

    def __init__(self, setting: Setting, storage: Storage, name: str, engine: str) -> None:
        self.setting, self.storage, self.name, self.engine = setting, storage, name, engine
        self.lock = threading.RLock()
        self._advisor: Advisor | None = None
        self._lost: Sentence | None = None  # why it cannot go on

    @contextmanager
    def writing(self, client: str | None) -> Iterator[Batch]:
        """Catch up, do, store: nobody else writes in the meantime, and what fails has changed
        nothing.
        """
        with self.lock, deferred():
            batch = None
            try:
                with self.storage.writing() as log:
                    advisor, read = self._catch_up(log)
                    batch = Batch(advisor, log, self.name, client)
                    request = CURRENT.get()
                    if request is not None:
                        check_repeated(request, log.answered(request.key))
                    yield batch
                    if batch.events:
                        log.append(batch.events)
                    if request is not None:
                        log.remember(request, batch.answer)
                    if len(read) > EVERY or advisor.ledger.seq // EVERY > batch.before // EVERY:
                        self._keep(log, advisor)
                        if request is not None:
                            log.forget()
            except BaseException:
                if batch is None or not batch.clean:
                    self._advisor = None  # it may be ahead of what is stored: to be made again
                raise

    @contextmanager
    def reading(self, history: bool = False) -> Iterator[tuple[Advisor, list[Event]]]:
        """Catch up, and look: at one moment, which others do not change; history: with all events
        up to that moment.
        """
        with self.lock:
            with deferred():
                try:
                    with self.storage.reading() as log:
                        advisor, stored = self._catch_up(log, history)
                except BaseException:
                    self._advisor = None
                    raise
            yield advisor, checked(stored, self.name) if history else []

    @property
    def seq(self) -> int:
        """The number of the last event that is known here."""
        return 0 if self._advisor is None else self._advisor.ledger.seq

    def events(self, after: int = 0, most: int | None = None) -> list[Event]:
        """All of them, whatever becomes of the advisor; or at most so many after one."""
        before = None if most is None else after + most + 1
        with self.lock, self.storage.reading() as log:
            stored = log.events(max(after - 1, 0), before)
        first = stored.pop(0)[1] if after > 0 and stored else ""
        return checked(stored, self.name, first)

    def head(self, advisor: Advisor) -> str:
        """The number and the seal of the last event; "" where nothing outlives the process, so that
        there is nothing to compare.
        """
        return f"{advisor.ledger.seq}:{advisor.ledger.seal}" if self.storage.url else ""

    def _catch_up(self, log: Log, history: bool = False) -> tuple[Advisor, list[Sealed]]:
        """Fold what others have stored. The events that were read for it come along: from the first
        one on, if `history` is asked for.
        """
        if self._lost is not None:
            raise said_by(StoreError, self._lost)
        advisor = self._advisor or load(self.setting, self.engine, log.snapshot(digest()))
        seq, known = advisor.ledger.seq, advisor.ledger.seal
        # in one read, which is of one moment in any database
        stored = log.events(after=0 if history else max(seq - 1, 0))
        news = [one for one in stored if one[0].seq >= seq]
        # the last one must be there, as it knows it
        if seq and (not news or (news[0][0].seq, news[0][1]) != (seq, known)):
            if self._advisor is not None:
                # for good: a worker that tries again must not go on with other data unawares
                self._lost = Sentence(
                    "event-replaced",
                    "study {name!r}: event {seq} is not what was stored, because the file was "
                    "changed or put back",
                    remedy="open it again to go on with what it has now",
                    name=self.name,
                    seq=seq,
                )
                raise said_by(StoreError, self._lost)
            # that was a snapshot of other events
            advisor, seq = (load(self.setting, self.engine, None), 0)
            news = stored = stored if history else log.events()
        self._advisor = advisor
        for event, sealed in news[1:] if seq else news:
            check_seal(advisor.ledger.seal, event, sealed, self.name)
            go_on(advisor, event, sealed, log, self.name)
        return advisor, stored

    def _keep(self, log: Log, advisor: Advisor) -> None:
        body = dump(advisor) if self.storage.url else None
        if body is not None:
            log.keep(advisor.ledger.seq, digest(), body)


def go_on(
    advisor: Advisor, event: Event, sealed: str, log: Log, name: str, chosen: bool = False
) -> None:
    advisor.apply(event, lambda: checked(log.events(before=event.seq), name), chosen)
    advisor.ledger.seal = sealed
