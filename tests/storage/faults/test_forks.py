"""Forks: a child says that a study is its parent's, and leaves the parent's file and connection as
they were.
"""

import gc
import os
import signal
import subprocess
import sys
import threading
import warnings

import pytest

import combgame as cg
from tests.studies import HARD

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
HANGS = 60  # seconds after which a child that hangs is killed


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


def opened(url):
    with cg.Study.open(url, engine="python", timeout=5) as study:
        return asked(study)


def test_a_child_says_that_the_study_is_its_parents_and_can_open_it_again(url):
    with cg.Study(HARD, storage=url, rule="uniform", engine="python") as study:
        study.ask(client="parent")
        mine = study._session.storage._engine.pool.connection.driver_connection
        looks = (study.ask, study.events, lambda: study.status, lambda: study.copy("copy.db"))
        for look in looks:
            assert in_child(look) == "forked"
        assert in_child(lambda: opened(url)) == "round 2"
        assert in_child(lambda: study.close() or opened(url)) == "round 2"
        assert study._session.storage._engine.pool.connection.driver_connection is mine
        assert study.ask(client="parent").id == 1 and len(study.pending) == 2
        assert study.replay().same


def test_a_child_that_ends_leaves_the_file_and_the_connection_to_its_parent(url, tmp_path):
    """However it ends: SQLite's last one takes the -wal away, and a server's session would end."""
    with cg.Study(HARD, storage=url, rule="uniform", engine="python") as study:
        study.ask(client="parent")
        beside = sorted(tmp_path.iterdir())
        assert in_child(lambda: str(study.close())) == "None"

        def garbage():
            storage = study._session.storage
            study._session = storage._worker = None
            del storage
            return str(gc.collect() > 0)

        assert in_child(garbage) == "True"
        assert sorted(tmp_path.iterdir()) == beside
        assert study.ask(client="other").id == 2 and study.replay().same


EXITS = """
import os, sys
import combgame as cg
from tests.studies import HARD

study = cg.Study(HARD, storage=sys.argv[1], rule="uniform", engine="python")
study.ask(client="parent")
child = os.fork()
if child == 0:
    sys.exit(0)  # with all that is done at exit
ended = os.waitpid(child, 0)[1]
assert study.ask(client="other").id == 2 and study.replay().same
print(ended, flush=True)
"""


def test_a_child_that_exits_as_any_script_does_the_same(url):
    command = [sys.executable, "-W", "ignore", "-c", EXITS, url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANGS)
    assert done.stdout.strip() == "0" and not done.stderr, done.stderr[-2000:]


@pytest.fixture
def held(url):
    """A study whose thread is in a transaction for as long as the test takes."""
    began, ends = threading.Event(), threading.Event()
    with cg.Study(HARD, storage=url, rule="uniform", engine="python", timeout=1) as study:

        def hold(_):
            began.set()
            ends.wait(HANGS)

        thread = threading.Thread(target=lambda: study._session.write("thread", hold))
        thread.start()
        began.wait(HANGS)
        yield study
        ends.set()
        thread.join()
        assert study.ask().id == 1  # the parent goes on


def test_a_child_of_a_transaction_that_is_under_way_is_told_so(held, url):
    """SQLite itself would not be usable there. A server's client makes a connection of its own, and
    waits for the lock as anybody does. Nobody waits for a study that is somebody else's.
    """

    def fresh():
        with cg.Study(HARD, rule="uniform", engine="python") as study:
            return asked(study)

    assert in_child(lambda: asked(held)) == "forked"
    assert in_child(lambda: str(held.close())) == "None"
    assert in_child(lambda: opened(url)) == ("forked" if url.startswith("sqlite") else "busy")
    assert in_child(fresh) == "round 1"


BUSY = """
import os, signal, sys, threading
import combgame as cg
from tests.studies import HARD

url, number, hangs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
study = cg.Study(HARD, delta=1e-12, storage=url, rule="uniform", engine="python", timeout=9)
ended = []

def round(study, client):
    todo = study.ask(client=client)
    study.tell(todo, dict.fromkeys(todo.remaining, 0.5))

def work():
    while len(ended) < number:
        round(study, "thread")

thread = threading.Thread(target=work)
thread.start()
for k in range(number):
    child = os.fork()
    if child == 0:
        signal.alarm(hangs)
        code = 1
        try:
            with cg.Study.open(url, engine="python", timeout=9) as mine:
                round(mine, "child")
            code = 0
        except cg.StoreError as error:  # forked in the midst of a transaction
            code = 0 if error.code == "forked" else 2
        finally:
            os._exit(code)
    ended.append(os.waitpid(child, 0)[1])
thread.join()
assert study.replay().same
print(ended)
"""


def test_children_of_a_process_whose_thread_is_writing_go_on_or_say_why_not(url):
    command = [sys.executable, "-W", "ignore", "-c", BUSY, url, "10", str(HANGS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=10 * HANGS)
    assert done.stdout.strip() == str([0] * 10), done.stdout + done.stderr[-2000:]


def test_a_study_in_memory_survives_a_fork():
    with cg.Study(HARD, rule="uniform", engine="python") as study:
        assert in_child(lambda: asked(study)) == "round 1" and study.ask().id == 1
