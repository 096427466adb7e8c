"""What people do to data: interrupts, files that are deleted or copied, edits, passwords in URLs.
Nothing is lost unnoticed.
"""

import gc
import io
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import traceback
from contextlib import closing, redirect_stderr
from contextvars import ContextVar
from pathlib import Path

import pytest

import combgame as cg
from combgame.cli import app as cli
from combgame.research.campaign.store import open_store
from combgame.storage import files as copying
from combgame.storage.base import open_storage
from combgame.storage.sqlite import FileIdentity
from combgame.storage.thread import Worker
from combgame.storage.transaction import SqlTransaction
from tests.paths import ROOT
from tests.said import refused
from tests.studies import HARD, PROBLEM

pytestmark = pytest.mark.given_numbers  # values of arms that are known to have been asked for

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX only")


def rounds(study, number):
    """Ask and tell; the rounds that were acknowledged."""
    told = []
    for _ in range(number):
        todo = study.ask()
        study.tell(todo, dict.fromkeys(todo.arms, 0.5))
        told.append(todo.id)
    return told


def told(study):
    return [event.round for event in study.events() if event.kind == "told"]


# ---- Ctrl-C

WORKER = """
import json, os, signal, sqlite3, sys
import combgame as cg
from tests.studies import HARD

class Stop(BaseException):
    pass

def stop(number, frame):
    raise Stop

path, interrupts = sys.argv[1], int(sys.argv[2])
signal.signal(signal.SIGTERM, stop)
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores Ctrl-C
study = cg.Study(HARD, delta=1e-12, storage=f"sqlite:///{path}", timeout=0.2, client="me")
told, kept, locked = [], [], 0
study.status

def work():
    while True:
        todo = study.ask()
        study.tell(todo, dict.fromkeys(todo.remaining, 0.5))
        told.append(todo.id)

for _ in range(interrupts):
    try:
        os.write(1, b"!")  # now
        work()
    except (KeyboardInterrupt, Stop) as error:
        kept.append(error)  # with its traceback, as in a notebook
    # nobody but a thread that keeps a snapshot may have it, and not for long
    with sqlite3.connect(path, timeout=0 if locked else 20, isolation_level=None) as probe:
        try:
            probe.execute("BEGIN IMMEDIATE")
            probe.execute("ROLLBACK")
        except sqlite3.OperationalError:
            locked += 1
    probe.close()
print(json.dumps([locked, told]), flush=True)
sys.stdin.read()  # it goes on living with its tracebacks
todo = study.ask()
study.tell(todo, dict.fromkeys(todo.remaining, 0.5))
print(todo.id)
"""


@posix
@pytest.mark.own_numbers  # another process asks
def test_three_hundred_interrupts_leave_no_lock_behind_and_lose_nothing(tmp_path):
    path, rng, number = tmp_path / "lab.db", random.Random(1), 300
    command, root = (
        [sys.executable, "-c", WORKER, str(path), str(number)],
        ROOT,
    )
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=root
    ) as worker:
        try:
            for k in range(number):
                assert worker.stdout.read(1) == b"!", worker.stderr.read().decode()[-2000:]
                time.sleep(rng.uniform(0.0, 0.01))
                worker.send_signal(signal.SIGTERM if k % 3 == 0 else signal.SIGINT)
            locked, heard = json.loads(worker.stdout.readline())
            with cg.Study.open(
                f"sqlite:///{path}", timeout=0.2, client="you"
            ) as other:  # another process writes at once
                heard += rounds(other, 3)
                last, _ = worker.communicate(timeout=60)  # and so does this one
                assert locked == 0 and len(heard) > 3 and {*heard, int(last)} <= set(told(other))
                assert other.replay().same
        finally:
            worker.kill()


@pytest.fixture
def heard():
    """What a handler that raises, as Ctrl-C's does, has heard; put back afterwards."""

    def raises(number, frame):
        numbers.append(number)
        raise KeyboardInterrupt

    numbers: list[int] = []
    before = signal.signal(signal.SIGINT, raises)
    yield numbers
    assert signal.getsignal(signal.SIGINT) is raises  # nobody else has touched it
    signal.signal(signal.SIGINT, before)


class Slow:
    """Holds up the transactions of a study, from the second on, in their midst."""

    def __init__(self, monkeypatch):
        self.begun, self.go = threading.Event(), threading.Event()
        real = SqlTransaction.append

        def append(log, new):
            real(log, new)
            self.begun.set()
            self.go.wait(60)

        monkeypatch.setattr(SqlTransaction, "append", append)


def interrupt(seconds=0.0):
    time.sleep(seconds)
    os.kill(os.getpid(), signal.SIGINT)


def soon(act, *given):
    thread = threading.Thread(target=act, args=given)
    thread.start()
    return thread


@posix
def test_an_interrupt_is_raised_when_the_transaction_has_ended(storage, heard, monkeypatch):
    with cg.Study(HARD, storage=storage, client="me") as study:
        study.status
        slow = Slow(monkeypatch)

        def press():
            slow.begun.wait(60)
            interrupt()
            while not heard:
                time.sleep(0.01)
            slow.go.set()

        thread = soon(press)
        with pytest.raises(KeyboardInterrupt):
            study.ask()
        with sqlite3.connect(storage.removeprefix("sqlite:///"), timeout=0) as other:
            assert other.execute("SELECT count(*) FROM combgame_events").fetchone() == (2,)
        thread.join()
        assert study.ask().id == 1 and len(study.pending) == 1


@posix
def test_who_interrupts_again_is_heard_at_once_and_the_next_call_knows(storage, heard, monkeypatch):
    """An oracle that never returns can be interrupted, with two presses of the keys."""
    with cg.Study(HARD, storage=storage, client="me", timeout=0.2) as study:
        study.status
        slow = Slow(monkeypatch)

        def press():
            slow.begun.wait(60)
            for k in (1, 2):
                interrupt()
                while len(heard) < k:
                    time.sleep(0.01)
                time.sleep(0.05)

        thread = soon(press)
        with pytest.raises(KeyboardInterrupt):
            study.ask()
        thread.join()
        assert len(heard) == 2
        with refused("thread-busy", cg.StoreError, seconds=0.2):
            study.tell(1, {})
        slow.go.set()
        assert study.ask().id == 1 and len(study.events()) == 2


@posix
def test_what_was_interrupted_before_it_began_never_happens(heard):
    worker = Worker("study", 60.0)
    begun, go, made = threading.Event(), threading.Event(), []
    worker.begin(lambda: begun.set() or go.wait(60))
    begun.wait(60)
    thread = soon(interrupt, 0.1)
    with pytest.raises(KeyboardInterrupt):
        worker.run(lambda: made.append(1))
    thread.join()
    go.set()
    assert worker.run(lambda: 2) == 2 and made == []


def test_a_thread_that_waits_for_another_one_waits_no_longer_than_the_timeout():
    worker, go = Worker("mine", 0.1), threading.Event()
    worker.begin(lambda: go.wait(60))
    with refused("thread-busy", cg.StoreError, name="mine", seconds=0.1):
        worker.run(lambda: 1)
    go.set()


def test_what_a_call_raises_is_raised_where_it_was_made():
    worker, given = Worker("study", 60.0), [ContextVar("given", default=0)]
    given[0].set(7)
    assert worker.run(lambda: (given[0].get(), threading.current_thread().name)) == (7, "combgame")
    assert worker.run(lambda: worker.run(lambda: 5)) == 5  # from inside

    def fail():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        worker.run(fail)


def test_the_thread_of_a_study_ends_with_it(storage):
    study = cg.Study(HARD, storage=storage)
    study.ask()
    thread = study._session.storage._worker._thread
    del study
    gc.collect()
    thread.join(60)
    assert not thread.is_alive()


# ---- files that are deleted, replaced, moved, copied


@pytest.fixture
def lab(tmp_path):
    """A running study of eight rounds, its file, and an older copy of that with three."""
    path = tmp_path / "lab.db"
    study = cg.Study(HARD, delta=1e-12, storage=f"sqlite:///{path}", client="me")
    rounds(study, 3)
    study.copy(tmp_path / "older.db")
    rounds(study, 5)
    yield study, path
    study.close()


def copied_over(path):
    """What `cp older.db lab.db` does: the same file with other contents."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(PASSIVE)")  # by anybody, such as whoever closes it
    subprocess.run(["cp", str(path.with_name("older.db")), str(path)], check=True)


GONE = {
    "deleted": lambda path: path.unlink(),
    "replaced": lambda path: path.with_name("older.db").replace(path),
    "replaced by a link": lambda path: (path.unlink(), path.symlink_to(path.with_name("older.db"))),
}


@posix
@pytest.mark.parametrize("how", ["deleted", "replaced", "replaced by a link"])
def test_a_file_that_is_gone_acknowledges_nothing(lab, how):
    study, path = lab
    todo = study.ask()
    GONE[how](path)
    for _ in range(3):  # and not only once
        for act in (lambda: study.tell(todo, {}), study.ask, lambda: study.status):
            with refused("file-gone", cg.StoreError, where=str(path), stored=False):
                act()


@posix
def test_what_stands_beside_a_file_is_missed(lab):
    study, path = lab
    tails = ["-wal", "-shm"]
    todo = study.ask()
    for tail in tails:
        path.with_name(path.name + tail).unlink()
    with refused("journal-gone", cg.StoreError, where=str(path), tail=tails[0], stored=False):
        study.tell(todo, {0: 0.5})
    study.tell(todo, dict.fromkeys(todo.arms, 0.5))
    code = (
        "import sys, combgame as cg; print([e.round for e in "
        "cg.Study.open(sys.argv[1]).events() if e.kind == 'told'])"
    )
    seen = subprocess.run(
        [sys.executable, "-c", code, f"sqlite:///{path}"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert json.loads(seen) == list(
        range(1, 10)
    )  # nothing that was acknowledged is missing, and others see it


@posix
def test_a_file_that_was_moved_is_put_back_and_what_there_is_of_a_deleted_one_is_saved(lab):
    study, path = lab
    path.rename(path.with_name("moved.db"))
    with refused("file-gone") as caught:
        study.ask()
    assert "put it back" in caught.value.remedy
    path.with_name("moved.db").rename(path)
    assert rounds(study, 1) == [9] and study.replay().same
    path.unlink()
    with refused("file-gone") as caught:
        study.ask()
    assert "copy(path) saves what this process still has" in caught.value.remedy
    study.copy(path.with_name("saved.db"))
    with cg.Study.open(f"sqlite:///{path.with_name('saved.db')}") as saved:
        assert told(saved) == list(range(1, 10)) and saved.replay().same


@posix
def test_a_copy_that_is_written_over_the_file_is_noticed(lab):
    study, path = lab
    todo = study.ask()
    copied_over(path)
    with refused("event-replaced", cg.StoreError, name="study", seq=18):
        study.tell(todo, dict.fromkeys(todo.arms, 0.5))


@posix
@pytest.mark.own_numbers  # it undoes what is patched
@pytest.mark.parametrize(("look", "stored"), [(2, False), (3, True)])
def test_a_file_that_vanishes_while_it_is_written_acknowledges_nothing(
    lab, monkeypatch, look, stored
):
    """Before the commit (the second look), and after it (the third)."""
    study, path = lab
    usual, looks, todo = FileIdentity.changed, [], study.ask()

    def changed(self):
        looks.append(1)
        if len(looks) == look:
            path.rename(path.with_name("moved.db"))
        return usual(self)

    monkeypatch.setattr(FileIdentity, "changed", changed)
    with refused("file-gone", cg.StoreError, stored=stored) as caught:
        study.tell(todo, dict.fromkeys(todo.arms, 0.5))
    assert ("counts as not stored" in str(caught.value)) is stored
    monkeypatch.undo()
    path.with_name("moved.db").rename(path)
    assert len(told(study)) == 8 + stored
    study.tell(todo, dict.fromkeys(todo.arms, 0.5))  # the same again is harmless
    assert told(study) == list(range(1, 10)) and study.replay().same


def test_another_folder_does_not_matter(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with cg.Study(HARD, storage="sqlite:///lab.db", client="me") as study:
        rounds(study, 1)
        monkeypatch.chdir(tmp_path / "elsewhere")
        assert rounds(study, 1) == [2]
        study.close()
        assert rounds(study, 1) == [3]
    assert not list(Path().glob("*"))


@posix
def test_a_worker_does_not_go_on_with_another_study_in_a_new_file(tmp_path):
    """It had lost its connection, as after any error: the new study has the same name and number,
    another problem and another delta.
    """
    url = f"sqlite:///{tmp_path}/lab.db"
    with cg.Study(HARD, delta=0.5, storage=url, client="me") as worker:
        rounds(worker, 1)
        worker._session.storage._drop()
        for file in tmp_path.glob("lab.db*"):
            file.unlink()
        with cg.Study(PROBLEM, delta=1e-9, storage=url) as study:
            study.ask(3)
            for _ in range(3):
                for act in (lambda: worker.tell(2, {0: 50.0}), worker.ask, lambda: worker.decision):
                    with refused("other-study", cg.StudyError, name="study"):
                        act()
            assert len(study.events()) == 4 and study.replay().same


# ---- copies


def test_a_copy_of_a_file_in_use_has_everything_and_overwrites_nothing(lab, capsys):
    study, path = lab
    copy = path.with_name("copy.db")
    cli.app(["study", "copy", str(path), str(copy)], standalone_mode=False)
    assert "wrote" in capsys.readouterr().out
    with cg.Study.open(f"sqlite:///{copy}") as other:
        assert (
            other.events() == study.events() and other.status.audit_hash == study.status.audit_hash
        )
        assert rounds(other, 1) == rounds(study, 1) == [9]
    assert sorted(one.name for one in path.parent.iterdir() if one.name.startswith(".")) == []
    folder = path.parent
    (folder / "mine.db").write_text("mine")
    (folder / "beside.db-wal").write_text("somebody's")
    (folder / "dangling.db").symlink_to("nowhere")
    for name in ("mine.db", "lab.db", "beside.db", "dangling.db"):
        with refused("already-there", cg.StoreError) as caught:
            study.copy(folder / name)
        assert name in caught.value.arguments["path"]
    assert (folder / "mine.db").read_text() == "mine" and rounds(study, 1) == [10]
    with refused("copy-failed", cg.StoreError, path=str(folder / "nowhere" / "copy.db")):
        study.copy(folder / "nowhere" / "copy.db")
    with refused("not-a-file", cg.InputError) as caught:
        study.copy("postgresql://u:hunter2@h/db")
    assert "hunter2" not in f"{caught.value} {caught.value.arguments}"
    with refused("no-file", cg.InputError) as caught:
        cg.Study(PROBLEM).copy(folder / "copy.db")
    assert "export(path) writes all of it" in caught.value.remedy


def test_half_a_copy_gets_no_name_and_none_takes_that_of_somebody_elses_file(lab, monkeypatch):
    study, path = lab
    usual, copy = copying.give_name, path.with_name("copy.db")
    before = sorted(path.parent.iterdir())

    def stop(*_):
        raise OSError(28, "No space left on device")

    def late(made, destination):
        copy.write_text("mine")
        usual(made, destination)

    monkeypatch.setattr(copying, "give_name", stop)
    with refused("copy-failed", cg.StoreError, why="No space left on device"):
        study.copy(copy)
    assert sorted(path.parent.iterdir()) == before
    monkeypatch.setattr(copying, "give_name", late)  # in the last moment
    with refused("copy-failed", cg.StoreError, path=str(copy)):
        study.copy(copy)
    assert copy.read_text() == "mine"


def test_a_file_whose_studies_are_gone_is_not_copied(lab):
    study, path = lab
    with closing(sqlite3.connect(path)) as db:
        for table in ("combgame_snapshots", "combgame_events", "combgame_studies"):
            db.execute(f"DROP TABLE {table}")
        db.commit()
    with refused("nothing-to-copy", cg.StoreError):
        study.copy(path.with_name("copy.db"))
    assert not path.with_name("copy.db").exists() and not list(path.parent.glob(".*"))


def test_whoever_closes_a_file_puts_what_was_told_into_it(tmp_path):
    """Also while another has it open: so a plain copy of it has all but what was told since."""
    path = tmp_path / "lab.db"
    with (
        cg.Study(HARD, storage=f"sqlite:///{path}", client="me") as study,
        cg.Study.open(f"sqlite:///{path}") as other,
    ):
        other.status
        rounds(study, 3)
        study.close()
        assert path.with_name("lab.db-wal").exists()
        shutil.copy(path, tmp_path / "copy.db")
        with cg.Study.open(f"sqlite:///{tmp_path}/copy.db") as copy:
            assert told(copy) == [1, 2, 3]


# ---- URLs with passwords

SECRET = "hunter2"
URLS = [
    f"postgres://u:{SECRET}@h/db",
    f"postgres://u@h/db?password={SECRET}",
    f"postgresql://u:{SECRET}@h:port/db",
    f"postgresql+psycopg://u:x@{SECRET}@127.0.0.1:1/db",
    f"postgresql+psycopg://u:x@{SECRET}:{SECRET}@127.0.0.1:1/db",
    f"postgresql+psycopg://u:x@{SECRET}/{SECRET}@127.0.0.1:1/db",
    f"postgresql+psycopg://u@127.0.0.1:1/db?password={SECRET}",
    f"postgresql+psycopg://u:{SECRET}@127.0.0.1:1/db",
    f"postgresql+psycopg://u:{SECRET}@127.0.0.1:1/db?sslmode={SECRET}",
    f"postgresql+psycopg://u@127.0.0.1:1/db?sslpassword={SECRET}&sslmode={SECRET}",
    f"postgresql+nodriver://u:{SECRET}@h/db",
    f"postgresql+psycopg//u:{SECRET}@h/db",
    f"postgresql:u:{SECRET}@h",
    f"u:{SECRET}@h/db",
    f"://u:{SECRET}@h",
    f"mysql://u:{SECRET}@h/db",
    f"sqlite://u:{SECRET}@h/lab.db",
    f"sqlite:///lab.db?timeout={SECRET}",
    f"sqlite:////nowhere/lab.db?password={SECRET}",
    f"sqlite+x:///lab.db?key={SECRET}",
    f"sqlite+pysqlcipher://:{SECRET}@/lab.db",
    f"postgres://u:{SECRET}@h/db".encode(),
]


def test_no_error_shows_a_password(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for k, url in enumerate(URLS):
        try:
            cg.Study(PROBLEM, storage=url, timeout=1)
        except cg.CombGameError as error:
            said, trace = f"{error} {error.sentence.to_data()}", traceback.format_exc()
        assert SECRET not in said + trace and not list(tmp_path.iterdir()), k
        if isinstance(url, str):
            monkeypatch.setattr(sys, "argv", ["combgame", "study", "status", "--storage", url])
            with redirect_stderr(io.StringIO()) as printed, pytest.raises(SystemExit):
                cli.main()
            told = printed.getvalue()
            assert told.startswith("combgame: ") and SECRET not in told, k


def test_what_is_refused_is_still_named_where_that_is_safe_and_no_address_of_a_cluster_is(tmp_path):
    for url, arguments in (
        ("lab.db", {"url": "lab.db", "scheme": None}),
        ("postgres://u@h/db", {"url": None, "scheme": "postgres"}),
        ("u:secret@host", {"url": None, "scheme": None}),
    ):
        with refused("bad-url", cg.InputError, **arguments) as caught:
            open_storage(url, "study", 1.0)
        assert all(str(fact) in str(caught.value) for fact in arguments.values() if fact)
    assert (
        cli.app.pretty_exceptions_show_locals is False
    )  # an error that nobody thought of would show the URL otherwise
    for address in (f"tcp://u:{SECRET}@h:8786", f"u:{SECRET}@h", f"tcp://h:8786?password={SECRET}"):
        with refused("must-be", cg.InputError, name="cluster", value="<not shown>") as caught:
            campaign((0.5, 0.3, 0.2, 0.1)).run(tmp_path / "a.db", cluster=address)
        assert SECRET not in str(caught.value)


# ---- campaigns


def campaign(means, runs=3, rules=("uniform", "ofw"), **more):
    problem = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1))
    return cg.Campaign.cross(
        "tiny",
        [cg.Instance("four", problem, means)],
        list(rules),
        threshold="stylised",
        runs=runs,
        **more,
    )


def test_a_campaign_whose_means_were_edited_tells_its_rows_apart_and_nothing_else_is_marked(
    tmp_path, capsys
):
    path, said = tmp_path / "a.db", []
    campaign((0.5, 0.3, 0.2, 0.1)).run(path, engine="python", say=said.append)
    assert said == []
    edited = campaign((0.1, 0.3, 0.2, 0.5))
    lines = edited.run(path, engine="python", say=said.append)
    assert [line["rule"] for line in lines] == [
        "uniform",
        "ofw",
    ]  # its own only, and nothing to tell apart
    assert (
        len(said) == 2
        and "uniform on four stands there 2 times" in said[0]
        and "between runs: means (" in said[0]
    )

    def shown(*words):
        cli.app(["campaign", *words, str(path)], standalone_mode=False)
        return capsys.readouterr().out

    marks = {c.key[:6] for c in edited.configurations} | {
        c.key[:6] for c in campaign((0.5, 0.3, 0.2, 0.1)).configurations
    }
    for words in (
        ["report"],
        ["report", "-f", "markdown"],
        ["report", "-f", "csv"],
        ["status"],
        ["export"],
    ):
        assert all(f"[{mark}]" in shown(*words) for mark in marks)
    for words in (["report"], ["report", "-f", "markdown"], ["status"]):
        assert (
            "ofw on four stands there 2 times, because the campaign was changed between runs: means"
            in shown(*words)
        )
    labels = [line["rule"] for line in json.loads(shown("report", "--json"))]
    assert len(labels) == len(set(labels)) == 4
    path = tmp_path / "b.db"  # other seeds, other deltas: their columns say so
    campaign((0.5, 0.3, 0.2, 0.1), delta=0.1).run(path, engine="python")
    campaign((0.5, 0.3, 0.2, 0.1), delta=0.01).run(path, engine="python")
    campaign((0.5, 0.3, 0.2, 0.1), seed=1).run(path, engine="python")
    cli.app(["campaign", "report", "--json", str(path)], standalone_mode=False)
    assert {line["rule"] for line in json.loads(capsys.readouterr().out)} == {"uniform", "ofw"}


@posix
def test_opening_a_campaign_twice_keeps_the_locks_of_the_first(tmp_path):
    """POSIX drops a process's locks on a file when the process closes it, through whichever
    handle.
    """
    path = tmp_path / "a.db"
    campaign((0.5, 0.3, 0.2, 0.1)).run(path, engine="python")
    code = (
        "import sys, sqlite3; sqlite3.connect(sys.argv[1], timeout=0, "
        "isolation_level=None).execute('BEGIN IMMEDIATE')"
    )

    def others_can_write():
        return (
            subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True).returncode
            == 0
        )

    with open_store(path)[0] as first:
        first.db.execute("BEGIN IMMEDIATE")
        assert not others_can_write()
        open_store(path)[0].close()
        os.link(path, tmp_path / "b.db")
        open_store(tmp_path / "b.db")[0].close()  # by another name
        assert not others_can_write()
        first.db.execute("ROLLBACK")
        assert others_can_write()
    path.write_text("dear diary")  # closed: it is looked at anew
    with refused("not-a-campaign", cg.StoreError, path=str(path)):
        open_store(path)
