"""Studies that several versions of combgame write, and machines whose clocks differ."""

import json
import sqlite3
import subprocess
import sys
import time
import warnings
from contextlib import closing, contextmanager

import pytest

import combgame as cg
from combgame.errors import Notice
from combgame.lab import session, settings
from combgame.lab.client._wire import decision_data, decision_from, status_data, status_from
from combgame.lab.settings import StudySettings, running_version
from combgame.storage import clock
from combgame.storage.sqlite import FileIdentity
from tests.paths import ASSETS
from tests.said import refused, says
from tests.studies import PROBLEM

pytestmark = pytest.mark.given_numbers  # values of arms that are known to have been asked for

APART = {0: 1.0, 1: 0.0}  # certified after two rounds of each


@pytest.fixture
def runs(monkeypatch):
    """runs("0.3"): from now on that version runs; stricter: it asks for much more evidence."""
    real = StudySettings.stopping_at

    def becomes(name, stricter=False):
        monkeypatch.setattr("combgame._version.__version__", name)
        monkeypatch.setattr(session, "digest", lambda: name)  # whose snapshots are of use

        def judged(self, delta, problem=None, epsilon=None):
            return real(self, delta * (1e-290 if stricter else 1.0), problem, epsilon)

        monkeypatch.setattr(StudySettings, "stopping_at", judged)

    return becomes


@contextmanager
def told(*codes):
    """What is warned of in a block has these beginnings, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught
    said = [str(one.message) for one in caught if one.category is Notice]
    assert len(said) == len(codes), said
    for one, words in zip(said, codes, strict=True):
        assert words in one, said


PAIR = cg.Problem(cg.Arms(2), rewards=cg.Gaussian(0.1), names=["old", "new"])


def study(url=None, **settings):
    return cg.Study(PAIR, storage=url, engine="python", rule="uniform", **settings)


def go_on(study, n=1, values=APART):
    for todo in study.ask(n):
        study.tell(todo, {arm: values[arm] for arm in todo.arms})


# ---- versions


def test_every_event_has_the_version_that_wrote_it_and_the_status_says_so(url, runs):
    runs("0.3")
    with study(url) as made:
        go_on(made)
    runs("0.4")
    with told("made with combgame 0.3; this is version 0.4", "3 events"):
        with cg.Study.open(url) as made:
            status = made.status
            assert says(status.notes, "other-versions", n=3, others=["0.3"], here="0.4")
            assert "3 events of this study were written by combgame 0.3" in str(status)
            assert status_from(json.loads(json.dumps(status_data(status)))) == status
            made.ask()
        by = [one.version for one in made.events()]
        assert by == ["0.3", "0.3", "0.3", "0.4"]
        assert [row["version"] for row in made.rows("event")] == by
        assert [one["version"] for one in json.loads(made.export())["events"]] == by
        made.close()


def test_a_study_of_one_version_says_nothing_of_versions(storage):
    with told(), study(storage) as made:
        go_on(made, 4)
        assert made.status.notes == () and "versions" not in str(made.status)
    with told(), cg.Study.open(storage) as made:
        assert made.status.notes == ()
        kept = [one for one in made.decision.assumptions if one.code.startswith("certificate")]
        assert not kept and made.decision.proved


@pytest.mark.parametrize("every", [session.EVERY, 7])
def test_a_certificate_stays_given_whatever_a_later_version_computes(
    storage, runs, every, monkeypatch
):
    """every=7: from a snapshot of the later version."""
    monkeypatch.setattr(session, "EVERY", every)
    runs("0.3")
    with study(storage) as made:
        go_on(made, 4)
        first = made.decision
    assert first.certified and first.proved
    runs("0.4", stricter=True)
    for _ in range(2):
        with told("made with", "events"), cg.Study.open(storage) as later:
            decision, status = later.decision, later.status
            assert later.state == "certified" and later.done and later.ask(1) == []
            assert (decision.answer, decision.confidence) == (first.answer, first.confidence)
            assert (decision.evidence, decision.threshold) == (first.evidence, first.threshold)
            assert says(decision.assumptions, "certificate-stays", version="0.3", here="0.4")
            assert not says(decision.assumptions, "threshold")
            assert not decision.proved, "this version does not vouch for it"
            assert "as combgame 0.3 certified at delta = 0.05" in str(decision)
            assert "0.4 would not have stopped there" in str(status)
            assert "0.4 would not have stopped there" in str(later.replay())
            assert later.replay().same
            assert decision_from(json.loads(json.dumps(decision_data(decision)))) == decision
            with refused("certified-already", cg.StudyError):
                later.stop("enough")
    with told("made with", "events"), cg.Study.open(storage) as later:
        later.retract(1, "wrong plate")  # which takes it back under any version
        assert later.state == "running" and later.decision is None
        assert not says(later.status.notes, "certificate-due")


def test_a_version_that_would_have_given_a_certificate_vouches_for_it(storage, runs):
    runs("0.3")
    with study(storage) as made:
        go_on(made, 4)
        first = made.decision
    runs("0.4")
    with told("made with", "events"), cg.Study.open(storage) as later:
        assert later.decision.proved and later.decision.headline == first.headline
        assert says(later.decision.assumptions, "certificate-alike", version="0.3", here="0.4")
        assert later.decision.lead == first.lead and later.decision.estimates == first.estimates


def test_what_is_enough_for_a_later_version_is_certified_by_what_is_stored_next(storage, runs):
    """A certificate is an event: nobody has one that others do not see."""
    runs("0.3", stricter=True)
    with study(storage) as made:
        go_on(made, 4)
        assert made.state == "running"
    runs("0.4")
    called = []
    with (
        told("made with", "events"),
        cg.Study.open(storage, on_certify=called.append) as later,
    ):
        assert later.state == "running" and says(later.status.notes, "certificate-due", here="0.4")
        assert "whatever is stored next, but for a retraction, certifies it" in str(later.status)
        assert later.ask(1) == [] and later.state == "certified"
        assert [one.kind for one in later.events()][-1] == "certified"
        assert later.decision.proved and called == [later.decision]
        assert not says(later.status.notes, "certificate-due")
    runs("0.3", stricter=True)
    with told("1 event"), cg.Study.open(storage) as first:
        assert first.state == "certified"
        assert says(first.decision.assumptions, "certificate-stays", version="0.4", here="0.3")


@pytest.fixture
def overdue(storage, runs):
    """A study in which this version finds enough what the one that wrote it did not."""
    runs("0.3", stricter=True)
    with study(storage) as made:
        go_on(made, 8)
        assert made.state == "running"
    runs("0.4")
    return storage


VERBS = [
    ("certified-already", lambda one: one.stop("enough")),
    ("ended", lambda one: one.extend(99, reason="more")),
    ("unknown-round", lambda one: one.tell(99, {0: 1.0})),
    ("nothing-to-ask", lambda one: one.ask()),
]


def test_a_certificate_that_is_due_is_stored_whatever_becomes_of_the_call(overdue, tmp_path):
    for k, (code, verb) in enumerate(VERBS):
        copy, called = f"sqlite:///{tmp_path}/{k}.db", []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with cg.Study.open(overdue) as one:
                one.copy(copy)
            with cg.Study.open(copy, on_certify=called.append) as later:
                with refused(code):
                    verb(later)
                assert later.state == "certified" and later.decision.proved
                with refused(code):
                    verb(later)
                assert [one.kind for one in later.events()].count("certified") == 1
                assert later.ask(1) == [] and called == [later.decision]
            with cg.Study.open(copy) as again:
                assert again.state == "certified" and again.replay().same


def test_a_retraction_goes_before_a_certificate_that_is_due_and_a_repeated_request_beside_it(
    overdue, tmp_path
):
    from combgame.lab.server.registry import StudyRegistry
    from combgame.storage.transaction import AlreadyApplied, IdempotencyKey, once

    called, copy = [], f"sqlite:///{tmp_path}/copy.db"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with cg.Study.open(overdue, on_certify=called.append) as later:
            later.copy(copy)
            with refused("unknown-round"):
                later.retract(99, "a typo")
            assert later.state == "running"
            later.retract(1, "a typo")
            kinds = [one.kind for one in later.events()]
            assert kinds[-2:] == ["retracted", "certified"] and kinds.count("certified") == 1
            assert later.decision.values == 7 and called == [later.decision]
        StudyRegistry(copy).close()
        with cg.Study.open(copy) as later:
            with once(IdempotencyKey("key", "what")):
                number = later.observe({"old": 0.5})
            with once(IdempotencyKey("key", "what")), pytest.raises(AlreadyApplied) as repeated:
                later.observe({"old": 0.5})
            assert repeated.value.answer == number
            assert [one.kind for one in later.events()][-2:] == ["certified", "observed"]


def test_versions_that_write_by_turns_are_told(storage, runs):
    runs("0.3")
    with study(storage) as one:
        one.ask()
        runs("0.4")
        with told("made with", "2 events"):
            other = cg.Study.open(storage)
            other.ask()
        runs("0.3")
        with told("1 event", "versions 0.3, and 0.4 of combgame write to this study by turns"):
            one.ask()
            one.ask()
        runs("0.4")
        with told("by turns"):
            other.ask()
            assert says(other.status.notes, "versions-by-turns", versions=["0.3", "0.4"])
            assert "let everybody use the same version" in str(other.status)
        other.close()


def test_a_certificate_whose_evidence_is_infinite_is_stored(storage):
    coins = cg.Problem(cg.Arms(2), rewards=cg.Bernoulli())
    with cg.Study(coins, storage=storage, engine="python", min_replicates=0) as made:
        for arm, value in ((0, 1), (1, 0)):
            made.observe({arm: [value] * 40})
        ended = made.decision
    with cg.Study.open(storage) as again:
        assert again.decision == ended and ended.certified


def test_the_page_says_which_versions_wrote_a_part(storage, runs):
    pytest.importorskip("fastapi")
    from fastapi.testclient import TestClient

    from combgame.lab.server.app import create_app

    runs("0.3")
    with study(storage) as made:
        go_on(made, 4)
    runs("0.4", stricter=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        app = create_app(storage, tokens=False, engine="python")
        with TestClient(app, headers={"Accept": "text/html"}) as client:
            page = client.get("/studies/study").text
            printed = client.get("/studies/study/decision").text
    assert "were written by combgame 0.3; this is version 0.4" in page
    assert "old is the best, by the certificate of another version of combgame" in page
    assert "would not have stopped there" in printed


def test_the_command_line_says_it_in_a_line(storage, runs):
    runs("0.3")
    with study(storage) as made:
        go_on(made)
    words = [sys.executable, "-c", "from combgame.cli.app import main; main()"]
    words += ["study", "status", "-s", storage]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    first, *others = done.stderr.splitlines()
    assert first.startswith("combgame: study 'study': it was made with combgame 0.3"), done.stderr
    assert all(line.startswith("combgame: study 'study': 3 events") for line in others)


# ---- files of older versions

OLD = ASSETS / "old" / "studies-schema-1.sql"


@pytest.fixture
def old(url, request):
    """A database as the commits before e07f76e stored studies, by the same URL."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file:
            file.executescript(OLD.read_text())
        return url
    statements = OLD.read_text().replace("BLOB", "BYTEA").replace(" WITHOUT ROWID", "")
    request.getfixturevalue("server").psql(statements)
    return url


def test_a_file_from_before_events_said_their_version_is_brought_up_to_date(old):
    for _ in range(2):
        with told(), cg.Study.open(old, "running") as made:
            head = made.status.audit_hash
            assert made.replay(head="10:bdebf734b7a4f29a").same, "as it was noted then"
            assert made.events()[-1].version == "" and made.events()[3].reason is None
            assert [one.id for one in made.pending] == [1, 3]
            assert says(made.status.notes, "sources-changed", n=len(made.events()))
    with told(), cg.Study.open(old, "running", client="ann") as made:
        assert [one.id for one in made.ask(3)] == [1, 3, 5]
        assert made.events()[-1].version == running_version()
        made.tell(1, {0: 1.0})
        assert made.replay(head=head).same
    with told(), study(old, name="running", if_exists="resume") as made:
        assert says(made.status.notes, "sources-changed", n=10)


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_a_certificate_from_before_certificates_were_events_stays_given(old):
    with told(), cg.Study.open(old, "done") as made:
        assert made.state == "certified" and made.decision.rounds == 4 and made.decision.proved
        assert made.status.n_late == 2 and made.ask(1) == []
        with refused("certified-already", cg.StudyError):
            made.stop("enough")
        assert made.replay().same
    with told(), cg.Study.open(old, "done") as made:
        made.retract(1, "a typo")
        assert made.state == "running"
        made.ask(1)
        with made._session.storage.connection(write=True) as connection:
            connection.exec_driver_sql("UPDATE combgame_events SET version = '9' WHERE seq = 2")
    with refused("event-changed", cg.StoreError, event=2):  # it is sealed as it was
        cg.Study.open(old, "done").replay()


# ---- sources of one version


@pytest.fixture
def sources(monkeypatch):
    """sources("a"): from now on these run, of the version 0.2.0.dev0."""

    def become(name):
        monkeypatch.setattr("combgame._version.__version__", "0.2.0.dev0")
        monkeypatch.setattr(settings, "digest", lambda: name * 64)
        monkeypatch.setattr(session, "digest", lambda: name * 64)

    return become


def test_a_version_that_is_developed_is_told_apart_by_its_sources(storage, sources):
    sources("a")
    with told(), study(storage) as made:
        go_on(made)
        assert {one.version for one in made.events()} == {"0.2.0.dev0+aaaaaaaa"}
        assert made.status.notes == ()
    sources("b")
    with told(), cg.Study.open(storage) as made:
        made.ask()
        assert says(made.status.notes, "sources-changed", n=3, here="0.2.0.dev0+bbbbbbbb")
        assert str(made.status).count("other sources of the same version") == 1
        assert made.events()[-1].version == "0.2.0.dev0+bbbbbbbb"
    sources("a")
    with told(), cg.Study.open(storage) as made:
        made.ask()
        assert says(made.status.notes, "sources-by-turns", n=2, version="0.2.0.dev0")


def test_sources_that_changed_say_nothing_beside_a_certificate_and_a_release_needs_none(
    storage, sources, runs
):
    sources("a")
    with study(storage) as made:
        go_on(made, 4)
        first = made.decision
    sources("b")
    with told(), cg.Study.open(storage) as made:
        assert made.decision == first
    runs("0.3")
    assert running_version() == "0.3"


# ---- clocks


@pytest.fixture
def machines(monkeypatch):
    """machines(now, storage): from now on these are the times, in seconds since 1970, on the
    machine that runs and on the one that holds the file; storage=None: as the kernel has it.
    """
    real = FileIdentity.now

    def become(at, storage=None):
        monkeypatch.setattr(clock, "now", lambda: at)
        there = real if storage is None else lambda self: storage
        monkeypatch.setattr(FileIdentity, "now", there)

    return become


START = 1_900_000_000.0


@pytest.mark.parametrize(("off", "where"), [(-7200.0, "behind"), (7200.0, "ahead of")])
def test_leases_and_deadlines_go_by_the_clock_of_the_storage(url, machines, off, where):
    """Of a server, or of the machine that holds the file: not by that of a worker."""
    here = time.time()
    with study(url, client="a", deadline=here + 3600) as first:
        todo = first.ask(lease=600)
        machines(here + off)
        with (
            told(f"7,200 seconds {where} the storage's"),
            cg.Study.open(url, client="b") as second,
        ):
            assert second.state == "running" and second.status.expired == ()
            mine = second.ask(lease=600)
            assert mine.id != todo.id and mine.lease_until == pytest.approx(here + 600, abs=60)
            with pytest.raises(cg.StudyError):
                second.extend(deadline=here + 1800, reason="less")
            second.extend(deadline=here + 7000, reason="more")
            second.observe({"old": 0.5})
        machines(here)
        with told():
            assert first.state == "running" and first.status.expired == ()
        with told(), cg.Study.open(url, client="c") as third:
            assert third.state == "running" and third.ask(1)[0].id not in (todo.id, mine.id)
        machines(here + off)
        with told(where), study(url, name="another") as made:
            made.ask()
            assert [one.timestamp for one in made.events()] == pytest.approx([here] * 2, abs=60)


def test_a_lease_ends_by_the_clock_of_the_storage_and_holds_at_most_twice_as_long_if_it_is_set_back(
    storage, machines
):
    machines(START, START)
    with study(storage, client="a") as first:
        todo = first.ask(lease=2)
        machines(START - 3600, START + 1)
        with told("3,601 seconds behind"), cg.Study.open(storage, client="b") as second:
            assert second.ask(lease=2).id == 2
            machines(START + 9000, START + 4)
            assert second.status.expired == (todo.id, 2)
            assert second.ask(client="d").id == todo.id
    machines(START, START)
    with told(), study(storage, name="back", client="a") as made:
        todo = made.ask(lease=600)
        for back, ended in ((599, False), (601, True), (86400, True), (0, False)):
            machines(START - back, START - back)
            assert (todo.id in made.status.expired) is ended, back
        machines(START - 86400, START - 86400)
        assert made.ask(client="b", lease=600).id == todo.id
        assert made.status.expired == ()


def test_an_event_of_a_clock_that_was_ahead_stops_no_clock(tmp_path, machines):
    """Older versions stored what a worker's clock said; and clocks are set back."""
    url, day = f"sqlite:///{tmp_path}/lab.db", 86400.0
    machines(START + day, START + day)
    with study(url) as made:
        made.ask(client="fast", lease=600)
        made.observe({"old": 0.5})
    machines(START, START)
    with told(), cg.Study.open(url) as made:
        todo = made.ask(client="a", lease=2)
        assert todo.lease_until == START + 2.0
    machines(START + 4, START + 4)
    with told(), cg.Study.open(url) as made:
        assert todo.id in made.status.expired
        assert made.ask(client="b").id == todo.id


def test_a_pause_is_no_clock_that_is_ahead_and_less_than_a_minute_is_not_told(storage, machines):
    machines(START - 59, START)
    with told(), study(storage) as made:
        made.ask()
        assert made.events()[-1].timestamp == START
    machines(START + 1e6, START + 1e6)
    with told(), cg.Study.open(storage) as made:
        made.ask()
        assert made.events()[-1].timestamp == START + 1e6


def test_a_place_without_a_clock_has_that_of_the_machine_and_looking_leaves_that_of_a_file(
    storage, tmp_path
):
    assert FileIdentity(str(tmp_path / "nowhere")).now() == pytest.approx(time.time(), abs=60)
    with told():
        made = cg.Study(PROBLEM, engine="python")
        todo = made.ask(lease=1e-9)
        assert made.status.expired in ((), (todo.id,))
    study(storage).close()
    before = (tmp_path / "lab.db").stat().st_mtime_ns
    with cg.Study.open(storage) as made:  # who copies what has changed goes by it
        assert made.state == "running"
        assert (tmp_path / "lab.db").stat().st_mtime_ns == before


def test_answers_are_forgotten_by_the_clock_of_the_storage(storage, machines):
    from combgame.lab.server.registry import StudyRegistry
    from combgame.storage.transaction import AlreadyApplied, IdempotencyKey, once

    study(storage).close()
    StudyRegistry(storage).close()
    with cg.Study.open(storage) as made, once(IdempotencyKey("key", "what")):
        made.ask()
    machines(time.time() + 30 * 86400)
    with told("ahead of"), cg.Study.open(storage) as made:
        with made._session.storage.transaction() as log:
            log.purge_responses()
        with once(IdempotencyKey("key", "what")), pytest.raises(AlreadyApplied):
            made.ask()
