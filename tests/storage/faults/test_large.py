"""Large studies: what is read, and how much of it while others wait, does not grow with them; what
is done quicker is the same as what is done slowly.
"""

import sqlite3
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest

import combgame as cg
from combgame.lab import session, snapshot
from combgame.lab.diagnostics import squares_of
from combgame.lab.exports import read_sheet
from combgame.lab.history import History
from combgame.lab.round import RecordedValue, RoundRecord, values_in
from combgame.lab.snapshot import dump
from combgame.storage import database as sql
from combgame.storage import transaction
from combgame.storage.events import compact
from tests.studies import HARD, state_of
from tests.unit.stopping.test_levels import two_way

FEW = cg.Problem(cg.Arms(4), rewards=cg.Gaussian(1.0))
WAIT = 60.0  # seconds after which something hangs


def go_on(study, rounds, seed=0):
    """Rounds in portions of 50."""
    rng = np.random.default_rng(seed)
    for _ in range(rounds // 50):
        study.tell_many(
            {one: {a: float(rng.normal(0.1 * a)) for a in one.arms} for one in study.ask(50)}
        )


def made(url, problem=FEW, **how):
    return cg.Study(problem, delta=1e-9, rule="uniform", storage=url, engine="python", **how)


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/large.db"


@pytest.fixture
def seen(monkeypatch):
    """How many events were read in each transaction: "w" with the write lock, "r" without."""
    found, now, saving = [], [], []
    real, save = sql.SqlStorage.transaction, session.StudySession._save

    @contextmanager
    def counting(self, write=True):
        if saving:
            with real(self, write) as log:
                yield log
            return
        now.append(["w" if write else "r", 0])
        try:
            with real(self, write) as log:
                yield log
        finally:
            found.append(tuple(now.pop()))

    def saved(self, *taken):
        saving.append(True)
        try:
            save(self, *taken)
        finally:
            saving.pop()

    def decoded(rows, real=transaction.as_events):
        if now:
            now[-1][1] += len(rows)
        return real(rows)

    monkeypatch.setattr(transaction, "as_events", decoded)
    monkeypatch.setattr(sql.SqlStorage, "transaction", counting)
    monkeypatch.setattr(session.StudySession, "_save", saved)
    monkeypatch.setattr(session, "EVERY", 40)
    return found


def test_a_look_and_a_round_that_ended_are_found_without_reading_the_history(url, seen):
    with made(url) as study:
        go_on(study, 300)
        seen.clear()
        assert study.status.rounds == 300 and study.done is False
        study.tell(7, {})  # it was told: nothing is new
        assert seen == [("r", 1), ("r", 1), ("w", 3)]
        study.close()
        seen.clear()
        with cg.Study.open(url, engine="python") as again:
            assert again.status.rounds == 300
        assert sum(n for _, n in seen) < 150  # 601 events; a snapshot has most of them


@pytest.mark.parametrize("what", ["round", "arm"])
def test_a_retraction_reads_the_history_before_others_wait_and_leaves_the_same(url, seen, what):
    how = {"round": 20} if what == "round" else {"arm": 2}
    slow = made(None)
    with made(url) as study:
        for one in (study, slow):
            go_on(one, 300)
        seen.clear()
        study.retract(reason="a slip", **how)
        assert max(n for kind, n in seen if kind == "w") <= 6
        assert max(n for kind, n in seen if kind == "r") > 600
        slow.retract(reason="a slip", **how)
        same_state(study, slow)
        seen.clear()
        if what == "arm":
            for number in [one["round"] for one in slow.rows("round") if one["arm"] == "2"][:3]:
                for other in (study, slow):
                    other.tell(number, {2: 0.5})
            # all rounds were read once, and kept for the next
            assert [n > 600 for kind, n in seen if kind == "r"].count(True) == 1
            assert max(n for kind, n in seen if kind == "w") <= 8
            same_state(study, slow)
        assert study.replay().same


def test_whoever_opens_a_study_after_a_retraction_does_not_look_back_again(url, seen, monkeypatch):
    monkeypatch.setattr(session, "RATE", 0.0)
    with made(url) as study:
        go_on(study, 305)
        study._session._keeper.wait()  # so that no other snapshot is due at the retraction
        study.retract(20, "a slip")
    seen.clear()
    with cg.Study.open(url, engine="python") as again:
        assert again.ask() is not None
    assert sum(n for _, n in seen) < 20


def same_state(one, two):
    """All but the times and the seals."""
    mine, its = (state_of(study) for study in (one, two))
    facts = [(x.monitor.facts(), x.history.plain()) for x in (mine, its)]
    for _, plain in facts:
        del plain["seal"]
        for record in plain["open"]:
            del record["asked"], record["born"]
            record["told"] = {a: (x.entry, x.seq, x.anew) for a, x in record["told"].items()}
    assert facts[0] == facts[1]
    for left, right in zip(snapshot.beside(mine), snapshot.beside(its), strict=True):
        assert np.array_equal(left, right)


@pytest.mark.parametrize("meanwhile", ["tell", "retract"])
def test_what_others_do_while_a_retraction_is_prepared_counts(url, seen, monkeypatch, meanwhile):
    slow = made(None)
    with made(url) as study, cg.Study.open(url, engine="python") as other:
        for one in (study, slow):
            go_on(one, 100)
            one.ask(2)
        other.state
        real, once = session.StudySession._read, []

        def read(self, *coming):
            real(self, *coming)
            if self is study._session and coming and not once:
                once.append(True)
                act(other)

        def act(one):
            todo = one.pending[0]
            one.tell(todo, dict.fromkeys(todo.arms, 0.3))
            if meanwhile == "retract":
                one.retract(30, "another slip")

        monkeypatch.setattr(session.StudySession, "_read", read)
        study.retract(20, "a slip")
        act(slow)
        slow.retract(20, "a slip")
        same_state(study, slow)
        assert study.replay().same


def test_what_others_retracted_is_folded_before_one_writes(url, seen):
    with made(url) as study, cg.Study.open(url, engine="python") as other:
        go_on(study, 200)
        other.state
        study.retract(20, "a slip")
        seen.clear()
        assert other.ask().id == 201
        assert max(n for kind, n in seen if kind == "w") <= 3
        assert dump(state_of(study)) == dump(state_of(other))


def test_events_read_together_are_those_read_one_by_one(url):
    with made(url, problem=HARD, name='"\\ é') as study:
        todo = study.ask(3, client='the "bench" \\ é 😀', lease=3.0)
        study.tell(todo[0], {todo[0].arms[0]: [0.1, 1e-300], todo[0].arms[1]: (0.25, 4)})
        study.fail(todo[1], "broken\n\ttwice ")
        study.retract(todo[0], "é")
        study.observe({0: 12345.678901234567, 1: -0.0})
        study._session._keeper.wait()  # threads take turns, and this one takes none
        with study._session.storage.transaction(write=False) as log:
            where = {"study": log._study, "after": 0, "before": transaction.ALWAYS}
            rows = log._connection.execute(transaction.EVENTS, where).all()
        together = transaction.as_events(rows)
        alone = [transaction.as_event(row) for row in rows]
        assert [one[:2] for one in together] == [one[:2] for one in alone]
        assert [one.said for one in together] == [compact(one.event) for one in alone]
        assert transaction.as_events([]) == []


def test_a_damaged_event_among_many_is_named(url):
    with made(url) as study:
        go_on(study, 50)
        for bad in ('{"a":1},{}', "[]", "nonsense", '{"a":' + "[" * 99_999):
            with sqlite3.connect(study._session.storage._place.database) as db:
                db.execute("UPDATE combgame_events SET data = ? WHERE seq = 30", (bad,))
            with pytest.raises(cg.StoreError) as caught:
                study.events()
            assert caught.value.code == "unreadable-event", bad[:20]


# ---- one transaction for a tell and the next ask


def test_a_step_is_a_tell_and_an_ask_in_one_transaction(url, seen, tmp_path):
    apart = made(f"sqlite:///{tmp_path}/apart.db", problem=HARD, seed=3)
    with made(url, problem=HARD, seed=3) as study, apart:
        one, two = study.ask(), apart.ask()
        rng = np.random.default_rng(1)
        for _ in range(30):
            values = {a: float(rng.normal()) for a in one.arms}
            seen.clear()
            one = study.tell_and_ask(one, values)
            assert [kind for kind, _ in seen] == ["w"]
            apart.tell(two, values)
            two = apart.ask()
            assert one == two
        events = [[one._replace(timestamp=0.0) for one in each.events()] for each in (study, apart)]
        assert events[0] == events[1] and study.replay().same


def test_a_step_is_stored_as_a_whole_or_not_at_all(url, monkeypatch):
    with made(url, client="me") as study:
        todo = study.ask()
        before = study.events()
        real = transaction.SqlTransaction.append

        def full(self, new):
            real(self, new)
            raise sqlite3.OperationalError("database or disk is full")

        monkeypatch.setattr(transaction.SqlTransaction, "append", full)
        with pytest.raises(sqlite3.OperationalError):
            study.tell_and_ask(todo, {todo.arms[0]: 0.5})
        monkeypatch.setattr(transaction.SqlTransaction, "append", real)
        assert study.events() == before and study.pending == [todo]
        then = study.tell_and_ask(todo, {todo.arms[0]: 0.5})
        assert then.id == 2 and study.tell_and_ask(todo, {todo.arms[0]: 0.5}) == then  # as apart
        with pytest.raises(cg.StudyError) as caught:
            study.tell_and_ask(todo, {todo.arms[0]: 0.6})
        assert caught.value.code == "told-otherwise" and len(study.events()) == 4


def test_a_step_at_the_end_asks_for_nothing_and_too_many_rounds_are_refused():
    heard = []
    calls = {f"on_{what}": lambda x, what=what: heard.append(what) for what in ("tell", "ask")}
    study = cg.Study(FEW, max_rounds=1, min_replicates=0, engine="python", **calls)
    todo = study.ask()
    assert study.tell_and_ask(todo, {todo.arms[0]: 0.5}) is None and study.state == "budget"
    assert heard == ["ask", "tell"]
    sure = cg.Study(FEW, on_certify=lambda _: heard.append("certified"), engine="python")
    todo = sure.ask()
    while todo is not None:
        todo = sure.tell_and_ask(todo, {a: 100.0 * a for a in todo.arms})
    assert sure.state == "certified" and heard[-1] == "certified" and sure.pending == []
    study = made(None)
    with pytest.raises(cg.InputError) as caught:
        study.ask(10**6)
    assert caught.value.code == "too-many-rounds" and len(study.events()) == 1


# ---- snapshots and checkpoints


def test_a_snapshot_that_fails_or_takes_long_keeps_nobody_from_telling(url, seen, monkeypatch):
    begun, go, real, results = threading.Event(), threading.Event(), session.pack, []

    def slow(*taken):
        begun.set()
        go.wait(WAIT)
        results.append(len(real(*taken)))
        raise MemoryError

    monkeypatch.setattr(session, "pack", slow)
    with made(url) as study:
        go_on(study, 50)
        assert begun.wait(WAIT)
        go_on(study, 50, seed=1)  # while the snapshot is under way
        assert not results
        go.set()
        study._session._keeper.wait()
        go_on(study, 100, seed=2)
        study._session._keeper.wait()
        assert results and study.replay().same and study.status.rounds == 200
    with cg.Study.open(url, engine="python") as again:
        assert again.status.rounds == 200


def test_a_snapshot_is_taken_between_calls_and_is_what_the_events_say(url, seen):
    with made(url) as study:
        go_on(study, 200)
        study._session._keeper.wait()
        with study._session.storage.transaction(write=False) as log:
            seq, body = log.snapshot(session.digest())
        events = study.events()
        folded = session.StudyState(study._setting, "python")
        for one in events[:seq]:
            folded.apply(one)
        with study._session.storage.transaction(write=False) as log:
            folded.history.seal = log.events(after=seq - 1, before=seq + 1)[0].seal
        assert body == dump(folded) and 0 < seq <= len(events)


def test_a_dear_snapshot_is_taken_more_rarely(url, monkeypatch):
    monkeypatch.setattr(session, "EVERY", 10)
    taken = []
    monkeypatch.setattr(session, "pack", lambda *_: taken.append(1) or b"")
    with made(url) as study:
        go_on(study, 50)
        study._session._keeper.wait()
        first, study._session._price = len(taken), 1e9
        go_on(study, 200)
        study._session._keeper.wait()
        assert first >= 1 and len(taken) == first


def test_what_is_beside_the_file_goes_into_it_between_calls(url, monkeypatch, tmp_path):
    monkeypatch.setattr(session, "CHECKPOINT", 5)
    with made(url) as study:
        before = (tmp_path / "large.db").stat().st_size
        go_on(study, 500)
        study._session._keeper.wait()
        assert (tmp_path / "large.db").stat().st_size > before  # it is still open
        rounds = study.status.rounds
    with cg.Study.open(url, engine="python") as again:
        assert again.status.rounds == rounds == 500
    (tmp_path / "large.db").unlink()
    with pytest.raises(sqlite3.Error):
        study._session.storage.checkpoint()
    assert not (tmp_path / "large.db").exists()  # and makes none


# ---- as many as there are


def test_the_rounds_of_a_long_start_are_compared_by_the_smaller_side():
    rng = np.random.default_rng(0)
    for arms, rounds, size in ((3, 40, 1), (3, 40, 2), (30, 6, 4), (40, 40, 1)):
        records = []
        for number in range(rounds):
            chosen = [int(a) for a in rng.choice(arms, size, replace=False)]
            told = {a: RecordedValue(float(rng.normal(a)), number, 0.0) for a in chosen}
            records.append(RoundRecord(number, chosen, None, 0.0, told=told))
        squares, degrees, *_ = squares_of([values_in(one) for one in records], np.ones(arms))
        wanted = two_way([{a: x.entry for a, x in one.told.items()} for one in records], 1.0)
        assert degrees == wanted[1] and squares == pytest.approx(wanted[0], rel=1e-8, abs=1e-8)
    single = [
        RoundRecord(k, [k % 2000], None, 0.0, told={k % 2000: RecordedValue(float(k % 3), k, 0.0)})
        for k in range(6000)
    ]
    assert (
        squares_of([values_in(one) for one in single], np.ones(2000)).degrees == 4000
    )  # a matrix of them would have 10^7 numbers


def test_a_table_is_read_in_linear_time(tmp_path):
    spent = []
    for lines in (4_000, 32_000):
        path = tmp_path / f"{lines}.csv"
        body = "".join(f"{k},{k % 4},{k * 0.00123:.5f}\n" for k in range(1, lines))
        path.write_text("round,arm,value\n" + body)
        times = []
        for _ in range(3):  # the shortest: others on the machine slow it down, nothing speeds it up
            began = time.process_time()
            assert len(read_sheet(path, FEW, "study").values) == lines - 1
            times.append(time.process_time() - began)
        spent.append(min(times))
    assert spent[1] < 32.0 * spent[0]  # 8 if it is linear, 64 if it is quadratic


def test_a_whole_ledger_says_the_same_however_it_is_counted(url):
    study = made(None, problem=HARD)
    go_on(study, 100)
    study.retract(3, "a slip")
    events, first = study.events(), state_of(study).history.required
    quick, eager = History.of(6, events, first), History(6, whole=True, first=first)
    for event in events:
        eager.apply(event)
    assert quick.plain() == eager.plain() and quick.records == eager.records
    assert (
        quick.n_received == eager.n_received.tolist()
        and quick.n_requested == eager.n_requested.tolist()
    )
    assert (
        quick.total == eager.n_requested.sum() and quick.short == (eager.n_received < first).sum()
    )
    for number, one in quick.records.items():
        assert one.weights == eager.records[number].weights
        assert one.steady == eager.records[number].steady
