"""Nobody waits for ever: for a frozen server, for another writer, for somebody who is paused in the
queue. Nobody asserts a time here: what would wait is ended after a minute, and then the test fails.
"""

import os
import signal
import socket
import stat
import threading
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

import combgame as cg
from combgame.storage import locks as queues
from combgame.storage.errors import kind_of
from combgame.storage.locks import Queue
from tests.said import refused
from tests.studies import HARD

from .schedule import Server

posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="POSIX only")
queued = pytest.mark.skipif(queues.fcntl is None, reason="needs Linux's locks")
LONG = 60.0  # seconds


def study_of(url, **more):
    words = {"delta": 1e-12, "rule": "uniform", "engine": "python", "if_exists": "resume"}
    return cg.Study(HARD, storage=url, **{**words, **more})


def sql(study, words):
    with study._session.storage._transaction(write=False) as connection:
        return connection.exec_driver_sql(words).scalar()


only_postgres = pytest.mark.parametrize("url", ["postgresql"], indirect=True)
only_sqlite = pytest.mark.parametrize("url", ["sqlite"], indirect=True)


# ---- a server that does not answer


@contextmanager
def frozen(pid):
    """A process that is paused, for a minute at most."""
    os.kill(pid, signal.SIGSTOP)
    alarm = threading.Timer(LONG, os.kill, (pid, signal.SIGCONT))
    alarm.start()
    try:
        yield
    finally:
        alarm.cancel()
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


@posix
@only_postgres
def test_a_frozen_backend_is_waited_for_no_longer_than_the_timeout(url):
    with study_of(url, timeout=0.5, client="me") as study:
        todo = study.ask()
        with frozen(sql(study, "SELECT pg_backend_pid()")):
            with refused("unreachable", cg.StoreError) as caught:
                study.tell(todo, dict.fromkeys(todo.arms, 0.5))
            assert "has said nothing for 0.5 seconds" in str(caught.value)
            study.tell(todo, dict.fromkeys(todo.arms, 0.5))  # by another connection
            assert study.ask().id == 2
        assert study.status.rounds == 1 and study.replay().same


@posix
@only_postgres
def test_a_frozen_backend_that_holds_the_lock_is_somebody_who_writes(url):
    with study_of(url, timeout=0.5) as one, study_of(url, timeout=0.5) as two:
        with one._session.storage._transaction(write=True) as connection:
            pid = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar()
            one._session.storage._study_in(connection)
            connection.exec_driver_sql("SELECT 1 FROM combgame_studies FOR UPDATE")
            with frozen(pid), refused("busy", cg.StoreError, seconds=0.5):
                two.ask()
        assert two.ask().id == 1


@posix
@only_postgres
def test_a_frozen_server_lets_nobody_wait_for_a_connection(url, server):
    study_of(url).close()
    server.ensure_postgres_running()  # it knows the process, and a test may have restarted it
    with frozen(server.get_pid()), refused("unreachable", cg.StoreError):
        cg.Study.open(url, timeout=0.5)
    with cg.Study.open(url, timeout=0.5, engine="python") as study:
        assert study.ask().id == 1


class Cable:
    """A network between a client and a server, which can be cut: what is sent is lost, and nobody
    is told.
    """

    def __init__(self, folder):
        self.far, self.cut = f"{folder}/.s.PGSQL.5432", threading.Event()
        self.near = socket.create_server(("127.0.0.1", 0))
        self.ends = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with suppress(OSError):
            while True:
                client = self.near.accept()[0]
                server = socket.socket(socket.AF_UNIX)
                server.connect(self.far)
                self.ends += [client, server]
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=self.carry, args=pair, daemon=True).start()

    def carry(self, source, target):
        with suppress(OSError):
            while sent := source.recv(1 << 16):
                if not self.cut.is_set():
                    target.sendall(sent)
            target.shutdown(socket.SHUT_WR)

    def close(self):
        for end in (self.near, *self.ends):
            end.close()


@only_postgres
def test_a_network_that_is_cut_is_waited_for_no_longer_than_the_timeout(url, server):
    cable = Cable(server.pgdata)
    port = cable.near.getsockname()[1]
    through = f"postgresql+psycopg://postgres@127.0.0.1:{port}/postgres"
    with closing(cable), study_of(through, timeout=0.5, client="me") as study:
        todo = study.ask()
        cable.cut.set()
        for _ in range(2):  # in the midst of a connection, and when one is made
            with refused("unreachable", cg.StoreError):
                study.tell(todo, dict.fromkeys(todo.arms, 0.5))
        cable.cut.clear()
        study.tell(todo, dict.fromkeys(todo.arms, 0.5))
        assert study.status.rounds == 1 and study.replay().same


@only_postgres
def test_what_a_server_is_told_of_waiting_and_what_the_url_says_goes_first(url):
    for timeout, lock, whole in ((0.0005, "1ms", "1min"), (2, "2s", "1min"), (30, "30s", "5min")):
        with study_of(url, timeout=timeout) as study:
            assert sql(study, "SHOW lock_timeout") == lock
            assert sql(study, "SHOW statement_timeout") == whole
            assert sql(study, "SHOW synchronous_commit") == "on"
    with study_of(f"{url}&connect_timeout=7&keepalives_idle=11") as study:
        connection = study._session.storage._engine.pool.connection.driver_connection
        said = connection.info.get_parameters()
        assert (said["connect_timeout"], said["keepalives_idle"]) == ("7", "11")
        assert said["keepalives"] == "1" and int(said["tcp_user_timeout"]) == 30500


def test_the_shortest_timeout_is_not_for_ever(url):
    """PostgreSQL takes a timeout of 0 for none."""
    with (
        study_of(url) as one,
        study_of(url, timeout=0.0005) as two,
        one._session.storage.writing(),
        refused("busy", cg.StoreError, seconds=0.0005),
    ):
        two.ask()


# ---- other isolation


@pytest.fixture
def isolated(server):
    def become(level):
        server.psql(f"ALTER DATABASE postgres SET default_transaction_isolation = '{level}'")

    yield become
    server.psql("ALTER DATABASE postgres RESET default_transaction_isolation")


@only_postgres
@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_another_default_isolation_fails_no_round(url, isolated, level):
    isolated(level)
    study_of(url).close()
    failed = []

    def work(client):
        with cg.Study.open(url, client=client, engine="python") as study:
            for _ in range(10):
                try:
                    todo = study.ask()
                    study.tell(todo, dict.fromkeys(todo.arms, 0.5))
                except cg.CombGameError as error:
                    failed.append(str(error))

    threads = [threading.Thread(target=work, args=(f"worker {k}",)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    with study_of(url) as study:
        assert study.status.rounds == 30 and sql(study, "SHOW transaction_isolation") == (
            "read committed"
        )


@only_postgres
def test_a_serialisation_failure_is_said_as_what_it_is(url):
    with study_of(url) as study, study_of(url) as other:
        plain = url.replace("+psycopg", "")
        with psycopg.connect(plain) as rival:
            rival.execute("SELECT * FROM combgame_studies FOR UPDATE")
            with (
                refused("collided", cg.StoreError) as caught,
                study._session.storage._transaction(write=True) as connection,
            ):
                connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
                connection.exec_driver_sql("SELECT count(*) FROM combgame_studies")
                rival.execute("UPDATE combgame_studies SET name = name")
                rival.commit()
                connection.exec_driver_sql("UPDATE combgame_studies SET name = name")
        assert "nothing was changed" in str(caught.value) and "try again" in caught.value.remedy
        assert other.ask(client="a").id == 1 and study.ask(client="b").id == 2


def test_what_a_server_says_is_known_in_any_language():
    for error, kind in {
        psycopg.errors.SerializationFailure: "collided",
        psycopg.errors.DeadlockDetected: "collided",
        psycopg.errors.StatementCompletionUnknown: "unreachable",
        psycopg.errors.LockNotAvailable: "busy",
        psycopg.errors.DiskFull: "full",
        psycopg.errors.ReadOnlySqlTransaction: "unwritable",
        psycopg.errors.InsufficientPrivilege: "unwritable",
        psycopg.errors.AdminShutdown: "unreachable",
        psycopg.errors.DataCorrupted: "damaged",
        psycopg.errors.QueryCanceled: "refused",
    }.items():
        assert kind_of(error("Die Anfrage wurde abgebrochen")) == kind, error


@only_postgres
@pytest.mark.parametrize("how", ["fast", "immediate"])
def test_a_server_that_restarts_loses_nothing(url, server, how):
    with study_of(url, client="me", timeout=5) as study:
        todo = study.ask()
        Server(Path(server.pgdata), url).restart(how)
        with refused("unreachable", cg.StoreError) as caught:
            study.tell(todo, dict.fromkeys(todo.arms, 0.5))
        assert "try again" in caught.value.remedy
        study.tell(todo, dict.fromkeys(todo.arms, 0.5))
        assert study.ask().id == 2 and study.status.rounds == 1 and study.replay().same


# ---- who writes next


class Writers:
    """Processes that queue for a study, one after the other, while `holder` has it."""

    def __init__(self, url, holder):
        self.url, self.holder, self.pids = url, holder, []

    def queue(self, client):
        """Start one, and come back when it has its ticket."""
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                signal.alarm(int(LONG))
                usual = Queue._take

                def take(self):
                    ticket = usual(self)
                    os.write(write, b"!")
                    return ticket

                Queue._take = take
                with cg.Study.open(self.url, client=client, engine="python", timeout=LONG) as study:
                    study.ask()
                code = 0
            finally:
                os._exit(code)
        os.close(write)
        assert os.read(read, 1) == b"!"
        os.close(read)
        self.pids.append(pid)
        return pid

    def end(self):
        return [os.waitpid(pid, 0)[1] for pid in self.pids]


@contextmanager
def writers(url):
    """The study is free when the block has ended."""
    with study_of(url) as study:
        study.status
    holds, let_go = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            with cg.Study.open(url, engine="python") as study, study._session.storage.writing():
                os.write(holds[1], b"!")
                os.read(let_go[0], 1)
        finally:
            os._exit(0)
    os.read(holds[0], 1)
    try:
        yield Writers(url, pid)
    finally:
        os.write(let_go[1], b"!")
        os.waitpid(pid, 0)
        for end in (*holds, *let_go):
            os.close(end)


def clients(url):
    with cg.Study.open(url, engine="python") as study:
        return [event.client for event in study.events() if event.kind == "asked"]


@posix
@queued
@only_sqlite
def test_writers_are_served_in_the_order_in_which_they_came(url):
    names = [f"worker {k}" for k in range(8)]
    with writers(url) as waiting:
        for name in names:
            waiting.queue(name)
    assert waiting.end() == [0] * 8 and clients(url) == names


@posix
@queued
@only_sqlite
def test_who_is_killed_in_the_queue_or_as_its_holder_keeps_nobody_waiting(url):
    with writers(url) as waiting:
        for name in ("first", "second", "third"):
            waiting.queue(name)
        os.kill(waiting.pids[0], signal.SIGKILL)
    assert waiting.end() == [signal.SIGKILL, 0, 0] and clients(url) == ["second", "third"]
    with writers(url) as waiting:
        waiting.queue("first")
        os.kill(waiting.holder, signal.SIGKILL)
        assert waiting.end() == [0] and clients(url)[-1] == "first"


@posix
@queued
@only_sqlite
def test_who_is_paused_in_the_queue_keeps_nobody_from_writing(url):
    with writers(url) as waiting:
        first = waiting.queue("first")
        os.kill(first, signal.SIGSTOP)
        others = [waiting.queue("second"), waiting.queue("third")]
    waiting.pids = others
    assert waiting.end() == [0, 0]  # while the first one is still paused
    assert sorted(clients(url)) == ["second", "third"]
    os.kill(first, signal.SIGCONT)
    assert os.waitpid(first, 0)[1] == 0 and clients(url)[-1] == "first"


@queued
@only_sqlite
def test_nobody_queues_beyond_the_timeout(url):
    with (
        study_of(url) as one,
        study_of(url, timeout=0.3) as two,
        study_of(url, timeout=0.2) as three,
        one._session.storage.writing(),
    ):
        refusals = []

        def behind():
            with refused("busy", cg.StoreError, seconds=0.3):
                two.ask()
            refusals.append(2)

        thread = threading.Thread(target=behind)
        thread.start()
        with refused("busy", cg.StoreError, seconds=0.2):
            three.ask()
        thread.join()
        assert refusals == [2]


def test_a_thread_does_not_wait_beyond_the_timeout_for_another(storage):
    for where in (None, storage):
        refusals = []

        def look(refusals=refusals):
            with refused("thread-busy", cg.StoreError, name="study", seconds=0.2):
                study.ask()
            refusals.append(1)

        with cg.Study(HARD, storage=where, engine="python", timeout=0.2) as study:
            thread = threading.Thread(target=look, daemon=True)
            with study.moment():
                thread.start()
                thread.join(60)  # it would never end
            assert refusals == [1]
            assert study.ask().id == 1


@posix
@queued
def test_the_file_of_the_queue_is_as_private_as_the_study_and_goes_with_the_last(tmp_path):
    path, made = tmp_path / "lab.db", tmp_path / "lab.db-queue"
    url = f"sqlite:///{path}"
    with study_of(url, mode=0o660) as one:
        one.ask()
        assert stat.S_IMODE(made.stat().st_mode) == 0o660
        with cg.Study.open(url, engine="python") as two:
            two.ask()
        assert made.exists()
    assert [one.name for one in tmp_path.iterdir()] == ["lab.db"]


@posix
@queued
def test_a_queue_is_a_courtesy(tmp_path):
    """Without it, and whatever becomes of it, all is stored."""
    for how in ("deleted", "a folder", "left behind"):
        path = tmp_path / how / "lab.db"
        path.parent.mkdir()
        made, url = path.with_name("lab.db-queue"), f"sqlite:///{path}"
        if how == "a folder":
            made.mkdir()
        if how == "left behind":
            made.write_bytes(b"")
        with study_of(url, client="a") as one, study_of(url, client="b") as two:
            assert one.ask().id == 1
            if how == "deleted":
                made.unlink()
            assert two.ask().id == 2 and one.status.pending == (1, 2)
        assert made.exists() == (how == "a folder")


# ---- room


@only_sqlite
def test_a_full_disk_loses_nothing_that_was_told(url):
    with study_of(url, client="me") as study:
        told = 0
        with pytest.raises(cg.StoreError) as caught:
            pages = sql(study, "PRAGMA page_count")
            sql(study, f"PRAGMA max_page_count = {pages + 1}")
            while True:
                todo = study.ask()
                study.tell(todo, dict.fromkeys(todo.left, 0.5))
                told += 1
        assert caught.value.code == "disk-full" and told > 0
        assert study.status.rounds == told  # the next connection has room
        todo = study.ask()
        study.tell(todo, dict.fromkeys(todo.left, 0.5))
        assert study.status.rounds == told + 1 and study.replay().same


def test_a_file_that_was_cut_is_said_to_be_damaged(storage, tmp_path):
    path = tmp_path / "lab.db"
    with study_of(storage) as study:
        for one in study.ask(100):
            study.tell(one, dict.fromkeys(one.arms, 0.5))
    for part in (0.9, 0.5):
        with Path(path).open("rb+") as file:
            file.truncate(int(part * path.stat().st_size))
        with pytest.raises(cg.StoreError) as caught, cg.Study.open(storage) as study:
            study.replay()
        assert caught.value.code in ("damaged", "unreadable-event", "event-changed"), part
