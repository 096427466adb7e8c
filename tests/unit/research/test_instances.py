"""The instances of the literature: their data, their sources, and the table of their times."""

import json
from importlib.resources import files

import numpy as np
import pytest

import combgame as cg
from combgame.research import instances
from combgame.research.instances.base import TOLERANCE, computed, table
from combgame.research.instances.generated import PROPORTIONS
from tests.said import refused

QUICK = ["subsets k = 3, d = 10", "grid n_s = 6", "E20", "Audibert 4: six arms in three groups"]
QUICK += ["matchings 3 x 3, seed 1", "paths 4 x 2, seed 2", "trees nodes = 6, seed 1"]


def test_every_instance_has_a_source_a_date_and_figures_in_the_table():
    every = instances.suite("all")
    assert len({one.name for one in every}) == len(every) == len(table())
    for one in every:
        kept = table()[one.name]
        assert kept["of"] == one.key, (
            f"{one.name}: run python -m combgame.research.instances.suites"
        )
        assert one.time == kept["time"] > 0.0 and 0.0 <= one.gap <= TOLERANCE
        assert one.source and one.date and one.suite in instances.SUITES
    for name in instances.SUITES:
        assert instances.suite(name) == [one for one in every if one.suite == name] != []


def test_the_table_is_what_its_command_computes():
    for name in QUICK:
        one = instances.find(name)
        found = computed(one)
        assert found.time == pytest.approx(one.time, rel=2 * TOLERANCE), name
        assert found.gap <= TOLERANCE, name


def test_an_instance_that_only_has_the_name_of_another_has_figures_of_its_own():
    easy = instances.PublishedInstance(
        "E20", cg.Problem(cg.Arms(2), None, cg.Gaussian(1.0)), (1.0, 0)
    )
    assert easy.time == pytest.approx(8.0, rel=1e-3)


@pytest.mark.parametrize(("name", "nodes", "published"), [("E20", 8, 1176), ("E25", 10, 1501)])
def test_spanning_trees_are_counted_by_kirchhoff_and_published_figures_kept(name, nodes, published):
    kept = json.loads(files("combgame.research.instances").joinpath("pfws.json").read_text())[name]
    laplacian = np.zeros((nodes, nodes))
    for i, j in np.array(kept["edges"]) - 1:
        laplacian[[i, j], [i, j]] += 1.0
        laplacian[[i, j], [j, i]] -= 1.0
    count = round(np.linalg.det(laplacian[1:, 1:]))
    assert count == kept["spanning_trees"] == instances.find(name).problem.answers.n_sets()
    assert count == {"E20": 20736, "E25": 332787}[name]
    assert dict(instances.find(name).published)["P-FWS"] == published


def test_garivier_and_kaufmann_print_these_proportions():
    for number, (_, printed) in PROPORTIONS.items():
        one = instances.find(f"Garivier {number}")
        found = cg.complexity(one.problem, one.means, tolerance=1e-7)
        assert found.allocation == pytest.approx(printed, abs=6e-4), number


def test_one_good_arm_has_the_time_of_its_formula():
    for d in (10, 50):
        one = instances.one_good_arm(d)
        assert one.time == pytest.approx(2.0 * (1.0 + (d - 1) ** 0.5) ** 2 / 0.25, rel=2e-4)


def test_a_seed_makes_the_same_instance_again_and_another_seed_another():
    makers = [
        lambda seed: instances.random_arms(5, seed),
        lambda seed: instances.random_subsets(6, 2, seed),
        lambda seed: instances.random_trees(5, seed),
        lambda seed: instances.random_paths(3, 2, seed),
        lambda seed: instances.random_matchings(3, seed),
    ]
    for make in makers:
        assert make(3) == make(3) and make(3).means != make(4).means
        one = make(3)
        best = set(one.problem.answers.argmax(one.means))
        others = [s for s in one.problem.answers.to_list() if set(s) != best]
        top = sum(one.means[a] for a in best)
        assert top - max(sum(one.means[a] for a in s) for s in others) >= 0.1 - 1e-3


def test_unknown_names_are_said():
    with refused("unknown", cg.UnknownNameError, kind="suite", name="forest"):
        instances.suite("forest")
    with refused("unknown", cg.UnknownNameError, kind="instance", name="E21"):
        instances.find("E21")
    with refused("must-be", cg.InputError):
        instances.random_subsets(3, 3, 1)
