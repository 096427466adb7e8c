"""Faults: the server is killed under load, the database goes away. What was acknowledged is there,
what is made again is done once.
"""

import json
import os
import signal
import socket
import threading
import warnings

import pytest

import combgame as cg
from combgame.lab.study import Study
from tests.services import PROBLEM as SENT
from tests.services import process, serving

pytestmark = pytest.mark.slow  # servers in processes of their own

PROBLEM = cg.Problem(cg.Arms(3), rewards=cg.Gaussian(10.0), names=["ann", "bob", "cid"])


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


def test_killed_under_load_it_has_every_acknowledged_write_and_none_twice(tmp_path):
    storage, port = f"sqlite:///{tmp_path}/lab.db", free_port()
    acknowledged, unfit, enough = [], [], threading.Event()

    def work(url, who):
        study = cg.Client(url, client=who, patience=120.0).open("x")
        for k in range(12):
            todo = study.ask()
            value = float(f"{len(who)}.{k:03}")
            study.tell(todo, dict.fromkeys(todo.arms, value))
            acknowledged.append((todo.id, who, value))
            if study.observe({"ann": 1.0 + value}, allow_duplicates=True) < 1:
                unfit.append(k)
            if len(acknowledged) >= 8:
                enough.set()

    with process(storage, port) as (service, running, _):
        cg.Client(service.url).create(PROBLEM, name="x", delta=1e-6)
        threads = [threading.Thread(target=work, args=(service.url, "w" * k)) for k in (1, 2, 3)]
        for thread in threads:
            thread.start()
        assert enough.wait(300)
        os.kill(running.pid, signal.SIGKILL)
    with process(storage, port):
        for thread in threads:
            thread.join()
    with Study.open(storage, "x") as study:
        events = study.events()
        assert study.replay().same
    told = {
        (one.round, one.client, next(iter(one.data["values"].values())))
        for one in events
        if one.kind == "told"
    }
    assert len(acknowledged) == 36 and not unfit
    assert told == set(acknowledged)
    rounds = [one.round for one in events if one.kind == "asked" and not one.data.get("again")]
    assert len(rounds) == len(set(rounds)) == 36  # a retry got the round that it had been given
    assert sum(one.kind == "told" for one in events) == 36
    assert sum(one.kind == "observed" for one in events) == 36


def test_a_stop_finishes_what_runs_and_then_leaves(tmp_path):
    storage = f"sqlite:///{tmp_path}/lab.db"
    with process(storage) as (service, running, lines):
        study = cg.Client(service.url, client="me").create(PROBLEM, name="x")
        watching = threading.Thread(target=service.get, args=("studies/x/changes",))
        watching.start()
        study.ask()
        running.send_signal(signal.SIGTERM)
        running.wait(60)
        watching.join(60)
        assert not watching.is_alive()
    said = "".join(lines)
    assert '"stopping"' in said and '"stopped"' in said and "Traceback" not in said
    with Study.open(storage, "x") as kept:
        assert [one.kind for one in kept.events()] == ["created", "asked"]


AHEAD = """
import time
from combgame.storage import clock
clock.now = lambda: time.time() + 86_400.0
"""


def test_every_line_of_the_log_is_json_also_what_others_say(tmp_path):
    storage = f"sqlite:///{tmp_path}/lab.db"
    with Study(PROBLEM, storage=storage, name="x", engine="python") as study:
        study.ask()
    with process(storage, first=AHEAD) as (service, _, lines):
        for _ in range(2):
            assert service.post("studies/x/ask", {"client": "me"}).status == 200
        with socket.create_connection((service.host, int(service.port)), timeout=60) as raw:
            raw.sendall(b"no HTTP\r\n\r\n")
            assert raw.recv(12) == b"HTTP/1.1 400"
    said = [json.loads(one) for one in lines]
    assert [one["code"] for one in said if one["event"] == "noticed"] == ["clock-off"]
    assert any(one["event"] == "logged" and "Invalid HTTP" in one["text"] for one in said)


@pytest.fixture
def away(place):
    """A PostgreSQL of its own, which can be stopped and started."""
    pgserver = pytest.importorskip("pgserver")
    from pgserver._commands import pg_ctl

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of where it keeps its locks
        server = pgserver.get_server(place / "away")
    words = ["-w", "-m", "fast", "stop"]
    yield (
        server.get_uri().replace("postgresql://", "postgresql+psycopg://"),
        lambda: pg_ctl(words, pgdata=server.pgdata, user=server.system_user),
        server.ensure_postgres_running,
    )
    server.cleanup()


@pytest.mark.postgresql
def test_a_database_that_goes_away_gives_503_and_loses_nothing(away):
    url, stop, start = away
    with serving(url, tokens=False, lock_timeout_s=2.0) as service:
        at = service.create("x", SENT)
        todo = service.post(f"{at}/ask", {"client": "me"}, key="k1").data["rounds"][0]
        stop()
        told = {"rounds": [{"round": todo["id"], "values": {todo["names"][0]: 0.5}}]}
        for _ in range(2):
            said = service.post(f"{at}/tell", told, key="k2")
            assert said.status == 503 and said.data["error"]["kind"] == "StoreError"
        assert service.get(at).status == 503
        assert service.call("GET", "/ready").status == 503
        assert service.call("GET", "/health").status == 200
        start()
        assert service.call("GET", "/ready").status == 200
        assert service.post(f"{at}/tell", told, key="k2").status == 200
        assert service.post(f"{at}/tell", told, key="k2").data == {
            "stored": {"1": {str(todo["arms"][0]): 0.5}}
        }
        again = service.post(f"{at}/ask", {"client": "me"}, key="k1").data["rounds"][0]
        assert again == todo
        kinds = [one["kind"] for one in service.get(f"{at}/events").data["events"]]
        assert kinds == ["created", "asked", "told"]
