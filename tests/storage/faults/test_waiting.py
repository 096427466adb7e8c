"""Nobody waits for ever: for a frozen server, for another writer, for somebody who is paused.
Nobody asserts a time here: what would wait is ended after a minute, and then the test fails.
"""

import os
import signal
import socket
import threading
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

import combgame as cg
from combgame.storage.errors import kind_of
from tests.said import refused
from tests.studies import HARD

from .schedule import Server

posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="POSIX only")
LONG = 60.0  # seconds


def study_of(url, **more):
    words = {"delta": 1e-12, "rule": "uniform", "engine": "python", "if_exists": "resume"}
    return cg.Study(HARD, storage=url, **{**words, **more})


def sql(study, words):
    with study._session.storage.connection(write=False) as connection:
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
        with one._session.storage.connection(write=True) as connection:
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
        one._session.storage.transaction(),
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
                study._session.storage.connection(write=True) as connection,
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


# ---- many writers


@contextmanager
def writers(url, number, rounds):
    """Processes that write to a study, `rounds` each; afterwards all of them have ended well."""
    pids = []
    for k in range(number):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                signal.alarm(int(LONG))
                with cg.Study.open(url, client=str(k), engine="python", timeout=LONG) as study:
                    for _ in range(rounds):
                        todo = study.ask()
                        study.tell(todo, dict.fromkeys(todo.arms, 0.5))
                code = 0
            finally:
                os._exit(code)
        pids.append(pid)
    yield pids
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * len(pids)


@posix
@only_sqlite
def test_all_of_many_writers_get_through(url):
    study_of(url).close()
    with writers(url, 8, 5):
        pass
    with study_of(url) as study:
        assert study.status.rounds == 40 and study.replay().same


@posix
@only_sqlite
def test_who_is_killed_or_paused_while_waiting_keeps_nobody_from_writing(url):
    study_of(url).close()
    with writers(url, 3, 20) as pids:
        os.kill(pids[0], signal.SIGKILL)
        os.waitpid(pids.pop(0), 0)
        # it may have been paused while it was writing
        with frozen(pids[0]), suppress(cg.StoreError), study_of(url, timeout=5) as study:
            study.ask(client="me")
        with study_of(url, timeout=LONG) as study:
            assert study.ask(client="me")


@only_sqlite
def test_nobody_waits_for_a_writer_beyond_the_timeout(url):
    with (
        study_of(url) as one,
        study_of(url, timeout=0.3) as two,
        study_of(url, timeout=0.2) as three,
        one._session.storage.transaction(),
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
            with study.view():
                thread.start()
                thread.join(60)  # it would never end
            assert refusals == [1]
            assert study.ask().id == 1


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
                study.tell(todo, dict.fromkeys(todo.remaining, 0.5))
                told += 1
        assert caught.value.code == "disk-full" and told > 0
        assert study.status.rounds == told  # the next connection has room
        todo = study.ask()
        study.tell(todo, dict.fromkeys(todo.remaining, 0.5))
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
