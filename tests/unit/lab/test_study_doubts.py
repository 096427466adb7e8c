"""Values that are hard to believe: said, with the remedy, and without any part in stopping."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import combgame as cg
from combgame.engine.statistics import blank
from combgame.lab.analysis import outliers_of as doubts_of
from combgame.lab.history import nothing_far, reach
from combgame.lab.outliers import (
    ALARM,
    ALONE,
    Outlier,
    find_outliers,
    find_outliers_within,
    gathered,
    outliers,
)
from combgame.lab.snapshot import dump, load
from combgame.rules._exploration import joining
from tests.said import says
from tests.studies import COINS, NAMES, measure, state_of

pytestmark = pytest.mark.given_numbers  # values of arms that are known to have been asked for

FORTY = cg.Problem(cg.Subsets(40, 8), cg.Subsets(40, 3), cg.Gaussian(shared_sigma=False))


def fed(values):
    """What a study holds of lists of values, one per arm; round k is the k-th value of an arm."""
    stats, far = blank(len(values)), nothing_far(len(values))
    for arm, xs in enumerate(values):
        for k, x in enumerate(xs, start=1):
            stats.add_value(arm, x, 1.0, x, 1.0, False)
            reach(far, arm, x, 1, k)
    return stats, far


def naive(values, sigma):
    """Every value against all the others of its arm."""
    total, scores, spreads = sum(map(len, values)), {}, {}
    for arm, xs in enumerate(values):
        for k, x in enumerate(xs):
            rest = xs[:k] + xs[k + 1 :]
            if rest:
                own = sigma**2 if sigma else np.var(rest, ddof=1) if len(rest) > 1 else 0.0
                scores[arm, k] = abs(x - np.mean(rest)), own, len(rest)
                if len(rest) > 1:
                    spreads[arm] = min(spreads.get(arm, math.inf), own)
    usual, made = sorted(spreads.values())[(len(spreads) - 1) // 2] if spreads else 0.0, {}
    wide = [(len(xs) - 1, np.var(xs) * len(xs)) for xs in values if len(xs) > 1]
    median = sorted(square / stats.chi2.median(m) for m, square in wide)[(len(wide) - 1) // 2 :]
    for (arm, k), (off, own, m) in scores.items():
        bar, freedom = math.sqrt(2 * math.log(2 * total / ALARM)), m - 1.0
        if not sigma:
            own = max(own, usual) if m > 1 else median[0]
            freedom = freedom if m > 1 else 0.4 * sum(one for one, _ in wide)
            bar = stats.t.isf(0.5 * ALARM / total, freedom)
        made[arm, k + 1] = off / math.sqrt(own * (1 + 1 / m)), bar
    for arm, xs in enumerate(values):  # the only value of an arm, against the means of others
        means = [np.mean(ys) for other, ys in enumerate(values) if ys and other != arm]
        if len(xs) == 1 and len(means) >= (1 if sigma else 3):
            usual = max(max(means) - min(means), *map(abs, means), sigma or 0.0)
            made[arm, 1] = abs(xs[0] - np.median(means)) / usual, ALONE
    return made


@pytest.mark.parametrize("sigma", [1.0, None])
@given(data=st.data())
def test_doubts_are_those_of_all_values_against_all_others(sigma, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    values = [
        list(rng.normal(a, 1.0, data.draw(st.integers(0, 6))))
        for a in range(data.draw(st.integers(2, 5)))
    ]
    for xs in values:
        if xs and data.draw(st.booleans()):
            xs[data.draw(st.integers(0, len(xs) - 1))] = data.draw(
                st.sampled_from([-40.0, 7.0, 1e3, 1e4])
            )
    problem = cg.Problem(
        cg.Arms(len(values)), rewards=cg.Gaussian(1.0) if sigma else cg.Gaussian(shared_sigma=False)
    )
    stats, far = fed(values)
    mine, right = find_outliers(problem, stats, far, most=1000), naive(values, sigma)
    assert [-one.z_score for one in mine] == sorted(-one.z_score for one in mine)
    for one in mine:
        errors, bar = right[one.arm, one.round]
        assert one.z_score == pytest.approx(errors, rel=1e-4) and errors > 0.999 * bar
        assert (
            one.value == values[one.arm][one.round - 1]
            and one.n_reference == len(values[one.arm]) - 1
        )
    for arm in range(len(values)):
        worst = max(
            ((errors, bar) for (a, _), (errors, bar) in right.items() if a == arm),
            default=(0.0, 1.0),
        )
        assert (arm in {one.arm for one in mine}) or worst[0] <= 1.001 * worst[1]


@pytest.mark.parametrize("rewards", [cg.Gaussian(1.0), cg.Gaussian(shared_sigma=False)])
def test_false_alarms_are_as_rare_as_is_said(rewards):
    problem, rng, alarms = cg.Problem(cg.Arms(20), rewards=rewards), np.random.default_rng(1), 0
    for _ in range(2000):
        n = rng.integers(1, 12, 20).astype(float)
        x = np.where(np.arange(12)[:, None] < n, rng.standard_normal((12, 20)), np.nan)
        stats, far = blank(20), nothing_far(20)
        stats.counts[:], stats.sums[:] = n, np.nansum(x, axis=0)
        stats.squares[:] = np.nansum((x - stats.sums / n) ** 2, axis=0)
        far[0, 0], far[1, 0], far[:, 1] = np.nanmin(x, axis=0), np.nanmax(x, axis=0), 1.0
        alarms += bool(find_outliers(problem, stats, far))
    assert alarms <= 8  # 2 are expected at most; more than 8 of them have a chance below 1 in 3000


@pytest.mark.parametrize("rewards", [cg.Gaussian(0.1), cg.Gaussian(shared_sigma=False)])
def test_a_mistyped_value_is_seen_and_changes_nothing(rewards):
    problem = cg.Problem(cg.Subsets(5, 2), cg.Arms(5), rewards, names=NAMES)
    study, rng = cg.Study(problem, delta=1e-9, max_rounds=40), np.random.default_rng(0)
    for todo in study.ask(20):
        study.tell(todo, measure(todo, rng))
    assert study.status.outliers == () and "doubtful" not in str(study.status)
    wrong = study.ask()
    arm = wrong.arms[1]
    study.tell(wrong, {wrong.arms[0]: 0.2, arm: 1000.0})
    (one,) = study.status.outliers
    assert (one.round, one.arm, one.name, one.value) == (wrong.id, arm, NAMES[arm], 1000.0)
    for text in (str(study.status), *([str(study.decision)] if study.done else [])):
        assert f"Round {wrong.id}, arm {NAMES[arm]}: 1000 is" in text and "a heuristic" in text
        assert f"retract({wrong.id}, reason)" in text
    assert study.status.to_dict()["outliers"][0]["round"] == wrong.id
    study.retract(wrong, "a point was lost")
    assert study.status.outliers == ()
    study.tell(wrong, {wrong.arms[0]: 0.2, arm: 0.1})
    assert study.status.outliers == ()


def test_what_certifies_on_a_mistake_says_so_and_data_from_outside_are_observed_anew():
    study = cg.Study(cg.Problem(cg.Arms(2), rewards=cg.Gaussian(1.0)))
    numbers = [study.observe({0: x}) for x in (0.0, 0.1, 0.2)]
    bad = study.observe({1: [0.3, 1000.0, 0.4]})
    decision = study.decision
    assert (
        decision.certified
        and decision.answer == (1,)
        and [one.round for one in decision.outliers] == [bad]
    )
    assert (
        str(decision.outliers[0]) in str(decision)
        and decision.to_dict()["outliers"][0]["value"] == 1000.0
        and len(numbers) == 3
    )
    study = cg.Study(cg.Problem(cg.Arms(2), rewards=cg.Gaussian(1.0)), delta=1e-9, max_rounds=9)
    study.observe({0: [0.0, 0.1, 0.2]})
    bad = study.observe({0: 1000.0})
    (one,) = study.status.outliers
    assert one.external and (one.round, one.arm, one.value) == (bad, 0, 1000.0)
    assert f"retract({bad}, reason), and observe it anew" in one.sentence.remedy()
    study.retract(bad, "a point was lost")
    study.stop("enough")
    assert says(study.decision.assumptions, "values-outside", n=3)
    study.retract(arm=0, reason="contaminated")
    assert "measured outside" not in str(study.decision)


def test_two_values_of_an_arm_show_a_gross_mistake_and_either_may_be_wrong():
    study = cg.Study(cg.Problem(cg.Arms(2), rewards=cg.Gaussian(1.0)), delta=1e-9, max_rounds=9)
    numbers = [study.observe({0: x}) for x in (1.0, 20.0)]
    assert sorted(
        one.round for one in study.status.outliers
    ) == numbers and "only other value" in str(study.status.outliers[0])
    # where sigma is not known, too
    study = cg.Study(cg.Problem(cg.Arms(3), rewards=cg.Gaussian(shared_sigma=False)), delta=1e-9)
    study.observe({0: [1.0, 1.1], 1: [1.0, 1.1], 2: [1.1, 1e6]})
    assert [one.value for one in study.status.outliers] == [1e6]
    rng, study = np.random.default_rng(0), cg.Study(FORTY, delta=1e-9)
    study.observe({a: rng.uniform(0.5, 2.5) + rng.normal(0, 0.15, 2) for a in range(1, 40)})
    study.observe({0: [1142.0, 1.139]})
    assert [one.value for one in study.status.outliers] == [1142.0]


def test_a_first_plate_in_percent_is_noticed():
    rng, study = np.random.default_rng(3), cg.Study(FORTY, delta=1e-9)
    for _ in range(2):
        for todo in study.ask(5):
            by = 100.0 if todo.id == 1 else 1.0
            study.tell(todo, {a: by * (1.0 + 0.02 * a + rng.normal(0, 0.15)) for a in todo.arms})
    assert {one.round for one in study.status.outliers} == {1} and len(study.status.outliers) == 5


def test_a_value_that_is_far_from_all_other_arms_is_doubted_at_once_and_arms_that_differ_are_not():
    for rewards in (cg.Gaussian(0.1), cg.Gaussian(), cg.Gaussian(shared_sigma=False)):
        study = cg.Study(cg.Problem(cg.Arms(["a", "b", "c", "d", "e"]), rewards=rewards))
        study.observe({"a": 0.5})
        assert study.status.outliers == ()  # there is nothing to compare it with
        study.observe({"b": 1e6})
        if not rewards.variance_known:  # a may be near 0 by chance
            assert study.status.outliers == ()
            study.observe({"d": 0.6, "e": 0.2})
        (doubt,) = study.status.outliers
        assert (doubt.name, doubt.value, doubt.n_reference) == ("b", 1e6, 0)
        assert "1e+06 is the only value of this arm, and far from the values of all others" in str(
            doubt
        )
        study.observe({"c": 0.4})
        assert [one.name for one in study.status.outliers] == ["b"]
    study = cg.Study(cg.Problem(cg.Arms(4), rewards=cg.Gaussian(0.1)))
    study.observe({0: 0.5, 1: 9.0, 2: -20.0, 3: 60.0})
    assert study.status.outliers == ()


def test_a_single_value_beside_others_is_doubted_only_if_it_is_far_and_is_named():
    problem = cg.Problem(cg.Arms(3), rewards=cg.Gaussian(0.1), names=["a", "b", "c"])
    study = cg.Study(problem, min_replicates=0)
    for todo, x in zip(study.ask(3), (1.0, 1000.0, 1.1), strict=True):
        study.tell(todo, {todo.arms[0]: x})
    assert study.decision.certified and [one.value for one in study.decision.outliers] == [1000.0]
    assert (
        "single value of b, 1000 in round 2, and of c, 1.1 in round 3; measure them again before "
        "you rely on it (min_replicates=2 asks for two values of every arm)."
    ) in str(study.decision)
    assert says(study.decision.assumptions, "lone-values", arms=["a"])
    study.observe({"b": 1.2})  # measured again; the decision is still that of its time
    assert "measured outside" not in str(study.decision)
    assert says(study.decision.assumptions, "single-values", n=2)
    assert "a single value of b, 1000 in round 2" in str(study.decision)
    # or data from outside
    problem = cg.Problem(cg.Arms(2), rewards=cg.Gaussian(0.1), names=["a", "b"])
    study = cg.Study(problem, min_replicates=0)
    study.observe({"a": [1.0, 1.1]})
    study.observe({"b": 1000.0})
    assert says(study.decision.assumptions, "single-values", n=1)
    assert "of b, 1000 in the data from outside, number 2; measure it" in str(study.decision)


def test_coins_are_not_doubted_and_nobody_says_that_they_were_looked_at():
    study = cg.Study(COINS)
    study.observe({0: [0] * 50 + [1], 1: [1, 1], 2: [0, 1]})
    assert study.status.outliers == () and "No value stands out" not in study.report()


def test_a_doubt_is_said_in_numbers_that_people_read():
    """However far, and also from a single other value where nothing varies."""
    for errors in (2e6, math.inf):
        said = Outlier(3, 0, "wt", 1234.5, 1, errors).render()
        assert "is more than 1,000 standard errors from" in said and "e+" not in said
    assert "is 12.3 standard errors" in Outlier(3, 0, "wt", 1234.5, 4, 12.34).render()


# ---- where rounds have levels of their own


def levelled(d, size, sigma, **options):
    rewards = cg.Gaussian(sigma, batch_effect=True)
    return cg.Problem(cg.Subsets(d, size), cg.Arms(d), rewards, **options)


def started(problem, seed, times=1, replicates=1, lost=0.0, sigma=0.15):
    """Rounds of a start, and more, by number: rows of arms, values, and of how many."""
    rng, d = np.random.default_rng(seed), problem.d
    plays = joining(problem.actions, problem.answers, rng)
    size = problem.actions.max_size()
    plays += [rng.choice(d, size, replace=False) for _ in range(int((times - 1) * len(plays)))]
    means, made = rng.normal(1.0, 0.3, d), {}
    for number, play in enumerate(plays, 1):
        arms = np.repeat(np.sort(np.array(list(play))), replicates)
        arms = arms[rng.random(arms.size) >= lost]
        x = means[arms] + rng.normal(0.0, 0.5) + rng.normal(0.0, sigma, arms.size)
        made[number] = np.array([arms, x, np.ones(arms.size)])
    return {number: one for number, one in made.items() if one.size}


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), known=st.booleans(), replicates=st.integers(1, 2))
def test_a_value_is_compared_with_what_all_others_let_expect(seed, known, replicates):
    """Against a fit of arms and rounds without it, with a dense matrix."""
    problem = levelled(6, 3, [0.1, 0.2, 0.1, 0.3, 0.1, 0.2] if known else None)
    plays = started(problem, seed, 3, replicates)
    values = gathered(problem, plays)
    rng = np.random.default_rng(seed)
    values.x[rng.integers(values.x.size)] += 50.0
    found = outliers(values, 6, known, 0.0, ALARM / values.x.size, ALONE, 3)
    first = found[0]
    design = np.zeros((values.x.size, 6 + len(plays)))
    design[np.arange(values.x.size), values.arm] = 1.0
    design[np.arange(values.x.size), 6 + values.play] = 1.0
    root, worst = np.sqrt(values.weight), []
    for k in range(values.x.size):
        rest = np.arange(values.x.size) != k
        weighed = design[rest] * root[rest, None]
        inverse = np.linalg.pinv(weighed.T @ weighed)
        solved = inverse @ (weighed.T @ (root[rest] * values.x[rest]))
        left = root[rest] * (values.x[rest] - design[rest] @ solved)
        degrees = rest.sum() - np.linalg.matrix_rank(weighed)
        scale = 1.0 if known else math.sqrt(float(left @ left) / degrees)
        doubt = 1.0 / values.weight[k] + design[k] @ inverse @ design[k]
        worst.append(abs(values.x[k] - design[k] @ solved) / math.sqrt(doubt) / scale)
        if k == first.at:
            assert first.expected == pytest.approx(float(design[k] @ solved), abs=1e-6)
            assert first.errors == pytest.approx(worst[-1], rel=1e-4)
    assert int(np.argmax(worst)) in (first.at, *first.instead)


@pytest.mark.parametrize(("sigma", "replicates", "lost"), [(0.15, 2, 0.1), (None, 1, 0.0)])
def test_false_alarms_within_rounds_are_as_rare_as_is_said(sigma, replicates, lost):
    problem = levelled(8, 4, sigma)
    alarms = sum(
        bool(
            find_outliers_within(
                problem, started(problem, seed, 2, replicates, lost), sigma is not None
            )
        )
        for seed in range(1000)
    )
    assert alarms <= 6  # 1 is expected at most; more than 6 have a chance below 1 in 10,000


def plates(study, rng, means, slip=None, rounds=None, sigma=0.15):
    """Tells rounds until the study has so many; slip: (round, factor) of one value."""
    off = None
    while not study.done and study.status.rounds < rounds:
        todo, level = study.ask(), rng.normal(0.0, 0.5)
        values = {a: means[a] + level + sigma * rng.standard_normal() for a in todo.arms}
        if slip is not None and todo.id == slip[0]:
            off = todo.arms[1]
            values[off] = round(values[off] * slip[1], 3)
        study.tell(todo, values)
    return off


@pytest.mark.parametrize(("sigma", "factor"), [(0.15, 10.0), (None, 1000.0)])
def test_a_lost_point_shows_where_rounds_have_levels(sigma, factor, tmp_path):
    """1162 for 1.162 led the study "with 84%", and the report said that no value stands out."""
    names = [f"v{k}" for k in range(12)]
    problem = levelled(12, 4, sigma, names=names)
    rng = np.random.default_rng(5)
    means = rng.normal(2.0, 0.3, 12)
    url = f"sqlite:///{tmp_path}/lab.db"
    study = cg.Study(problem, storage=url, delta=1e-6, engine="python", max_rounds=12)
    off = plates(study, rng, means, (2, factor), 12)
    status = study.status
    (doubt,) = status.outliers
    assert (doubt.round, doubt.name, doubt.within, doubt.instead) == (2, names[off], True, ())
    said = doubt.render()
    assert f"Round 2, arm {names[off]}: {doubt.value:g} is" in said and "its round" in said
    assert "retract(2, reason)" in said and said in str(study.decision) and said in str(status)
    assert says([doubt.sentence], "doubtful-within", round=2)
    page = study.report()
    assert "No value stands out" not in page and names[off] in page
    assert json.loads(json.dumps(status.to_dict()))["outliers"][0]["name"] == names[off]
    state = state_of(study)
    kept = load(study._setting, "python", (state.history.seq, dump(state)))
    assert (
        doubts_of(kept.monitor) == cg.Study.open(url, study.name).status.outliers == status.outliers
    )
    study.retract(2, "a point was lost")
    assert study.status.outliers == ()
    assert "No value stands out from the others of its round" in study.report()


def test_good_values_within_rounds_are_not_doubted_whatever_their_levels():
    problem, rng = levelled(12, 4, 0.15), np.random.default_rng(2)
    study, means = cg.Study(problem, delta=1e-9, engine="python"), rng.normal(1.0, 0.3, 12)
    for k in range(24):
        todo = study.ask()
        level = 10.0 ** (k % 7)
        study.tell(todo, {a: means[a] + level + rng.normal(0, 0.15) for a in todo.arms})
        assert study.status.outliers == ()


def test_of_the_two_values_of_a_round_nothing_tells_which_is_off_but_of_replicates_it_does():
    for sigma in (0.15, None):
        problem, rng = levelled(6, 2, sigma), np.random.default_rng(3)
        study = cg.Study(problem, delta=1e-9, engine="python", max_rounds=9)
        plates(study, rng, rng.normal(2.0, 0.3, 6), (3, 1000.0), 9)
        pair = [one for one in study.status.outliers if one.round == 3]
        assert len(pair) == 2 == len(study.status.outliers)
        for one, other in (pair, pair[::-1]):
            assert one.instead == (other.name,) and f"or {other.name} is off" in one.render()
    problem, rng = levelled(8, 4, None), np.random.default_rng(4)
    study = cg.Study(problem, delta=1e-9, engine="python", replicates=2)
    means = rng.normal(1.0, 0.3, 8)
    for _ in range(6):
        todo = study.ask()
        values = {a: list(means[a] + rng.normal(0, 0.15, 2)) for a in todo.arms}
        if todo.id == 2:
            values[todo.arms[0]][1] = 1162.0
        study.tell(todo, values)
    (one,) = study.status.outliers
    assert (one.round, one.value, one.instead) == (2, 1162.0, ())


def test_a_lost_point_shows_in_the_first_round_already():
    """Nothing tells yet how arms differ; but by a hundred times as much as the others do is odd."""
    for sigma in (0.15, None):
        problem = levelled(12, 4, sigma)
        study = cg.Study(problem, engine="python")
        todo = study.ask()
        values = (1.1, 1162.0, 0.9, 1.3)
        study.tell(todo, dict(zip(todo.arms, values, strict=True)))
        (one,) = study.status.outliers
        assert (one.arm, one.value, one.n_reference) == (todo.arms[1], 1162.0, 0)
        assert "far from the other values of its round" in one.render()
