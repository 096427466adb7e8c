"""What takes a while says so, where somebody looks; and how long it took."""

import io
import re
import sys
import time
from types import SimpleNamespace

import pytest

import combgame as cg
from combgame._display import progress
from combgame._display.progress import counted, waiting
from combgame.cli._common import how_far
from combgame.research.campaign import execution as execute
from combgame.research.campaign.report import bar
from tests.studies import MEANS, PROBLEM


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
    assert "\rdoing it: 0 s" in screen.getvalue()
    assert re.search(r"\rdid it in 0\.\d s *\n$", screen.getvalue())


def test_a_file_or_a_pipe_gets_no_line_unless_it_is_asked_for(screen):
    screen.terminal = False
    with waiting("doing it", "did it"):
        time.sleep(0.1)
    assert screen.getvalue() == ""
    with waiting("doing it", "did it", True):
        time.sleep(0.1)
    assert re.fullmatch(r"doing it: 0 s\ndid it in 0\.\d s\n", screen.getvalue())


def test_a_notebook_gets_whole_lines(screen, monkeypatch):
    screen.terminal = False
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    with waiting("doing it", "did it"):
        time.sleep(0.1)
    assert screen.getvalue().count("\n") == 2 and "\r" not in screen.getvalue()


def test_quiet_is_quiet_with_all_that_happens_inside(screen):
    with waiting("outer", "outer", False), waiting("inner", "inner"):
        time.sleep(0.1)
    assert screen.getvalue() == ""


def test_what_fails_leaves_no_line(screen):
    with pytest.raises(ValueError, match="no"), waiting("doing it", "did it"):
        time.sleep(0.1)
        raise ValueError("no")
    assert "did it" not in screen.getvalue() and screen.getvalue().endswith(" \r")


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


def test_a_campaign_counts_its_runs_in_lines(screen, monkeypatch, tmp_path):
    """In a pipe, every while, if it is asked for."""
    screen.terminal = False
    monkeypatch.setattr(progress, "EVERY", 0.0)
    with bar(40, 10, "plates\x1b", True) as stored:
        stored(SimpleNamespace(rows=[0] * 20), None)
        stored(SimpleNamespace(rows=[0] * 5), 150.0)
    first, second, third, *_ = screen.getvalue().splitlines()
    trying = "compiling and trying each configuration"
    assert first.startswith("plates\\x1b:  25%|") and first.endswith(trying)
    assert "30/40 runs" in second and second.endswith(trying)
    assert "35/40 runs" in third and third.endswith("runs/s, about 2 min 30 s left")
    monkeypatch.setattr(execute, "run_chunk", slowly(execute.run_chunk))
    four = cg.Instance("four", PROBLEM, MEANS)
    campaign = cg.Campaign.cross("tiny", [four], ["uniform"], delta=0.1, runs=6)
    for wanted in (True, None, False):
        screen.truncate(0)
        screen.seek(0)
        path = tmp_path / f"{wanted}.db"
        campaign.run(path, engine="python", progress=wanted)
        assert ("6/6 runs" in screen.getvalue()) == bool(screen.getvalue()) == (wanted is True)


def slowly(work):
    def slow(*given):
        time.sleep(0.1)
        return work(*given)

    return slow


@pytest.mark.parametrize("wanted", [None, False])
def test_a_simulation_and_a_plan_say_so_unless_they_are_quiet(screen, monkeypatch, wanted):
    monkeypatch.setattr(progress, "PATIENCE", 1e-4)
    cg.simulate(PROBLEM, MEANS, runs=50, engine="python", progress=wanted)
    cg.plan(PROBLEM, MEANS, rules=None, progress=wanted)
    said = screen.getvalue()
    assert ("simulated 50 runs of frank-wolfe in" in said) == (wanted is None)
    assert ("worked out" in said) == (wanted is None)


def test_commands_say_how_far_they_are_unless_they_are_quiet_or_a_program_reads_them():
    assert how_far(quiet=False, as_json=False) is True
    assert how_far(quiet=False, as_json=True) is None  # a bar, where there is a terminal
    assert how_far(quiet=True, as_json=False) is False
