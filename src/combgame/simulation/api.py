"""Simulate a rule, or compare several."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .._display.progress import counted
from ..errors import check_int, invalid_argument, unknown_name
from ..problem import Problem
from ..rules import RuleBase
from ..rules.base import describe
from ..rules.presets import make_rule
from ..stopping.base import StoppingBase
from .cuda import simulated as on_card
from .result import Simulation, as_html, table
from .runner import CARD, Runner, RunSpec, ordered_results


def simulate(
    problem: Problem,
    means: Any,
    *,
    rule: str | RuleBase = "frank-wolfe",
    delta: float | Sequence[float] = 0.05,
    threshold: str | StoppingBase = "mixture",
    runs: int = 100,
    seed: int = 0,
    jobs: int = 1,
    max_rounds: int = 10**6,
    shuffle_arms: bool = False,
    engine: str = "auto",
    on_tie: str = "raise",
    elimination: str | None = None,
    epsilon: float = 0.0,
    batch_sd: float = 0.0,
    progress: bool | None = None,
) -> Simulation:
    """Run a rule many times on known means.

    Parameters
    ----------
    problem : Problem
        The problem.
    means : array_like of float, shape (d,)
        The true means.
    rule : str or RuleBase, default="frank-wolfe"
        The sampling rule.
    delta : float or sequence of float, default=0.05
        The probability of a wrong answer. All values of a list are answered from the same runs (see
        `Simulation.at`).
    threshold : str or StoppingBase, default="mixture"
        "mixture" (proved, and much tighter than the paper's), "proved" (the paper's Theorem 2 for
        the rewards), "gaussian", "sub-gaussian", the same two with "-counts", "stylised"
        (heuristic), or an object of your own (docs/thresholds.md, docs/new-part.md).
    runs : int, default=100
        The number of runs.
    seed : int, default=0
        The seed. Run i of a seed is always the same.
    jobs : int, default=1
        The number of threads.
    max_rounds : int, default=10**6
        Runs that have not stopped after this number of rounds are capped.
    shuffle_arms : bool, default=False
        True permutes the arms at random in every run and records the permutation in `labels` and
        `rows()`. This changes no distribution, since every run permutes the arms internally in any
        case.
    engine : {"auto", "compiled", "python", "cuda"}, default="auto"
        What plays the rounds. "cuda" plays all runs at once on an NVIDIA GPU, with other noise than
        on the processor (docs/cuda.md).
    on_tie : {"raise", "run"}, default="raise"
        "run" lets means with two best answers run to the cap.
    elimination : {"always", "phases"}, optional
        "always" discards answers that have once lost to the leader by more than the threshold,
        which keeps delta (one delta, at most 20,000 answers). "phases" does so only at the ends of
        phases that grow by a tenth.
    epsilon : float, default=0.0
        An answer that is worse than the best by at most epsilon counts as correct ("mixture" only).
    batch_sd : float, default=0.0
        The standard deviation of the batch effects, if every round has one (``Gaussian(sigma,
        batch_effect=True)``).
    progress : bool, optional
        Progress of computations of more than two seconds is shown on a terminal and in a notebook.
        False never shows it; True always does.

    Returns
    -------
    Simulation
        The outcome of the runs. Print it for a table.

    Raises
    ------
    InputError
        If an argument is wrong, or two answers are equally good and `on_tie` is "raise".
    EngineError
        If the engine cannot play these runs.

    Examples
    --------
    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1))
    >>> sim = cg.simulate(problem, [0.5, 0.3, 0.2, 0.1], rule="ofw", runs=3, engine="python")
    >>> sim.answers
    [(0,), (0,), (0,)]
    """
    spec = RunSpec(
        problem,
        means,
        rule,
        delta,
        threshold,
        seed,
        max_rounds,
        engine,
        on_tie,
        elimination,
        epsilon,
        shuffle_arms,
        batch_sd,
    )
    runner = Runner(spec)
    runs, jobs = check_int("runs", runs, 1), check_int("jobs", jobs, 1)
    label = rule if isinstance(rule, str) else describe(rule)
    if engine == CARD:
        return on_card(runner, label, runs, progress)
    results = list(counted(ordered_results(runner, runs, jobs), runs, label, progress))
    return runner.gather(label, results)


@dataclass(frozen=True)
class Comparison:
    """Simulations of several rules on the same instance; print it for a table.

    Attributes
    ----------
    simulations : tuple of Simulation
        One simulation per rule. Index the comparison by the rule's name or position.
    """

    simulations: tuple[Simulation, ...]

    def __getitem__(self, rule: str | int) -> Simulation:
        names = [s.rule for s in self.simulations]
        if isinstance(rule, int) and -len(names) <= rule < len(names):
            return self.simulations[rule]
        if rule not in names:
            raise unknown_name("rule", rule, names)
        return self.simulations[names.index(str(rule))]

    def __iter__(self) -> Iterator[Simulation]:
        return iter(self.simulations)

    def __len__(self) -> int:
        return len(self.simulations)

    def __repr__(self) -> str:
        return (
            f"<comparison of {', '.join(s.rule for s in self.simulations)}; print it for the table>"
        )

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row per rule, run and delta."""
        frames = [s.to_frame() for s in self.simulations]
        import pandas

        return pandas.concat(frames, ignore_index=True)

    def summary(self) -> list[dict[str, Any]]:
        """Return one row per rule and delta; see `Simulation.summary`."""
        return [row for simulation in self.simulations for row in simulation.summary()]

    def __str__(self) -> str:
        return table(self.simulations)

    def _repr_html_(self) -> str:
        return as_html(self.simulations)


def compare(
    problem: Problem,
    means: Any,
    *,
    rules: Sequence[str | RuleBase] | Mapping[str, str | RuleBase],
    **settings: Any,
) -> Comparison:
    """Simulate several rules with the same settings and seeds.

    Parameters
    ----------
    problem : Problem
        The problem.
    means : array_like of float, shape (d,)
        The true means.
    rules : sequence or mapping of str or RuleBase
        The rules, or a mapping from labels to rules.
    **settings
        Other arguments of `simulate`.

    Returns
    -------
    Comparison
        The simulations. Print it to see them beside the lower bound.

    Examples
    --------
    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1))
    >>> means, rules = [0.5, 0.3, 0.2, 0.1], ["ofw", "uniform"]
    >>> both = cg.compare(problem, means, rules=rules, runs=3, engine="python")
    >>> [row["errors"] for row in both.summary()]
    [0, 0]
    """
    named = rules if isinstance(rules, Mapping) else {}
    several = list(rules) if isinstance(rules, list | tuple | Mapping) else []
    if not several:
        what = "a list of at least one rule, such as ['lloo', 'uniform']"
        raise invalid_argument("rules", rules, what, of="compare")
    chosen = [(None, rule) for rule in several] if not named else list(named.items())
    for _, rule in chosen:
        make_rule(rule)  # raises an error before any run
    made = [(name, simulate(problem, means, rule=rule, **settings)) for name, rule in chosen]
    return Comparison(
        tuple(sim if name is None else replace(sim, rule=str(name)) for name, sim in made)
    )
