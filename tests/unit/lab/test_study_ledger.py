"""One history, one fold: what is said of a study is read off its history, at one moment."""

import json
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import settings
from hypothesis.stateful import precondition, rule, run_state_machine_as_test

import combgame as cg
from combgame.lab.history import EventEffect, History, totals
from combgame.lab.snapshot import dump, load
from tests import naive
from tests.said import refused
from tests.studies import HARD, PROBLEM, measure, state_of
from tests.study_machine import Machine

pytestmark = pytest.mark.given_numbers  # values of arms that are known to have been asked for


def moment_of(at):
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


def found(study, number):
    """A round as the verbs look it up: from the open ones, or from its own events."""
    with study._session.writing(None) as batch:
        return batch.look_up(number)


def known(record):
    """What a round's own events tell. Whether values from outside stand in the place of others is
    told by the events of those; no verb asks it of a round that has ended.
    """
    if not record.outside:
        return record
    told = {arm: one._replace(anew=False) for arm, one in record.told.items()}
    return replace(record, told=told)


class Told(Machine):
    """Anything in any order; now and then, the history is asked everything that the events can
    answer.
    """

    @precondition(lambda self: hasattr(self, "study"))
    @rule()
    def the_ledger_says_what_the_events_say(self):
        events, history = self.study.events(), state_of(self.study).history
        whole = History.of(6, events, history.required)
        assert whole.counting(range(6)) == naive.counting(events)
        assert self.study.rows("round") == naive.rows(events, lambda a: HARD.label([a]), moment_of)
        for number, one in whole.records.items():
            assert known(found(self.study, number)) == known(one)
            if one.over:
                state, told, again = naive.look_up(events, number)
                assert (one.state, {a: x.entry for a, x in one.told.items()}) == (state, told)
                assert one.outside or one.again == again
        eager = History(6, whole=True, first=history.required)
        for event in events:
            eager.apply(event)
        for other in (whole, eager):  # rounds that were forgotten leave nothing behind
            mine = {
                "seal": history.seal,
                "ahead": history.ahead,
            }  # of values, which are not added up
            assert {**other.plain(), **mine} == history.plain() and (
                history.pending == other.pending
            ).all()
        assert eager.ahead == history.ahead
        for mine, its in zip(totals(history.stats), totals(eager.stats), strict=True):
            assert mine.tolist() == its.tolist()
        assert (history.extremes == eager.extremes).all() and (
            history.late_stats == eager.late_stats
        ).all()
        assert (history.stats.residuals == eager.stats.residuals).all()
        assert (history.initial_residuals == eager.initial_residuals).all() and (
            history.n_received == eager.n_received
        ).all()
        assert history.stats.in_initial_design[0] == eager.stats.in_initial_design[0]


def test_the_ledger_says_what_the_events_say():
    run_state_machine_as_test(
        Told, settings=settings(max_examples=60, stateful_step_count=40, report_multiple_bugs=False)
    )


def test_what_is_missing_when_a_round_ends_is_taken_back_with_it():
    study = cg.Study(HARD)
    todo = study.ask()
    study.tell(todo, {todo.arms[0]: 0.5})
    assert [row["state"] for row in study.rows()] == ["told", "missing"]
    study.retract(todo, "wrong plate")
    assert [row["state"] for row in study.rows()] == ["retracted", "retracted"]
    study.tell(todo, {todo.arms[1]: 0.5}, final=False)
    assert [row["state"] for row in study.rows()] == ["retracted", "told"]
    study.fail(todo, "spilt")
    assert [row["state"] for row in study.rows()] == ["failed", "told"]
    study.ask()
    assert [(row["state"], row["n"]) for row in study.rows()] == [("open", 0), ("told", 1)]


# ---- one moment


class Counting:
    """A storage that counts its transactions, and lets somebody write after each of them, and after
    everything that is read in them.
    """

    def __init__(self, storage, meddle=lambda: None):
        self._storage, self._meddle, self.transactions = storage, meddle, 0

    def __getattr__(self, name):
        return getattr(self._storage, name)

    @contextmanager
    def transaction(self, write=True):
        with self._storage.transaction(write) as log:
            yield log if write else Meddled(log, self._meddle)
        if not write:
            self.transactions += 1
            self._meddle()


class Meddled:
    def __init__(self, log, meddle):
        self._log, self._meddle = log, meddle

    def events(self, *args, **keys):
        found = self._log.events(*args, **keys)
        self._meddle()
        return found

    def iter_events(self, *args, **keys):
        found = list(self._log.iter_events(*args, **keys))
        self._meddle()
        return found

    def now(self):
        return self._log.now()

    def snapshot(self, sources):
        found = self._log.snapshot(sources)
        self._meddle()
        return found


LOOKS = {
    "state": lambda s: s.state,
    "done": lambda s: s.done,
    "pending": lambda s: s.pending,
    "status": lambda s: s.status,
    "decision": lambda s: s.decision,
    "rounds": lambda s: s.rows("round"),
    "arms": lambda s: s.rows("arm"),
    "lines": lambda s: s.rows("event"),
    "events": lambda s: s.events(),
    "export": lambda s: s.export(),
    "history": lambda s: s.history(),
    "replay": lambda s: s.replay(),
    "evidence": lambda s: s.plot("evidence"),
    "estimates": lambda s: s.plot("estimates"),
    "pulls": lambda s: s.plot("pulls"),
    "repr": repr,
}


def test_every_look_is_one_transaction():
    study, rng = cg.Study(PROBLEM, max_rounds=9), np.random.default_rng(0)
    for todo in study.ask(9):
        study.tell(todo, measure(todo, rng))
    study.retract(3, "wrong plate")
    storage = study._session.storage = Counting(study._session.storage)
    counted = {}
    for name, look in LOOKS.items():
        storage.transactions = 0
        look(study)
        counted[name] = storage.transactions
    assert counted == dict.fromkeys(LOOKS, 1)


def check_export(text):
    whole = json.loads(text)
    status, events = whole["status"], whole["events"]
    assert whole["head"] == status["audit_hash"] and whole["head"].startswith(f"{len(events)}:")
    if whole["decision"] is not None:
        assert whole["decision"]["audit_hash"] == whole["head"]
    told = {one["round"] for one in events if one["kind"] == "told"}
    assert (
        status["rounds"]
        == len(told)
        == len({row["round"] for row in whole["rounds"] if row["state"] == "told"})
    )
    assert (
        status["values"]
        == sum(row["n"] for row in whole["arms"])
        == sum(row["n"] for row in whole["rounds"])
    )
    assert len({one["round"] for one in events if one["kind"] == "asked"}) == len(
        {row["round"] for row in whole["rounds"]}
    )
    return len(events)


def test_an_export_is_of_one_moment_whoever_writes_meanwhile(url, often):
    """Another writer stores something after each statement of the reader. The export is whole, and
    so is all else.
    """
    with (
        cg.Study(HARD, delta=1e-9, storage=url) as writer,
        cg.Study.open(url) as fresh,
        cg.Study.open(url) as reader,
    ):
        rng = np.random.default_rng(0)

        def write():
            todo = writer.ask()
            writer.tell(todo, {a: float(rng.normal()) for a in todo.arms})

        write()
        for study in (reader, fresh):  # one that has looked before, one that begins from a snapshot
            if study is reader:
                study.status
            for _ in range(6):
                write()
            study._session.storage = Counting(study._session.storage, write)
            sizes = [check_export(study.export()) for _ in range(3)]
            assert sizes[0] < sizes[1] < sizes[2] < len(writer.events())
            with study.view(history=True) as now:
                assert now.status.rounds == len({e.round for e in now.events if e.kind == "told"})
                assert len(now.rows("event")) == len(now.events)


def test_a_moment_has_the_events_only_if_asked_for_and_is_over_when_something_happens():
    study = cg.Study(PROBLEM)
    study.tell(study.ask(), {0: 0.5})
    with study.view() as now:
        assert (
            now.decision is None
            and now.state == now.status.state == "running"
            and len(now.rows("arm")) == 5
        )
        for look in (now.rows, now.history, now.export, lambda: now.events):
            with refused("no-history", cg.InputError):
                look()
    study = cg.Study(PROBLEM)
    with study.view(history=True) as now:
        assert now.status.rounds == 0
        study.tell(study.ask(), {0: 0.5})
        for look in (now.export, now.rows, lambda: now.status, lambda: now.pending):
            with refused("moment-passed", cg.StudyError):
                look()
    with study.view(history=True) as now:
        assert now.status.rounds == 1 and now.export()


def test_asking_a_study_that_has_stopped_says_so_from_the_same_moment():
    study = cg.Study(PROBLEM, max_rounds=1)
    study.tell(study.ask(), {0: 0.5})
    storage = study._session.storage = Counting(study._session.storage)
    with refused("nothing-to-ask", cg.StudyError, state="budget"):
        study.ask()
    assert storage.transactions == 0  # but for the one that would have stored the round


# ---- a new kind of event


def remarked(self, event, past):
    """A kind of event that nobody thought of: it counts the remarks."""
    self.remarks = getattr(self, "remarks", 0) + 1
    return EventEffect.NOTHING


def test_a_new_kind_of_event_is_one_method_of_the_history(storage, often, monkeypatch):
    """Its verb apart, nothing else knows of it: storing, catching up, snapshots, retractions,
    looking up, replaying, exporting.
    """
    monkeypatch.setattr(History, "on_remarked", remarked, raising=False)
    with cg.Study(HARD, delta=1e-9, storage=storage) as study, cg.Study.open(storage) as other:
        for todo in study.ask(5):
            study.tell(todo, dict.fromkeys(todo.arms, 0.5))
            with study._session.writing("me") as batch:
                batch.add("remarked", None, "the lamp flickers", lamp=3)
        study.tell(
            1, dict.fromkeys(study.events()[1].data["arms"], 0.5)
        )  # looked up among its own events and those of no round
        study.retract(2, "wrong plate")
        assert state_of(study).history.remarks == state_of(other).history.remarks == 5
        state = state_of(study)
        assert load(study._setting, "auto", (0, dump(state))).history.remarks == 5
        assert study.replay().same and len(study.history()) == 6
        assert [
            e["reason"] for e in json.loads(study.export())["events"] if e["kind"] == "remarked"
        ] == ["the lamp flickers"] * 5
    with cg.Study.open(storage) as study:
        assert state_of(study).history.remarks == 5 and study.status.rounds == 5


EFFECTS = [
    (EventEffect.NOTHING, 0, 1),
    (EventEffect.LOOK, 0, 1),
    (EventEffect.VALUES, 1, 2),
    (EventEffect.CHANGE, 0, 2),
]


def test_what_a_kind_of_event_asks_of_the_stopping_rule(monkeypatch):
    for effect, late, points in EFFECTS:
        monkeypatch.setattr(History, "on_remarked", lambda *_, effect=effect: effect, raising=False)
        study = cg.Study(cg.Problem(cg.Arms(2), rewards=cg.Gaussian(0.1)))
        study.observe({0: [0.0, 0.1], 1: [50.0, 50.1]})
        before = study.decision
        with study._session.writing(None) as batch:
            batch.add("remarked", None, "hm")
        assert (study.status.n_late, len(study.history())) == (late, points)
        assert study.decision.certified and study.decision.evidence == before.evidence
        ended = state_of(study).monitor.ended
        assert ended["seq"] == (5 if effect is EventEffect.CHANGE else 3)


def test_a_kind_of_event_of_another_version_is_said():
    study = cg.Study(PROBLEM)
    refusal = refused("unknown-event", cg.StoreError, seq=2, kind="remarked")
    with refusal, study._session.writing(None) as batch:
        batch.add("remarked")
    assert len(study.events()) == 1 and study.ask().id == 1


# ---- stopping, and letting go


def test_leaving_a_study_lets_go_of_it_and_does_not_stop_it(tmp_path):
    where = f"sqlite:///{tmp_path}/lab.db"
    with cg.Study(PROBLEM, storage=where) as study:
        todo = study.ask()
    assert study._session.storage._engine is None and not (tmp_path / "lab.db-wal").exists()
    study.close()  # twice is harmless
    with cg.Study.open(where) as study:
        assert study.state == "running" and [one.id for one in study.pending] == [todo.id]
        study.stop("out of money")
        assert (
            study.state == "by hand"
            and study.decision.headline.arguments["reason"] == "out of money"
        )
        assert study.events()[-1].kind == "closed"
    with cg.Study.open(where) as study:
        assert study.state == "by hand" and study.ask(2) == []
