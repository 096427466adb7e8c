"""Everything that can be seen of a study without changing it."""

from typing import Any

from ..errors import InputError
from ..problem import Problem
from ..storage.copying import path_of
from ..storage.events import Event, check_head
from .decision import Decision, decide
from .export import export, history, rows
from .advisor import Advisor
from .replay import Replay, replay
from .round import Round, as_round
from .session import Session
from .settings import Setting, now
from .status import Status, standing


class Queries:
    """The part of `Study` that only reads. Every look begins with what others have stored meanwhile."""

    name: str
    _setting: Setting
    _session: Session

    @property
    def problem(self) -> Problem:
        return self._setting.problem

    @property
    def state(self) -> str:
        """ "running", "certified", "budget", "deadline" or "by hand"."""
        with self._session.reading() as advisor:
            return self._state(advisor, now())

    def _state(self, advisor: Advisor, at: float) -> str:
        if advisor.ended is not None:
            return str(advisor.ended["why"])
        if not self._affordable(advisor) and not advisor.ledger.open:
            return "budget"
        return "deadline" if advisor.deadline is not None and at >= advisor.deadline else "running"

    def _affordable(self, advisor: Advisor) -> bool:
        return advisor.max_rounds is None or advisor.ledger.plays < advisor.max_rounds

    @property
    def done(self) -> bool:
        """Whether it has stopped, for whatever reason."""
        return self.state != "running"

    @property
    def pending(self) -> list[Round]:
        """The rounds that are out, or failed and to be asked again."""
        with self._session.reading() as advisor:
            return [as_round(self.problem, number, known) for number, known in advisor.ledger.open.items()]

    @property
    def status(self) -> Status:
        """Where it stands, and what to do next; print it."""
        with self._session.reading() as advisor:
            at = now()
            return standing(advisor, self.name, self._state(advisor, at), at, self._session.head(advisor))

    @property
    def decision(self) -> Decision | None:
        """Why it stopped, and how sure it is; None while it runs."""
        with self._session.reading() as advisor:
            why = self._state(advisor, now())
            return None if why == "running" else decide(advisor, advisor.ended or advisor.facts(why), self._session.head(advisor))

    def events(self) -> list[Event]:
        """All that has happened."""
        return self._session.events()

    def rows(self, level: str = "round") -> list[dict[str, Any]]:
        """One row per "round", "arm" or "event"."""
        with self._session.reading() as advisor:
            return rows(advisor, self.events(), level)

    def to_frame(self, level: str = "round") -> Any:
        """The rows as a pandas DataFrame."""
        try:
            import pandas
        except ImportError:
            raise InputError("to_frame needs pandas: pip install 'combgame[frames]' (or use rows()).") from None
        return pandas.DataFrame(self.rows(level))

    def export(self, path: Any = None, level: str = "event") -> str:
        """All of it as JSON, or the rows of a level as CSV if `path` ends with .csv; the text, which is also written to `path`."""
        return export(self, path, level)

    def copy(self, destination: Any) -> None:
        """A copy of the SQLite file, with all the studies in it, while others go on; nothing is overwritten."""
        with self._session.lock:
            self._session.storage.copy(path_of(destination))

    def history(self) -> list[dict[str, Any]]:
        """The evidence and the threshold after everything that was told, and the delta at which it was judged."""
        return history(self._setting, self._session.engine, self.events())

    def plot(self, kind: str = "evidence") -> Any:
        """A matplotlib figure: "evidence" and threshold over the rounds, "estimates" with intervals, "pulls" against the optimal ones."""
        from .plots import plot

        return plot(self, kind)

    def replay(self, head: str | None = None) -> Replay:
        """Decide everything again, from the events alone, and say where that differs from what was asked, if anywhere.

        head: as `status` or `decision` had it at some time; it is an error if events up to there were removed or changed since.
        """
        events = self.events()
        if head is not None:
            check_head(events, head, self.name)
        return replay(self._setting, self._session.engine, events)

    def __repr__(self) -> str:
        return f"<study {self.name!r}: {self.state}; print its status>"
