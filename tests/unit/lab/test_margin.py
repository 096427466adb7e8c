"""An answer at any moment: intervals that hold at all times, the lead, one scale of evidence."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special

import combgame as cg
from combgame.engine.state import vector
from combgame.engine.statistics import blank
from combgame.lab.analysis import least_passing
from combgame.lab.client._wire import status_data, status_from
from combgame.stopping.variance import CHANCES, RATIOS
from combgame.theory.confidence import (
    SCALES,
    _drawn,
    charge,
    intervals,
    lead,
    posterior_probability_best,
)
from combgame.theory.evidence import to_display_scale
from tests.studies import COINS, HARD, PROBLEM, measure, state_of

UNKNOWN = cg.Gaussian(shared_sigma=False)


def seen_of(values):
    """What is seen of lists of values, one per arm."""
    stats = blank(len(values))
    for arm, xs in enumerate(values):
        for x in map(float, xs):
            stats.add_value(arm, x, 1.0, x, 1.0, False)
    stats.mean[:] = stats.sums / np.maximum(stats.counts, 1.0)
    return stats


def martingale(rewards, xs, mean):
    """The logarithm of an arm's martingale if `mean` is its mean, as an integral over what else it
    could be (Gaussian values, sigma = 1), or as a sum (values 0 or 1).
    """
    n, off = len(xs), float(np.sum(np.asarray(xs) - mean))
    if rewards == cg.Bernoulli():
        ones = float(np.sum(xs))
        beta = special.betaln(ones + 0.5, n - ones + 0.5) - math.log(math.pi)
        return float(beta - special.xlogy(ones, mean) - special.xlog1py(n - ones, -mean))
    total = 0.0
    for c, share in SCALES:
        width = 1.0 / math.sqrt(c)

        def under(theta, width=width):
            prior = math.exp(-0.5 * (theta / width) ** 2) / (width * math.sqrt(2.0 * math.pi))
            return math.exp(theta * off - 0.5 * n * theta * theta) * prior

        peak = off / (n + c)
        around = (peak - 12.0 / math.sqrt(n + c), peak + 12.0 / math.sqrt(n + c))
        total += share * integrate.quad(under, *around, limit=200)[0]
    return math.log(total)


@pytest.mark.parametrize("rewards", [cg.Gaussian(1.0), cg.Bernoulli()])
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 60))
def test_an_arm_leaves_its_interval_where_its_martingale_passes(rewards, seed, n):
    rng, problem = np.random.default_rng(seed), cg.Problem(cg.Arms(3), rewards=rewards)
    if rewards == cg.Bernoulli():
        xs = (rng.random(n) < rng.random()) * 1.0
    else:
        xs = rng.normal(0.3, 1.0, n)
    stats = seen_of([xs, xs[:1], xs[:1]])
    low, high = intervals(problem, stats, problem.kernel().rewards, 0.1)[:, 0]
    level = math.log(2 * 3 / 0.1)
    for end, out in ((low, -1e-6), (high, 1e-6)):
        if problem.low[0] < end < problem.high[0]:
            assert martingale(rewards, xs, end) == pytest.approx(level, abs=1e-5)
            assert martingale(rewards, xs, end + out) > level - 1e-6


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 2))
def test_a_lead_leaves_its_interval_only_with_the_martingale_of_its_arms(seed, size):
    """Deviations that add up to more than the interval, however they are shared out, have a
    product of martingales above the level.
    """
    rng = np.random.default_rng(seed)
    for rewards in (cg.Gaussian(1.0), cg.Bernoulli()):
        problem = cg.Problem(cg.Subsets(4, size), rewards=rewards)
        values = [rng.integers(0, 2, rng.integers(3, 30)).astype(float) for _ in range(4)]
        stats, kernel = seen_of(values), problem.kernel().rewards
        best, rival = vector(range(size), 4), vector([*range(1, size), 3], 4)
        ends = intervals(problem, stats, kernel, 0.1)
        value, low, high = lead(problem, stats, kernel, best, rival, 0.1, ends)
        assert low <= value <= high
        level = math.log(2 / 0.1) + charge(problem, np.array([0, 3]), np.array([1.0, -1.0]))
        for _ in range(20):
            mu = rng.uniform(0.001, 0.999, 4)
            if rewards == cg.Gaussian(1.0):
                mu = stats.mean + rng.normal(0, 1.5, 4)
            apart = mu[0] - mu[3]
            inside = np.all((mu >= ends[0]) & (mu <= ends[1]))
            if not low - 1e-9 <= apart <= high + 1e-9 and inside:
                total = 0.0
                if rewards == cg.Bernoulli():
                    total = sum(martingale(rewards, values[a], mu[a]) for a in (0, 3))
                else:
                    each = [
                        [
                            0.5 * n * n * (stats.mean[a] - mu[a]) ** 2 / (n + c)
                            - 0.5 * math.log1p(n / c)
                            for c in SCALES[:, 0]
                        ]
                        for a, n in ((0, len(values[0])), (3, len(values[3])))
                    ]
                    total = special.logsumexp(np.sum(each, axis=0), b=SCALES[:, 1])
                assert total > level - 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rewards", "draw"),
    [
        (cg.Gaussian(1.0), lambda rng, n: rng.normal(0.0, 1.0, n)),
        (cg.Gaussian(shared_sigma=False), lambda rng, n: rng.normal(0.0, 3.0, n)),
        (cg.Bernoulli(), lambda rng, n: (rng.random(n) < 0.2) * 1.0),
        (cg.Bounded(0, 1), lambda rng, n: rng.random(n)),
    ],
)
def test_intervals_hold_at_all_times_together(rewards, draw):
    """delta = 0.2, 60 experiments of 3 arms, looked at 12 times; arms that look good are measured
    more. At most 12 misses are expected of 60; more than 22 have a chance below 1 in 500.
    """
    problem, missed = cg.Problem(cg.Arms(3), rewards=rewards), 0
    truth = {cg.Bernoulli(): 0.2, cg.Bounded(0, 1): 0.5}.get(rewards, 0.0)
    kernel, rng = problem.kernel().rewards, np.random.default_rng(5)
    for _ in range(60):
        stats, out = seen_of([draw(rng, 3) for _ in range(3)]), False
        for _ in range(12):
            arm = int(np.argmax(stats.mean)) if rng.random() < 0.7 else int(rng.integers(3))
            for x in draw(rng, 5).tolist():
                stats.add_value(arm, x, 1.0, x, 1.0, False)
            stats.mean[:] = stats.sums / stats.counts
            ends = intervals(problem, stats, kernel, 0.2)
            best, rival = vector([int(np.argmax(stats.mean))], 3), vector([arm], 3)
            out |= bool(((ends[0] > truth) | (ends[1] < truth)).any())
            if (best != rival).any():
                _, low, high = lead(problem, stats, kernel, best, rival, 0.2, ends)
                out |= not low <= 0.0 <= high
        missed += out
    assert missed <= 22


def pooled_of(rng, sigma, rounds):
    """Three arms with one sigma: a start of three values each, then more of what looks good."""
    stats = blank(3)
    for t in range(3 * 3 + rounds):
        arm = t % 3
        if t >= 9:
            stats.in_initial_design[0] = 0
            stats.mean[:] = stats.sums / stats.counts
            arm = int(np.argmax(stats.mean)) if rng.random() < 0.7 else int(rng.integers(3))
        stats.begin_play()
        x = sigma * rng.standard_normal()
        stats.add_value(arm, x, 1.0, x, 1.0, True)
    stats.mean[:] = stats.sums / stats.counts
    return stats


def test_intervals_of_one_unknown_sigma_are_where_the_least_over_sigma_passes():
    """Against a search over sigma, for an arm and for a lead."""
    problem, rng = cg.Problem(cg.Arms(3), rewards=cg.Gaussian()), np.random.default_rng(2)
    kernel = problem.kernel().rewards
    for rounds in (6, 40, 300):
        stats = pooled_of(rng, 2.5, rounds)
        squares, degrees = 1.004 * float(stats.residuals[1, 0]), float(stats.residuals[0, 0])
        ends = intervals(problem, stats, kernel, 0.1)
        best, rival = vector([0], 3), vector([1], 3)
        value, low, _ = lead(problem, stats, kernel, best, rival, 0.1, ends)
        for arms, far, level in (
            ([2], float(ends[1, 2] - stats.mean[2]), math.log(2 * 3 / 0.1)),
            ([0, 1], value - low, math.log(2 / 0.1) + math.log(3)),
        ):
            if not math.isfinite(far):
                continue
            n, c = stats.counts[arms][:, None], SCALES[:, 0]
            blur = ((n + c) / n**2).sum(axis=0)
            fee = 0.5 * np.log1p(n / c).sum(axis=0)

            def least(u, blur=blur, fee=fee, squares=squares, degrees=degrees):
                v = squares / degrees * np.exp(np.linspace(-1, 8, 4000))[:, None]
                rho = 1 + RATIOS
                mixture = special.logsumexp(u * u / (2 * v * blur) - fee, b=SCALES[:, 1], axis=1)
                spread = degrees / 2 * np.log(rho) - (rho - 1) * squares / (2 * v)
                return (mixture + special.logsumexp(spread, b=CHANCES, axis=1)).min()

            assert least(far) > level - 1e-3
            assert least(0.97 * far) < level


def test_intervals_of_one_unknown_sigma_hold_and_are_nearly_those_of_a_known_one():
    problem, rng = cg.Problem(cg.Arms(3), rewards=cg.Gaussian()), np.random.default_rng(4)
    kernel, missed = problem.kernel().rewards, 0
    for _ in range(60):
        stats = pooled_of(rng, 2.5, 30)
        ends = intervals(problem, stats, kernel, 0.2)
        missed += bool(((ends[0] > 0.0) | (ends[1] < 0.0)).any())
    assert missed <= 22
    known = cg.Problem(cg.Arms(3), rewards=cg.Gaussian(2.5))
    stats = pooled_of(rng, 2.5, 600)
    one = np.diff(intervals(problem, stats, kernel, 0.05), axis=0)
    other = np.diff(intervals(known, stats, known.kernel().rewards, 0.05), axis=0)
    assert (one < 1.15 * other).all() and (one > 0.9 * other).all()


def test_intervals_of_unknown_variances_need_some_values_and_then_shrink():
    problem, rng = cg.Problem(cg.Arms(2), rewards=UNKNOWN), np.random.default_rng(0)
    kernel, widths = problem.kernel().rewards, []
    for n in (2, 20, 200, 2000):
        x = rng.standard_normal(n)
        x = (x - x.mean()) / x.std(ddof=1)
        ends = intervals(problem, seen_of([x, x]), kernel, 0.05)
        widths.append(float(ends[1, 0] - ends[0, 0]))
    assert widths[0] == math.inf and widths[1] > widths[2] > widths[3]
    known = intervals(
        cg.Problem(cg.Arms(2), rewards=cg.Gaussian(1.0)), seen_of([x, x]), kernel, 0.05
    )
    assert widths[3] < 1.15 * (known[1, 0] - known[0, 0])


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_numbers_of_arms_mean_nothing(seed):
    rng = np.random.default_rng(seed)
    values, order = [rng.normal(0, 1, rng.integers(2, 9)) for _ in range(4)], rng.permutation(4)
    for rewards in (cg.Gaussian(1.0), UNKNOWN):
        problem = cg.Problem(cg.Subsets(4, 2), cg.Subsets(4, 2), rewards)
        kernel, one, two = problem.kernel(), seen_of(values), seen_of([values[a] for a in order])
        first, second = [np.zeros(4), np.zeros(4)]
        kernel.answers.argmax(one.mean, first)
        kernel.answers.argmax(two.mean, second)
        kernel.rewards.update_variance(one)
        a = (
            posterior_probability_best(problem, kernel, one, first),
            intervals(problem, one, kernel.rewards, 0.1)[:, order],
        )
        kernel.rewards.update_variance(two)
        b = (
            posterior_probability_best(problem, kernel, two, second),
            intervals(problem, two, kernel.rewards, 0.1),
        )
        assert a[0] == b[0] and np.array_equal(a[1], b[1])


def test_the_chance_of_two_arms_is_that_of_draws():
    problem = cg.Problem(cg.Arms(2), rewards=cg.Gaussian(1.0))
    stats, best = seen_of([[0.5] * 4, [0.1] * 9]), vector([0], 2)
    exact = posterior_probability_best(problem, problem.kernel(), stats, best)
    rng = np.random.default_rng(0)
    draws = rng.normal(0.5, 0.5, 10**5) > rng.normal(0.1, 1 / 3, 10**5)
    assert exact == pytest.approx(draws.mean(), abs=0.006)
    three = cg.Problem(cg.Arms(3), rewards=cg.Gaussian(1.0))
    more = seen_of([[0.5] * 4, [0.1] * 9, [-9.0] * 9])
    assert posterior_probability_best(three, three.kernel(), more, vector([0], 3)) == pytest.approx(
        exact, abs=0.03
    )
    assert (
        posterior_probability_best(
            three, three.kernel(), seen_of([[1.0], [1.0], []]), vector([0], 3)
        )
        is None
    )
    # none is stated while nothing tells of sigma
    problem = cg.Problem(cg.Arms(3), rewards=cg.Gaussian())
    stats = seen_of([[1.0], [0.5], [0.0]])
    kernel = problem.kernel()
    kernel.rewards.update_variance(stats)
    assert posterior_probability_best(problem, kernel, stats, vector([0], 3)) is None


def test_means_are_shrunk_as_the_posterior_has_it():
    """Against a sum over spreads, with matrices; the spread has a flat prior."""
    for about in (True, False):
        x, blur = np.array([1.0, 0.2, 0.1, -0.4]), np.array([0.1, 0.2, 0.05, 0.4])
        draws = _drawn(x, blur, 1.0, about, np.random.default_rng(0), 200_000)
        stats, logs, means, squares = np.diag(blur), [], [], []
        taus = np.linspace(0.005, 40.0, 16_000)
        for tau in taus:
            prior = tau**2 * np.eye(4) + (1e6 if about else 0.0)
            both = prior + stats
            gain = prior @ np.linalg.inv(both)
            mean, cov = gain @ x, prior - gain @ prior
            logs.append(-0.5 * (np.linalg.slogdet(both)[1] + x @ np.linalg.solve(both, x)))
            means.append(mean)
            squares.append(cov + np.outer(mean, mean))
        odds = special.softmax(logs)
        mean, square = np.tensordot(odds, means, 1), np.tensordot(odds, squares, 1)
        assert draws.mean(axis=0) == pytest.approx(mean, abs=0.02)
        assert np.cov(draws.T) == pytest.approx(square - np.outer(mean, mean), abs=0.02)


def test_the_best_looking_of_arms_that_are_alike_is_hardly_ever_certain():
    """With a flat prior, the chances of ten equal arms with 40 values each are above 60 % in 10 of
    200 studies and more; the spread that is seen says that they are alike.
    """
    problem, rng = cg.Problem(cg.Arms(10), rewards=cg.Gaussian(1.0)), np.random.default_rng(0)
    stated = []
    for _ in range(40):
        stats = seen_of(rng.standard_normal((10, 40)))
        best = vector([int(stats.mean.argmax())], 10)
        stated.append(posterior_probability_best(problem, problem.kernel(), stats, best))
    assert np.mean(stated) < 0.32 and max(stated) < 0.8


# ---- in studies


def played(problem, rounds, means=(0.5, 0.45, 0.2, 0.1, 0.0, 0.0), sigma=0.1, **settings):
    study, rng = cg.Study(problem, **settings), np.random.default_rng(1)
    for _ in range(rounds):
        if study.done:
            break
        todo = study.ask()
        study.tell(todo, measure(todo, rng, means, sigma))
    return study


def test_evidence_is_on_one_scale_everywhere():
    study = played(PROBLEM, 12)
    status, stats = study.status, state_of(study).history.stats
    same = cg.evidence(PROBLEM, stats.mean, stats.counts, delta=0.05)
    assert status.evidence == pytest.approx(same.value)
    assert status.threshold == pytest.approx(same.threshold)
    first = status.rivals[0]
    assert (first.evidence, first.threshold) == (status.evidence, status.threshold)
    assert first.answer == same.rival == status.lead.rival
    last = study.history()[-1]
    assert (last["evidence"], last["threshold"]) == (status.evidence, status.threshold)
    for point in study.history():
        assert 0.0 <= point["evidence"] < math.inf and point["threshold"] > 0.0
    stopping_kernel, best = (
        state_of(study).monitor.told.kernel.stopping,
        state_of(study).monitor.told.state.leader,
    )
    for one in status.rivals:
        problem = state_of(study).monitor.told.kernel
        value = stopping_kernel.evidence_against(problem, stats, best, vector(one.answer, 5))
        level = stopping_kernel.critical_value(int(stats.n_rounds[0]), 0)
        assert one.evidence - one.threshold == pytest.approx(value - level)
    problem, stats = HARD.kernel(), blank(6)
    best, rival = vector([0], 6), vector([1], 6)
    assert to_display_scale(problem, stats, best, rival, -math.inf, 5.0) == (0.0, 5.0)
    assert to_display_scale(problem, stats, best, rival, math.inf, 5.0) == (math.inf, 5.0)
    assert to_display_scale(problem, stats, best, rival, -2.0, 5.0) == (0.0, 7.0)
    assert least_passing(lambda x: x > 1e9, 1.0) is None
    assert 0.0 < least_passing(lambda x: True, 0.0) < 1e-5


def test_the_lead_is_said_when_the_budget_ends():
    study = played(HARD, 20, (1.0, 0.9, 0.0, 0.0, 0.0, 0.0), 1.0, max_rounds=20)
    decision = study.decision
    assert decision.reason == "budget" and "too weak" not in str(decision)
    made = decision.lead
    leader, rival = decision.answer[0], made.rival[0]
    means = {one.arm: one.mean for one in decision.estimates}
    assert made.value == pytest.approx(means[leader] - means[rival])
    assert (
        made.low < made.value < made.high and made.proved and 0.0 < made.posterior_probability < 1.0
    )
    text = str(decision.headline)
    assert f"{rival} would be worse by {made.value:.3g}" in text
    assert f"no answer is better than it by more than {made.within:g}" in text
    assert "(a heuristic" in text
    data = json.loads(json.dumps(decision.to_dict()))
    assert data["lead"]["low"] == made.low and len(data["estimates"]) == 6
    assert data["lead"]["exchange"] == str(rival)


def test_an_end_without_a_certificate_says_each_number_once_and_of_what_it_is(tmp_path):
    """The lead with its interval, then the heuristic chance, then the p-value, which is no
    confidence: it was said that "that it is best is proved so far with confidence 62%".
    """
    study = played(HARD, 100, (2.0, 0.9, 0.0, 0.0, 0.0, 0.0), 1.0, max_rounds=40, delta=1e-4)
    decision, status = study.decision, study.status
    assert (
        decision.reason == "budget" and decision.confidence is None and 1e-4 < decision.p_value < 1
    )
    lead, chance, proof = decision.headline.render().split(". ")[:3]
    assert "proved with confidence 99.99% at any time" in lead and "chance" not in lead
    assert chance.startswith("The chance that it is best is") and "(a heuristic" in chance
    reached = f"another answer is better has the p-value {decision.p_value:.3g}"
    assert proof.startswith(
        f"The hypothesis that {reached}; a certificate needs 0.0001 (evidence against"
    )
    assert "proved" not in chance and reached in str(status) and "onfidence" not in proof
    assert status.proof_so_far.code == "proved-so-far"
    study.report(tmp_path / "report.html")
    assert f"The hypothesis that {reached}; a certificate" in (tmp_path / "report.html").read_text()
    assert status.to_dict()["proof_so_far"]["arguments"]["delta"] == 1e-4
    assert status_from(json.loads(json.dumps(status_data(status)))) == status
    assert study.extend(max_rounds=41, reason="more") is None and study.status.proof_so_far is None


def test_nothing_is_proved_before_the_first_value_and_by_few():
    study = cg.Study(HARD, max_rounds=1)
    study.fail(study.ask(), "spilt", retry=False)
    assert study.status.leader == () and study.status.leader_name == "nobody yet"
    study.stop("enough")
    text = str(study.decision.headline)
    assert study.decision.answer == () and study.decision.names == ()
    assert "nobody leads. Nothing is proved" in text
    study = played(HARD, 12, (1.0, 0.9, 0.0, 0.0, 0.0, 0.0), 1.0, max_rounds=12)
    assert "another answer is better has the p-value 1; a certificate needs" in str(study.decision)
    # neither has one answer, or one value, a lead
    study = cg.Study(PROBLEM)
    assert study.status.lead is None and study.status.estimates[0].mean is None
    todo = study.ask()
    study.tell(todo, {todo.arms[0]: 0.1})
    assert study.status.lead is None
    json.dumps(study.status.to_dict(), allow_nan=False)


def test_a_certified_lead_says_why_it_has_no_lower_end_and_a_clear_one_keeps_its_interval():
    """The interval is the one theorem, the certificate another: 0 is no end of the interval."""
    study = played(PROBLEM, 800, (0.5, 0.45, 0.2, 0.1, 0.0))
    lead, text = study.decision.lead, str(study.decision.headline)
    assert lead.truncated_at_zero and lead.low == 0.0
    assert f"worse by {lead.value:.3g}, and by {lead.high:.3g} at most, proved with" in text
    rival = lead.rival_name
    assert f"(how little it may be is not proved, only that {rival} is not better)" in text
    assert "0 to" not in text
    study = played(PROBLEM, 800, (0.5, 0.49, 0.2, 0.1, 0.0), epsilon=0.05)
    assert study.decision.lead.truncated_at_zero and study.decision.lead.low == -0.05
    assert "is not better by more than 0.05)" in str(study.decision.headline)
    study = cg.Study(PROBLEM)
    study.observe({0: (0.9, 1000), 1: (0.3, 1000), 2: (0.2, 1000), 3: (0.1, 1000), 4: (0.0, 1000)})
    lead = study.decision.lead
    assert lead.low > 0.5 and not lead.truncated_at_zero
    assert f"({lead.low:.3g} to {lead.high:.3g}, proved" in str(study.decision.headline)
    study = played(PROBLEM, 400, (0.5, 0.3, 0.2, 0.1, 0.0))
    decision = study.decision
    assert decision.certified and 0.0 <= decision.lead.low <= decision.lead.value
    assert decision.lead.within == 0.0 and "would be worse by" in str(decision.headline)
    assert study.status.lead == decision.lead and study.status.estimates == decision.estimates


def test_a_status_says_why_what_is_needed_has_grown():
    """What is for the confidence stays; the fee is what plates add."""
    for batch_effect in (False, True):
        problem = cg.Problem(
            cg.Subsets(6, 3), cg.Arms(6), cg.Gaussian(0.1, batch_effect=batch_effect)
        )
        study, rng, said = cg.Study(problem, max_rounds=24), np.random.default_rng(1), []
        assert study.status.threshold_note is None
        while not study.done:
            todo = study.ask()
            study.tell(todo, measure(todo, rng, (0.5, 0.47, 0.2, 0.1, 0.0, 0.0), 0.1))
            if (needs := study.status.threshold_note) is not None:
                parts = [float(needs.arguments[key]) for key in ("level", "fee")]
                assert sum(parts) == pytest.approx(study.status.threshold, abs=0.011)
                assert f"needed       {parts[0]:.2f} for the confidence" in str(study.status)
                said.append(parts)
        assert study.decision.reason == "budget" and study.status.threshold_note is None
        assert len({level for level, _ in said}) == 1 and said[-1][1] > said[0][1] > 0.0


def test_sets_say_which_exchange_is_closest_and_coins_have_a_lead_too():
    names = ["A06", "F03", "B01", "C02", "D04"]
    problem = cg.Problem(cg.Subsets(5, 3), cg.Subsets(5, 2), cg.Gaussian(0.1), names=names)
    study = played(problem, 6, (0.5, 0.4, 0.38, 0.0, 0.0), delta=1e-6)
    made = study.status.lead
    assert len(made.enters) == len(made.leaves) == 1
    assert (
        made.exchange.render_inline(cg._messages.PYTHON)
        == f"{made.enters[0]} instead of " + (made.leaves[0])
    )
    study = cg.Study(COINS, max_rounds=2)
    study.observe({0: (0.8, 1000), 1: (0.75, 1000), 2: (0.5, 1000)})
    made = study.status.lead
    assert made.value == pytest.approx(0.05) and made.low < 0.0 < made.high < 0.2
    assert made.posterior_probability > 0.98 and 0.0 < made.within < 0.2


def test_how_much_the_leader_can_lack_is_the_least_epsilon_that_would_do_and_is_offered():
    study = played(HARD, 30, (1.0, 0.9, 0.0, 0.0, 0.0, 0.0), 1.0)
    state = state_of(study)
    within = study.status.lead.within
    for epsilon, enough in ((within, True), (0.98 * within, False)):
        other = cg.Study(HARD, epsilon=epsilon)
        stats = state.history.stats
        other.observe({a: (stats.mean[a], int(stats.counts[a])) for a in range(6)})
        assert other.done == enough
    heuristic = played(HARD, 30, (1.0, 0.9, 0.0, 0.0, 0.0, 0.0), 1.0, threshold="stylised")
    assert heuristic.status.lead.within is None
    study = played(HARD, 60, (1.0, 0.95, 0.0, 0.0, 0.0, 0.0), 1.0)
    said = study.status.early_stop
    assert said.code == "good-enough" and said.arguments["within"] == study.status.lead.within
    assert "good enough" in str(study.status)


def test_rivals_stand_in_the_order_of_what_is_missing():
    """The nearest first, which is the one of the lead; equal ones by name, not by number."""
    names = ["a", "z", "y", "x", "b", "c"]
    problem = cg.Problem(cg.Subsets(names, 3), cg.Arms(names), cg.Gaussian(1.0))
    study = cg.Study(problem, engine="python", seed=3)
    study.observe({"a": [5.0, 5.0], "b": [1.0, 1.0], "c": [4.0, 4.0]})
    study.observe({name: [2.0, 2.0] for name in "xyz"})
    status = study.status
    assert [one.name for one in status.rivals] == ["c", "x", "y", "z", "b"]
    assert status.rivals[0].name == status.lead.rival_name
    missing = [one.threshold - one.evidence for one in status.rivals]
    assert missing == sorted(missing, reverse=True)


def test_evidence_that_is_enough_says_so_and_what_the_study_waits_for():
    """No "245.94 of 241.83": what is enough is more than what is needed, also in a study that still
    runs because not every arm has the values that it must have.
    """
    study = cg.Study(
        cg.Problem(cg.Arms(2), None, cg.Gaussian(1.0)), engine="python", min_replicates=2
    )
    while study.status.values != 3:
        study.tell(todo := study.ask(), {arm: 90.0 * (arm == 0) for arm in todo.arms})
    status = study.status
    assert status.state == "running" and status.evidence > status.threshold
    line = next(line for line in str(status).splitlines() if "leading" in line)
    assert "more than the" in line and "every arm must have 2 values first" in line
    study.tell(todo := study.ask(), {arm: 90.0 * (arm == 0) for arm in todo.arms})
    assert study.decision.certified and "needed" in str(study.decision)
    assert "must have" not in str(study.status) + str(study.decision)
    assert "more than the" in str(study.status) and "more than the" in str(study.decision)


def test_few_values_do_not_make_evidence_look_large():
    """With sigma not known a ratio at its estimate may be hundreds by chance; what is shown is the
    likelihood ratio.
    """
    for rewards in (cg.Gaussian(), UNKNOWN, cg.Gaussian(batch_effect=True)):
        study = cg.Study(cg.Problem(cg.Subsets(4, 2), cg.Arms(4), rewards), engine="python")
        values, rng = np.array([3.0, 0.0, 1.0, 2.0]), np.random.default_rng(1)
        for _ in range(6):
            todo = study.ask()
            study.tell(todo, {a: values[a] + 1e-3 * rng.standard_normal() for a in todo.arms})
            for one in study.status.rivals:
                assert one.evidence < 100.0
