"""Where descriptions are used as values: workers, references, the keys of runs, stored studies."""

import math
import pickle
from dataclasses import dataclass, field

from typer.testing import CliRunner

import combgame as cg
from combgame.cli.app import app
from combgame.io import to_data
from combgame.lab.settings import check_same, check_setting, setting_from
from combgame.research.campaign import execution as execute
from tests.said import refused
from tests.unit.io.test_values import EDGES, Greedy, top_two

INF = math.inf
FIVE = cg.Problem(cg.Subsets(5, 3), cg.Arms(5), cg.Gaussian(0.1))
MEANS = (0.5, 0.4, 0.3, 0.2, 0.1)


@dataclass(frozen=True)
class Lists(cg.Uniform):
    """Its options have no hash."""

    symmetric = True
    shares: list[float] | None = None
    words: list[str] = field(default_factory=lambda: ["a", "b"])


def test_a_worker_prepares_a_configuration_once_whatever_its_options():
    """Chunks come to it as copies."""
    five, how = cg.Instance("five", FIVE, MEANS), {"threshold": "stylised", "runs": 8}
    for rule in ("uniform", Lists(shares=[0.5])):
        c = cg.Campaign.cross("c", [five], [rule], **how).configurations[0]
        execute._runner.cache_clear()
        rows = [
            row.stops
            for first in range(4)
            for row in execute.run_chunk(
                pickle.loads(pickle.dumps(c)), first, 1, "python", execute.here()
            ).rows
        ]
        assert (execute._runner.cache_info().hits, execute._runner.cache_info().misses) == (3, 1)
        assert [stops[0] for stops in rows] == cg.simulate(
            FIVE, MEANS, rule="uniform", threshold="stylised", runs=4, engine="python"
        ).rounds.tolist()


def test_references_of_equal_problems_are_computed_once(monkeypatch, tmp_path):
    again = cg.Problem(cg.Subsets(5, 3), cg.Arms(5), cg.Gaussian(0.1))
    problems = [
        cg.Instance(name, problem, MEANS) for name, problem in (("one", FIVE), ("two", again))
    ]
    asked, least_time = [], execute.least_time
    monkeypatch.setattr(execute, "least_time", lambda *given: asked.append(1) or least_time(*given))
    campaign = cg.Campaign.cross("c", problems[:1], ["uniform"], runs=1, threshold="stylised")
    campaign += cg.Campaign.cross("c", problems[1:], ["lloo"], runs=1, threshold="stylised")
    campaign.run(tmp_path / "c.db", engine="python", progress=False)
    assert len(asked) == 1


def test_rules_and_nodes_that_no_file_can_hold_have_the_runs_of_those_that_are_equal():
    def key(problem, rule="uniform"):
        instance = cg.Instance("x", problem, MEANS)
        campaign = cg.Campaign.cross("c", [instance], [rule], threshold="stylised")
        return campaign.configurations[0].key

    usual = key(FIVE, cg.CombGame(cg.LLOO(initial_horizon=200)))
    assert key(FIVE, "lloo") == usual != key(FIVE, cg.CombGame(cg.LLOO(initial_horizon=201)))
    noise, names = cg.Gaussian(1), list("vwxyz")
    edges = [(7, "x"), (7, 3), ("x", 4), (3, 4), (7, 4)]
    numbered = cg.Problem(cg.Paths(edges, 7, 4), cg.Arms(5), noise, names=names)
    edges = [(frozenset(u), frozenset(v)) for u, v in EDGES]
    paths = cg.Paths(edges, frozenset("s"), frozenset("t"))
    strange = cg.Problem(paths, cg.Arms(5), noise)
    assert key(strange) == key(numbered) != key(FIVE)  # names do not matter to runs
    with refused("not-describable", cg.InputError, kind="frozenset"):
        to_data(strange)


RULE = cg.CombGame(cg.LLOO(), tracking="D", bonus=cg.theory_bonus(c=0.5))


def test_a_study_with_a_rule_of_any_options_opens_again_from_the_command_line_too(tmp_path):
    url = f"sqlite:///{tmp_path / 'lab.db'}"
    problem = cg.Problem(
        cg.grid_network(4), cg.Arms(12), cg.Gaussian([0.1 + k for k in range(12)]), bounds=(0, INF)
    )
    with cg.Study(problem, rule=RULE, storage=url, name="plate", engine="python") as study:
        first = study.ask()
    with cg.Study.open(url, "plate", engine="python") as again:
        assert again.problem == problem
        assert again._setting.rule == RULE
        assert again.pending[0].arms == first.arms
    with cg.Study(
        problem, rule=RULE, storage=url, name="plate", engine="python", if_exists="resume"
    ) as again:
        assert [one.arms for one in again.pending] == [first.arms]
    with refused("other-settings", cg.StudyError, name="plate", key="rule"):
        cg.Study(
            problem, rule=cg.CombGame(tracking="D"), storage=url, name="plate", if_exists="resume"
        )
    result = CliRunner().invoke(
        app, ["study", "ask", "--storage", url, "--name", "plate", "--json"]
    )
    assert result.exit_code == 0, result.output


OLD = {  # as this package wrote it before descriptions were values
    "problem": {
        "actions": {"kind": "subsets", "arms": 5, "size": 3},
        "answers": {"kind": "arms", "arms": 5},
        "rewards": {"kind": "gaussian", "sigma": 0.1},
    },
    "rule": {"kind": "CombGame", "learner": {"kind": "LLOO"}, "tracking": "D"},
    "delta": 0.05,
    "threshold": "mixture",
    "seed": 0,
    "epsilon": 0.0,
    "min_replicates": 0,
    "max_rounds": None,
    "deadline": None,
    "replicates": 1,
}


def test_a_study_that_was_stored_before_opens_too():
    setting = setting_from(OLD, "x")
    assert setting.problem == FIVE and setting.rule == cg.CombGame(tracking="D")
    check_same(OLD, setting.described(), "x")
    assert setting == check_setting(
        FIVE, cg.CombGame(tracking="D"), 0.05, "mixture", 0, 0.0, 0, 1, None, None
    )


def test_a_study_with_what_no_file_can_hold_says_so():
    best = cg.Problem(cg.Oracle(top_two, 4), cg.Arms(4), cg.Gaussian(1))
    told = check_setting(best, Greedy(), 0.05, "mixture", 0, 0.0, 0, 1, None, None).described()
    assert told["problem"] == {"own": "Problem(Oracle(top_two, 4), Arms(4), Gaussian(sigma=1.0))"}
    with refused("not-in-file", cg.StudyError, name="x", part="problem"):
        setting_from(told, "x")
    assert setting_from(told, "x", problem=best).rule == Greedy()
    with refused("not-in-file", cg.StudyError, name="x", part="rule"):
        setting_from(OLD | {"rule": {"own": "Plain(3)"}}, "x")
