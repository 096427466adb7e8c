"""A study's frames, its history and its pictures."""

import numpy as np
import pytest

import combgame as cg
from tests.said import refused
from tests.studies import PROBLEM, measure

pytestmark = pytest.mark.given_numbers  # values of arms that are known to have been asked for


@pytest.fixture(scope="module")
def study():
    study, rng = cg.Study(PROBLEM, name="five"), np.random.default_rng(0)
    for _ in range(8):
        todo = study.ask()
        study.tell(todo, measure(todo, rng))
    study.fail(study.ask(), "spilt")
    return study


def test_frames_and_the_history_say_where_the_study_is(study):
    pytest.importorskip("pandas")
    rounds, arms, events = (study.to_frame(level) for level in ("round", "arm", "event"))
    assert (
        len(rounds) == 18
        and rounds["n"].sum() == 16 == arms["n"].sum()
        and set(rounds["state"]) == {"told", "failed"}
    )
    assert len(events) == len(study.events()) and list(events["kind"])[:2] == ["created", "asked"]
    assert ((arms["low"] < arms["mean"]) & (arms["mean"] < arms["high"])).all() and arms[
        "leads"
    ].sum() == 1
    with refused("unknown", cg.UnknownNameError, kind="level", name="day"):
        study.to_frame("day")
    points = study.history()
    assert [one["rounds"] for one in points] == list(range(1, 9)) and points[-1][
        "evidence"
    ] == study.status.evidence


def test_a_retracted_outlier_does_not_flatten_the_curve():
    study, rng = cg.Study(PROBLEM), np.random.default_rng(0)
    for k in range(6):
        todo = study.ask()
        study.tell(
            todo,
            {
                arm: 1e6 if k == 5 and arm == todo.arms[0] else x
                for arm, x in measure(todo, rng).items()
            },
        )
    study.retract(6, "a slip of the decimal point")
    points = study.history()
    low, high = study.plot("evidence").axes[0].get_ylim()
    assert max(one["evidence"] for one in points) > 100 * high
    assert low <= points[-1]["evidence"] < points[-1]["threshold"] < high


def test_the_legend_of_pulls_is_off_the_bars(study):
    made = study.plot("pulls")
    made.canvas.draw()
    assert (
        not made.legends[0].get_window_extent().overlaps(made.axes[0].get_window_extent())
        and made.axes[0].get_legend() is None
    )


def test_pictures_that_cannot_be_drawn_and_names_with_commas(study):
    with refused("unknown", cg.UnknownNameError, kind="kind", name="pie"):
        study.plot("pie")
    with refused("no-values", cg.StudyError):
        cg.Study(PROBLEM).plot()
    with refused("file-unwritable", cg.StoreError, path="/nowhere/at/all.json"):
        study.export("/nowhere/at/all.json")
    problem = cg.Problem(
        cg.Subsets(3, 2), rewards=cg.Gaussian(0.1), names=["K7R,A2T", "wild", "A2T"]
    )
    assert problem.label([0, 1]) == "K7R,A2T; wild" and problem.label([1, 2]) == "wild, A2T"


def test_a_study_of_paths_can_be_looked_at_before_every_link_has_a_value():
    study = cg.Study(cg.Problem(cg.grid_network(4), rewards=cg.Gaussian(0.1)))
    rng = np.random.default_rng(0)
    for _ in range(4):
        todo = study.ask()
        study.tell(todo, {arm: rng.normal(0.1 * arm, 0.1) for arm in todo.arms})
        assert study.status.leader_name and len(study.history()) == todo.id
