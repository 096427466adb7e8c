"""Where studies are kept: what is refused for what it is, what can only be looked at, and which
clock they go by.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import combgame as cg
from combgame.io import to_data
from combgame.lab.server.app import create_app
from combgame.lab.server.registry import StudyRegistry
from combgame.research.campaign.store import open_store
from combgame.storage import database as sql
from combgame.storage import files
from combgame.storage.urls import url_of
from tests.said import refused
from tests.studies import PROBLEM, command

pytestmark = pytest.mark.given_numbers  # values of arms that are known to have been asked for

posix = pytest.mark.skipif(os.name != "posix", reason="such files are POSIX's")


def study(url, **settings):
    return cg.Study(PROBLEM, storage=url, engine="python", rule="uniform", **settings)


# ---- what is no file, or not only one


def test_a_question_mark_never_leaves_out_a_part_of_the_name(tmp_path):
    for name in ("a?b.db", "a?", "a?b=c.db", "a?=.db", "a.db?mode=ro", "a.db?timeout=5"):
        with refused("url-question", cg.InputError) as caught:
            study(f"sqlite:///{tmp_path}/{name}")
        assert "%3F" in caught.value.remedy and not list(tmp_path.iterdir())


def test_a_file_of_any_name_has_a_url(tmp_path):
    for k, name in enumerate(
        ("a?b.db", "50%.db", "a%3Fb.db", "plate 7.db", "a?b=1.db", "file:a.db")
    ):
        folder = tmp_path / str(k)
        folder.mkdir()
        with study(url_of(f"{folder}/{name}")) as made:
            made.ask()
            made.copy(url_of(f"{folder}/copy?.db"))
        assert {one.name for one in folder.iterdir()} == {name, "copy?.db"}
        with cg.Study.open(url_of(f"{folder}/copy?.db")) as copy:
            assert len(copy.pending) == 1
        command("copy", folder / name, folder / "another.db")  # and the command copies it, too
        assert cg.Study.open(f"sqlite:///{folder}/another.db").state == "running"


@posix
def test_what_is_no_file_is_refused_for_what_it_is(tmp_path):
    """Opening a pipe would wait for somebody at its other end, for ever."""
    os.mkfifo(tmp_path / "pipe.db")
    with suppress(OSError), closing(socket.socket(socket.AF_UNIX)) as made:
        made.bind(str(tmp_path / "socket.db"))
    places = [(tmp_path / "pipe.db", "a pipe (FIFO)"), ("/dev/null", "a device")]
    if (tmp_path / "socket.db").exists():
        places.append((tmp_path / "socket.db", "a socket"))
    for place, kind in places:
        about = {"path": str(place), "kind": kind}
        for use in (study, cg.Study.open):
            with refused("not-regular", cg.StoreError, **about):
                use(f"sqlite:///{place}")
        with refused("not-regular", cg.StoreError, **about):
            open_store(place)


@posix
def test_a_part_of_the_system_is_no_file():
    for place in ("/proc/self/mem", "/proc/version", "/sys/kernel/new.db"):
        for use in (study, cg.Study.open):
            with refused("not-regular", cg.StoreError, path=place, kind="a part of the system"):
                use(f"sqlite:///{place}")
        with refused("not-regular", cg.StoreError):
            open_store(place)


@posix
def test_a_name_that_is_too_long_is_refused(tmp_path):
    """Also where only the name of what SQLite puts beside it is."""
    for length in (250, 300, 5000):
        place = tmp_path / ("x" * length)
        for use in (study, cg.Study.open, StudyRegistry, create_app):
            with refused("name-too-long", cg.StoreError, path=str(place)):
                use(f"sqlite:///{place}")
        with refused("name-too-long", cg.StoreError):
            open_store(place)
    assert not list(tmp_path.iterdir())
    with study(f"sqlite:///{tmp_path}/lab.db") as made, refused("copy-failed", cg.StoreError):
        made.copy(place)
    study(f"sqlite:///{tmp_path}/{'x' * 247}").close()


@posix
def test_a_file_of_two_names_is_refused_before_anything_is_lost(tmp_path):
    first, second = tmp_path / "lab.db", tmp_path / "other.db"
    with study(f"sqlite:///{first}") as made:
        made.ask()
    second.hardlink_to(first)
    for path in (first, second):
        with refused("hard-link", cg.StoreError, path=str(path), names=2):
            cg.Study.open(f"sqlite:///{path}")
    second.unlink()
    with cg.Study.open(f"sqlite:///{first}") as made:
        assert len(made.pending) == 1


@posix
def test_a_second_name_that_a_file_gets_while_it_is_open_stops_who_writes(tmp_path):
    """What is acknowledged is there the next time; what is refused was not stored."""
    first, second = tmp_path / "lab.db", tmp_path / "other.db"
    url = f"sqlite:///{first}"
    with study(url) as made:
        todo = made.ask()
        second.hardlink_to(first)
        for act in (made.ask, lambda: made.tell(todo, dict.fromkeys(todo.arms, 0.5))):
            with refused("hard-link", cg.StoreError, path=str(first), names=2) as caught:
                act()
        assert "take the others away" in caught.value.remedy
        assert [one.id for one in made.pending] == [1], "it can still be looked at"
        made.copy(tmp_path / "copy.db")
        second.unlink()
        made.tell(todo, dict.fromkeys(todo.arms, 0.5))
    with cg.Study.open(url) as made:
        assert made.status.rounds == 1
    with cg.Study.open(f"sqlite:///{tmp_path}/copy.db") as copy:
        assert copy.status.rounds == 0 and len(copy.pending) == 1


@posix
def test_a_second_name_in_the_midst_of_a_transaction_undoes_it(tmp_path):
    url = f"sqlite:///{tmp_path}/lab.db"
    with study(url) as made:
        with refused("hard-link", cg.StoreError), made._session.storage.transaction():
            (tmp_path / "other.db").hardlink_to(tmp_path / "lab.db")
        (tmp_path / "other.db").unlink()
        assert made.ask().id == 1


# ---- what can only be looked at

LOOK = """
import json, os, shutil, sys
import combgame as cg
from combgame.cli.app import app
from combgame.errors import CombGameError
from typer.testing import CliRunner

path, out = sys.argv[1:]
URL = f"sqlite:///{path}"

def looks(url, out):
    "What becomes of every way to look at a study, and to write to it."
    def command(*words):
        done = CliRunner().invoke(app, ["study", *words], catch_exceptions=False)
        return done.exit_code
    found = {}
    def attempt(name, act):
        try:
            found[name] = "done" if act() in (None, 0, True) else "other"
        except CombGameError as error:
            found[name] = error.code
            found[name + " says"] = str(error)
    try:
        study = cg.Study.open(url, engine="python", client="you")
    except CombGameError as error:
        return {"open": error.code, "open says": str(error)}
    with study:
        attempt("status", lambda: str(study.status) and None)
        attempt("decision", lambda: study.decision and None)
        attempt("report", lambda: study.report(f"{out}/a.html") and None)
        attempt("export", lambda: study.export(f"{out}/a.json") and None)
        attempt("rows", lambda: study.rows("arm") and None)
        attempt("replay", lambda: study.replay().same)
        attempt("plot", lambda: study.plot() and None)
        attempt("copy", lambda: study.copy(f"{out}/copy.db"))
        attempt("list", lambda: command("list", "-s", url))
        attempt("shown", lambda: command("status", "-s", url))
        attempt("copied", lambda: command("copy", path, f"{out}/other.db"))
        attempt("resume", lambda: cg.Study(study.problem, rule="uniform", storage=url,
                if_exists="resume").close())
        attempt("ask", lambda: study.ask() and None)
        attempt("tell", lambda: study.tell(study.pending[0],
                dict.fromkeys(study.pending[0].arms, 0.5)))
        attempt("stop", lambda: study.stop("enough"))
        attempt("status again", lambda: str(study.status) and None)
    return found

shutil.copytree(os.path.dirname(path), f"{out}/warm")
os.chmod(f"{out}/warm", 0o700)
warm, path = path, f"{out}/warm/lab.db"
os.chmod(path, 0o600)
looks(f"sqlite:///{path}", f"{out}/warm")  # every module is loaded while it can be
path = warm
os.makedirs(f"{out}/mine", mode=0o777)
os.chmod(f"{out}/mine", 0o777)
if os.getuid() == 0:  # who is bound by no mode
    os.setgid(65534)
    os.setuid(65534)
print(json.dumps(looks(URL, f"{out}/mine")))
"""
LOOKS = (
    *("status", "decision", "report", "export", "rows", "replay", "plot", "copy"),
    *("list", "shown", "copied", "resume", "status again"),
)


@pytest.fixture
def public():
    """A folder that every user reaches."""
    with tempfile.TemporaryDirectory(prefix="combgame-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)
        (Path(folder) / "lab").chmod(0o755)


def looked_at(folder, out):
    """What a user finds who owns nothing there."""
    done = subprocess.run(
        [sys.executable, "-c", LOOK, str(folder / "lab.db"), str(out)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def filled(folder, alive=False):
    """A study with values, of somebody else; alive: its process was killed."""
    folder.mkdir()
    made = study(f"sqlite:///{folder}/lab.db")
    for one in made.ask(3):
        made.tell(one, dict.fromkeys(one.arms, 0.5))
    made.ask(client="me")
    kept = {one.name: one.read_bytes() for one in folder.iterdir()}
    made.close()
    if alive:
        for name, body in kept.items():
            (folder / name).write_bytes(body)
    for one in folder.iterdir():
        one.chmod(0o644)


@posix
@pytest.mark.parametrize(("mode", "alive"), [(0o555, True), (0o777, False)])
def test_what_is_read_only_is_looked_at_and_only_writing_is_refused(public, mode, alive):
    """A folder in which nobody may write, and somebody else's file where everybody may; also after
    its process was killed, so that the last transactions are in the -wal.
    """
    filled(public / "lab", alive)
    for one in (public / "lab").iterdir():
        one.chmod(0o444)
    (public / "lab").chmod(mode)
    before = sorted(one.name for one in (public / "lab").iterdir())
    found = looked_at(public / "lab", public)
    assert {name: found.get(name) for name in LOOKS} == dict.fromkeys(LOOKS, "done"), found
    assert [found[name] for name in ("ask", "tell", "stop")] == ["read-only"] * 3
    assert "copy(path) work nevertheless" in found["ask says"]
    assert sorted(one.name for one in (public / "lab").iterdir()) == before, (
        "it shuts the owner out"
    )
    (public / "lab").chmod(0o755)
    with cg.Study.open(f"sqlite:///{public}/lab/lab.db") as owner:
        assert owner.state == "running" and len(owner.pending) == 1


@posix
def test_what_cannot_be_read_says_so_and_no_transaction_is_left_out(public):
    filled(public / "lab")
    (public / "lab" / "lab.db").chmod(0o600)
    found = looked_at(public / "lab", public)
    assert found["open"] == ("unreadable-file" if os.getuid() == 0 else None)
    # nor are transactions left out: a file and its -wal, copied to where nothing can be written
    shutil.rmtree(public / "lab")
    (public / "out").mkdir(mode=0o755)
    filled(public / "lab", alive=True)
    (public / "lab" / "lab.db-shm").unlink()
    (public / "lab").chmod(0o555)
    found = looked_at(public / "lab", public / "out")
    assert found["open"] == "journal-unread" and "take both files" in found["open says"]


@pytest.fixture
def bound(monkeypatch):
    """bound(True): from now on this process may write nowhere, whoever runs it."""
    known = {"now": False}
    real = files._writable
    monkeypatch.setattr(files, "_writable", lambda path: not known["now"] and real(path))
    return lambda now: known.update(now=now)


def test_whoever_only_looks_sees_what_is_written_and_writes_when_it_may(storage, bound):
    study(storage).close()
    bound(True)
    with cg.Study.open(storage) as looker:
        assert looker.pending == []
        with refused("read-only", cg.StoreError):
            looker.ask()
        bound(False)
        with cg.Study.open(storage) as owner:
            owner.ask()
            bound(True)
            assert len(looker.pending) == 1
            bound(False)
            owner.ask()
        bound(True)
        assert len(looker.pending) == 2
        bound(False)
        assert looker.ask().id == 3, "the permissions were changed, as the sentence says"


def test_what_changes_under_a_look_is_not_believed(tmp_path, bound, monkeypatch):
    url = f"sqlite:///{tmp_path}/lab.db"
    study(url).close()
    bound(True)
    with cg.Study.open(url) as looker:
        assert looker.state == "running"
        monkeypatch.setattr(sql, "mark_of", lambda path: None)
        with refused("collided", cg.StoreError):
            looker.status
        with refused("collided", cg.StoreError):
            looker.copy(tmp_path / "copy.db")
        assert not (tmp_path / "copy.db").exists()
        monkeypatch.undo()
        assert looker.state == "running"


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_a_server_that_only_reads_is_looked_at(url, tmp_path):
    """A standby says the same as a session that may only read."""
    with study(url) as made:
        todo = made.ask()
        made.tell(todo, dict.fromkeys(todo.arms, 0.5))
    reading = f"{url}&options=-c%20default_transaction_read_only%3Don"
    with cg.Study.open(reading) as looker:
        assert looker.status.rounds == 1 and looker.decision is None and looker.replay().same
        assert looker.report() and looker.export(tmp_path / "a.json")
        with refused("read-only", cg.StoreError) as caught:
            looker.ask()
        assert "primary server" in caught.value.remedy
        assert looker.status.rounds == 1
    with study(reading, if_exists="resume") as looker:
        assert looker.status.rounds == 1
    check_served(reading)


def check_served(url):
    """A service shows what is there, although it cannot keep anything beside it."""
    with closing(StudyRegistry(url)) as shelf:
        assert shelf.names() == ["study"] and shelf.tokens() == [] and shelf.login("x", 0.0) is None
        with refused("read-only", cg.StoreError):
            shelf.add_token("ann", "admin", "hash", 0.0)
    with TestClient(create_app(url, engine="python"), base_url="http://localhost") as client:
        for path in ("studies/study", "studies/study/export", "studies/study/report"):
            assert client.get(f"/api/v1/{path}").status_code == 200, path
        assert client.get("/ready").status_code == client.get("/studies/study").status_code == 200
        for headers in ({}, {"Idempotency-Key": "one"}):
            for path in ("studies/study/ask", "studies"):
                body = {} if path.endswith("ask") else {"name": "new", "problem": to_data(PROBLEM)}
                said = client.post(f"/api/v1/{path}", json=body, headers=headers)
                assert said.json()["error"]["code"] == "read-only", said.text


def test_a_file_that_was_never_served_is_served_read_only_and_written_as_soon_as_it_may(
    storage, tmp_path, bound
):
    with study(storage) as made:
        made.ask()
    before = (tmp_path / "lab.db").read_bytes()
    bound(True)
    check_served(storage)
    assert (tmp_path / "lab.db").read_bytes() == before
    with TestClient(create_app(storage, engine="python"), base_url="http://localhost") as client:
        ask = partial(client.post, "/api/v1/studies/study/ask", json={})
        assert ask(headers={"Idempotency-Key": "a"}).json()["error"]["code"] == "read-only"
        bound(False)
        answers = [ask(headers={"Idempotency-Key": "b"}).json() for _ in range(2)]
        assert answers[0] == answers[1] and answers[0]["rounds"][0]["id"] == 2
