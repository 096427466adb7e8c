"""The stated sigma beside what was seen: the two e-processes, what a study says, what it does not
say of good data.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import chi2

import combgame as cg
from combgame.lab.diagnostics import ALARM, LESS, MORE, log_misfit
from combgame.lab.history import follow, nothing_late
from tests.studies import state_of

pytestmark = pytest.mark.given_numbers  # values of arms that are known to have been asked for


def told(stated, sigma, rounds=16, means=(1.0, 0.5, 0.0, -0.5), seed=0, **options):
    problem = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(stated))
    study, rng = (
        cg.Study(problem, min_replicates=2, seed=seed, **options),
        np.random.default_rng(seed),
    )
    for _ in range(rounds):
        if study.done:
            break
        todo = study.ask()
        study.tell(todo, {a: rng.normal(means[a], sigma) for a in todo.arms})
    return study


def test_the_e_processes_have_mean_one_over_a_fixed_number_of_values():
    for degrees in (2, 7):
        for k, most in ((0, 200.0), (1, 60.0)):
            mean = quad(
                lambda v, k=k, degrees=degrees: math.exp(
                    log_misfit((degrees, v), (degrees, v))[k] + chi2.logpdf(v, degrees)
                ),
                0,
                most,
                limit=500,
                points=[1e-6, 1e-4, 1e-2, 1.0],
            )[0]
            assert mean <= 1 + 1e-6
        assert (LESS > 0).all() and (MORE > 1).all()


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_squares_about_the_mean_of_the_later_values(seed):
    rng, late, values = np.random.default_rng(seed), nothing_late(2), [[], []]
    for _ in range(12):
        a, n, x = int(rng.integers(2)), int(rng.integers(1, 4)), rng.normal(3)
        follow(late, a, x, n)
        values[a] += [x] * n
    for a in range(2):
        own = np.array(values[a])
        if own.size:
            assert late[0, a] == own.size and late[1, a] == pytest.approx(own.mean())
            assert late[2, a] == pytest.approx(((own - own.mean()) ** 2).sum(), abs=1e-9)


def test_looking_after_every_value_raises_no_alarm():
    """40 studies of 150 values with the right sigma: an alarm has a chance of 4e-3."""
    for seed in range(40):
        rng, late, noise = np.random.default_rng(seed), nothing_late(5), np.zeros(2)
        sums, counts = np.zeros(5), np.zeros(5)
        for k in range(150):
            mean = sums / np.maximum(counts, 1)
            a = k % 5 if k < 10 else int(np.argmin(abs(mean - mean.mean())))
            x = rng.standard_normal()
            if counts[a]:
                share = counts[a] / (counts[a] + 1) if k < 10 else 1.0
                noise += 1, share * (x - mean[a]) ** 2
            if k < 10:
                start = noise.copy()
            else:
                follow(late, a, x, 1)
            sums[a] += x
            counts[a] += 1
            more = start[0] + late[3].sum(), start[1] + late[2].sum()
            both = np.logaddexp(*log_misfit(tuple(noise), more)) - math.log(2)
            assert both < -math.log(ALARM)


VERDICTS = [(0.1, "too small"), (0.3, "too small"), (1.0, "fits"), (10, "too large")]


def test_what_a_study_says_of_its_sigma():
    for factor, verdict in VERDICTS:
        study = told(0.2 * factor, 0.2, rounds=24, means=(0.0,) * 4, delta=1e-300)
        stats = study.status.noise_check
        assert stats.verdict == verdict and stats.stated_sigma == pytest.approx(0.2 * factor)
        assert stats.estimated_sigma == pytest.approx(0.2, rel=0.4) and stats.dof >= 8
        said = study.status.to_dict()["noise_check"]
        assert said["verdict"] == verdict and said["code"].startswith("sigma-")
        assert str(study.status).count("\n  noise        ") == 1


def test_few_values_other_families_sigmas_that_differ_and_means_are_each_judged_as_they_are():
    assert told(0.1, 0.1, rounds=2).status.noise_check.verdict == "not enough data"
    coins = cg.Study(cg.Problem(cg.Arms(3), rewards=cg.Bernoulli()))
    assert coins.status.noise_check is None and coins.status.to_dict()["noise_check"] is None
    free = cg.Study(cg.Problem(cg.Arms(2), rewards=cg.Gaussian()), min_replicates=2)
    free.observe({0: [1.0, 2.0, 3.0], 1: [0.0, 1.0]})
    noise = free.status.noise_check
    assert noise.verdict == "not stated" and noise.dof == 3
    assert noise.estimated_sigma == pytest.approx(math.sqrt(2.5 / 3))
    problem = cg.Problem(cg.Arms(3), None, cg.Gaussian([0.1, 0.2, 0.4]))
    study, rng = cg.Study(problem, min_replicates=2, delta=1e-12), np.random.default_rng(0)
    study.observe({a: rng.normal(0, [0.5, 1.0, 2.0][a], 9).tolist() for a in range(3)})
    noise = study.status.noise_check
    assert noise.verdict == "too small" and noise.stated_sigma is None
    assert noise.ratio == pytest.approx(5, rel=0.3) and "times as much" in str(noise.clause)
    problem = cg.Problem(cg.Arms(2), None, cg.Gaussian(1.0))
    study, rng = cg.Study(problem, delta=1e-12), np.random.default_rng(0)
    for _ in range(30):
        study.observe({a: (rng.normal(0, 1 / 5), 25) for a in range(2)}, planned=True)
    noise = study.status.noise_check
    assert noise.verdict == "fits" and noise.dof == 56  # two means of each arm: start, later
    assert noise.estimated_sigma == pytest.approx(1.0, rel=0.3)
    assert state_of(study).history.stats.in_initial_design[0] == 0


def test_a_certificate_says_first_what_the_values_contradict_and_doubts_no_good_data():
    study = told(0.1, 1.0, rounds=60)
    assert study.done and study.decision.reason == "certified"
    first = str(study.decision).splitlines()[0]
    assert "with confidence 95% only if sigma were as stated" in first
    assert "the stated sigma of 0.1 does not fit the values, which vary by" in first
    assert "Gaussian()" in first
    codes = [one.code for one in study.decision.assumptions]
    assert (
        "sigma-too-small" in codes
        and study.decision.to_dict()["noise_check"]["verdict"] == "too small"
    )
    assert "does not fit" in str(study.status)
    right = told(0.2, 0.2, rounds=200)
    assert right.decision.reason == "certified" and "only if" not in str(right.decision)
    assert study.status.noise_check.contradicted and not study.status.outliers
    wild = told(0.1, 1.0, rounds=12, delta=1e-300)
    todo = wild.ask()
    wild.tell(todo, {a: 1e4 if k else 0.1 for k, a in enumerate(todo.arms)})
    assert [one.value for one in wild.status.outliers] == [1e4]


def test_nothing_is_said_with_confidence_while_the_values_contradict_sigma():
    """Nor that it is time to stop, nor that the leader is best with a chance of 99 %."""
    for rounds, most in ((6, None), (9, 9)):
        study = told(0.05, 1.0, rounds, (0.1, 0.0, 0.0, 0.0), max_rounds=most, engine="python")
        status = study.status
        assert (
            status.noise_check.contradicted
            and status.lead.sigma_doubted
            and status.early_stop is None
        )
        said = [str(status), *([] if study.decision is None else [study.decision.render()])]
        for line in "\n".join(said).splitlines():
            assert "confidence 95%" not in line or "sigma" in line
            assert "the chance that it is best" not in line
    assert study.decision is not None


def test_a_contradicted_certificate_advises_what_plates_need():
    """Sigma from the data, and levels as before; its values cannot be observed elsewhere."""
    rewards = cg.Gaussian(0.02, batch_effect=True)
    study = cg.Study(cg.Problem(cg.Subsets(12, 6), cg.Arms(12), rewards), engine="python")
    rng = np.random.default_rng(5)
    while not study.done:
        todo, level = study.ask(), rng.normal(0.0, 1.0)
        study.tell(todo, {a: level + rng.normal(3.0 * (a == 0), 0.5) for a in todo.arms})
    said = str(study.decision.headline)
    assert study.decision.certified and study.decision.noise_check.contradicted
    assert "a study with Gaussian(batch_effect=True) takes sigma from the data." in said


def test_a_certificate_says_if_its_sigma_could_not_be_checked():
    """Values that are far apart certify before there are enough of them to know their noise."""
    few, many = told(0.05, 0.05, 60), told(0.5, 0.5, 200, (1.0, 0.5, 0.4, 0.4))
    assert few.decision.certified and many.decision.certified
    codes = [[one.code for one in study.decision.assumptions] for study in (few, many)]
    assert few.decision.noise_check.verdict == "not enough data" and "sigma-unchecked" in codes[0]
    assert many.decision.noise_check.verdict == "fits" and "sigma-unchecked" not in codes[1]
