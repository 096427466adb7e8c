"""Studies that several versions of combgame write, and machines whose clocks differ."""

import json
import subprocess
import sys
import warnings
from contextlib import contextmanager

import pytest

import combgame as cg
from combgame.errors import Notice
from combgame.storage import clock
from combgame.study import session
from combgame.study.settings import Setting
from combgame.wire import decision_data, decision_from, status_data, status_from

from .said import refused, says
from .studies import PROBLEM

APART = {0: 1.0, 1: 0.0}  # certified after two rounds of each


@pytest.fixture
def runs(monkeypatch):
    """runs("0.3"): from now on that version runs; stricter: it asks for much more evidence."""
    real = Setting.stopping_at

    def becomes(name, stricter=False):
        monkeypatch.setattr("combgame.version.__version__", name)
        monkeypatch.setattr(session, "digest", lambda: name)  # whose snapshots are of use

        def judged(self, delta, problem=None, epsilon=None):
            return real(self, delta * (1e-290 if stricter else 1.0), problem, epsilon)

        monkeypatch.setattr(Setting, "stopping_at", judged)

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


def test_every_event_has_the_version_that_wrote_it(url, runs):
    runs("0.3")
    with study(url) as made:
        go_on(made)
    runs("0.4")
    with told("made with combgame 0.3; this is version 0.4", "3 events"):
        with cg.Study.open(url) as made:
            made.ask()
        versions = [one.version for one in made.events()]
        assert versions == ["0.3", "0.3", "0.3", "0.4"]
        assert [row["version"] for row in made.rows("event")] == versions
        assert [one["version"] for one in json.loads(made.export())["events"]] == versions
        made.close()


def test_a_version_that_is_changed_is_found(url, runs):
    with study(url) as made:
        go_on(made)
        with made._session.storage._transaction(write=True) as connection:
            connection.exec_driver_sql("UPDATE combgame_events SET version = '9' WHERE seq = 2")
    with refused("event-changed", cg.StoreError, event=2):
        cg.Study.open(url).replay()


def test_a_study_of_one_version_says_nothing_of_versions(url):
    with told(), study(url) as made:
        go_on(made, 4)
        assert made.status.notes == () and "versions" not in str(made.status)
    with told(), cg.Study.open(url) as made:
        assert made.status.notes == ()
        kept = [one for one in made.decision.assumptions if one.code.startswith("certificate")]
        assert not kept and made.decision.proved


def test_the_status_says_which_versions_wrote_a_part(url, runs):
    runs("0.3")
    with study(url) as made:
        go_on(made)
    runs("0.4")
    with told("made with", "3 events"), cg.Study.open(url) as made:
        status = made.status
        assert says(status.notes, "other-versions", n=3, others=["0.3"], here="0.4")
        assert "3 events of this study were written by combgame 0.3" in str(status)
        assert status_from(json.loads(json.dumps(status_data(status)))) == status


@pytest.mark.parametrize("kept", [False, True])
def test_a_certificate_stays_given_whatever_a_later_version_computes(url, runs, kept, request):
    """kept: from a snapshot of the later version."""
    if kept:
        request.getfixturevalue("often")
    runs("0.3")
    with study(url) as made:
        go_on(made, 4)
        first = made.decision
    assert first.certified and first.proved
    runs("0.4", stricter=True)
    for _ in range(2):
        with told("made with", "events"), cg.Study.open(url) as later:
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


def test_a_version_that_would_have_given_a_certificate_vouches_for_it(url, runs):
    runs("0.3")
    with study(url) as made:
        go_on(made, 4)
        first = made.decision
    runs("0.4")
    with told("made with", "events"), cg.Study.open(url) as later:
        assert later.decision.proved and later.decision.sentence == first.sentence
        assert says(later.decision.assumptions, "certificate-alike", version="0.3", here="0.4")
        assert later.decision.lead == first.lead and later.decision.estimates == first.estimates


def test_a_retraction_takes_a_certificate_back_under_any_version(url, runs):
    runs("0.3")
    with study(url) as made:
        go_on(made, 4)
    runs("0.4", stricter=True)
    with told("made with", "events"), cg.Study.open(url) as later:
        later.retract(1, "wrong plate")
        assert later.state == "running" and later.decision is None
        assert not says(later.status.notes, "certificate-due")


def test_what_is_enough_for_a_later_version_is_certified_by_what_is_stored_next(url, runs):
    """A certificate is an event: nobody has one that others do not see."""
    runs("0.3", stricter=True)
    with study(url) as made:
        go_on(made, 4)
        assert made.state == "running"
    runs("0.4")
    called = []
    with (
        told("made with", "events"),
        cg.Study.open(url, on_certified=called.append) as later,
    ):
        assert later.state == "running" and says(later.status.notes, "certificate-due", here="0.4")
        assert "whatever is stored next certifies it" in str(later.status)
        assert later.ask(1) == [] and later.state == "certified"
        assert [one.kind for one in later.events()][-1] == "certified"
        assert later.decision.proved and called == [later.decision]
        assert not says(later.status.notes, "certificate-due")
    runs("0.3", stricter=True)
    with told("1 event"), cg.Study.open(url) as first:
        assert first.state == "certified"
        assert says(first.decision.assumptions, "certificate-stays", version="0.4", here="0.3")


def test_versions_that_write_by_turns_are_told(url, runs):
    runs("0.3")
    with study(url) as one:
        one.ask()
        runs("0.4")
        with told("made with", "2 events"):
            other = cg.Study.open(url)
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


def test_a_certificate_whose_evidence_is_infinite_is_stored(url):
    coins = cg.Problem(cg.Arms(2), rewards=cg.Bernoulli())
    with cg.Study(coins, storage=url, engine="python", min_pulls=0) as made:
        for arm, value in ((0, 1), (1, 0)):
            made.observe({arm: [value] * 40})
        ended = made.decision
    with cg.Study.open(url) as again:
        assert again.decision == ended and ended.certified


def test_the_page_says_which_versions_wrote_a_part(tmp_path, runs):
    pytest.importorskip("fastapi")
    from fastapi.testclient import TestClient

    from combgame.server.app import create_app

    url = f"sqlite:///{tmp_path}/lab.db"
    runs("0.3")
    with study(url) as made:
        go_on(made, 4)
    runs("0.4", stricter=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        app = create_app(url, tokens=False, engine="python")
        with TestClient(app, headers={"Accept": "text/html"}) as client:
            page = client.get("/studies/study").text
            printed = client.get("/studies/study/decision").text
    assert "were written by combgame 0.3; this is version 0.4" in page
    assert "old is the best, by the certificate of another version of combgame" in page
    assert "would not have stopped there" in printed


def test_the_command_line_says_it_in_a_line(tmp_path, runs):
    url = f"sqlite:///{tmp_path}/lab.db"
    runs("0.3")
    with study(url) as made:
        go_on(made)
    words = [sys.executable, "-c", "from combgame.cli.app import main; main()"]
    words += ["study", "status", "-s", url]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    first, *others = done.stderr.splitlines()
    assert first.startswith("combgame: study 'study': it was made with combgame 0.3"), done.stderr
    assert all(line.startswith("combgame: study 'study': 3 events") for line in others)


# ---- clocks


@pytest.fixture
def machines(monkeypatch):
    """machines(now): from now on this is the time on the machine that runs, in seconds since 1970,
    and so many seconds have passed since it was started.
    """

    def become(at, passed=0.0):
        monkeypatch.setattr(clock, "now", lambda: at)
        monkeypatch.setattr(clock.time, "monotonic", lambda: passed)

    return become


START = 1_900_000_000.0


def test_a_worker_whose_clock_is_behind_goes_by_the_newest_time_and_is_told(tmp_path, machines):
    url = f"sqlite:///{tmp_path}/lab.db"
    machines(START)
    with study(url, client="a") as first:
        todo = first.ask(lease=600)
        machines(START - 3600)
        with (
            told("3,600 seconds behind the newest time that is stored"),
            cg.Study.open(url, client="b") as second,
        ):
            mine = second.ask(lease=600)
            assert mine.id != todo.id and mine.until == START + 600
            machines(START - 3600 + 599, passed=599)
            assert second.ask(1, client="c")[0].id not in (todo.id, mine.id)
            machines(START - 3600 + 601, passed=601)
            assert second.status.expired == (todo.id, mine.id)
            assert second.ask(client="d").id == todo.id
        machines(START + 601)
        assert first.status.expired == (2,), "it goes on by the same clock"


def test_a_clock_that_was_set_right_is_believed_again(tmp_path, machines):
    url = f"sqlite:///{tmp_path}/lab.db"
    machines(START)
    with study(url) as first:
        first.ask()
        machines(START - 3600)
        with told("behind"), cg.Study.open(url) as second:
            second.ask(client="b")
            machines(START + 10, passed=10)
            second.ask(client="c")
            assert second.events()[-1].at == START + 10


def test_a_pause_is_no_clock_that_is_ahead(tmp_path, machines):
    url = f"sqlite:///{tmp_path}/lab.db"
    machines(START)
    study(url).close()
    machines(START + 1e6)
    with told(), cg.Study.open(url) as made:
        made.ask()
        assert made.events()[-1].at == START + 1e6


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
@pytest.mark.parametrize(("off", "where"), [(-7200.0, "behind"), (7200.0, "ahead of")])
def test_leases_and_deadlines_go_by_the_clock_of_the_server(url, machines, off, where):
    here = clock.now()
    with study(url, client="a", deadline=here + 3600) as first:
        todo = first.ask(lease=600)
        machines(here + off)
        with (
            told(f"7,200 seconds {where} the database's clock"),
            cg.Study.open(url, client="b") as second,
        ):
            assert second.state == "running" and second.status.expired == ()
            mine = second.ask(lease=600)
            assert mine.id != todo.id and mine.until == pytest.approx(here + 600, abs=60)
            with pytest.raises(cg.StudyError):
                second.extend(deadline=here + 1800, reason="less")
            second.extend(deadline=here + 7000, reason="more")
        with study(url, name="another") as made:
            assert made.events()[0].at == pytest.approx(here, abs=60)


def test_who_is_off_by_less_than_a_minute_is_not_told(tmp_path, machines):
    url = f"sqlite:///{tmp_path}/lab.db"
    machines(START)
    study(url).close()
    machines(START - 59)
    with told(), cg.Study.open(url) as made:
        made.ask()
        assert made.events()[-1].at == START


def test_a_study_in_memory_has_no_other_clock():
    with told():
        made = cg.Study(PROBLEM, engine="python")
        todo = made.ask(lease=1e-9)
        assert made.status.expired in ((), (todo.id,))
