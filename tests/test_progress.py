"""What takes a while says so, where somebody looks; and how long it took."""

import io
import sys
import time
from types import SimpleNamespace

import pytest

import combgame as cg
from combgame.report import progress
from combgame.report.progress import counted, waiting

from .studies import MEANS, PROBLEM


class Screen(io.StringIO):
    terminal = True

    def isatty(self):
        return self.terminal


@pytest.fixture
def screen(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    around = SimpleNamespace(stderr=Screen(), modules=sys.modules)  # pytest has the real one
    monkeypatch.setattr(progress, "sys", around)
    return around.stderr


def test_what_takes_a_moment_says_nothing(screen, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 2.0)
    with waiting("doing", "did"):
        pass
    assert screen.getvalue() == ""


def test_a_line_says_what_is_done_and_then_how_long_it_took(screen):
    with waiting("doing it", "did it"):
        time.sleep(0.2)
    first, last = screen.getvalue().split("\r\x1b[2K")[1:]
    assert first == "doing it: 0 s" and last.startswith("did it in 0.") and last.endswith(" s\n")


def test_a_file_or_a_pipe_gets_no_line_unless_it_is_asked_for(screen):
    screen.terminal = False
    with waiting("doing it", "did it"):
        time.sleep(0.1)
    assert screen.getvalue() == ""
    with waiting("doing it", "did it", True):
        time.sleep(0.1)
    first, last = screen.getvalue().splitlines()
    assert first == "doing it ..." and last.startswith("did it in 0.")


def test_a_notebook_gets_two_whole_lines(screen, monkeypatch):
    screen.terminal = False
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    with waiting("doing it", "did it"):
        time.sleep(0.1)
    assert screen.getvalue().count("\n") == 2 and "\x1b" not in screen.getvalue()


def test_quiet_is_quiet_with_all_that_happens_inside(screen):
    with waiting("outer", "outer", False), waiting("inner", "inner"):
        time.sleep(0.1)
    assert screen.getvalue() == ""


def test_only_the_innermost_line_is_shown(screen):
    with waiting("outer", "outer done", after=0.15), waiting("inner", "inner done"):
        time.sleep(0.3)
    said = screen.getvalue()
    assert "inner: 0 s" in said and "inner done" in said and "outer" not in said


def test_what_fails_leaves_no_line(screen):
    with pytest.raises(ValueError, match="no"), waiting("doing it", "did it"):
        time.sleep(0.1)
        raise ValueError("no")
    assert "did it" not in screen.getvalue() and screen.getvalue().endswith("\r\x1b[2K")


def test_a_closed_screen_stops_nothing(screen):
    with waiting("doing it", "did it"):
        screen.close()
        time.sleep(0.1)


def test_runs_are_counted(screen):
    def slowly():
        yield from range(2)
        time.sleep(1.3)
        yield 2

    assert list(counted(slowly(), 3, "mine", None)) == [0, 1, 2]
    said = screen.getvalue()
    assert "simulating 3 runs of mine (2 done, about" in said
    assert "simulated 3 runs of mine in 1." in said


@pytest.mark.parametrize("wanted", [None, False])
def test_a_simulation_and_a_plan_say_so_unless_they_are_quiet(screen, monkeypatch, wanted):
    monkeypatch.setattr(progress, "PATIENCE", 1e-4)
    cg.simulate(PROBLEM, MEANS, runs=3, engine="python", progress=wanted)
    cg.plan(PROBLEM, MEANS, rules=None, progress=wanted)
    said = screen.getvalue()
    assert ("simulated 3 runs of frank-wolfe in" in said) == (wanted is None)
    assert ("worked out" in said) == (wanted is None)
