"""What the history makes of single events, by hand: the start of a study and what ends it, data
from outside, rounds that fail or are taken back.
"""

import pytest

import combgame as cg
from combgame.lab.history import History
from tests.said import refused, says
from tests.studies import state_of

pytestmark = pytest.mark.given_numbers  # values of arms that are known to have been asked for

STATED, UNKNOWN = cg.Gaussian(1.0), cg.Gaussian()
LEVELS = cg.Gaussian(1.0, batch_effect=True)


def begun(rewards=STATED, d=2, **how):
    """A study of single arms, whose start has two values of each."""
    problem = cg.Problem(cg.Arms(d), rewards=rewards, names=list("abcd"[:d]))
    usual = {"min_replicates": 2, "delta": 1e-9, "rule": "uniform", "engine": "python"}
    return cg.Study(problem, **{**usual, **how})


def tell(study, *rounds, lead=0.0):
    """A tenth of their numbers, and by how much an arm is ahead of the one before."""
    for todo in rounds:
        study.tell(todo, {arm: lead * arm + 0.1 * todo.id for arm in todo.arms})


def plates(d):
    """A study whose rounds have levels, and show all arms."""
    return cg.Study(cg.Problem(cg.Subsets(d, d), cg.Arms(d), LEVELS), engine="python")


def still_out(study):
    """Values that are to come, as the decision says once it was stopped."""
    study.stop("enough")
    said = [one.arguments["n"] for one in study.decision.assumptions if one.code == "values-out"]
    return sum(said)


def noise_after_a_slip(study):
    """How the values vary, before and after data were observed and taken back."""
    before = study.status.noise_check
    study.retract(study.observe({"a": 77.0}), "a slip")
    return before, study.status.noise_check


# ---- the start, and what ends it


def test_all_of_the_start_tells_of_sigma_about_the_mean_of_the_start():
    study = begun()
    tell(study, *study.ask(4))
    noise = study.status.noise_check
    assert noise.dof == 2  # one of either arm
    # rounds 1 and 3 have arm a, 2 and 4 the other
    assert noise.estimated_sigma == pytest.approx(2**0.5 * 0.1)


def test_rounds_that_have_the_usual_replicates_belong_to_the_start():
    """Others are refused until all of it has been asked."""
    study = begun(UNKNOWN)
    study.ask(2)
    with refused("start-replicates", cg.StudyError, short=2, usual=1):
        study.ask(replicates=3)
    study.ask(2)
    assert study.ask(replicates=3).replicates == 3


def test_a_round_with_other_replicates_ends_the_start_where_it_is_not_refused():
    """As of any later round, what went missing is asked for first."""
    study = begun(cg.Bernoulli())
    study.tell(study.ask(), {"a": 1.0})
    study.tell(study.ask(replicates=2), {"b": None})
    assert study.ask().names == ("b",)


def test_data_that_were_taken_back_leave_what_came_after_the_start_as_it_was():
    """A round of the start that failed was told after it, and counts as a later one."""
    study = begun()
    lost, *others = study.ask(4)
    study.fail(lost, "spilt")
    tell(study, *others)
    tell(study, *study.ask(1))
    before, after = noise_after_a_slip(study)
    assert before.dof == 1 and before == after


def test_the_value_that_ended_the_start_is_part_of_it_also_after_a_retraction():
    study = begun()
    tell(study, *study.ask(4))
    before, after = noise_after_a_slip(study)
    assert before.dof == 2 and before == after


def test_values_told_before_the_end_of_the_start_are_compared_with_its_mean_afterwards():
    """They wait for it, and are let go of then."""
    study = begun()
    rounds = study.ask(6)
    tell(study, *rounds[1:])
    assert study.status.noise_check.dof == 0 and len(state_of(study).history.ahead) == 2
    tell(study, rounds[0])
    assert state_of(study).history.ahead == []
    in_order = begun()
    tell(in_order, *in_order.ask(6))
    mine, its = study.status.noise_check, in_order.status.noise_check
    assert mine.dof == its.dof and mine.evidence == pytest.approx(its.evidence, rel=1e-12)


def test_a_round_that_fails_may_be_all_that_the_start_waited_for():
    """To be asked again or given up: it counts as more values, with which the study stops."""
    for retry in (True, False):
        study = begun(UNKNOWN, delta=0.05)
        lost, *others = study.ask(24)
        tell(study, *others, lead=100.0)
        assert not study.done and study.status.next_step.code == "start-waits"
        study.fail(lost, "spilt", retry=retry)
        assert study.done and study.decision.certified and study.status.n_late == 0


def test_a_round_that_fails_after_the_study_was_stopped_leaves_the_decision_as_it_was():
    study = begun(UNKNOWN, delta=0.05)
    lost, *others = study.ask(24)
    tell(study, *others, lead=100.0)
    study.stop("out of money")
    before = study.decision.evidence
    study.fail(lost, "spilt")
    assert (study.decision.evidence, study.status.n_late) == (before, 1)


def block_told_but_for(n):
    """A study whose rounds have levels, told but for n rounds of its first block."""
    study = plates(2)
    rounds = study.ask(2 + n)
    for todo in rounds[:2]:
        study.tell(todo, {0: 0.0, 1: 50.0})
    return study, rounds[2:]


def test_a_round_that_is_given_up_may_be_all_that_its_block_waited_for():
    study, (last,) = block_told_but_for(1)
    assert not study.done
    study.fail(last, "spilt", retry=False)
    assert study.done and study.decision.answer == (1,)


def test_a_block_that_is_complete_after_the_study_was_stopped_leaves_the_decision_as_it_was():
    study, (other, last) = block_told_but_for(2)
    study.stop("out of money")
    before = study.decision.evidence
    for todo, late in ((other, 0), (last, 1)):
        study.fail(todo, "spilt", retry=False)
        assert (study.decision.evidence, study.status.n_late) == (before, late)


def test_what_is_told_anew_within_the_start_tells_nothing_of_how_values_vary():
    study = begun()
    first, *others = study.ask(4)
    tell(study, first)
    study.retract(first, "a slip")
    study.tell(first, {"a": 33.0})
    tell(study, *others)
    noise = study.status.noise_check  # of arm b alone, of which nothing was retracted
    assert noise.dof == 1 and noise.estimated_sigma == pytest.approx(2**0.5 * 0.1)


# ---- data from outside


def test_planned_data_in_the_middle_of_the_start_are_no_part_of_it():
    study = begun()
    tell(study, *study.ask(2))
    study.observe({"a": 0.5, "b": 0.5}, planned=True)
    tell(study, *study.ask(2))
    assert study.status.noise_check.dof == 2  # as without them


def test_no_more_was_planned_of_data_from_outside_than_was_told():
    """Only what a list leaves blank is missing."""
    for planned in (True, False):
        study = begun()
        study.observe({"a": 0.5, "b": (0.5, 3)}, planned=planned)
        study.stop("enough")
        assert not says(study.decision.assumptions, "values-missing")
        study = begun()
        study.observe({"a": [0.5, None]}, planned=planned)
        study.stop("enough")
        assert says(study.decision.assumptions, "values-missing", n=1)


def test_values_whose_number_was_not_fixed_weigh_as_one_more_value_of_every_arm_would():
    """By hand: the weight is that of all values over those of the arm, with the one more."""
    study = begun(d=3)
    study.observe({"a": [0.5, 0.5]})  # 3/1
    study.observe({"a": 0.5, "b": 0.5})  # 5/3 and 5/1
    sums, squares = state_of(study).history.stats.weighted_sums[:2]
    assert sums.tolist() == pytest.approx([2 * 3 + 5 / 3, 5, 0])
    assert squares.tolist() == pytest.approx([2 * 3**2 + (5 / 3) ** 2, 5**2, 0])


def carried(old, d=3):
    new = begun(d=d, name="new")
    new.transfer_from(old)
    return new


def test_carried_values_are_neither_planned_nor_unplanned_data_of_the_new_study():
    """What is said of them is that they were carried, also where they are carried on."""
    old = begun(name="old")
    tell(old, *old.ask(4))
    new = carried(old)
    for study in (new, carried(new, d=4)):
        study.stop("enough")
        rests = study.decision.assumptions
        assert says(rests, "values-carried", values=4)
        assert not says(rests, "values-planned") and not says(rests, "values-outside")


def test_the_start_is_over_with_the_last_of_the_carried_values():
    """Which arms arrived may depend on them, so nothing of the new ones is part of the start."""
    old = begun(name="old")
    tell(old, *old.ask(4))
    new = carried(old)
    assert new.status.noise_check == old.status.noise_check and new.status.noise_check.dof == 2
    asked = [new.ask() for _ in range(3)]
    assert {one.names for one in asked[:2]} == {("c",)}
    tell(new, *asked[2:])
    assert new.status.next_step.code != "start-waits"


# ---- rounds that fail, and what is taken back


def test_a_round_that_was_told_in_part_has_cost_its_budget_when_it_is_given_up():
    study = cg.Study(
        cg.Problem(cg.Subsets(3, 2), cg.Arms(3), STATED), max_rounds=2, engine="python"
    )
    for part in (True, False, False):
        todo = study.ask()
        study.tell(todo, {todo.arms[0]: 0.5} if part else {}, final=False)
        study.fail(todo, "spilt", retry=False)
    assert len(study.ask(5)) == 1  # rounds of which nothing was told cost nothing


def test_all_of_a_play_that_is_measured_anew_is_still_to_come():
    """Also where some of it was told while it waited to be asked again."""
    for fails in (True, False):
        study = plates(3)
        todo = study.ask(client="ada", lease=1e-9)
        study.tell(todo, {0: 0.1}, final=False, client="ada")
        if fails:
            study.fail(todo, "spilt")
            study.tell(todo.id, {1: 0.1}, final=False)
        (again,) = study.ask(1, client="bob")
        assert (again.id, again.remaining) == (1, (0, 1, 2))
        assert still_out(study) == 3
    study = plates(3)
    todo = study.ask()
    study.tell(todo, {0: 0.1}, final=False)
    study.fail(todo, "spilt")
    assert still_out(study) == 0


def test_a_round_that_is_open_again_has_forgotten_which_arms_were_taken_back_before():
    """As it stands as a whole: it failed, or was given to somebody else."""
    problem = cg.Problem(cg.Subsets(3, 2), cg.Arms(3), STATED)
    study = cg.Study(problem, engine="python")
    todo = study.ask()
    study.tell(todo, dict.fromkeys(todo.arms, 0.5))
    study.retract(arm=todo.arms[0], reason="contaminated")
    study.retract(todo, "the wrong plate")
    assert [row["state"] for row in study.rows()] == ["retracted"] * 2
    study.fail(todo, "spilt")
    assert [row["state"] for row in study.rows()] == ["failed"] * 2
    study.ask()
    assert [row["state"] for row in study.rows()] == ["open"] * 2


@pytest.mark.parametrize("what", [{"arm": "b"}, {"round": 2}], ids=str)
def test_what_a_retraction_will_leave_is_added_up_before_others_wait(what, often, monkeypatch):
    """Within its transaction nothing is left to add."""
    study, added, add_up = begun(), [], History._sum
    tell(study, *study.ask(8))
    monkeypatch.setattr(
        History, "_sum", lambda self, values: added.append(len(values)) or add_up(self, values)
    )
    study.retract(**what, reason="a slip")
    left = 4 if "arm" in what else 7
    assert added == [left, 0] and study.status.values == left
    assert study.replay().same
