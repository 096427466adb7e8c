"""The paper's experiments as campaigns of rules on instances."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from combgame.learners import LLOO, OFW, SFTPL, AdaHedge, Hedge
from combgame.research.campaign import Campaign, Instance
from combgame.research.instances import alt2021 as the
from combgame.rules import GCBPE, CombGame, RuleBase
from combgame.rules.bonuses import StylisedBonus

from . import TITLES

Rules = Sequence[str] | Mapping[str, str | RuleBase]
RUNS, DELTA, CAP = 750, 0.1, 10**7
UNIFORM = 200  # runs of uniform sampling where it explodes
FIVE = ("uniform", "adahedge", "hedge", "ofw", "lloo")
THREE = ("uniform", "adahedge", "lloo")
OURS = ("product-adahedge", "frank-wolfe")  # newer rules, which the paper does not have
# the noise scale in GCB-PE's radius that the paper's four means imply: `gcb_pe.implied_scale`
SCALE = 0.0325
# GCB-PE's mean stopping times in the paper
PUBLISHED = {5: 19914, 10: 85314, 15: 166179, 20: 316552}


@dataclass(frozen=True)
class Experiment:
    """A figure of the paper.

    Part (a) has stopping times from a campaign, part (b) the time per round of the `timed` rules.
    """

    name: str
    title: str
    x_label: str
    design: Callable[["Experiment", int, int], Campaign]  # arguments: experiment, runs, seed
    instances: tuple[Instance, ...]
    timed: tuple[str, ...] = ()

    def campaign(self, runs: int = RUNS, seed: int = 0) -> Campaign:
        """Return the campaign of the experiment."""
        return self.design(self, runs, seed)


def part(
    e: Experiment,
    instances: Sequence[Instance],
    rules: Sequence[str] | Mapping[str, str | RuleBase],
    runs: int,
    seed: int,
    threshold: str = "stylised",
) -> Campaign:
    """Return the campaign of rules on instances, with the settings of every experiment."""
    return Campaign.cross(
        e.name,
        instances,
        rules,
        delta=DELTA,
        threshold=threshold,
        runs=runs,
        seed=seed,
        max_rounds=CAP,
        shuffle_arms=True,
    )


def cross(rules: Rules) -> Callable[[Experiment, int, int], Campaign]:
    """Return the design that runs every rule on every instance."""

    def design(e: Experiment, runs: int, seed: int) -> Campaign:
        return part(e, e.instances, rules, runs, seed)

    return design


def needles(large: int) -> Callable[[Experiment, int, int], Campaign]:
    """Return the design for instances with one informative action in thousands.

    On the `large` largest instances a run of uniform sampling takes half a million rounds or more,
    so uniform sampling has at most UNIFORM runs there, which are made last.
    """

    def design(e: Experiment, runs: int, seed: int) -> Campaign:
        few = e.instances[-large:]
        return (
            part(e, e.instances[:-large], THREE + OURS, runs, seed)
            + part(e, few, THREE[1:] + OURS, runs, seed)
            + part(e, few, THREE[:1], min(runs, UNIFORM), seed)
        )

    return design


def gcb_pe(e: Experiment, runs: int, seed: int) -> Campaign:
    """Return the campaign of GCB-PE.

    It has the implied scale at every d (the paper has no results above 20), and a random covering
    and the proved scale up to d = 20.
    """
    small = [i for i in e.instances if i.problem.d <= 20]
    fit: dict[str, str | RuleBase] = {f"gcb-pe, scale {SCALE}": GCBPE(SCALE)}
    drawn: dict[str, str | RuleBase] = {
        f"gcb-pe, scale {SCALE}, random covering": GCBPE(SCALE, covering="random")
    }
    return (
        part(e, e.instances, fit, runs, seed, "gcb-pe")
        + part(e, small, drawn, runs, seed, "gcb-pe")
        + part(e, small, {"gcb-pe, proved scale": GCBPE()}, runs, seed, "gcb-pe")
    )


LEARNERS = {"adahedge": AdaHedge(), "hedge": Hedge(), "ofw": OFW(), "lloo": LLOO()}


def options(e: Experiment, runs: int, seed: int) -> Campaign:
    """Return the campaign that changes one option at a time.

    The options are tracking, one learner per answer, the order of the players, the bonus and
    sparsification; and the bonus and the threshold of the theory.
    """
    rules: dict[str, str | RuleBase] = {}
    for name, learner in LEARNERS.items():
        rules[name] = CombGame(learner)
        rules[f"{name}, D-tracking"] = CombGame(learner, tracking="D")
        rules[f"{name}, one per answer"] = CombGame(learner, learner_per_answer=True)
    for name in ("adahedge", "lloo"):
        learner = LEARNERS[name]
        rules[f"{name}, nobody first"] = CombGame(learner, first_mover="simultaneous")
        rules[f"{name}, a tenth of the bonus"] = CombGame(learner, bonus=StylisedBonus(0.1))
    rules["sftpl"] = CombGame(SFTPL())
    rules["lloo, nature first"] = CombGame(first_mover="nature")
    rules["lloo, no sparsification"] = CombGame(LLOO(sparsify=False))
    for how in ("approximate", "coarse"):
        rules[f"lloo, {how} sparsification"] = CombGame(LLOO(projection=how))
    theory: dict[str, str | RuleBase] = {
        name: CombGame(LEARNERS[name], bonus="theory") for name in ("adahedge", "lloo")
    }
    proved = {f"{name}, proved threshold": rules[name] for name in theory}
    both = {f"{name}, theory bonus and proved threshold": rule for name, rule in theory.items()}
    return (
        part(e, e.instances, rules, runs, seed)
        + part(e, e.instances, {f"{n}, theory bonus": r for n, r in theory.items()}, runs, seed)
        + part(e, e.instances, {**proved, **both}, runs, seed, "proved")
    )


def every(make: Callable[[int], Instance], sizes: Sequence[int]) -> tuple[Instance, ...]:
    """Make an instance of every size."""
    return tuple(make(size) for size in sizes)


@cache
def experiments() -> dict[str, Experiment]:
    """Return every experiment that is a campaign, by its name on the command line."""
    campaigns = [
        Experiment(
            "figure1",
            TITLES["figure1"],
            "number of arms d",
            cross(FIVE + OURS),
            every(the.matroid, the.DIMENSIONS),
            FIVE,
        ),
        Experiment(
            "uniform-matroid-k2",
            TITLES["uniform-matroid-k2"],
            "number of arms d",
            cross(THREE + OURS),
            every(lambda d: the.matroid(d, 2), the.DIMENSIONS),
            THREE,
        ),
        Experiment(
            "gcb-pe",
            TITLES["gcb-pe"],
            "number of arms d",
            gcb_pe,
            every(the.matroid, the.DIMENSIONS),
        ),
        Experiment(
            "grid",
            TITLES["grid"],
            "number of stages n_s",
            needles(1),
            every(the.grid, the.GRIDS),
            THREE,
        ),
        Experiment(
            "line2",
            TITLES["line2"],
            "number of layers n_l",
            cross(THREE + OURS),
            every(lambda n: the.line(2, n), the.LINES_2),
            THREE,
        ),
        Experiment(
            "line3",
            TITLES["line3"],
            "number of layers n_l",
            cross(THREE + OURS),
            every(lambda n: the.line(3, n), the.LINES_3),
            THREE,
        ),
        Experiment(
            "almost-all",
            TITLES["almost-all"],
            "number of arms d",
            needles(2),
            every(the.almost_all, the.NEEDLES),
            THREE,
        ),
        Experiment(
            "options",
            TITLES["options"],
            "number of arms d",
            options,
            every(the.matroid, (5, 10, 20)),
        ),
    ]
    return {e.name: e for e in campaigns}
