"""Studies of a service: `Client` makes and opens them, `RemoteStudy` has the methods of `Study`."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any, overload

from ..._messages import CallHint
from ...errors import (
    InputError,
    StudyError,
    check_bool,
    check_positive,
    invalid_argument,
    unknown_name,
)
from ...io import to_data
from ...problem import Problem
from ...rules import RuleBase, Stopping
from ...storage.events import Event
from ..decision import Decision
from ..exports import LEVELS, history, rows
from ..inputs import (
    Todo,
    asked_of,
    client_of,
    limits_of,
    name_of,
    observed_of,
    read_values,
    reason_of,
    round_or_arm,
    rounds_of,
    todo_of,
)
from ..round import Entry, Round
from ..settings import StudySettings, check_setting, setting_from
from ..snapshot import Replay
from ..status import Status
from ..view import StudyReader, StudyView
from ._wire import decision_from, event_from, infinite, round_from, status_from
from .connection import HttpConnection

PAGE = 1000  # events per request


class Client:
    """Client of a service that `combgame serve` runs.

    The studies that `create` and `open` return have the methods and the results of `Study`, so code
    moves to a service by changing one line.

    Parameters
    ----------
    url : str
        URL of the service.
    token : str, optional
        Secret that `combgame token make` printed. A service on the same machine may need none.
    client : str, optional
        Default name of the person or instrument that asks and reports. A client with a name gets
        its open rounds back, also after a restart. Without a name, every `Client` is a separate
        client, recorded under the name of the token and ten random digits, and so is every forked
        process; workers that share a token then measure different rounds.
    timeout : float, default=60.0
        Seconds to wait for a response.
    patience : float, default=60.0
        Seconds during which a request without a response is repeated. A repeated request takes
        effect only once.

    Raises
    ------
    InputError
        If the URL, the token or a time is invalid.

    Notes
    -----
    Any number of threads may use a `Client`. They count as one client and get the same open rounds;
    threads that measure in parallel need a `Client` each.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        client: str | None = None,
        timeout: float = 60.0,
        patience: float = 60.0,
    ) -> None:
        self.client = client_of(client)
        self._service = HttpConnection(url, token, timeout, patience)

    def create(
        self,
        problem: Problem,
        *,
        name: str = "study",
        delta: float = 0.05,
        rule: str | RuleBase = "frank-wolfe",
        threshold: str = "mixture",
        seed: int = 0,
        if_exists: str = "error",
        epsilon: float = 0.0,
        min_replicates: int = 2,
        replicates: int = 1,
        max_rounds: int | None = None,
        deadline: Any = None,
        client: str | None = None,
        planned_rounds: float | None = None,
    ) -> "RemoteStudy":
        """Make a study at the service.

        Parameters
        ----------
        problem : Problem
            The problem that the study solves.
        name : str, default="study"
            Name of the study.
        delta, rule, seed, if_exists, epsilon, min_replicates, replicates, max_rounds, deadline
            See `Study`.
        threshold : str, default="mixture"
            Name of a threshold. A service cannot use stopping rules of your own.
        client : str, optional
            Default name of the person or instrument that asks and reports.
        planned_rounds : float, optional
            Number of rounds that were planned; it is stored for comparison.

        Returns
        -------
        RemoteStudy
            The new study.
        """
        name, who = name_of(name), client_of(client) or self.client
        if not isinstance(threshold, str):
            what = "a name, such as 'mixture', because a service does not have your classes"
            raise invalid_argument("threshold", threshold, what)
        setting = check_setting(
            problem,
            rule,
            delta,
            threshold,
            seed,
            epsilon,
            min_replicates,
            replicates,
            max_rounds,
            deadline,
        )
        body = {
            "name": name,
            "problem": to_data(problem),
            "rule": rule if isinstance(rule, str) else to_data(rule),
            "delta": setting.delta,
            "threshold": threshold,
            "seed": setting.seed,
            "epsilon": epsilon,
            "min_replicates": setting.min_replicates,
            "replicates": setting.replicates,
            "max_rounds": setting.max_rounds,
            "deadline": setting.deadline,
            "planned_rounds": None
            if planned_rounds is None
            else check_positive("planned_rounds", planned_rounds),
            "if_exists": if_exists,
            "client": who,
        }
        self._service.post("studies", body=body)
        return RemoteStudy(self._service, name, who)

    def open(self, name: str = "study", *, client: str | None = None) -> "RemoteStudy":
        """Return an existing study.

        Parameters
        ----------
        name : str, default="study"
            Name of the study.
        client : str, optional
            Default name of the person or instrument that asks and reports.

        Returns
        -------
        RemoteStudy
            The study.
        """
        return RemoteStudy(self._service, name_of(name), client_of(client) or self.client)

    def list(self) -> list[str]:
        """Return the names of all studies."""
        return [one["name"] for one in self._service.get("studies")["studies"]]

    def close(self) -> None:
        """Close the HTTP connection of this thread."""
        self._service.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self._service.url!r})"


class RemoteStudyView(StudyView):
    """A remote study at one moment."""

    def __init__(
        self,
        name: str,
        setting: StudySettings,
        said: Mapping[str, Any],
        events: list[Event] | None,
        arms: Callable[[], list[dict[str, Any]]],
    ) -> None:
        self.name, self.problem = name, setting.problem
        self._setting, self._said, self._events, self._arms = setting, said, events, arms

    @property
    def state(self) -> str:
        """See `StudyView.state`."""
        return str(self._said["state"])

    @property
    def stopping(self) -> Stopping:
        """See `StudyView.stopping`."""
        return self._setting.stopping_at(self.status.delta)

    @property
    def pending(self) -> list[Round]:
        """See `StudyView.pending`."""
        return [round_from(one) for one in self._said["pending"]]

    @cached_property
    def status(self) -> Status:
        """See `StudyView.status`."""
        return status_from(self._said["status"])

    @cached_property
    def decision(self) -> Decision | None:
        """See `StudyView.decision`."""
        return decision_from(self._said["decision"])

    def rows(self, level: str = "round") -> list[dict[str, Any]]:
        """Return one row per round, arm or event. See `StudyView.rows`."""
        if not isinstance(level, str) or level not in LEVELS:
            raise unknown_name("level", level, LEVELS)
        return self._arms() if level == "arm" else rows(self.problem, self.events, level)

    def history(self, most: int | None = None) -> list[dict[str, Any]]:
        """Return the evidence after every report. See `StudyView.history`."""
        return history(self._setting, "auto", self.events, most)


class RemoteStudy(StudyReader):
    """A study of a service, with the methods and the results of `Study`.

    `Client.open` and `Client.create` return one. Every call takes effect once, even if a response
    is lost and the request is repeated.

    Attributes
    ----------
    name : str
        Name of the study.
    problem : Problem
        The problem that the study solves.
    client : str or None
        Default name of the person or instrument that asks and reports.
    """

    def __init__(self, service: HttpConnection, name: str, client: str | None) -> None:
        self.name, self.client = name, client_of(client)
        self._service = service
        first = service.get("studies", name, "events", most=1)["events"]
        self._setting = setting_from(event_from(first[0]).data, name)
        self.problem = self._setting.problem

    def close(self) -> None:
        """Close the HTTP connection of this thread."""
        self._service.close()

    def __enter__(self) -> "RemoteStudy":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- asking and reporting

    @overload
    def ask(
        self,
        n: None = None,
        client: str | None = None,
        lease: float | None = None,
        replicates: int | None = None,
    ) -> Round: ...

    @overload
    def ask(
        self,
        n: int,
        client: str | None = None,
        lease: float | None = None,
        replicates: int | None = None,
    ) -> list[Round]: ...

    def ask(
        self,
        n: int | None = None,
        client: str | None = None,
        lease: float | None = None,
        replicates: int | None = None,
    ) -> Round | list[Round]:
        """Return the next round to measure, or a list of up to `n` rounds. See `Study.ask`."""
        most = asked_of(n, lease, replicates)
        n = None if n is None else most
        said = self._do("ask", client, n=n, lease=lease, replicates=replicates)
        rounds = [round_from(one) for one in said["rounds"]]
        return rounds[0] if n is None else rounds

    def tell(
        self, round: Round | int | str, values: Any, final: bool = True, client: str | None = None
    ) -> None:
        """Report the results of a round. See `Study.tell`."""
        self.tell_many({todo_of(round): values}, final, client)

    def tell_many(
        self,
        told: Any,
        final: bool = True,
        client: str | None = None,
        allow_duplicates: bool = False,
    ) -> dict[int, dict[int, Entry]]:
        """Report the results of several rounds. See `Study.tell_many`."""
        rounds = [
            {
                **_said(todo),
                "values": self._named(read_values(self.problem, values, None, todo.id)),
            }
            for todo, values in rounds_of(told, self.problem, self.name, allow_duplicates).items()
        ]
        said = self._do("tell", client, rounds=rounds, final=check_bool("final", final))
        return {
            int(number): {int(arm): entry for arm, entry in new.items()}
            for number, new in said["stored"].items()
        }

    def tell_and_ask(
        self,
        round: Round | int | str,
        values: Any,
        client: str | None = None,
        lease: float | None = None,
    ) -> Round | None:
        """Report a round, then ask for the next one. See `Study.tell_and_ask`.

        Unlike the method of `Study`, this one sends two requests. If the second fails, `ask`
        returns the next round.
        """
        self.tell(round, values, client=client)
        return next(iter(self.ask(1, client=client, lease=lease)), None)

    def fail(
        self, round: Round | int | str, reason: str, retry: bool = True, client: str | None = None
    ) -> None:
        """Report that a round failed. See `Study.fail`."""
        todo, reason, retry = todo_of(round), reason_of(reason), check_bool("retry", retry)
        self._do("fail", client, **_said(todo), reason=reason, retry=retry)

    def retract(
        self,
        round: Round | int | str | None = None,
        reason: str = "",
        *,
        arm: int | str | None = None,
        client: str | None = None,
    ) -> None:
        """Retract the results of a round or of an arm. See `Study.retract`."""
        reason = reason_of(reason)
        round_or_arm(round, arm)
        if round is None:
            (which,) = self._named({self.problem.arm_index(arm): None})  # type: ignore[arg-type]
            self._do("retract", client, arm=which, reason=reason)
        else:
            self._do("retract", client, **_said(todo_of(round)), reason=reason)

    def observe(
        self,
        values: Any,
        reason: str | None = None,
        client: str | None = None,
        allow_duplicates: bool = False,
        planned: bool = False,
    ) -> int:
        """Add data that were measured outside the study. See `Study.observe`."""
        reason = None if reason is None else reason_of(reason)
        given = self._named(observed_of(values, self.problem, self.name, allow_duplicates))
        about = {
            "allow_duplicates": allow_duplicates,
            "planned": check_bool("planned", planned),
        }
        said = self._do("observe", client, values=given, reason=reason, **about)
        return int(said["number"])

    def transfer_from(self, old: Any, reason: str | None = None, client: str | None = None) -> int:
        """Raise an error: a service does not transfer data between studies."""
        text = "a service does not carry data over from one study to another"
        remedy = "do it where its storage is: `combgame study create --from`"
        raise StudyError("no-carrying", text, remedy=remedy)

    def extend(
        self,
        max_rounds: float | None = None,
        deadline: Any = None,
        *,
        reason: str,
        client: str | None = None,
    ) -> None:
        """Raise the limits on rounds or time. See `Study.extend`."""
        reason, given = reason_of(reason), limits_of(max_rounds, deadline)
        said = {key: "none" if value is None else value for key, value in given.items()}
        self._do("extend", client, reason=reason, **said)

    def stop(self, reason: str, client: str | None = None) -> None:
        """End the study by hand. See `Study.stop`."""
        self._do("stop", client, reason=reason_of(reason))

    def _do(self, verb: str, client: str | None, **body: Any) -> Any:
        who = client_of(client) or self.client or self._service.name
        return self._service.post("studies", self.name, verb, body={**body, "client": who})

    def _named(self, entries: Mapping[int, Entry]) -> dict[str, Entry]:
        """Return the entries by the names of the arms, as requests have them."""
        names = self.problem.names
        return {names[arm] if names else str(arm): entry for arm, entry in entries.items()}

    # ---- reading

    @contextmanager
    def view(self, history: bool = False) -> Iterator[StudyView]:
        """Return the study at the present moment, for several looks that fit together.

        With `history`, all events are included, which `rows`, `history` and `export` need.
        """
        said = self._service.get("studies", self.name, arms=str(history).lower())
        events = self._events(0, said["seq"]) if history else None

        def arms() -> list[dict[str, Any]]:
            some = said["arms"]
            if some is None:
                some = self._service.get("studies", self.name, "rows", level="arm")["rows"]
            known: list[dict[str, Any]] = infinite(some)
            return known

        yield RemoteStudyView(self.name, self._setting, said, events, arms)

    @property
    def state(self) -> str:
        """One of "running", "certified", "budget", "deadline" and "by hand"."""
        return str(self._service.get("studies", self.name, "state")["state"])

    @property
    def seq(self) -> int:
        """Number of the last event."""
        return int(self._service.get("studies", self.name)["seq"])

    def events(self, after: int = 0, most: int | None = None) -> list[Event]:
        """Return all events, or at most `most` events after number `after`."""
        return self._events(after, None if most is None else after + most)

    def _events(self, after: int, last: int | None) -> list[Event]:
        made: list[Event] = []
        at: int | None = after
        while at is not None and (last is None or at < last):
            most = PAGE if last is None else min(PAGE, last - at)
            said = self._service.get("studies", self.name, "events", after=at, most=most)
            made += [event_from(one) for one in said["events"]]
            at = said["next"]
        return made

    def history(self) -> list[dict[str, Any]]:
        """Return the evidence and the threshold after every report."""
        said: list[dict[str, Any]] = infinite(
            self._service.get("studies", self.name, "history")["history"]
        )
        return said

    def replay(self, head: str | None = None) -> Replay:
        """Decide the study again from its events, on this machine. See `Study.replay`."""
        return self._replay(head, self.events(), "auto")

    def copy(self, destination: Any) -> None:
        """Raise an error: a study of a service has no file to copy."""
        text, remedy = "copy: a study of a service has no file", "{export} writes all of it"
        raise InputError("no-copying", text, remedy=remedy, export=CallHint("export", "path"))


def _said(todo: Todo) -> dict[str, Any]:
    """Return the fields that name a round in a request."""
    return {"round": todo.id, **({"mark": todo.mark} if todo.mark else {})}
