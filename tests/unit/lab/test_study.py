"""Studies: the same seed gives the same experiment, as `simulate` would have it, and whoever
listens is called.
"""

import json
import math
import threading

import numpy as np
import pytest

import combgame as cg
from combgame.simulation.runner import Runner, RunSpec
from tests.said import refused, says
from tests.studies import HARD, PROBLEM, RULES, SAME, measure, state_of

pytestmark = pytest.mark.given_numbers  # values of arms that are known to have been asked for


def test_a_study_ends_with_the_best_answer_and_says_why():
    study, rng = cg.Study(PROBLEM, delta=0.05, seed=1), np.random.default_rng(1)
    while not study.done:
        assert study.decision is None
        todo = study.ask()
        study.tell(todo, measure(todo, rng))
    decision = study.decision
    assert (
        decision.names == ("ann",)
        and decision.answer == (0,)
        and decision.certified
        and decision.confidence == 0.95
    )
    assert (
        decision.evidence > decision.threshold
        and f"after {decision.rounds} rounds" in str(decision)
        and decision.headline.code == "certified"
    )
    assert study.ask(3) == [] and study.status.state == "certified"
    assert study.status.next_step.code == "stop"
    with refused("nothing-to-ask", cg.StudyError, state="certified"):
        study.ask()
    json.dumps([decision.to_dict(), study.status.to_dict()])
    with refused("whole-passes", cg.InputError):  # a rule that stops in its own way
        cg.Study(PROBLEM, rule="gcb-pe", threshold="proved")


# every rule with the kinds of problems in which it goes ways of its own; the default with all
PROVED, COIN, SPREAD = SAME[1:]
WITH = dict.fromkeys(("lloo", "sftpl", "product-adahedge"), COIN)
WITH |= {"hedge": PROVED, "ofw": SPREAD, "uniform": SPREAD}
PAIRS = [(name, *WITH.get(name, SAME[0])) for name in RULES]
PAIRS += [("frank-wolfe", *one) for one in SAME[1:]]
PAIRS += [("lloo", *SAME[0]), ("top-two", *COIN), ("track-and-stop", *COIN)]


@pytest.mark.own_numbers
@pytest.mark.parametrize(("name", "problem", "threshold"), PAIRS)
def test_a_study_reproduces_the_run_of_simulate_round_by_round(name, problem, threshold):
    """Rewards come from the study's own generator, as in a simulation, so that rules that draw
    numbers draw the same.
    """
    means = [0.9, 0.5, 0.3, 0.3, 0.2, 0.1][: problem.d]
    runner = Runner(RunSpec(problem, means, name, 0.2, threshold, 7, 150, "python"))
    study, kernel = (
        cg.Study(
            problem,
            delta=0.2,
            rule=name,
            threshold=threshold,
            seed=7,
            max_rounds=150,
            min_replicates=0,
        ),
        problem.kernel(),
    )
    rng, path = state_of(study).policy.rng, []

    numbers = state_of(study).policy.numbers  # the run draws in the order of its own numbers
    assert numbers.order.tolist() == runner.numbers(0).order.tolist()

    def look():
        state = state_of(study)
        path.append(
            [
                *(x.tolist() for x in state.history.stats[:-1]),
                state.monitor.told.state.evidence[0],
                state.monitor.told.state.rival.tolist(),
            ]
        )

    look()
    while not study.done:
        todo = study.ask()
        mine = sorted(todo.arms, key=lambda a: numbers.order.tolist().index(a))
        study.tell(todo, {a: kernel.rewards.draw(means[a], a, rng) for a in mine})
        look()
    run = runner.begin(0)  # in steps, which change nothing
    for t in [*range(0, len(path) - 1, 7), len(path) - 1]:
        run.advance(t)
        places = {  # how values vary, and blocks, are compared where they matter
            name: (one, (numbers.theirs(x) if x.size > 1 else x).tolist())
            for name, x, one in zip(run.stats._fields[:-1], run.stats[:-1], path[t], strict=False)
            if name not in ("variance_group", "residuals", "in_initial_design")
        }
        counts, wanted = places.pop("effective_counts")  # by the judge
        assert counts == pytest.approx(wanted, rel=1e-12)
        for one, other in places.values():
            assert np.ravel(one).tolist() == np.ravel(other).tolist()
        evidence = float(run.state.evidence[0])
        assert path[t][-2] == pytest.approx(evidence, rel=1e-9, abs=1e-12)
        # which of two rivals that are equally near, is of no account; and while nothing can stop a
        # judge that looks pair by pair may name another one
        on_tie = (
            evidence <= 0.0
            or problem.rewards == cg.Bernoulli()
            or (threshold == "mixture" and evidence <= run.kernel.stopping.critical_value(t, 0))
        )
        assert on_tie or path[t][-1] == numbers.theirs(run.state.rival).tolist()
    assert len(path) > 10 and run.stopping_times[0] == (
        study.decision.rounds if study.decision.certified else -1
    )
    assert not study.decision.certified or study.decision.answer == tuple(
        np.flatnonzero(numbers.theirs(run.recommended[0]))
    )


def test_a_batch_does_not_clump():
    """Nothing is told between the rounds of a batch, and yet they differ, because what is pending
    counts.
    """
    study, rng = (
        cg.Study(cg.Problem(cg.Arms(8), rewards=cg.Gaussian(1.0))),
        np.random.default_rng(0),
    )
    for todo in study.ask(8):
        study.tell(todo, measure(todo, rng, np.zeros(8), 1.0))
    different = 0
    for _ in range(6):
        rounds = study.ask(8)
        different += len({one.arms for one in rounds})
        for one in rounds:
            study.tell(one, measure(one, rng, np.zeros(8), 1.0))
    assert different >= 12  # if nothing pending counted, there would be one in each of the six
    for todo in study.ask(7):
        study.fail(todo, "power cut", retry=False)
    assert len(study.ask(5)) == 5  # when every round fails, the rule goes on


def test_the_first_batch_of_every_rule_is_spread_evenly():
    """Before anything is told there is nothing to go by. (Some rules begin with every action once,
    15 or 20 of them.)
    """
    uneven = []
    for problem in (cg.Problem(cg.Subsets(6, 3), rewards=cg.Gaussian(1.0)), HARD):
        for name in RULES:
            counts = np.zeros(6)
            for one in cg.Study(problem, rule=name).ask(30):
                counts[list(one.arms)] += 1
            if counts.max() - counts.min() > 1:
                uneven.append((name, counts))
    assert uneven == []


def test_an_arm_whose_values_went_missing_is_wanted_again():
    for name in ("uniform", "frank-wolfe", "lloo"):
        study, rng, lost = cg.Study(PROBLEM, rule=name, delta=0.2), np.random.default_rng(0), 0
        while not study.done:
            todo = study.ask()
            values = measure(todo, rng)
            if 3 in values and lost < 5:
                values[3], lost = math.nan, lost + 1
            study.tell(todo, values)
            assert todo.id < 3000
        assert (
            lost == 5
            and state_of(study).history.stats.counts[3] > 0
            and says(study.decision.assumptions, "values-missing", n=5)
        )


def test_the_largest_studies_are_asked_in_time_and_linear_memory():
    import time
    import tracemalloc

    study = cg.Study(
        cg.Problem(cg.Subsets(1000, 50), cg.Arms(1000), cg.Gaussian(1.0)), engine="python"
    )
    tracemalloc.start()
    for todo in study.ask(22):
        study.tell(todo, dict.fromkeys(todo.arms, 0.0))
    began = time.process_time()
    study.ask()
    assert time.process_time() - began < 1.0
    assert tracemalloc.get_traced_memory()[1] < 1000 * 5000
    tracemalloc.stop()


@pytest.mark.compiled
def test_both_engines_ask_the_same():
    problem = cg.Problem(cg.Subsets(20, 3), cg.Arms(20), cg.Gaussian(0.1))
    asked = []
    for engine in ("python", "compiled"):
        study, rng = cg.Study(problem, engine=engine), np.random.default_rng(3)
        for _ in range(60):
            todo = study.ask()
            study.tell(todo, {a: rng.normal(0.5 - 0.02 * a, 0.1) for a in todo.arms})
        asked.append(
            (
                [event.data for event in study.events()[1:]],
                state_of(study).monitor.told.state.evidence[0],
            )
        )
    assert asked[0] == asked[1]


def test_callbacks_are_called_after_the_event_is_stored_and_one_that_fails_stops_no_other():
    heard = []
    study = cg.Study(
        cg.Problem(cg.Arms(2), rewards=cg.Gaussian(0.1)),
        on_ask=lambda todo: heard.append(("asked", todo.id)),
        on_tell=lambda number: heard.append(("told", number)),
        on_certify=lambda decision: heard.append(("certified", decision.answer)),
        min_replicates=0,
    )
    for todo in study.ask(2):
        study.tell(todo, {a: float(a) * 50 for a in todo.arms})
        study.tell(todo, {a: float(a) * 50 for a in todo.arms})
    assert heard == [("asked", 1), ("asked", 2), ("told", 1), ("told", 2), ("certified", (1,))]
    heard = []

    def broken(number):
        heard.append(number)
        raise ValueError(f"no lamp {number}")

    study = cg.Study(
        cg.Problem(cg.Arms(2), rewards=cg.Gaussian(0.1)),
        on_tell=broken,
        on_certify=heard.append,
        min_replicates=0,
    )
    study.ask(2)
    with pytest.raises(ValueError, match="no lamp 1"):
        study.tell_many({1: {0: 0.0}, 2: {1: 50.0}})
    assert heard[:2] == [1, 2] and heard[2].answer == (1,) and study.done


def test_a_retraction_that_leaves_a_certificate_is_told():
    heard = []
    study = cg.Study(cg.Problem(cg.Arms(2), rewards=cg.Gaussian(0.1)), on_certify=heard.append)
    study.observe({0: [0.0] * 9, 1: [0.4] * 9})
    slip = study.observe({1: 30.0})
    assert len(heard) == 1  # a result after the decision is not part of it
    study.retract(slip, "typed the date")
    assert [one.values for one in heard] == [18, 18] and study.decision == heard[1]
    study.retract(arm=0, reason="contaminated")
    assert len(heard) == 2 and not study.done
    # another process may retract before the callback is called: it gets the decision that was made
    heard = []
    study = cg.Study(
        cg.Problem(cg.Arms(2), rewards=cg.Gaussian(0.1)),
        on_tell=lambda number: study.retract(number, "on second thoughts"),
        on_certify=heard.append,
        min_replicates=0,
    )
    study.observe({1: 50.0})
    study.tell(study.ask(), {0: 0.0})
    assert not study.done and [one.answer for one in heard] == [(1,)]


def test_threads_share_a_study():
    study, given = cg.Study(HARD), []

    def work():
        for _ in range(20):
            todo = study.ask()
            given.append(todo.id)
            study.tell(todo, dict.fromkeys(todo.arms, 0.1))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(given) == list(range(1, 81)) and state_of(study).history.stats.counts.sum() == 160
    assert study.replay().same


def test_an_oracle_that_fails_loses_nothing_and_what_could_not_be_stored_has_not_happened(
    monkeypatch,
):
    broken = []

    def best(scores):
        if broken:
            raise ValueError("no solver")
        return [int(np.argmax(scores))]

    study = cg.Study(cg.Problem(cg.Oracle(best, 3), cg.Arms(3), cg.Gaussian(1.0)))
    for todo in study.ask(4):
        study.tell(todo, dict.fromkeys(todo.arms, 0.0))
    broken.append(1)
    with pytest.raises(ValueError, match="no solver"):
        study.ask()
    broken.clear()
    assert study.ask().id == 5 and study.replay().same
    study, other = (cg.Study(HARD, rule="lloo", seed=2) for _ in range(2))
    for one in (study, other):
        for todo in one.ask(4):
            one.tell(todo, dict.fromkeys(todo.arms, 0.1))

    def full(self, events):
        raise cg.StoreError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr("combgame.storage.base.InMemoryStorage.append", full)
        for act in (
            lambda: study.ask(3),
            lambda: study.observe({0: 1.0}),
            lambda: study.stop("enough"),
        ):
            with pytest.raises(cg.StoreError, match="full"):
                act()
    assert not study.done and len(study.events()) == 9
    assert [one.arms for one in study.ask(5)] == [one.arms for one in other.ask(5)]


def test_the_spread_need_not_be_known():
    study, rng = (
        cg.Study(cg.Problem(cg.Arms(3), rewards=cg.Gaussian(shared_sigma=False)), delta=0.1),
        np.random.default_rng(0),
    )
    while not study.done:
        todo = study.ask()
        with refused("variance-hidden", cg.InputError):
            study.tell(todo, {todo.arms[0]: (0.5, 2)})
        study.tell(
            todo, {a: [float(a) + 0.2 * rng.standard_normal() for _ in range(2)] for a in todo.arms}
        )
        assert study.status.next_step
    assert study.decision.answer == (2,)
    study = cg.Study(cg.Problem(cg.Arms(3), rewards=cg.Gaussian(shared_sigma=False)), max_rounds=9)
    while not study.done:
        todo = study.ask()
        study.tell(todo, {a: 0.1 * a + 0.2 * rng.standard_normal() for a in todo.arms})
    assert not study.decision.certified


def test_an_answer_within_epsilon_will_do():
    problem, ends = cg.Problem(cg.Arms(3), rewards=cg.Gaussian(0.5)), []
    for epsilon in (0.0, 0.3):
        study, rng = (
            cg.Study(problem, delta=0.1, epsilon=epsilon, max_rounds=2000),
            np.random.default_rng(1),
        )
        while not study.done:
            for todo in study.ask(10):
                study.tell(todo, measure(todo, rng, [0.5, 0.49, 0.0], 0.5))
        ends.append(study.decision)
    assert (
        ends[1].certified
        and "to within 0.3" in str(ends[1].headline)
        and ends[1].rounds < ends[0].rounds / 4
    )
    with refused("epsilon-needs-mixture", cg.InputError, epsilon=0.1, threshold="stylised"):
        cg.Study(problem, threshold="stylised", epsilon=0.1)
