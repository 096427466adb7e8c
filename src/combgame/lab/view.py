"""Read access to a study: everything that can be seen of it without changing it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from .._display.files import PRIVATE, form_of, save
from .._display.progress import waiting
from .._display.text import as_csv
from .._messages import PYTHON, CallHint, Message, Renderer
from ..engine.state import Floats
from ..errors import InputError, StudyError, check_int, missing_extra, unknown_name
from ..problem import Problem
from ..rules import Stopping
from ..storage.events import Event, check_head, last_hash, no_collecting
from ..storage.files import path_of
from .decision import Decision, make_decision
from .exports import LEVELS, arm_rows, history, rows
from .policy import StudyState
from .round import Round, as_round
from .session import StudySession
from .settings import StudySettings
from .snapshot import Replay, replay
from .status import Status, standing


class StudyView:
    """A consistent view of a study at one moment.

    `Study.view` makes it. All attributes and methods refer to the same events, even if other
    clients write to the study meanwhile.

    Attributes
    ----------
    name : str
        Name of the study.
    problem : Problem
        Problem of the study.
    """

    def __init__(
        self,
        name: str,
        state: StudyState,
        at: float,
        head: str,
        events: list[Event] | None,
        off: Message | None = None,
    ) -> None:
        self.name, self.problem = name, state.setting.problem
        self._now, self._at, self._head, self._events = state, at, head, events
        self._off = off  # a message about this machine's clock
        self._seq = state.history.seq

    @property
    def _state(self) -> StudyState:
        """Return the state, or raise an error if the study has changed since the view was made."""
        if self._now.history.seq != self._seq:
            raise StudyError(
                "moment-passed",
                "study {name!r} has changed since this moment",
                remedy="begin another one with {moment}",
                name=self.name,
                moment=CallHint("view"),
            )
        return self._now

    @property
    def events(self) -> list[Event]:
        """Return all events up to this moment, as a list of `Event`."""
        if self._events is None:
            raise InputError(
                "no-history",
                "the events were not read with this moment",
                remedy="{history} has them",
                history=CallHint("view", history=True),
            )
        return self._events

    @property
    def state(self) -> str:
        """Return "running", "certified", "budget", "deadline" or "by hand"."""
        return self._state.phase(self._at)

    @property
    def head(self) -> str:
        """Return the number and the hash of the last event; "" for a study in memory."""
        return self._head

    @property
    def stopping(self) -> Stopping:
        """Return the stopping rule that is in force, at the delta that is left."""
        return self._state.monitor.stopping

    @property
    def pending(self) -> list[Round]:
        """Return the rounds that are assigned, or that failed and will be assigned again."""
        return [as_round(self.problem, one) for one in self._state.history.open.values()]

    def open_rounds(self) -> list[dict[str, Any]]:
        """Return one row per pending round, the oldest first.

        Returns
        -------
        list of dict
            ``round`` is the number, ``arms`` and ``remaining`` are names of arms (all arms, and
            those without a result), ``client`` holds the round since ``asked``, with a lease until
            ``lease_until``, which is over if ``overdue``. ``waiting`` is True for a round that
            failed and will be assigned next, and ``mark`` is that of its `Round`.
        """
        known = self._state.history.open
        return [
            {
                "round": one.number,
                "arms": [self.problem.label([a]) for a in one.arms],
                "remaining": [self.problem.label([a]) for a in one.left],
                "client": one.client,
                "asked": one.asked,
                "lease_until": one.until,
                "overdue": one.expired(self._at),
                "waiting": one.waiting,
                "mark": one.mark,
            }
            for _, one in sorted(known.items())
        ]

    def within(self) -> dict[int, Floats]:
        """Return the values of all rounds of a study with batch effects, by round.

        The rows of each array are arms, means, and numbers of values, as `outliers.gathered` takes
        them.
        """
        return self._state.history.within()

    @property
    def status(self) -> Status:
        """Return the current `Status` of the study."""
        known = standing(self._state, self.name, self.state, self._at, self._head)
        return known if self._off is None else replace(known, notes=(*known.notes, self._off))

    @property
    def decision(self) -> Decision | None:
        """Return the `Decision`, or None while the study runs."""
        state, why = self._state, self.state
        return None if why == "running" else make_decision(state, state.ending(why), self._head)

    def rows(self, level: str = "round") -> list[dict[str, Any]]:
        """Return one row per "round" (and arm), "arm" or "event"; see `Study.rows`."""
        if not isinstance(level, str) or level not in LEVELS:
            raise unknown_name("level", level, LEVELS)
        state = self._state
        if level == "arm":
            return arm_rows(state)
        return rows(state.setting.problem, self.events, level)

    def history(self, most: int | None = None) -> list[dict[str, Any]]:
        """Return the evidence and the threshold after each report; see `Study.history`.

        Parameters
        ----------
        most : int, optional
            Maximal number of rows, among them the last one.
        """
        return history(self._state.setting, self._state.engine, self.events, most)

    def to_dict(self, surface: Renderer = PYTHON) -> dict[str, Any]:
        """Return status, decision, arms, rounds and events as plain data."""
        decision = self.decision
        return {
            "name": self.name,
            "status": self.status.to_dict(surface),
            "decision": None if decision is None else decision.to_dict(surface),
            "arms": self.rows("arm"),
            "rounds": self.rows("round"),
            "head": last_hash(self.events),
            "events": [one._asdict() for one in self.events],
        }

    def export(
        self,
        path: Any = None,
        level: str = "event",
        form: str | None = None,
        surface: Renderer = PYTHON,
        mode: int = PRIVATE,
    ) -> str:
        """Return the study as JSON, or the rows of a level as CSV, and write them to ``path``.

        Parameters
        ----------
        path, level, mode
            See `Study.export`.
        form : {"json", "csv"}, optional
            Format of the text. Defaults to the suffix of ``path``.
        surface : Renderer
            Syntax in which messages name calls and options.
        """
        if form_of(path, form) == "csv":
            rows = self.rows(level)
            text = as_csv(rows) if rows else ""
        else:
            text = json.dumps(self.to_dict(surface), indent=1)
        if path is not None:
            save(path, text, mode=mode)
        return text

    def report(
        self,
        path: Any = None,
        plan: Any = None,
        unit: str | None = None,
        surface: Renderer = PYTHON,
    ) -> str:
        """Return the report as HTML, and write it to ``path``; see `Study.report`."""
        from .report.content import report_data
        from .report.pages import report

        with waiting("writing the report", "wrote the report"):
            text = report(report_data(self, unit, plan, surface))
        if path is not None:
            save(path, text)
        return text


class StudyReader:
    """The methods and properties of `Study` that only read.

    Each access first reads the events that other clients have stored meanwhile, and refers to one
    moment.
    """

    name: str
    problem: Problem
    _setting: StudySettings
    _session: StudySession

    @contextmanager
    def view(self, history: bool = False) -> Iterator[StudyView]:
        """Return a context manager that gives a consistent view of the study.

        Use it for several accesses that must agree with each other. Other threads wait until the
        ``with`` block ends.

        Parameters
        ----------
        history : bool, default=False
            If True, all events are read, which `rows`, `history` and `export` need.

        Yields
        ------
        StudyView
            The study as it is now.

        Examples
        --------
        >>> import combgame as cg
        >>> study = cg.Study(cg.Problem(cg.Arms(2), rewards=cg.Gaussian(0.1)))
        >>> with study.view() as now:
        ...     now.status.state, now.decision
        ('running', None)
        """
        with self._session.reading(history) as (state, events):
            session, known = self._session, events if history else None
            yield StudyView(self.name, state, session.at, session.head(state), known, session.off)

    @property
    def state(self) -> str:
        """Return "running", "certified", "budget", "deadline" or "by hand"."""
        with self.view() as this:
            return this.state

    @property
    def done(self) -> bool:
        """Return True if the study has stopped, for any reason."""
        return self.state != "running"

    @property
    def pending(self) -> list[Round]:
        """Return the rounds that are assigned, or that failed and will be assigned again."""
        with self.view() as this:
            return this.pending

    @property
    def status(self) -> Status:
        """Return the current `Status`, which can be printed."""
        with self.view() as this:
            return this.status

    @property
    def decision(self) -> Decision | None:
        """Return the `Decision`, or None while the study runs."""
        with self.view() as this:
            return this.decision

    @property
    def seq(self) -> int:
        """Return the number of the last event that this process knows; nothing is read."""
        return self._session.seq

    @property
    def planned_rounds(self) -> float | None:
        """Return the number of rounds that a plan predicted; None if none was given."""
        said = self.events(0, 1)[0].data.get("planned_rounds")
        return None if said is None else float(said)

    def events(self, after: int = 0, most: int | None = None) -> list[Event]:
        """Return the events of the study.

        Parameters
        ----------
        after : int, default=0
            Only events with a larger number are returned.
        most : int, optional
            Maximal number of events.

        Returns
        -------
        list of Event
            The events in their order.
        """
        after = check_int("after", after, 0)
        most = None if most is None else check_int("most", most, 1)
        return self._session.events(after, most)

    def rows(self, level: str = "round") -> list[dict[str, Any]]:
        """Return the data of the study as a table.

        Parameters
        ----------
        level : {"round", "arm", "event"}, default="round"
            One row per round and arm in it, per arm, or per event.

        Returns
        -------
        list of dict
            The rows, all with the same keys.

        Raises
        ------
        UnknownNameError
            If there is no such level.
        """
        history = not isinstance(level, str) or level != "arm"
        with no_collecting(), self.view(history) as this:
            return this.rows(level)

    def to_frame(self, level: str = "round") -> Any:
        """Return the data of the study as a pandas DataFrame.

        Parameters
        ----------
        level : {"round", "arm", "event"}, default="round"
            See `rows`.

        Returns
        -------
        pandas.DataFrame
            The rows.

        Raises
        ------
        CombGameError
            If pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            raise missing_extra("to_frame()", "frames") from None
        return pandas.DataFrame(self.rows(level))

    def export(self, path: Any = None, level: str = "event", mode: int = PRIVATE) -> str:
        """Export the study as JSON, or its rows as CSV.

        Parameters
        ----------
        path : str or Path, optional
            File to write. The format is CSV if it ends with ``.csv``, otherwise JSON.
        level : {"round", "arm", "event"}, default="event"
            Rows of a CSV file; see `rows`. JSON contains everything.
        mode : int, default=0o600
            Permissions of a new file. By default only its owner can read it; 0o640 admits the
            group.

        Returns
        -------
        str
            The text.
        """
        with self.view(history=True) as this:
            return this.export(path, level, mode=mode)

    def copy(self, destination: Any) -> None:
        """Copy the SQLite file, with all the studies in it, while other clients may go on.

        Parameters
        ----------
        destination : str or Path
            The new file. An existing file is not overwritten.

        Raises
        ------
        InputError
            If the study is kept in memory.
        """
        with self._session.lock:
            self._session.storage.copy(path_of(destination))

    def history(self) -> list[dict[str, Any]]:
        """Return the evidence and the threshold after each report.

        Returns
        -------
        list of dict
            One row per event that changed the values: its ``seq``, ``timestamp``,
            ``leader``, ``rounds``, ``values``, ``evidence``, ``threshold``, the ``delta`` at which
            the study was evaluated, and ``late``, which is True for results that came after the
            study had ended.
        """
        return history(self._setting, self._session.engine, self.events())

    def plot(self, kind: str = "overview", unit: str | None = None) -> Any:
        """Draw the study with matplotlib.

        Parameters
        ----------
        kind : {"overview", "estimates", "evidence", "pulls"}, default="overview"
            "estimates" shows the arms with their intervals, "evidence" the evidence over the
            rounds, "overview" both. "pulls" compares the number of values per arm with the optimal
            allocation.
        unit : str, optional
            Unit of the values for the axes, such as "mg/l".

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        from .report.content import plot

        drawing = waiting("drawing the study", "drew the study")
        with self.view(history=True) as this, drawing:
            return plot(this, kind, unit)

    def report(self, path: Any = None, plan: Any = None, unit: str | None = None) -> str:
        """Write a report as a self-contained HTML page that can be printed.

        The page shows the decision, the lead, figures, assumptions, the noise, and every round with
        its client.

        Parameters
        ----------
        path : str or Path, optional
            File to write.
        plan : Plan, optional
            Result of `combgame.plan` before the study, for comparison.
        unit : str, optional
            Unit of the values, such as "mg/l".

        Returns
        -------
        str
            The HTML.

        Examples
        --------
        >>> import combgame as cg
        >>> problem = cg.Problem(cg.Arms(2), rewards=cg.Gaussian(0.1), names=["old", "new <1>"])
        >>> "new &lt;1&gt;: no value" in cg.Study(problem).report()
        False
        """
        with self.view(history=True) as this:
            return this.report(path, plan, unit)

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        from .report.content import summary
        from .report.pages import short

        with self.view(history=True) as this:
            return short(summary(this))

    def replay(self, head: str | None = None) -> Replay:
        """Repeat all decisions from the events alone, and list the rounds that would differ.

        Parameters
        ----------
        head : str, optional
            Number and hash of an event, as the status or the decision showed them earlier.

        Returns
        -------
        Replay
            The result.

        Raises
        ------
        StoreError
            If events up to ``head`` were removed or changed since.
        InputError
            If ``head`` is not such a text.
        """
        return self._replay(head, self.events(), self._session.engine)

    def _replay(self, head: str | None, events: list[Event], engine: str) -> Replay:
        if head is not None:
            check_head(events, head, self.name)
        return replay(self._setting, engine, events)

    def __repr__(self) -> str:
        return f"<study {self.name!r}: {self.state}; print its status>"
