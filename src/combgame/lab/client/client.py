"""Client: the studies of a service, as if they were here."""

from typing import Any

from ...errors import check_positive, invalid_argument
from ...io import to_data
from ...problem import Problem
from ...rules import RuleBase
from ..inputs import client_of, name_of
from ..settings import check_setting
from .connection import HttpConnection
from .study import RemoteStudy


class Client:
    """A service (`combgame serve`) at a URL. What `create` and `open` return has the verbs and the
    results of `Study`, so that code moves there by one line.

    token: as `combgame token make` gave it; a service on the same machine may need none. client:
    who asks and tells, unless a call says otherwise: whoever has a name gets its open rounds back,
    also after a restart. Without one, every `Client` is a client of its own (and so is a process
    that is forked with it), recorded under the name of the token with ten digits of its own:
    workers that share a token measure different rounds. It may be used by any number of threads,
    which are one client, and get the same open rounds back; threads that measure side by side take
    a `Client` each. timeout:
    seconds to wait for an answer. patience: seconds during which a request that is not answered is
    made again; nothing is done twice.
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
    ) -> RemoteStudy:
        """A new study there, made as `Study` makes one."""
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

    def open(self, name: str = "study", *, client: str | None = None) -> RemoteStudy:
        """A study that is there."""
        return RemoteStudy(self._service, name_of(name), client_of(client) or self.client)

    def list(self) -> list[str]:
        """The names of the studies that are there."""
        return [one["name"] for one in self._service.get("studies")["studies"]]

    def close(self) -> None:
        """Let go of the connection of this thread."""
        self._service.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self._service.url!r})"
