"""The numbers of the arms decide nothing: every run draws its own.

`relisted` makes the instances that a user would have made who had listed the same arms in another
order, with the public constructors. A run on that one with its own order o is, bit for bit, the run
on the first one with the order r[o], r being the relisting: since o is uniform, so is r[o], and
stopping rounds and answers have the same distribution however the arms are listed. That holds for
every rule and structure below, without a test that could fail by chance.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ks_2samp

import combgame as cg
from combgame.errors import InputError
from combgame.rules.presets import PRESETS
from combgame.simulation import runner as numbering
from combgame.simulation.runner import Runner, RunSpec
from tests.said import refused

EDGES = [("s", "a"), ("s", "b"), ("a", "b"), ("a", "t"), ("b", "t"), ("s", "t"), ("a", "t")]
LINKS = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (2, 4), (3, 4)]
SETS = [(0, 1), (2, 3, 4), (1, 2, 5), (0, 6), (3, 5, 6), (4, 6)]
GROUPS, SIZES = [[0, 1, 2], [3, 4, 5, 6]], [1, 2]
BUDGET = np.array([[3.0, 2.0, 2.0, 1.0, 1.5, 2.5, 1.0]])


def best_two(score):
    return np.argsort(-score, kind="stable")[:2]


def relisted(name, r):
    """The structure whose arm i is the arm r[i] of relisted(name, 0 .. d - 1)."""
    called = np.argsort(r)
    match name:
        case "arms":
            return cg.Arms(7)
        case "subsets":
            return cg.Subsets(7, 3)
        case "partition":
            return cg.Partition([called[g].tolist() for g in GROUPS], SIZES)
        case "paths":
            return cg.Paths([EDGES[a] for a in r], "s", "t")
        case "trees":
            return cg.SpanningTrees([LINKS[a] for a in r])
        case "almost all":
            return cg.AlmostAllSets(7, called[[2, 5]].tolist())
        case "listed":
            return cg.Listed([called[list(chosen)].tolist() for chosen in SETS], 7)
        case "programme":
            return cg.IntegerProgram((BUDGET[:, r], 0.0, 5.0), d=7)
        case "oracle":
            return cg.Oracle(lambda score: called[best_two(score[called])], d=7)
    raise AssertionError(name)


STRUCTURES = (
    "arms",
    "subsets",
    "partition",
    "paths",
    "trees",
    "almost all",
    "listed",
    "programme",
    "oracle",
)
CLOSED = STRUCTURES[:7]  # those whose sets can be listed
PLAYED = {  # with less to draw, or to work out
    "thompson": cg.Thompson(n_samples=2),
    "ttts": cg.TopTwo(leader="sample", challenger="sample", beta=0.5, max_resamples=10),
    "track-and-stop": cg.TrackAndStop(recompute_factor=1.5),
}
MEANS = np.array([0.52, 0.31, 0.77, 0.12, 0.64, 0.41, 0.05])
SAME = np.arange(7)
RULES = {  # every rule somewhere, and "uniform" everywhere: it samples
    "arms": ("ttts", "hedge"),
    "subsets": ("ofw", "fws", "csar"),
    "partition": ("clucb", "product-adahedge"),
    "paths": ("lloo", "top-two"),
    "trees": ("frank-wolfe", "p-fws"),
    "almost all": ("adahedge", "sftpl"),
    "listed": ("track-and-stop", "gcb-pe"),
    "programme": (),
    "oracle": ("ttucb", "thompson"),
}


def teams(rows, columns):
    """Matchings can be listed in another order of rows and columns only; r is then that of the
    pairs.
    """
    r = np.array([3 * i + j for i in rows for j in columns])
    return cg.Matchings([f"r{i}" for i in rows], [f"c{j}" for j in columns]), r


@pytest.fixture
def own(monkeypatch):
    """Decides what a run draws."""

    def decide(order):
        monkeypatch.setattr(numbering, "drawn", lambda d, seed, run, what: np.asarray(order))

    return decide


def outcomes(own, order, problem, means, rule, threshold):
    own(order)
    runner = Runner(RunSpec(problem, means, rule, 0.2, threshold, 3, 40, "python"))
    return [runner.run(k) for k in range(2)]


def assert_same_runs(own, first, second, r, means, rule, threshold="stylised"):
    """`second` is `first` with the arms listed as r."""
    rng = np.random.default_rng(11)
    o = rng.permutation(len(r))
    one = outcomes(own, r[o], first, means, rule, threshold)
    two = outcomes(own, o, second, means[r], rule, threshold)
    for a, b in zip(one, two, strict=True):
        assert a.stopping_times.tolist() == b.stopping_times.tolist()
        assert a.recommended[:, r].tolist() == b.recommended.tolist()
        assert a.rounds == b.rounds


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_run_does_not_depend_on_the_order_in_which_arms_are_listed(own, structure):
    r = np.random.default_rng(5).permutation(7)
    first, second = (
        cg.Problem(relisted(structure, order), cg.Arms(7), cg.Gaussian(0.3)) for order in (SAME, r)
    )
    for rule in (*RULES[structure], "uniform"):
        threshold = "proved" if rule == "gcb-pe" else "stylised"
        assert_same_runs(own, first, second, r, MEANS, PLAYED.get(rule, rule), threshold)


def test_every_rule_is_asked_whether_it_goes_by_numbers():
    assert {rule for rules in RULES.values() for rule in rules} | {"uniform"} == {*PRESETS}


OTHERS = {
    "sigmas": ("paths", "subsets", "listed"),
    "bernoulli": ("arms", "trees", "paths", "listed", "partition"),
    "bounds": ("listed", "partition"),
}


@pytest.mark.parametrize("rewards", OTHERS)
def test_nor_for_best_actions_and_other_rewards(own, rewards):
    r, sigma = np.random.default_rng(6).permutation(7), np.linspace(0.1, 0.7, 7)
    for structure in OTHERS[rewards]:
        pairs = []
        for order in (SAME, r):
            made = relisted(structure, order)
            if rewards == "sigmas":
                pairs.append(cg.Problem(made, None, cg.Gaussian(tuple(sigma[order]))))
            elif rewards == "bernoulli":  # ties in every round
                pairs.append(cg.Problem(made, None, cg.Bernoulli()))
            else:
                box = [(0.0, 1.0 + s) for s in sigma[order]]
                pairs.append(cg.Problem(made, None, cg.Gaussian(0.4), bounds=box))
        rule = "lloo" if structure == "arms" else "frank-wolfe"
        assert_same_runs(own, *pairs, r, MEANS, rule, "mixture")


def test_nor_on_the_order_of_rows_and_columns(own):
    plain, same = teams((0, 1, 2), (0, 1, 2))
    other, r = teams((2, 0, 1), (1, 0, 2))
    means = np.random.default_rng(2).uniform(0.0, 1.0, same.size)
    for answers, rule in ((None, "uniform"), (cg.Arms(9), "frank-wolfe"), (None, "hedge")):
        pairs = [cg.Problem(made, answers, cg.Gaussian(0.3)) for made in (plain, other)]
        assert_same_runs(own, *pairs, r, means, rule)


def test_nor_with_elimination_or_shares_of_given_actions(own):
    r = np.random.default_rng(8).permutation(7)
    called = np.argsort(r)
    first, second = (
        cg.Problem(relisted("listed", order), None, cg.Gaussian(0.3)) for order in (SAME, r)
    )
    support = [((0, 1), 0.5), ((2, 3, 4), 0.2), ((1, 2, 5), 0.2), ((3, 5, 6), 0.1)]
    moved = [(tuple(sorted(called[list(chosen)].tolist())), share) for chosen, share in support]
    o = np.random.default_rng(9).permutation(7)
    settings = {
        "delta": 0.2,
        "threshold": "stylised",
        "runs": 2,
        "max_rounds": 80,
        "engine": "python",
        "elimination": "always",
    }
    own(r[o])
    a = cg.simulate(first, MEANS, rule=cg.FixedAllocation(support), **settings)
    own(o)
    b = cg.simulate(second, MEANS[r], rule=cg.FixedAllocation(moved), **settings)
    assert a.stopping_times.tolist() == b.stopping_times.tolist()
    assert a.recommended[..., r].tolist() == b.recommended.tolist()


def test_nor_does_a_study(own):
    r = np.random.default_rng(4).permutation(7)
    o, asked = np.random.default_rng(1).permutation(7), []
    noise = np.random.default_rng(0).standard_normal((40, 7))
    for order, listing, means in ((r[o], SAME, MEANS), (o, r, MEANS[r])):
        own(order)
        study = cg.Study(
            cg.Problem(relisted("paths", listing), cg.Arms(7), cg.Gaussian(0.3)),
            delta=0.2,
            seed=1,
            min_replicates=2,
        )
        mine = []
        for k in range(40):
            if study.done:
                break
            todo = study.ask()
            mine.append(sorted(int(listing[a]) for a in todo.arms))
            study.tell(todo, {a: means[a] + 0.3 * noise[k, listing[a]] for a in todo.arms})
        asked.append((mine, study.done))
    assert asked[0] == asked[1]
    assert len(asked[0][0]) > 10


def test_nor_do_its_batches_with_values_still_out(own):
    """With min_pulls and an arm that is in every set, so that it does not decide."""
    sets = [(0, 1, 6), (2, 3, 6), (4, 5, 6), (1, 2, 6), (3, 5, 6), (0, 4, 6)]
    for seed in range(2):
        rng, logs = np.random.default_rng(seed), []
        r, o, means, noise = (
            rng.permutation(7),
            rng.permutation(7),
            rng.random(7),
            rng.standard_normal((60, 7)),
        )
        for order, listing in ((r[o], SAME), (o, r)):
            own(order)
            listed = cg.Listed([np.argsort(listing)[list(chosen)].tolist() for chosen in sets], 7)
            study = cg.Study(
                cg.Problem(listed, None, cg.Gaussian(0.3)),
                delta=0.01,
                seed=1,
                min_replicates=3,
                engine="python",
            )
            log, k = [], 0
            for _ in range(6):
                todo = study.ask(5)
                log.append([sorted(int(listing[a]) for a in one.arms) for one in todo])
                told = {}
                for one in todo[:4]:
                    told[one] = {
                        a: float(means[listing[a]] + 0.3 * noise[k, listing[a]]) for a in one.arms
                    }
                    k += 1
                study.tell_many(told)
            logs.append(log)
        assert logs[0] == logs[1]


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_structure_under_other_numbers_has_the_same_sets_and_figures(structure):
    plain = relisted(structure, SAME)
    for seed in range(1 if structure == "programme" else 2):  # its solver is slow
        order = np.random.default_rng(seed).permutation(7)
        called = np.argsort(order)
        other = plain.permuted(order)
        assert other.d == plain.d
        if structure != "oracle":
            sets = {tuple(sorted(called[list(chosen)].tolist())) for chosen in plain.to_list()}
            assert set(other.to_list()) == sets
            assert all(other.contains(chosen) for chosen in sets)
        for what in ("observable_arms", "relevant_arms"):
            assert getattr(other, what)() == set(called[sorted(getattr(plain, what)())].tolist())
        for what in (
            "n_sets",
            "max_size",
            "max_difference",
            "geometry",
            "neighbourhood",
            "n_sets_bound",
            "max_difference_bound",
        ):
            assert getattr(other, what)() == getattr(plain, what)()
        assert {a for chosen in other.covering() for a in chosen} == other.observable_arms()
        again = np.random.default_rng(seed + 50).permutation(7)
        twice, once = other.permuted(again), plain.permuted(order[again])
        assert twice.covering() == once.covering()


@given(
    structure=st.sampled_from(CLOSED),
    best=st.booleans(),
    r=st.permutations(range(7)),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=20)
def test_evidence_and_complexity_are_equivariant_to_the_last_bit(structure, best, r, seed):
    rng, r = np.random.default_rng(seed), np.array(r)
    called, means, counts = np.argsort(r), rng.uniform(0.0, 1.0, 7), rng.integers(1, 200, 7)
    answers = None if best else cg.Arms(7)
    first, second = (
        cg.Problem(relisted(structure, order), answers, cg.Gaussian(0.3)) for order in (SAME, r)
    )
    for delta, threshold in ((None, "proved"), (0.1, "mixture")):
        a = cg.evidence(first, means, counts, delta=delta, threshold=threshold)
        b = cg.evidence(second, means[r], counts[r], delta=delta, threshold=threshold)
        assert (a.value, a.threshold) == (b.value, b.threshold)
        assert tuple(sorted(called[list(a.answer)].tolist())) == b.answer
        assert tuple(sorted(called[list(a.rival)].tolist())) == b.rival
    c, e = cg.complexity(first, means), cg.complexity(second, means[r])
    assert (c.characteristic_time, c.duality_gap) == (e.characteristic_time, e.duality_gap)
    assert c.allocation[r].tolist() == e.allocation.tolist()
    moved = sorted((tuple(sorted(called[list(s)].tolist())), w) for s, w in c.support)
    assert moved == sorted(e.support)


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["lloo", "ofw"])
def test_rounds_have_one_distribution_as_printed_and_reversed(rule):
    """The paper's k = 3 with less noise. With arms 0 and 1 filling the last block, the means
    differed by a factor of 1.7 (p < 1e-9).

    Two-sample Kolmogorov-Smirnov at 1e-4, seeds fixed.
    """
    means = np.array([0.3, 0.29, 0.28, 0.232, 0.224, 0.207, 0.2, 0.192, 0.182, 0.176])
    problem = cg.Problem(cg.Subsets(10, 3), cg.Arms(10), cg.Gaussian(0.02))
    listed, reverse = (
        cg.simulate(
            problem, mu, rule=rule, delta=0.1, threshold="stylised", runs=150, seed=seed
        ).rounds
        for mu, seed in ((means, 1), (means[::-1], 2))
    )
    assert ks_2samp(listed, reverse).pvalue > 1e-4


def test_relabelling_is_recorded_in_the_rows():
    problem = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1), names=["a", "b", "c", "d"])
    settings = {"rule": "ofw", "runs": 3, "engine": "python", "delta": [0.1, 0.01]}
    sim = cg.simulate(problem, [0.5, 0.3, 0.2, 0.1], shuffle_arms=True, **settings)
    assert [sorted(row) for row in sim.labels.tolist()] == [[0, 1, 2, 3]] * 3
    assert len({tuple(row) for row in sim.labels.tolist()}) > 1
    assert [row["labels"] for row in sim.rows()] == [
        " ".join(map(str, sim.labels[i])) for i in (0, 0, 1, 1, 2, 2)
    ]
    assert sim.at(0.1).answers == sim.at(0.01).answers == [(0,)] * 3
    assert "labels" not in cg.simulate(problem, [0.5, 0.3, 0.2, 0.1], **settings).rows()[0]
    both = cg.compare(
        problem,
        [0.5, 0.3, 0.2, 0.1],
        delta=0.1,
        threshold="proved",
        rules=["ofw", "uniform"],
        shuffle_arms=True,
        runs=2,
        engine="python",
    )
    assert both["ofw"].labels.tolist() == both["uniform"].labels.tolist() == sim.labels[:2].tolist()


def test_a_campaign_relabels_and_exports_the_labels(tmp_path):
    problem = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1))
    instance = cg.Instance("four", problem, (0.5, 0.3, 0.2, 0.1))
    plain, other = (
        cg.Campaign.cross(
            "c", [instance], ["ofw"], runs=2, threshold="stylised", shuffle_arms=word, delta=0.1
        )
        for word in (False, True)
    )
    assert plain.configurations[0].key != other.configurations[0].key
    other.run(tmp_path / "c.db", engine="python", progress=False)
    from combgame.research.campaign.report import rows
    from combgame.research.campaign.store import open_store

    store, _ = open_store(tmp_path / "c.db")
    with store:
        found = rows(store)
    sim = cg.simulate(
        problem,
        instance.means,
        rule="ofw",
        threshold="stylised",
        runs=2,
        shuffle_arms=True,
        engine="python",
        delta=0.1,
    )
    assert [row["labels"] for row in found] == [" ".join(map(str, labels)) for labels in sim.labels]
    assert [row["rounds"] for row in found] == sim.rounds.tolist()


def test_what_cannot_be_numbered_keeps_its_numbers_and_is_not_relabelled():
    class Own(cg.Subsets):
        def permuted(self, order):
            return None

    problem = cg.Problem(Own(4, 2), cg.Arms(4), cg.Gaussian(0.1))
    runner = Runner(
        RunSpec(problem, [0.5, 0.3, 0.2, 0.1], "ofw", 0.1, "stylised", 0, 100, "python")
    )
    assert runner.numbers(3).order.tolist() == [0, 1, 2, 3]
    with refused("not-numbered", InputError) as caught:
        cg.simulate(
            problem,
            [0.5, 0.3, 0.2, 0.1],
            rule="ofw",
            shuffle_arms=True,
            delta=0.1,
            threshold="proved",
        )
    assert "`permuted`" in caught.value.remedy and "Own" in caught.value.arguments["kernel"]
    with refused("must-be", InputError, name="shuffle_arms", value="yes"):
        cg.simulate(
            cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1)),
            [0.5, 0.3, 0.2, 0.1],
            shuffle_arms="yes",
            rule="lloo",
            delta=0.1,
            threshold="proved",
        )
