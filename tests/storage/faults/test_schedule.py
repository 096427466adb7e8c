"""Any faults in any order: nothing that was acknowledged is lost, nothing is there that nobody has
given, no refusal is false, and nobody waits beyond the timeout. (benchmarks/faults.py has more of
them.)
"""

import json
import subprocess
import sys

import pytest

import combgame as cg
from tests.paths import ROOT

from .model import Tally, judge
from .schedule import PROBLEM
from .workers import Call, Worker


@pytest.mark.skipif(sys.platform != "linux", reason="needs limits of other processes")
def test_twenty_faults_lose_nothing(url, tmp_path, request):
    """The schedule has a process of its own, which forks."""
    words = [url, "20", "1"]
    if url.startswith("postgresql"):
        words.append(str(request.getfixturevalue("server").pgdata))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.storage.faults.schedule", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    tally = json.loads(done.stdout)
    assert tally["wrong"] == [] and sum(tally["faults"].values()) == 20
    assert tally["acknowledged"]["tell"] > 0


# ---- the model itself: what is wrong is seen


def history():
    """Two rounds that were told, what their worker heard, and the events."""
    worker = Worker(0, "me", 0)
    study = cg.Study(PROBLEM, rule="uniform", engine="python", client="me")
    for k in range(2):
        todo = study.ask()
        values = dict.fromkeys(todo.arms, 0.1 + k)
        study.tell(todo, values)
        given = [todo.id, {str(arm): value for arm, value in values.items()}]
        worker.calls += [
            Call("ask", None, 4.0 * k, "done", [todo.id, list(todo.arms)], 4.0 * k + 1),
            Call("tell", given, 4.0 * k + 2, "done", None, 4.0 * k + 3),
        ]
    worker.calls.append(Call("read", None, 9.0, "done", 2, 9.5))
    return worker, study.events()


def found(worker, events):
    tally = Tally()
    judge([(worker, call) for call in worker.calls], events, 3.0, tally)
    return tally


def test_a_history_without_faults_is_right():
    tally = found(*history())
    assert tally.wrong == [] and tally.acknowledged == {"ask": 2, "tell": 2, "read": 1}
    assert (tally.unheard, tally.stored) == (0, 0) and max(tally.waits)[0] == 1.0


def change(**new):
    return lambda worker, events: [setattr(worker.calls[-2], *one) for one in new.items()]


WRONG = {
    "and is not there": lambda worker, events: events.pop(),
    "events are missing": lambda worker, events: events.pop(2),
    "nobody has told": lambda worker, events: worker.calls.pop(-2),
    "was refused (busy), and is there": change(result="busy"),
    "ended with damaged": change(result="damaged"),
    "ended with foreign": change(result="foreign"),
    "took 4.0 s": change(ended=10.0),
    "a look shows 1 of 2": lambda worker, events: setattr(worker.calls[-1], "value", 1),
    "told twice": lambda worker, events: events.append(events[-1]._replace(seq=6)),
    "two open rounds": lambda worker, events: [
        events.append(events[3]._replace(seq=k, round=k)) for k in (6, 7)
    ],
}


def test_what_is_wrong_is_found():
    for said, change in WRONG.items():
        worker, events = history()
        change(worker, events)
        wrong = found(worker, events).wrong
        assert any(said in one for one in wrong), (said, wrong)


def test_a_call_that_was_cut_off_may_be_stored_or_not():
    worker, events = history()
    for outcome in (None, "interrupted", "unreachable"):
        worker.calls[-2].result = outcome
        tally = found(worker, events)
        assert tally.wrong == [] and (tally.unheard, tally.stored) == (1, 1)
    worker.calls[-1].value = 1
    tally = found(worker, events[:-1])
    assert tally.wrong == [] and (tally.unheard, tally.stored) == (1, 0)


def test_a_pause_is_no_wait():
    worker = Worker(0, "me", 0, pauses=[[1.0, 3.0], [4.0]])
    assert worker.waited(Call("ask", None, 0.0, "done", None, 5.0)) == 2.0
    assert worker.waited(Call("ask", None, 2.0), now=6.0) == 1.0
