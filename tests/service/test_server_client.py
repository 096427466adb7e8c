"""cg.Client: what it returns is what a Study returns, on the same data; it tries again, and nothing
is done twice.
"""

import dataclasses
import json
import math
import os
import socket
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest

import combgame as cg
from combgame._messages import CallHint, Message, OptionHint, PhraseHint
from combgame.lab.client import _wire as wire
from combgame.lab.client import connection
from combgame.lab.round import Round
from combgame.lab.server.registry import StudyRegistry, make_token
from combgame.storage import clock
from combgame.storage import files as places
from tests.said import refused, says
from tests.services import serving
from tests.studies import COINS, HARD, PROBLEM, UNKNOWN, command, fill, measure


@pytest.fixture
def service(storage):
    with serving(storage, tokens=False) as one:
        yield one


@pytest.fixture
def twins(service, tmp_path):
    """A study here and one there, made alike."""
    made = []

    def make(problem=PROBLEM, **more):
        more = {"name": "twin", "delta": 0.1, **more}
        here = cg.Study(problem, storage=f"sqlite:///{tmp_path}/here.db", client="me", **more)
        there = cg.Client(service.url, client="me").create(problem, **more)
        made.extend((here, there))
        return here, there

    yield make
    for one in made:
        one.close()


def seen(study):
    """All that can be seen of a study, but for moments and seals."""
    status, decision = study.status, study.decision
    return {
        "status": dataclasses.replace(status, audit_hash=""),
        "said": dataclasses.replace(status, audit_hash="").render(),
        "decision": None if decision is None else dataclasses.replace(decision, audit_hash=""),
        "reads": None
        if decision is None
        else dataclasses.replace(decision, audit_hash="").render(),
        "state": study.state,
        "done": study.done,
        "pending": timeless(study.pending),
        "events": [
            one._replace(timestamp=0, data={k: x for k, x in one.data.items() if k != "until"})
            for one in study.events()
        ],
        "arms": study.rows("arm"),
        "rounds": [
            {k: x for k, x in row.items() if k not in ("asked", "told", "observed")}
            for row in study.rows()
        ],
        "history": [{k: x for k, x in one.items() if k != "timestamp"} for one in study.history()],
        "replay": dataclasses.replace(study.replay(), head=""),
        "problem": study.problem,
        "repr": repr(study),
    }


def timeless(rounds):
    """Rounds, without when their leases end."""
    return [dataclasses.replace(one, lease_until=one.lease_until is not None) for one in rounds]


def unmarked(given):
    """Rounds by their numbers: a study knows the rounds of another by their marks."""
    if isinstance(given, dict):
        return {unmarked(key): value for key, value in given.items()}
    return dataclasses.replace(given, mark="") if isinstance(given, Round) else given


def both(here, there, verb, *given, **named):
    """The same verb on both: the same result, or the same error."""
    given, results = [unmarked(one) for one in given], []
    for study in (here, there):
        try:
            results.append(getattr(study, verb)(*given, **named))
            if verb == "ask" and given:
                results[-1] = timeless(results[-1])
        except cg.CombGameError as error:
            results.append((type(error), error.sentence.to_data()))
    assert results[0] == results[1], verb
    return results[0]


def test_every_verb_does_there_what_it_does_here(twins, service):
    here, there = twins(max_rounds=40)
    rng = np.random.default_rng(5)
    one = both(here, there, "ask")
    said = service.get("studies/twin/status").data
    assert said["leader"] == [] and said["leader_name"] == "nobody yet" and said["values"] == 0
    assert there.status.leader == ()
    both(here, there, "tell", one, {"ann": 0.5}, final=False) if 0 in one.arms else None
    values = measure(one, rng)
    both(here, there, "tell", one, values)
    both(here, there, "tell", one, values)  # the same again
    both(here, there, "tell", one, {arm: x + 1.0 for arm, x in values.items()})  # something else
    two, three = both(here, there, "ask", 2)
    both(here, there, "ask", 3, "you", 60.0)
    both(here, there, "fail", two, "spilt")
    both(here, there, "fail", 4, "lost", retry=False)
    told = {two: {arm: [0.1, np.float32(0.25)] for arm in two.arms}, three: {three.arms[0]: None}}
    both(here, there, "tell_many", told)
    both(here, there, "observe", {"ann": 0.45, 1: (0.25, 4), "cid": [0.1, math.nan]}, "earlier")
    both(here, there, "observe", {"ann": 0.123456789, 1: 0.987654321}, "earlier")
    both(here, there, "observe", {"ann": 0.123456789, 1: 0.987654321}, "again")
    both(
        here, there, "observe", {"ann": 0.123456789, 1: 0.987654321}, "again", allow_duplicates=True
    )
    both(here, there, "retract", 1, "a typo")
    both(here, there, "retract", arm="bob", reason="mixed up")
    both(here, there, "extend", 60, reason="more")
    both(here, there, "extend", math.inf, reason="more")
    assert seen(here) == seen(there)
    while not here.done and here.seq < 300:
        todo = both(here, there, "ask")
        both(here, there, "tell", todo, measure(todo, rng))
    assert seen(here) == seen(there)
    both(here, there, "stop", "enough")
    both(here, there, "ask")
    assert both(here, there, "ask", 2) == []
    assert seen(here) == seen(there)


def test_studies_of_every_kind_are_seen_alike(twins):
    for k, problem in enumerate((HARD, COINS, UNKNOWN)):
        here, there = twins(problem, name=f"twin {k}", max_rounds=12)
        rng = np.random.default_rng(1)
        while not here.done:
            todo = both(here, there, "ask")
            coin = problem is COINS
            values = {a: float(rng.random() < 0.5) if coin else rng.normal() for a in todo.arms}
            both(here, there, "tell", todo, values)
        assert seen(here) == seen(there)


def test_what_is_refused_is_refused_in_the_same_words(twins):
    here, there = twins(max_rounds=9)
    todo = both(here, there, "ask")
    arm = todo.arms[0]
    wrong = [
        ("ask", 0),
        ("ask", "two"),
        ("ask", 1, "", None),
        ("ask", 1, None, -1.0),
        ("tell", 99, {"ann": 0.5}),
        ("tell", 0, {"ann": 0.5}),
        ("tell", todo, {"zoe": 0.5}),
        ("tell", todo, {arm: "much"}),
        ("tell", todo, {arm: math.inf}),
        ("tell", todo, {arm: (0.5, 0)}),
        ("tell", todo, 3),
        ("tell", todo, {arm: 0.5}, "yes"),
        ("tell_many", 7),
        ("tell_many", [(1, {}), (1, {})]),
        ("fail", todo, ""),
        ("fail", 99, "why"),
        ("retract", 1, "nothing was told"),
        ("retract", None, "neither"),
        ("retract", 1, ""),
        ("observe", {}),
        ("observe", {"ann": None}),
        ("observe", {"ann": 0.5}, "a\x00b"),
        ("stop", ""),
        ("rows", "week"),
    ]
    for verb, *given in wrong:
        result = both(here, there, verb, *given)
        assert isinstance(result, tuple) and issubclass(result[0], cg.CombGameError), (verb, result)
    both(here, there, "extend", 3, reason="less")
    both(here, there, "extend", None, None, reason="nothing")
    both(here, there, "extend", None, "2031-01-01T00:00", reason="there is none")
    not_in = next(a for a in range(5) if a not in todo.arms)
    assert both(here, there, "tell", todo, {not_in: 0.5})[1]["code"] == "not-in-round"
    assert seen(here) == seen(there)


def test_making_a_study_is_refused_in_the_same_words(service):
    client = cg.Client(service.url)
    for more in (
        {"delta": 2.0},
        {"rule": "best"},
        {"seed": -1},
        {"name": ""},
        {"planned_rounds": 0},
    ):
        with pytest.raises(cg.CombGameError) as here:
            cg.Study(PROBLEM, **more)
        with pytest.raises(cg.CombGameError) as there:
            client.create(PROBLEM, **more)
        assert type(here.value) is type(there.value) and str(here.value) == str(there.value)
    client.create(PROBLEM, name="x")
    with pytest.raises(cg.StudyError, match="already"):
        client.create(PROBLEM, name="x")
    assert client.create(PROBLEM, name="x", if_exists="resume").events()[0].kind == "created"
    client.create(PROBLEM, name="planned", planned_rounds=40.0)
    with pytest.raises(cg.StudyError, match="made with delta"):
        client.create(PROBLEM, name="x", delta=0.2, if_exists="resume")
    with pytest.raises(cg.InputError, match="function"):
        oracle = cg.Oracle(lambda score: [int(score.argmax())], 3)
        client.create(cg.Problem(oracle, rewards=cg.Gaussian(1.0)), name="y")
    assert client.open("planned").events()[0].data["planned_rounds"] == 40.0
    assert client.list() == ["x", "planned"] and client.open("x").problem == PROBLEM


def test_a_frame_can_be_told_and_the_pictures_and_the_report_are_drawn(twins, tmp_path):
    pandas = pytest.importorskip("pandas")
    here, there = twins()
    for _ in range(3):
        todo = both(here, there, "ask")
        lines = [{"round": todo.id, "arm": name, "value": 0.3} for name in todo.names]
        both(here, there, "tell_many", pandas.DataFrame(lines))
    page = there.report(tmp_path / "r.html", unit="mg/l")
    assert "mg/l" in page and (tmp_path / "r.html").read_text() == page
    assert len(there.plot("estimates").axes) == len(here.plot("estimates").axes)
    assert there.export(tmp_path / "e.csv").splitlines()[0].startswith("seq,kind")
    assert there.to_frame("arm").equals(here.to_frame("arm"))


def test_a_token_opens_and_a_wrong_one_says_so(storage):
    shelf = StudyRegistry(storage)
    token = make_token(shelf, "robot", "measure")
    shelf.close()
    cg.Study(PROBLEM, storage=storage, name="x").close()
    with serving(storage) as service:
        study = cg.Client(service.url, token).open("x")
        assert study.ask().client.startswith("robot ")
        for wrong, code in ((None, "no-token"), ("cg_no", "bad-token")):
            with pytest.raises(cg.AccessError) as refused:
                cg.Client(service.url, wrong).open("x")
            assert refused.value.code == code
        with pytest.raises(cg.AccessError, match="the role admin"):
            study.stop("enough")
        assert token not in repr(cg.Client(service.url, token))


@pytest.fixture
def shared(storage):
    """A service, and a token that several workers share."""
    shelf = StudyRegistry(storage)
    token = make_token(shelf, "robot", "admin")
    shelf.close()
    cg.Study(PROBLEM, storage=storage, name="x").close()
    with serving(storage) as service:
        yield lambda **more: cg.Client(service.url, token, **more)


def test_clients_that_share_a_token_measure_different_rounds(shared):
    workers = [shared().open("x") for _ in range(4)]
    rounds = [one.ask() for one in workers]
    assert [one.id for one in rounds] == [1, 2, 3, 4]
    assert len({one.client for one in rounds}) == 4
    assert all(one.client.startswith("robot ") for one in rounds)  # whose token it is
    assert [one.ask().id for one in workers] == [1, 2, 3, 4]  # each has its own open round
    for worker, one in zip(workers, rounds, strict=True):
        worker.tell(one, dict.fromkeys(one.arms, 0.5))
    assert workers[0].events()[-1].client == rounds[3].client
    assert [one.ask().id for one in workers] == [5, 6, 7, 8]
    assert shared(client="ann").open("x").ask().id == 9
    assert shared().open("x").ask().id == 10
    assert shared(client="ann").open("x").ask().id == 9  # after a restart, say
    assert shared().open("x", client="ann").ask().client == "ann"
    assert shared().open("x").ask(client="ann").id == 9
    client = shared()  # whose studies are its own
    assert client.open("x").ask() == client.open("x").ask()
    made = client.create(PROBLEM, name="y")
    assert made.events()[0].client == "robot" and made.ask() == client.open("y").ask()


def test_threads_of_one_client_are_one_client_and_those_that_take_one_each_are_several(shared):
    """A worker that asks in one short-lived thread and tells in another is one worker."""
    study = shared().open("x")
    ids = []
    for _ in range(3):
        with ThreadPoolExecutor(1) as pool:
            ids.append(pool.submit(study.ask).result().id)
    assert ids == [1, 1, 1]
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: study.tell(study.ask(), dict.fromkeys(study.ask().arms, 0.5))).result()
    assert study.status.rounds == 1 and study.ask().id == 2
    assert len({one.client for one in study.pending}) == 1
    found, ready = [], threading.Barrier(4)

    def work():
        mine = shared().open("x")
        ready.wait()
        one = mine.ask()
        found.append((one.id, mine.ask().id))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [(3, 3), (4, 4), (5, 5), (6, 6)]
    assert study.ask().id == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
def test_processes_that_were_forked_with_a_client_measure_different_rounds(shared):
    study = shared().open("x")
    mine = study.ask().id  # over a connection that the children must not use
    ways = []
    for _ in range(3):
        read, write = os.pipe()
        child = os.fork()
        if not child:
            try:
                os.write(write, f"{study.ask().id} {study.ask().id}".encode())
            finally:
                os._exit(0)
        ways.append((child, read, write))
    assert study.ask().id == mine == 1
    found = []
    for child, read, write in ways:
        os.close(write)
        os.waitpid(child, 0)
        found.append(os.read(read, 100).decode())
        os.close(read)
    assert sorted(found) == ["2 2", "3 3", "4 4"]
    assert study.ask().id == 1


def test_a_url_that_is_none_is_refused_and_not_quoted():
    for url in (
        "ftp://x",
        "127.0.0.1:8000",
        "http://",
        None,
        "http://u:pass@host",
        "http://h:99999",
    ):
        with pytest.raises(cg.InputError) as refused:
            cg.Client(url)
        assert "pass" not in str(refused.value).replace("a password", "")


def test_what_can_only_be_looked_at_is_refused_at_once_with_what_one_can_do_there(
    storage, monkeypatch
):
    cg.Study(PROBLEM, name="x", storage=storage, engine="python").close()
    StudyRegistry(storage).close()
    monkeypatch.setattr(places, "_writable", lambda path: False)
    with serving(storage, tokens=False) as service:
        said = service.post("studies/x/ask")
        assert said.status == 403 and said.code == "read-only" and "retry-after" not in said.headers
        page = service.call("POST", "/studies/x/ask", raw=b"", headers={"Accept": "text/html"})
        assert page.status == 403
        began = time.monotonic()
        with cg.Client(service.url, patience=60.0) as client:
            study = client.open("x")
            assert study.state == "running" and study.report()
            for write in (study.ask, lambda: study.stop("why"), lambda: client.create(PROBLEM)):
                with refused("read-only", cg.StoreError) as caught:
                    write()
                assert "ask whoever runs the service" in caught.value.remedy
                assert "copy" not in str(caught.value) and "lab.db" not in str(caught.value)
        assert time.monotonic() - began < 20.0, "it is not tried again"


def test_a_clock_of_the_service_that_is_off_is_in_the_status(storage, monkeypatch):
    with cg.Study(PROBLEM, name="x", storage=storage, engine="python") as made:
        made.ask()
        assert made.status.notes == ()
    monkeypatch.setattr(clock, "now", lambda: time.time() + 86_400.0)
    with serving(storage, tokens=False) as service, cg.Client(service.url) as client:
        study = client.open("x")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            study.ask()
            assert says(study.status.notes, "clock-off", where="ahead of")
            assert "ahead of the storage's" in str(study.status)
            (note,) = service.get("studies/x/status").data["notes"]
            assert note["code"] == "clock-off" and note["remedy"]
            page = service.call("GET", "/studies/x", headers={"Accept": "text/html"})
            assert b"ahead of the storage" in page.body


def test_what_does_not_answer_or_says_something_else_is_named(monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(cg.StoreError, match="cannot be reached"):
            cg.Client(url, patience=0.2).list()
    client = cg.Client("http://127.0.0.1:1", patience=0.0)
    for status, body, code in (
        (404, b"<html>", "no-service"),
        (200, b"hello", "no-service"),
        (502, b"<html>", "service-unreachable"),
        (302, b"", "no-service"),
    ):
        said = (status, body)
        monkeypatch.setattr(connection.HttpConnection, "_once", lambda *_, said=said: said)
        with pytest.raises(cg.StoreError) as refused:
            client.list()
        assert refused.value.code == code


class Losing:
    """A way to a service on which some answers are lost: the request arrives, and no answer."""

    def __init__(self, service, every):
        self.service, self.every, self.n = service, every, 0
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                near, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.carry, args=(near,), daemon=True).start()

    def carry(self, near):
        far = socket.create_connection((self.service.host, int(self.service.port)))
        with near, far:
            threading.Thread(target=self.pump, args=(near, far), daemon=True).start()
            while answer := far.recv(1 << 20):
                self.n += answer.startswith(b"HTTP/1.1")
                if answer.startswith(b"HTTP/1.1") and self.n % self.every == 0:
                    near.shutdown(socket.SHUT_RDWR)
                    return
                near.sendall(answer)

    @staticmethod
    def pump(near, far):
        with suppress(OSError):
            while data := near.recv(1 << 20):
                far.sendall(data)


def test_requests_go_through_the_proxy_of_the_environment(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.getsockname()[1]}")
        client = cg.Client("http://lab.example:8000", timeout=5.0, patience=0.0)
        with ThreadPoolExecutor(1) as pool, pytest.raises(cg.StoreError, match="answers with 503"):
            names = pool.submit(client.list)
            with proxy.accept()[0] as asked:
                assert asked.recv(100).startswith(b"GET http://lab.example:8000/api/v1/studies ")
                asked.sendall(b"HTTP/1.1 503 Not now\r\nContent-Length: 0\r\n\r\n")
            names.result()


def test_answers_that_are_lost_do_nothing_twice(service, tmp_path):
    way = Losing(service, 3)
    there = cg.Client(way.url, client="me").create(PROBLEM, name="twin", delta=0.1)
    here = cg.Study(
        PROBLEM, storage=f"sqlite:///{tmp_path}/h.db", name="twin", delta=0.1, client="me"
    )
    rng = np.random.default_rng(2)
    for _ in range(8):
        todo = both(here, there, "ask")
        both(here, there, "tell", todo, measure(todo, rng))
        both(here, there, "observe", {"eve": rng.normal()})
    assert way.n > 30
    straight = cg.Client(service.url, client="me").open("twin")
    assert seen(here) == seen(straight)
    way.socket.close()


def test_the_command_line_takes_a_service_for_a_storage(service, lab):
    def run(*words):
        done = command(*words, "--storage", service.url)
        return done.exit_code, done.stdout

    assert run("create", "screen.toml", "--name", "cli")[0] == 0
    code, table = run("ask", "-n", "2", "--out", "t.csv")
    assert code == 0 and "wrote 2 rounds" in table
    fill("t.csv", np.random.default_rng(0))
    assert "4 values stored" in run("tell", "t.csv")[1]
    first, again = (json.loads(run("ask", "--json")[1])[0] for _ in range(2))
    assert again["id"] == first["id"] == 3 and again["had"]  # it is the same person that asks
    other = json.loads(run("ask", "--json", "--client", "somebody else")[1])[0]
    assert other["id"] == 4 and not other["had"]
    assert run("list")[1] == "cli: running\n"
    code, text = run("status")
    assert code == 0 and "2 rounds, 4 values" in text and "client" not in text
    assert run("export", "--level", "arm")[1].startswith("arm,n,mean")
    assert run("export", "--format", "json")[1].startswith("{")
    assert run("replay")[0] == 0
    assert run("report", "--out", "r.html")[0] == 0
    assert "round 1 is open again" in run("retract", "1", "--reason", "typo")[1]
    with pytest.raises(cg.StudyError) as refused:
        run("extend", "--max-rounds", "9", "--reason", "more")
    assert refused.value.code == "no-limit"
    assert run("stop", "--reason", "done")[0] == 0
    assert run("ask")[0] == 4


# ---- what travels


def test_every_sentence_travels_whole():
    inner = Message("inner", "{x!r}", x=(1, "a"))
    sentence = Message(
        "all",
        "{a} {b:g} {c:list} {d} {e} {f} {g} {h}",
        remedy="{f}, {g}",
        a=None,
        b=math.inf,
        c=["x", 2],
        d={1: "one", "two": [3.0]},
        e=inner,
        f=CallHint("retract", 3, "reason", arm=..., x=2.5),
        g=OptionHint("max_rounds", 40),
        h=PhraseHint("share unrounded", share=0.5),
    )
    from combgame.cli._common import SHELL

    again = wire.sentence_from(json.loads(json.dumps(wire.sentence_data(sentence))))
    assert again == sentence and again.render(SHELL) == sentence.render(SHELL)
    assert again.arguments.keys() == sentence.arguments.keys()
    error = cg.StoreError("busy", "{where} is busy", remedy="wait", where="lab.db")
    back = wire.error_from_response(json.loads(json.dumps(wire.error_data(error))))
    assert type(back) is cg.StoreError and str(back) == str(error)
    assert (
        type(wire.error_from_response({**wire.error_data(error), "kind": "New"}))
        is cg.CombGameError
    )
