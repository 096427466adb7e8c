"""Whatever is asked of a study, in whatever order, it is done or refused; and what it then says of
itself is the same in memory and in a database.
"""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import combgame as cg
from combgame.errors import CombGameError

from .case import Case
from .constructors import problem
from .odd import mostly, odd, shown


def operations(rng: Random, folder: Path) -> Case:
    """A handful of calls on a study, each with some of its arguments changed."""
    stored = rng.random() < 0.3
    storage = f"sqlite:///{folder / 'lab.db'}" if stored else None
    calls = [_call(rng) for _ in range(rng.randrange(1, 6))]

    def do() -> None:
        study = cg.Study(
            problem(), rule="uniform", storage=storage, engine="python", max_rounds=50, client="me"
        )
        with study:
            refusal = None
            for _, act in calls:
                try:
                    act(study)
                except CombGameError as error:
                    refusal = error
            # whatever was refused has changed nothing that would now be in the way
            str(study.status), study.export(level="round"), study.rows("arm"), study.replay()
            if stored:
                with cg.Study.open(str(storage), engine="python") as again:
                    assert [tuple(one) for one in again.events()] == [
                        tuple(one) for one in study.events()
                    ]
            if refusal is not None:
                raise refusal

    typed = "; ".join(said for said, _ in calls)
    return Case(f"{'sqlite' if stored else 'memory'}: {typed}", do)


def _call(rng: Random) -> tuple[str, Callable[[cg.Study], Any]]:
    good: dict[str, dict[str, Any]] = {
        "ask": {"n": 2, "client": "me", "lease": 5.0},
        "tell": {"round": 1, "values": {"a": 0.5, "b": [0.25, 0.5]}, "final": False},
        "tell_many": {"told": {1: {"a": 0.5}, 2: {"b": (0.25, 4)}}, "final": True},
        "fail": {"round": 1, "reason": "it broke", "retry": True},
        "retract": {"round": 1, "reason": "mistyped"},
        "observe": {"values": {"a": 0.5, 1: (0.25, 7)}, "reason": "old data"},
        "extend": {"max_rounds": 60, "deadline": None, "reason": "more"},
        "stop": {"reason": "enough", "client": "me"},
        "rows": {"level": "round"},
        "export": {"path": None, "level": "event"},
        "replay": {"head": None},
        "copy": {"destination": "/nowhere/x.db"},
    }
    verb = rng.choice(list(good))
    given = {
        name: value if rng.random() < 0.6 else mostly(rng, value)
        for name, value in good[verb].items()
    }
    if verb == "ask" and isinstance(given["n"], int) and given["n"] > 10:
        given["n"] = 10  # as many as one likes: that is no mistake
    if verb == "observe" and rng.random() < 0.3:
        given["values"] = {rng.choice(["a", 0, 1, 2, "c"]): odd(rng, 1)}
    for name in ("path", "destination"):  # nothing is written beside the case's own folder
        if isinstance(given.get(name), str | Path):
            given[name] = "/nowhere/" + str(good[verb][name])
    typed = ", ".join(f"{name}={shown(value, 80)}" for name, value in given.items())
    return f"{verb}({typed})", lambda study: getattr(study, verb)(**given)


def opening(rng: Random, folder: Path) -> Case:
    """Where a study is kept: URLs of all kinds."""
    lab = folder / "lab.db"
    urls: list[Any] = [
        f"sqlite:///{lab}",
        f"sqlite:///{folder}",
        f"sqlite:///{folder}/no/lab.db",
        f"sqlite+pysqlite:///{lab}",
        f"sqlite+nodriver:///{lab}",
        f"sqlite:///{lab}?timeout=x",
        f"sqlite:///{lab}?mode=ro&uri=true",
        f"sqlite:///{lab}\0",
        f"sqlite:///{folder}/\ud800.db",
        "sqlite://",
        "sqlite:///",
        "sqlite:///:memory:",
        "mysql://a/b",
        "postgresql+psycopg://u:p@localhost:x/lab",
        "postgresql+psycopg://u:p@localhost:99999/lab",
        "postgresql+psycopg://u:p@127.0.0.1:1/lab?connect_timeout=1",
        "postgresql+nodriver://u:p@127.0.0.1:1/lab",
        "postgresql+pg8000://u:p@127.0.0.1:1/lab",
        "postgresql://u:p@127.0.0.1:1/lab",
        "postgresql+psycopg://u:p@[::1:1/lab",
        "postgresql+psycopg://u:p@127.0.0.1:1/lab?options=x&options=y",
        "postgresql+psycopg:///lab?host=/nowhere",
    ]
    url = rng.choice(urls) if rng.random() < 0.8 else odd(rng)
    name = mostly(rng, "study")
    timeout = mostly(rng, 0.5) if rng.random() < 0.3 else 0.5
    if isinstance(url, str) and ":///" in url and str(folder) not in url:
        url = url if url in urls else f"sqlite:///{lab}"
    client = mostly(rng, "me")

    def do() -> None:
        if rng.random() < 0.5:
            cg.Study(
                problem(),
                storage=url,
                name=name,
                timeout=timeout,
                client=client,
                engine="python",
                rule="uniform",
            ).close()
        cg.Study.open(url, name, timeout=timeout, client=client, engine="python").close()

    typed = f"storage={shown(url)}, name={shown(name)}, timeout={shown(timeout)}"
    return Case(f"Study.open({typed}, client={shown(client)})", do)
