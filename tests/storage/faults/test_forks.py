"""Forks: neither side hangs, and no connection is shared."""

import os
import signal
import subprocess
import sys
import threading
import warnings

import pytest

import combgame as cg
from combgame.storage import process as forks
from combgame.storage.process import Deferral, deferred
from tests.studies import HARD

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
HANGS = 60  # seconds after which a child that hangs is killed
BUSY = """
import os, signal, sys, threading
import combgame as cg
from tests.studies import HARD

url, number, hangs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
study = cg.Study(HARD, delta=1e-12, storage=url, rule="uniform", engine="python", timeout=9)
ended = []

def round(client):
    todo = study.ask(client=client)
    study.tell(todo, dict.fromkeys(todo.left, 0.5))

def work():
    while len(ended) < number:
        round("thread")

thread = threading.Thread(target=work)
thread.start()
for k in range(number):
    child = os.fork()
    if child == 0:
        signal.alarm(hangs)
        code = 1
        try:
            round(f"child {k}")
            code = 0
        finally:
            os._exit(code)
    ended.append(os.waitpid(child, 0)[1])
thread.join()
asked = {e.client for e in study.events() if e.kind == "asked"}
assert asked == {"thread", *(f"child {k}" for k in range(number))}, asked
assert study.replay().same
print(ended)
"""


def test_children_of_a_process_whose_thread_is_writing_go_on(url):
    """Without care every one of them waits for a lock that only a thread of its parent's would
    free.
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", BUSY, url, "10", str(HANGS)],
        capture_output=True,
        text=True,
        timeout=10 * HANGS,
    )
    assert done.stdout.strip() == str([0] * 10), done.stdout + done.stderr[-2000:]


def in_child(act):
    """What a child answers; None if it was killed because it hung."""
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads
        child = os.fork()
    if child == 0:
        signal.alarm(HANGS)
        try:
            os.write(write, act().encode())
        except BaseException as error:
            os.write(write, getattr(error, "code", repr(error)).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as answers:
        answer = answers.read()
    return None if os.WIFSIGNALED(os.waitpid(child, 0)[1]) else answer


def asked(study):
    return f"round {study.ask(client='child').id}"


@pytest.fixture
def held(url, monkeypatch):
    """A study whose thread is in a transaction for as long as the test takes."""
    monkeypatch.setattr(forks, "FORK_PATIENCE", 0.1)
    began, ends = threading.Event(), threading.Event()
    with cg.Study(HARD, storage=url, rule="uniform", engine="python", timeout=1) as study:

        def hold():
            with study._session.writing("thread"):
                began.set()
                ends.wait(HANGS)

        thread = threading.Thread(target=hold)
        thread.start()
        began.wait(HANGS)
        yield study
        ends.set()
        thread.join()
        assert study.ask().id == 1  # the parent goes on


def test_a_child_of_a_transaction_that_nobody_waits_for_is_told_so(held, url):
    """SQLite itself would not be usable there. A server's client makes a connection of its own, and
    waits for the lock as anybody does. Nobody waits for a study that is somebody else's.
    """

    def fresh():
        with cg.Study(HARD, rule="uniform", engine="python") as study:
            return asked(study)

    assert in_child(lambda: asked(held)) == ("forked" if url.startswith("sqlite") else "busy")
    assert in_child(fresh) == "round 1"


def test_a_study_in_memory_survives_a_fork():
    with cg.Study(HARD, rule="uniform", engine="python") as study:
        with study._session.lock:
            thread = threading.Thread(target=lambda: answers.append(in_child(lambda: asked(study))))
            answers: list[str] = []
            thread.start()
            thread.join()
        assert answers == ["round 1"] and study.ask().id == 1


def test_a_child_of_another_thread_hears_signals_at_once():
    """Its parent's main thread has put them off, and is not there to hand them over."""

    def heard():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return f"{Deferral.current is None} {signal.getsignal(signal.SIGINT) is before}"

    before, answers = signal.getsignal(signal.SIGINT), []
    with deferred():
        thread = threading.Thread(target=lambda: answers.append(in_child(heard)))
        thread.start()
        thread.join()
        assert Deferral.current is not None
    assert answers == ["True True"]


def test_a_connection_is_not_shared(url):
    """What a child does with a study leaves its parent's connection as it was."""
    with cg.Study(HARD, storage=url, rule="uniform", engine="python") as study:
        study.ask(client="parent")
        mine = study._session.storage._engine.pool.connection.driver_connection

        def another():
            asked(study)
            return str(study._session.storage._engine.pool.connection.driver_connection is mine)

        assert in_child(another) == "False"
        assert study._session.storage._engine.pool.connection.driver_connection is mine
        assert study.ask(client="parent").id == 1 and len(study.pending) == 2


def test_a_child_that_ends_leaves_the_file_to_its_parent(tmp_path):
    """SQLite's last one takes the -wal away: a child that closes what it has inherited is not the
    last one.
    """
    path = tmp_path / "lab.db"
    with cg.Study(HARD, storage=f"sqlite:///{path}", rule="uniform", engine="python") as study:
        study.ask(client="parent")
        assert in_child(lambda: str(study.close())) == "None"
        for tail in ("-wal", "-shm"):
            assert path.with_name(path.name + tail).exists()
        assert in_child(lambda: asked(study)) == "round 2"
        assert study.ask(client="other").id == 3 and study.replay().same
    assert sorted(one.name for one in tmp_path.iterdir()) == ["lab.db"]
