"""Stored studies: what was acknowledged is there, whoever is killed; nobody gets a round twice;
reopening changes nothing.
"""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

import combgame as cg
from combgame.lab import session
from combgame.storage import database as connections
from combgame.storage import schema as tables
from combgame.storage.events import Event, chain_hash, compact
from tests.said import refused
from tests.studies import HARD, PROBLEM, measure, state_of
from tests.study_machine import BUDGET, Machine

pytestmark = pytest.mark.given_numbers  # values of arms that are known to have been asked for


def asked(study):
    return [(e.round, e.data["arms"]) for e in study.events() if e.kind == "asked"]


# ---- reopening
# every rule's snapshot is its fold (test_study_model); what is stored is the same for all of them
PLACES = [("sqlite", "lloo"), ("sqlite", "top-two"), ("postgresql", "lloo")]


@pytest.mark.parametrize(("url", "rule"), PLACES, indirect=["url"])
def test_reopening_after_every_event_changes_nothing(url, rule, often):
    """Unlike optuna, which repeats its first suggestions after a seeded restart. Batches, failures
    and retractions included.
    """

    def run(reopen, **where):
        def study():
            if reopen or not kept:
                if kept:
                    kept.pop().close()
                kept.append(
                    cg.Study(
                        HARD,
                        delta=0.1,
                        rule=rule,
                        seed=5,
                        if_exists="resume",
                        client="me",
                        max_rounds=7,
                        **where,
                    )
                )
            return kept[-1]

        kept, rng = [], np.random.default_rng(8)
        for step in range(14):
            if step in (5, 6, 9):
                study().extend(4 * step, reason="a grant")
            todo = study().ask(1 + step % 2)
            for one in todo:
                study().tell(one, measure(one, rng, [0.3, 0.2, 0.1, 0, 0, 0], 1.0))
            if step == 5:
                study().retract(todo[0], "wrong")
            if step == 8:
                study().fail(study().ask(client="you"), "spilt", retry=False)
        return kept[-1]

    one, other = run(False), run(True, storage=url)
    assert asked(one) == asked(other) and len(asked(one)) > 20
    assert other.replay().same and other.status.evidence == one.status.evidence
    other.close()


def test_a_resumed_study_must_be_the_same(url):
    with cg.Study(PROBLEM, delta=0.05, storage=url, name="a", seed=3) as study:
        first = study.ask()
    with cg.Study(
        PROBLEM, delta=0.05, rule=cg.FrankWolfe(), storage=url, name="a", seed=3, if_exists="resume"
    ) as study:
        assert [one.id for one in study.pending] == [first.id]
    same = {"delta": 0.05, "storage": url, "name": "a", "seed": 3, "if_exists": "resume"}
    for key, stored, other in (
        ("delta", 0.05, 0.1),
        ("rule", "frank-wolfe", "ofw"),
        ("seed", 3, 4),
    ):
        with refused(
            "other-settings", cg.StudyError, name="a", key=key, stored=stored, given=other
        ):
            cg.Study(PROBLEM, **same | {key: other})
    with refused("other-settings", cg.StudyError, name="a", key="problem"):
        cg.Study(HARD, delta=0.05, storage=url, name="a", seed=3, if_exists="resume")
    with refused("study-exists", cg.StudyError, name="a") as caught:
        cg.Study(PROBLEM, delta=0.05, storage=url, name="a", seed=3)
    assert "if_exists='resume'" in caught.value.remedy
    with refused("no-study", cg.UnknownNameError, name="b", known=["a"]):
        cg.Study.open(url, "b")
    with (
        cg.Study.open(url, "a") as old,
        cg.Study(PROBLEM, storage=url, name="a", if_exists="replace") as new,
    ):
        assert new.events()[1:] == []
        with refused("other-study", cg.StudyError, name="a"):
            old.ask()
        assert new.ask().id == 1


def test_a_budget_is_extended_for_everybody(storage):
    with cg.Study(PROBLEM, storage=storage, max_rounds=2) as study, cg.Study.open(storage) as other:
        assert len(study.ask(9)) == 2
        other.extend(5, reason="a grant")
        assert len(study.ask(9)) == 3
    with cg.Study(PROBLEM, storage=storage, max_rounds=2, if_exists="resume") as study:
        assert len(study.pending) == 5 and study.ask(9) == [] and study.events()[-1].data["arms"]
    with refused("other-settings", cg.StudyError, key="max_rounds", stored=2, given=5) as caught:
        cg.Study(PROBLEM, storage=storage, max_rounds=5, if_exists="resume")
    assert "extend() changes it afterwards" in caught.value.remedy


def test_several_studies_live_in_one_database_and_two_objects_see_what_the_other_does(storage):
    with (
        cg.Study(PROBLEM, storage=storage, name="a") as one,
        cg.Study(HARD, storage=storage, name="b") as b,
    ):
        first = one.ask(client="x")
        assert b.ask().id == 1 and len(b.events()) == 2
        assert one._session.storage.names() == ["a", "b"]
        with cg.Study.open(storage, "a") as two:
            assert (first.id, two.ask(client="y").id) == (1, 2)
            two.tell(first, dict.fromkeys(first.arms, 0.2))
            one.tell(first, dict.fromkeys(first.arms, 0.2))
            with refused("told-otherwise", cg.StudyError, round=1, before=0.2, now=0.3):
                one.tell(first, dict.fromkeys(first.arms, 0.3))
        kinds = [e.kind for e in one.events()]
        assert one.status.rounds == 1 and kinds == ["created", "asked", "asked", "told"]


def test_what_is_accepted_can_be_read_again(url):
    """What is sealed is what the columns give back, whatever type the caller had."""
    with cg.Study(PROBLEM, storage=url, client=np.str_("me")) as study:
        one, two, three = study.ask(3)
        study.tell_many({np.int64(one.id): {}, two: dict.fromkeys(two.arms, 0.5)})
        study.fail(np.int64(three.id), np.str_("spilt"))
        study.observe({0: 1.0}, reason=np.str_("last year"))
    with cg.Study.open(url) as study:
        assert study.replay().same and len(study.events()) == 8


def test_a_study_that_is_opened_calls_back_too_and_one_that_no_file_can_hold_is_opened_from_python(
    storage,
):
    heard = []
    pair = cg.Problem(cg.Arms(2), rewards=cg.Gaussian(0.1))
    cg.Study(pair, storage=storage, min_replicates=0).close()
    calls = {f"on_{what}": heard.append for what in ("ask", "tell", "certify")}
    with cg.Study.open(storage, **calls) as study:
        one, two = study.ask(2)
        study.tell_many({one: {0: 0.0}, two: {1: 50.0}})
        assert heard == [one, two, 1, 2, study.decision]
    best = cg.Oracle(lambda scores: np.argsort(-scores, kind="stable")[:2], 4)
    problem = cg.Problem(best, cg.Arms(4), cg.Gaussian(0.1))
    with cg.Study(problem, storage=storage, name="oracle") as study:
        study.tell(study.ask(), {0: 0.5})
    with refused("not-in-file", cg.StudyError, name="oracle", part="problem") as caught:
        cg.Study.open(storage, "oracle")
    assert "open it in Python" in caught.value.remedy


def test_a_snapshot_that_does_not_fit_is_not_used(storage, often, monkeypatch):
    with cg.Study(HARD, storage=storage) as study:
        for one in study.ask(8):
            study.tell(one, dict.fromkeys(one.arms, 0.5))
        expected, loaded = state_of(study).policy.choose(), []
    usual = session.load
    monkeypatch.setattr(
        session,
        "load",
        lambda setting, engine, kept: loaded.append(kept) or usual(setting, engine, kept),
    )
    with cg.Study.open(storage) as study:
        assert study.ask().arms == expected and loaded[-1][0] >= 14
    monkeypatch.setattr(session, "digest", lambda: "another version")
    with cg.Study.open(storage) as study:
        study.status
        assert loaded[-1] is None and study.replay().same


def test_any_order_of_anything_with_reopening(url, often):
    class Stored(Machine):
        number = 0

        def make(self):
            Stored.number += 1
            self.settings = {
                "storage": url,
                "name": f"study {self.number}",
                "seed": 1,
                "max_rounds": BUDGET,
            }
            return cg.Study(HARD, **self.settings)

        def reopen_study(self):
            self.study.close()
            return cg.Study(HARD, if_exists="resume", **self.settings)

    run_state_machine_as_test(
        Stored,
        settings=settings(max_examples=8, stateful_step_count=25, report_multiple_bugs=False),
    )


# ---- many processes, and killing them

NURSERY = """
import json, os, random, signal, sys, time
import combgame as cg
from combgame.lab import session

session.EVERY = 40
url, work, folder = sys.argv[1:]
rng = random.Random(work)
with cg.Study.open(url) as study:  # loads what the children need
    study.status


def child(client, rounds, ready):
    out = os.open(f"{folder}/{client}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    # what has been acknowledged
    say = lambda *what: os.write(out, (json.dumps(what) + "\\n").encode())
    study = cg.Study.open(url)
    study.client = client
    study.status
    os.write(ready, b"!")
    for k in range(rounds):
        todo = study.ask()
        say("asked", todo.id, todo.arms)
        values = {a: random.random() for a in todo.remaining}
        study.tell(todo, values)
        say("told", todo.id, values)
        os.write(ready, b"!")


def start(client, rounds):
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            child(client, rounds, write)
            code = 0
        finally:
            os._exit(code)
    os.close(write)
    return pid, read


if work == "together":
    parents = cg.Study.open(url)  # a forked process opens it again
    parents.status
    pids = [start(f"worker {k}", 20)[0] for k in range(8)]
    print(json.dumps([os.waitpid(pid, 0)[1] for pid in pids]))
else:
    kills, alive = int(work), []
    for k in range(kills):
        alive.append(start(f"worker {k % 5}", 10**9))
        if len(alive) == 2:  # two at a time; the older one is killed wherever it is
            pid, read = alive.pop(0)
            # as soon as it is ready, or after a round or two: however slow the machine
            for _ in range(1 + k % 3):
                os.read(read, 1)
            time.sleep(rng.uniform(0.0, 0.03))
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(read)
    os.kill(alive[0][0], signal.SIGKILL)
    os.waitpid(alive[0][0], 0)
    print(json.dumps(kills))
"""


def nursery(url, work, folder):
    (folder / "nursery.py").write_text(NURSERY)
    command = [sys.executable, str(folder / "nursery.py"), url, str(work), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def acknowledged(folder):
    return [
        json.loads(line) for log in folder.glob("*.log") for line in log.read_text().splitlines()
    ]


def check(study, heard):
    """Every acknowledged event is stored, and what is stored makes sense."""
    events = study.events()
    assert [e.seq for e in events] == list(range(1, len(events) + 1))
    asked = {e.round: e for e in events if e.kind == "asked" and not e.data.get("again")}
    told = {e.round: e for e in events if e.kind == "told"}
    assert len(asked) == sum(e.kind == "asked" for e in events)  # no round was given twice
    assert len(told) == sum(e.kind == "told" for e in events) and set(told) <= set(asked)
    for what, number, said in heard:
        assert (
            asked[number].data["arms"] == said
            if what == "asked"
            else told[number].data["values"] == said
        )
    assert sorted(asked) == list(range(1, len(asked) + 1))
    assert all(told[number].client == asked[number].client for number in told)
    replayed = study.replay()
    assert replayed.same and replayed.rounds == len(asked)
    counts = np.zeros(6)
    for one in told.values():
        for arm in one.data["values"]:
            counts[int(arm)] += 1
    assert state_of(study).history.stats.counts.tolist() == counts.tolist()
    assert sorted(one.id for one in study.pending) == sorted(set(asked) - set(told))
    return asked, told


@pytest.mark.own_numbers  # other processes ask
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_eight_processes_ask_and_tell_on_one_study(url, tmp_path):
    with cg.Study(HARD, delta=1e-12, storage=url) as study:
        assert nursery(url, "together", tmp_path) == [0] * 8
        asked, told = check(study, acknowledged(tmp_path))
        assert len(asked) == len(told) == 160 and len({e.client for e in asked.values()}) == 8


@pytest.mark.own_numbers  # other processes ask
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_two_hundred_kills_lose_nothing(url, tmp_path):
    with cg.Study(HARD, delta=1e-12, storage=url) as study:
        assert nursery(url, 200, tmp_path) == 200
        heard = acknowledged(tmp_path)
        asked, told = check(study, heard)
        assert len(told) > 100
        unheard = len(asked) + len(told) - len({(what, number) for what, number, _ in heard})
        assert 0 <= unheard <= 200  # at most one per kill was stored but not said


# ---- files that are not what they should be


def test_waiting_for_somebody_else_ends_with_a_sentence(storage):
    with (
        cg.Study(PROBLEM, storage=storage) as one,
        cg.Study(PROBLEM, storage=storage, if_exists="resume", timeout=0.2) as two,
    ):
        with (
            one._session.storage.transaction(),
            refused("busy", cg.StoreError, seconds=0.2),
        ):
            two.ask()
        assert two.ask().id == 1


def test_older_tables_are_brought_up_to_date_and_others_are_said(url, monkeypatch):
    with cg.Study(PROBLEM, storage=url) as study:
        study.ask()
    with monkeypatch.context() as patch:
        patch.setattr(connections, "SCHEMA", tables.SCHEMA + 1)
        words = ("ALTER TABLE combgame_studies ADD COLUMN note TEXT",)
        patch.setattr(connections, "UPGRADES", {tables.SCHEMA: words})
        with cg.Study.open(url) as study:
            assert len(study.pending) == 1
            with study._session.storage.connection(write=False) as connection:
                assert connection.execute(tables.schema.select()).scalar() == tables.SCHEMA + 1
                notes = connection.exec_driver_sql("SELECT note FROM combgame_studies")
                assert notes.scalar() is None
    with refused("other-version", cg.StoreError, theirs=tables.SCHEMA + 1, ours=tables.SCHEMA):
        cg.Study.open(url)


def test_an_event_that_was_changed_is_found(tmp_path):
    for k, damage in enumerate(
        (
            "UPDATE combgame_events SET data = '{\"arms\":[0,2]}' WHERE seq = 2",
            "UPDATE combgame_events SET reason = 'x' WHERE seq = 3",
            "UPDATE combgame_events SET version = '9' WHERE seq = 2",
            "DELETE FROM combgame_events WHERE seq = 2",
        )
    ):
        url = f"sqlite:///{tmp_path}/{k}.db"
        with cg.Study(PROBLEM, storage=url) as study:
            study.tell(study.ask(), {0: 0.5})
            study.ask()
            sql(study, damage)
            with refused("event-changed", cg.StoreError):
                study.replay()
        with cg.Study.open(url) as study, refused("event-changed", cg.StoreError):
            study.ask()
    sql(study, "DELETE FROM combgame_events")  # nor is a study without a first event one
    study.close()
    with refused("unreadable-event", cg.StoreError):
        cg.Study.open(url)


def sql(study, statement):
    with study._session.storage.connection(write=True) as connection:
        connection.exec_driver_sql(statement)


def eight_rounds(url):
    study = cg.Study(HARD, storage=url)
    for one in study.ask(8):
        study.tell(one, dict.fromkeys(one.arms, 0.5))
    return study


def test_a_snapshot_that_is_damaged_or_of_other_events_is_not_used(storage, often):
    """The events are what counts: a snapshot that is ahead of them, or beside them, is passed
    over.
    """
    with (
        eight_rounds(storage) as study,
        study._session.storage.connection(write=True) as connection,
    ):
        wrong = tables.snapshots.update().values(body=b"dear diary")
        assert connection.execute(wrong).rowcount == 1
    with cg.Study.open(storage) as study:
        assert study.status.rounds == 8 and study.ask().id == 9
        assert state_of(study).history.seq == 18
        study.tell(9, {})
        sql(study, "DELETE FROM combgame_events WHERE seq > 10")
    with cg.Study.open(storage) as study:
        assert study.status.rounds == 1 and study.ask().id == 9 and study.replay().same


def test_a_snapshot_hides_no_damage(storage, often):
    """What lies before a snapshot is not folded again, but it is checked when it is handed out or
    added up anew.
    """
    with eight_rounds(storage) as study:
        sql(study, "UPDATE combgame_events SET reason = 'x' WHERE seq = 3")
    for act in (
        lambda study: study.events(),
        lambda study: study.rows("round"),
        lambda study: study.export(),
        lambda study: study.retract(8, "wrong"),
    ):
        with cg.Study.open(storage) as study:
            assert study.status.rounds == 8
            with refused("event-changed", cg.StoreError, event=3):
                act(study)


def test_nothing_is_added_to_a_file_that_was_put_back(storage):
    with eight_rounds(storage) as study:
        sql(study, "DELETE FROM combgame_events WHERE seq > 10")
        for _ in range(2):  # and it stays so: a worker that tries again hears it again
            with refused("event-replaced", cg.StoreError, seq=17) as caught:
                study.ask()
            assert "open it again" in caught.value.remedy
    with cg.Study.open(storage) as study:
        assert len(study.events()) == 10 and study.ask().id == 9 and study.replay().same


def test_files_that_are_no_studies(tmp_path):
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as db:
        db.execute("CREATE TABLE mine (x)")
        db.commit()
    before = other.read_bytes()
    with refused("foreign-file", cg.StoreError, where=str(other)):
        cg.Study(PROBLEM, storage=f"sqlite:///{other}")
    assert other.read_bytes()[100:] == before[100:]
    (tmp_path / "text.db").write_text("dear diary, " * 1000)
    with refused("damaged", cg.StoreError, why="file is not a database"):
        cg.Study(PROBLEM, storage=f"sqlite:///{tmp_path}/text.db")
    with refused("no-folder", cg.StoreError, folder=str(tmp_path / "nowhere")):
        cg.Study(PROBLEM, storage=f"sqlite:///{tmp_path}/nowhere/lab.db")
    with refused("is-folder", cg.StoreError, path=str(tmp_path)):
        cg.Study(PROBLEM, storage=f"sqlite:///{tmp_path}")
    with refused("unreachable", cg.StoreError):
        cg.Study(PROBLEM, storage="postgresql+psycopg://nobody@127.0.0.1:1/lab", timeout=2)
    for wrong in ("lab.db", "mysql://x/y", "sqlite://"):
        with refused("bad-url", cg.InputError):
            cg.Study(PROBLEM, storage=wrong)
    with refused("not-a-url", cg.InputError, kind="int"):
        cg.Study(PROBLEM, storage=7)


def test_a_damaged_file_is_said(tmp_path):
    path = tmp_path / "lab.db"
    with cg.Study(PROBLEM, storage=f"sqlite:///{path}") as study:
        for one in study.ask(60):
            study.tell(one, dict.fromkeys(one.arms, 0.5))
    body = bytearray(path.read_bytes())
    for k in range(4096, len(body), 512):
        body[k : k + 40] = os.urandom(40)
    path.write_bytes(bytes(body))
    with pytest.raises(cg.CombGameError) as caught:
        cg.Study.open(f"sqlite:///{path}").replay()
    assert caught.value.code in ("damaged", "unreadable-event", "event-changed", "no-study")


def test_what_is_told_is_on_disk_before_it_is_acknowledged(tmp_path):
    """No connection that is open is needed: a copy of the files at that moment has all of it."""
    path, copy = tmp_path / "lab.db", tmp_path / "copy"
    copy.mkdir()
    study = cg.Study(PROBLEM, storage=f"sqlite:///{path}")
    todo = study.ask()
    study.tell(todo, dict.fromkeys(todo.arms, 0.5))
    for file in (path, Path(f"{path}-wal")):
        (copy / file.name).write_bytes(file.read_bytes())
    with cg.Study.open(f"sqlite:///{copy}/lab.db") as other:
        assert [e.kind for e in other.events()] == ["created", "asked", "told"]
    with study._session.storage._connect().connect() as connection:
        pragmas = [
            connection.exec_driver_sql(f"PRAGMA {word}").scalar()
            for word in ("journal_mode", "synchronous")
        ]
    assert pragmas == ["wal", 2]
    study.close()


# ---- another history under the same name


def begin_anew(url, study):
    """Another study with the same name and number, as in a new file."""
    sql(study, "DELETE FROM combgame_snapshots")
    sql(study, "DELETE FROM combgame_events")
    sql(study, "DELETE FROM combgame_studies")
    if url.startswith("postgresql"):
        sql(study, "ALTER SEQUENCE combgame_studies_id_seq RESTART")
    return cg.Study(PROBLEM, delta=1e-9, storage=url)


def test_a_worker_does_not_go_on_with_another_study_of_the_same_name(url):
    with eight_rounds(url) as worker, begin_anew(url, worker) as study:
        todo, acknowledged = study.ask(3), 0
        for _ in range(3):
            for act in (
                lambda: worker.tell(todo[0], dict.fromkeys(todo[0].arms, 50.0)),
                worker.ask,
                lambda: worker.status,
                worker.events,
            ):
                try:
                    act()
                    acknowledged += 1
                except cg.StudyError as error:
                    assert error.code == "other-study" and "open it again" in error.remedy
        assert acknowledged == 0 and len(study.events()) == 4 and study.replay().same
        with cg.Study.open(url) as worker:
            assert worker.problem.d == PROBLEM.d and worker.status.settings["delta"] == 1e-9


def edit_first(study, sealed):
    """delta = 0.5 instead of 1e-20, with a seal that fits or without."""
    event = study.events()[0]
    event = event._replace(data={**event.data, "delta": 0.5})
    with study._session.storage.connection(write=True) as connection:
        row = {"data": compact(event.data), **({"seal": chain_hash("", event)} if sealed else {})}
        connection.execute(tables.events.update().where(tables.events.c.seq == 1).values(row))


def test_what_a_study_is_cannot_be_edited_behind_a_snapshot(storage, often):
    for sealed in (False, True):
        how = {"name": f"sealed {sealed}"}
        with cg.Study(HARD, delta=1e-20, storage=storage, **how) as study:
            for one in study.ask(8):
                study.tell(one, {a: 5.0 * (a == 0) for a in one.arms})
            assert study.state == "running"
            edit_first(study, sealed)
            for act in (study.ask, lambda: study.status, lambda: study.decision):
                with refused("other-study", cg.StudyError):
                    act()
        for again in (
            partial(cg.Study.open, storage),
            partial(cg.Study, HARD, delta=0.5, storage=storage, if_exists="resume"),
        ):
            changed = refused("event-changed", cg.StoreError, event=2 if sealed else 1)
            with changed, again(**how) as study:
                study.state


def test_a_head_that_was_noted_shows_whether_events_were_removed(storage, often):
    with eight_rounds(storage) as study:
        before = study.status.audit_hash
        study.stop("enough")
        head = study.status.audit_hash
        number, last = head.split(":")
        assert (before.split(":")[0], number, len(last)) == ("17", "18", 16)
        assert (
            study.decision.audit_hash == head
            and head in str(study.decision)
            and head in str(study.status)
        )
        told = json.loads(study.export())
        assert (
            told["head"] == told["status"]["audit_hash"] == told["decision"]["audit_hash"] == head
        )
        assert [row["seal"] for row in study.rows("event")][-1] == last
        before_that, chain = "", []
        for event in told["events"]:  # anybody can add it up again
            before_that = chain_hash(before_that, Event(**event))
            chain.append(before_that)
        assert chain[-1] == last and f"17:{chain[16]}" == before
        assert (
            study.replay(head).head == head
            and study.replay(before).same
            and study.replay(f" {head}\n").same
        )
        for wrong in ("18", "18:" + "0" * 15, "x:" + last, ":" + last, 18, head + "0"):
            with refused("must-be", cg.InputError, name="head", value=wrong):
                study.replay(wrong)
        with refused("other-history", cg.StoreError, number=17):
            study.replay(f"17:{last}")
        sql(study, "DELETE FROM combgame_events WHERE seq > 12")
    with cg.Study.open(storage) as study:
        assert study.replay().same  # what is left fits together
        for one in (head, before):
            noted = int(one.split(":")[0])
            with refused("events-missing", cg.StoreError, events=12, number=noted):
                study.replay(one)
    # a study in memory has none
    study = cg.Study(PROBLEM)
    assert study.status.audit_hash == "" and "last event" not in str(study.status)


def test_only_files_are_copied(url, tmp_path):
    with eight_rounds(url) as study:
        if url.startswith("sqlite"):
            study.copy(f"sqlite:///{tmp_path}/copy.db")
        else:
            with refused("server-copy", cg.InputError):
                study.copy(tmp_path / "copy.db")
    assert (tmp_path / "copy.db").exists() == url.startswith("sqlite")


ENDS = """
import sys, threading, time
import combgame as cg
from combgame.lab import session
from combgame.storage import sqlite

session.EVERY = 1  # a snapshot after every event
mine, begin, call = threading.local(), sqlite.begin, session.BackgroundWorker._quietly

def slow(*given):
    time.sleep(0.3 * getattr(mine, "snapshot", False))
    return begin(*given)

def marked(worker):
    mine.snapshot = True
    call(worker)

sqlite.begin, session.BackgroundWorker._quietly = slow, marked
study = cg.Study(cg.Problem(cg.Arms(4), rewards=cg.Gaussian(1.0)), storage=sys.argv[1], name="x")
for _ in range(3):
    todo = study.ask()
    study.tell(todo, {arm: 0.1 * arm for arm in todo.arms})
"""


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_a_process_that_ends_during_a_snapshot_says_nothing(url):
    """The connection was closed under the thread that writes the snapshot."""
    words = [sys.executable, "-c", ENDS, url]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
