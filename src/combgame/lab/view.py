"""Everything that can be seen of a study without changing it."""

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
    """A study at one moment: whatever is read off it fits together, however others go on
    meanwhile.
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
        self._off = off  # what is to be said of this machine's clock
        self._seq = state.history.seq

    @property
    def _state(self) -> StudyState:
        """As long as nothing has happened since."""
        if self._now.history.seq != self._seq:
            raise StudyError(
                "moment-passed",
                "study {name!r} has changed since this moment",
                remedy="begin another one with {moment}",
                name=self.name,
                moment=CallHint("moment"),
            )
        return self._now

    @property
    def events(self) -> list[Event]:
        """All up to then."""
        if self._events is None:
            raise InputError(
                "no-history",
                "the events were not read with this moment",
                remedy="{history} has them",
                history=CallHint("moment", history=True),
            )
        return self._events

    @property
    def state(self) -> str:
        """ "running", "certified", "budget", "deadline" or "by hand"."""
        return self._state.phase(self._at)

    @property
    def head(self) -> str:
        """The number and the seal of the last event; "" for a study in memory."""
        return self._head

    @property
    def stopping(self) -> Stopping:
        """What judges it now."""
        return self._state.monitor.stopping

    @property
    def pending(self) -> list[Round]:
        """The rounds that are out, or failed and to be asked again."""
        return [as_round(self.problem, one) for one in self._state.history.open.values()]

    def open_rounds(self) -> list[dict[str, Any]]:
        """One row per pending round, the oldest first: who has it, since when, until when, and
        whether that is over; `waiting`: it failed, and is asked again next; `mark`: as its todo has
        it.
        """
        known = self._state.history.open
        return [
            {
                "round": one.number,
                "arms": [self.problem.label([a]) for a in one.arms],
                "left": [self.problem.label([a]) for a in one.left],
                "client": one.client,
                "asked": one.asked,
                "until": one.until,
                "overdue": one.expired(self._at),
                "waiting": one.waiting,
                "mark": one.mark,
            }
            for _, one in sorted(known.items())
        ]

    def within(self) -> dict[int, Floats]:
        """Where plays have levels, the values of all rounds, as `outliers.report_data` takes them."""
        return self._state.history.within()

    @property
    def status(self) -> Status:
        """Where it stands, and what to do next; print it."""
        known = standing(self._state, self.name, self.state, self._at, self._head)
        return known if self._off is None else replace(known, notes=(*known.notes, self._off))

    @property
    def decision(self) -> Decision | None:
        """Why it stopped, and what is known; None while it runs."""
        state, why = self._state, self.state
        return None if why == "running" else make_decision(state, state.ending(why), self._head)

    def rows(self, level: str = "round") -> list[dict[str, Any]]:
        """One row per "round", "arm" or "event"."""
        if not isinstance(level, str) or level not in LEVELS:
            raise unknown_name("level", level, LEVELS)
        state = self._state
        if level == "arm":
            return arm_rows(state)
        return rows(state.setting.problem, self.events, level)

    def history(self, most: int | None = None) -> list[dict[str, Any]]:
        """The evidence and the threshold after everything that was told, and the delta at which it
        was judged; of so many moments at most, the last among them.
        """
        return history(self._state.setting, self._state.engine, self.events, most)

    def to_dict(self, surface: Renderer = PYTHON) -> dict[str, Any]:
        """All of it, as plain data."""
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
        """All of it as JSON, or the rows of a level as CSV: as `form` says, or else as `path` ends;
        also written to `path`, which its owner alone can read if it is new, or as `mode` says.
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
        """A page to hand on, as `Study.report` says."""
        from .report.content import report_data
        from .report.pages import report

        with waiting("writing the report", "wrote the report"):
            text = report(report_data(self, unit, plan, surface))
        if path is not None:
            save(path, text)
        return text


class StudyReader:
    """The part of `Study` that only reads. Every look begins with what others have stored
    meanwhile, and is of one moment.
    """

    name: str
    problem: Problem
    _setting: StudySettings
    _session: StudySession

    @contextmanager
    def moment(self, history: bool = False) -> Iterator[StudyView]:
        """The study as it is now, for several looks that fit together; use it inside the `with`,
        while other threads wait.

        history: with all events, which `rows`, `history` and `export` need.

        >>> import combgame as cg
        >>> study = cg.Study(cg.Problem(cg.Arms(2), rewards=cg.Gaussian(0.1)))
        >>> with study.moment() as now:
        ...     now.status.state, now.decision
        ('running', None)
        """
        with self._session.reading(history) as (state, events):
            session, known = self._session, events if history else None
            yield StudyView(self.name, state, session.at, session.head(state), known, session.off)

    @property
    def state(self) -> str:
        """ "running", "certified", "budget", "deadline" or "by hand"."""
        with self.moment() as this:
            return this.state

    @property
    def done(self) -> bool:
        """Whether it has stopped, for whatever reason."""
        return self.state != "running"

    @property
    def pending(self) -> list[Round]:
        """The rounds that are out, or failed and to be asked again."""
        with self.moment() as this:
            return this.pending

    @property
    def status(self) -> Status:
        """Where it stands, and what to do next; print it."""
        with self.moment() as this:
            return this.status

    @property
    def decision(self) -> Decision | None:
        """Why it stopped, and what is known; None while it runs."""
        with self.moment() as this:
            return this.decision

    @property
    def seq(self) -> int:
        """The number of the last event that this process knows of; nothing is read for it."""
        return self._session.seq

    @property
    def planned_rounds(self) -> float | None:
        """How many rounds a plan expected before it began; None where nobody said."""
        said = self.events(0, 1)[0].data.get("planned_rounds")
        return None if said is None else float(said)

    def events(self, after: int = 0, most: int | None = None) -> list[Event]:
        """All that has happened; or what came after an event, at most so many."""
        after = check_int("after", after, 0)
        most = None if most is None else check_int("most", most, 1)
        return self._session.events(after, most)

    def rows(self, level: str = "round") -> list[dict[str, Any]]:
        """One row per "round", "arm" or "event"."""
        history = not isinstance(level, str) or level != "arm"
        with no_collecting(), self.moment(history) as this:
            return this.rows(level)

    def to_frame(self, level: str = "round") -> Any:
        """The rows as a pandas DataFrame."""
        try:
            import pandas
        except ImportError:
            raise missing_extra("to_frame()", "frames") from None
        return pandas.DataFrame(self.rows(level))

    def export(self, path: Any = None, level: str = "event", mode: int = PRIVATE) -> str:
        """All of it as JSON, or the rows of a level as CSV if `path` ends with .csv; the text,
        which is also written to `path`: a file that its owner alone can read if it is new, or, as
        `mode` says, its group too.
        """
        with self.moment(history=True) as this:
            return this.export(path, level, mode=mode)

    def copy(self, destination: Any) -> None:
        """A copy of the SQLite file, with all the studies in it, while others go on; nothing is
        overwritten.
        """
        with self._session.lock:
            self._session.storage.copy(path_of(destination))

    def history(self) -> list[dict[str, Any]]:
        """The evidence and the threshold after everything that was told, and the delta at which it
        was judged.
        """
        return history(self._setting, self._session.engine, self.events())

    def plot(self, kind: str = "overview", unit: str | None = None) -> Any:
        """A matplotlib figure: "estimates" by name with intervals, the "evidence" over the rounds,
        both ("overview"), or "pulls": values per arm against the best use of as many.

        unit: what the values are, for the axes, such as "mg/l".
        """
        from .report.content import plot

        drawing = waiting("drawing the study", "drew the study")
        with self.moment(history=True) as this, drawing:
            return plot(this, kind, unit)

    def report(self, path: Any = None, plan: Any = None, unit: str | None = None) -> str:
        """A page to hand on: decision, margin, pictures, assumptions, noise, every round and who
        measured it. The HTML, which is also written to `path`; it stands alone and can be printed.

        plan: what `combgame.plan` gave before the study, to compare. unit: what the values are,
        such as "mg/l".

        >>> import combgame as cg
        >>> problem = cg.Problem(cg.Arms(2), rewards=cg.Gaussian(0.1), names=["old", "new <1>"])
        >>> "new &lt;1&gt;: no value" in cg.Study(problem).report()
        False
        """
        with self.moment(history=True) as this:
            return this.report(path, plan, unit)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from .report.content import summary
        from .report.pages import short

        with self.moment(history=True) as this:
            return short(summary(this))

    def replay(self, head: str | None = None) -> Replay:
        """Decide everything again, from the events alone, and say where that differs from what was
        asked, if anywhere.

        head: as `status` or `decision` had it at some time; it is an error if events up to there
        were removed or changed since.
        """
        return self._replay(head, self.events(), self._session.engine)

    def _replay(self, head: str | None, events: list[Event], engine: str) -> Replay:
        if head is not None:
            check_head(events, head, self.name)
        return replay(self._setting, engine, events)

    def __repr__(self) -> str:
        return f"<study {self.name!r}: {self.state}; print its status>"
