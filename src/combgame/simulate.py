"""simulate() and compare(): many runs of one rule, of several rules."""

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .complexity import Complexity, complexity, limit
from .engines import choose_engine, own_bounds
from .errors import InputError, TieError, UnknownNameError
from .evidence import evidence
from .learners import LearnerBase
from .presets import make_rule
from .problem import Problem, check_deltas
from .protocols import Floats, Game, Ints, Random, Rule, Seen, Threshold, View
from .round import FULL
from .rules import RuleBase, Setup
from .rules.base import copied
from .structures.base import arms_of, whole
from .structures.callback import own_errors
from .structures.eliminating import LIMIT, eliminating
from .thresholds import Validity, make_threshold, resolve, validity


class Run:
    """One run, which can be played on in steps. Run i of seed s is the same whatever the engine or the workers."""

    def __init__(self, problem: Problem, setup: Setup, threshold: Threshold, means: Floats, deltas: int, seed: int,
                 number: int, engine: str, eliminate: bool = False) -> None:  # fmt: skip
        d = problem.d
        self.rng: Random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
        self.setup, self.means, self.threshold = setup, means, copied(threshold)
        self.game: Game = problem.game()
        self.rule: Rule
        self.rule, self.start = setup.fresh(self.rng)
        self.seen = Seen(np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(1, np.int64))
        if eliminate:
            watched = eliminating(problem.answers, self.game.rewards, self.threshold, self.seen)
            self.game = self.game._replace(answers=watched)
        self.view = View(np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(1), np.zeros(d))
        self.stops: Ints = np.full(deltas, -1, np.int64)
        self.winners: Floats = np.zeros((deltas, d))
        self._play: Callable[..., int] = choose_engine(engine, (self.game, self.rule, self.threshold))

    def advance(self, last: int) -> int:
        """Play until every delta has stopped or `last` rounds have been played; how it ended (`round.STOPPED`, ...)."""
        while True:
            with own_errors(), own_bounds():
                ended = self._play(self.game, self.rule, self.threshold, self.start, self.means, self.rng, last,
                                   self.seen, self.view, self.stops, self.winners)  # fmt: skip
            if ended != FULL:
                return int(ended)
            self.rule = self.setup.enlarge(self.rule)


@dataclass(frozen=True)
class Simulation:
    """The outcome of many runs of one rule. Arrays have one entry per run, or one row per run where delta was a list."""

    problem: Problem
    means: Floats
    rule: str
    threshold: str
    delta: tuple[float, ...]
    max_rounds: int
    seed: int
    scalar: bool  # delta was one number
    stops: Ints  # int64[runs, deltas]: the stopping round, -1 if it did not stop
    winners: Floats  # float64[runs, deltas, d]

    def _shape(self, values: Any) -> Any:
        return values[:, 0] if self.scalar else values

    @property
    def capped(self) -> Any:
        """Whether a run reached max_rounds without stopping."""
        return self._shape(self.stops < 0)

    @property
    def rounds(self) -> Any:
        """The stopping round; max_rounds where a run was capped."""
        return self._shape(np.where(self.stops < 0, self.max_rounds, self.stops))

    @cached_property
    def best(self) -> tuple[int, ...]:
        """The correct answer."""
        return evidence(self.problem, self.means, np.ones(self.problem.d)).answer

    @property
    def answers(self) -> Any:
        """What each run answered, as arms; None where it was capped."""
        found = [[arms_of(w) if stop >= 0 else None for w, stop in zip(ws, row, strict=True)]
                 for ws, row in zip(self.winners, self.stops, strict=True)]  # fmt: skip
        return [row[0] for row in found] if self.scalar else found

    @property
    def correct(self) -> Any:
        """Whether a run stopped with the correct answer."""
        truth = np.zeros(self.problem.d)
        truth[list(self.best)] = 1.0
        return self._shape((self.stops >= 0) & (self.winners == truth).all(axis=2))

    @property
    def error_rate(self) -> Any:
        """The share of runs that stopped with a wrong answer (capped runs stopped with none)."""
        wrong = (~self.correct & ~self.capped).mean(axis=0)
        return float(wrong) if self.scalar else wrong

    @property
    def validity(self) -> Validity:
        """What the threshold guarantees on this problem."""
        return validity(self.threshold, self.problem)

    @cached_property
    def complexity(self) -> Complexity:
        """The characteristic time 1/D_nu of the instance; infinite if two answers are equally good."""
        try:
            return complexity(self.problem, self.means)
        except TieError:
            return Complexity(math.inf, np.full(self.problem.d, math.nan), [], 0.0)

    def limit(self, which: int = 0) -> float:
        """The root of t = beta(t, delta) / D_nu: where an optimal rule would stop with this threshold."""
        return limit(self.complexity.time, make_threshold(self.threshold, self.problem, self.delta), which)

    def rows(self) -> list[dict[str, Any]]:
        """One row per run and delta."""
        capped, correct = self.stops < 0, np.atleast_2d(self.correct.T).T
        rounds = np.where(capped, self.max_rounds, self.stops)
        return [
            {"rule": self.rule, "threshold": self.threshold, "delta": self.delta[k], "run": i, "rounds": int(rounds[i, k]),
             "answer": None if capped[i, k] else self.problem.label(arms_of(self.winners[i, k])),
             "correct": bool(correct[i, k]), "capped": bool(capped[i, k])}
            for i in range(len(self.stops)) for k in range(len(self.delta))
        ]  # fmt: skip

    def to_frame(self) -> Any:
        """A pandas DataFrame, one row per run and delta."""
        try:
            import pandas
        except ImportError:
            raise InputError("to_frame needs pandas: pip install 'combgame[frames]' (or use rows()).") from None
        return pandas.DataFrame(self.rows())

    def report(self) -> list[dict[str, Any]]:
        """Per delta: rounds, errors and caps, beside the lower bound and the limit of the threshold."""
        found = []
        for k, delta in enumerate(self.delta):
            capped, rounds = self.stops[:, k] < 0, np.where(self.stops[:, k] < 0, self.max_rounds, self.stops[:, k])
            low, middle, high = np.percentile(rounds, [25, 50, 75])
            root, time = self.limit(k), self.complexity.time
            found.append({
                "rule": self.rule, "threshold": self.threshold, "delta": delta, "runs": len(rounds),
                "mean": float(rounds.mean()), "q25": float(low), "median": float(middle), "q75": float(high),
                "errors": int((~np.atleast_2d(self.correct.T)[k] & ~capped).sum()), "capped": int(capped.sum()),
                "time": time, "bound": max(math.log(1 / (2.4 * delta)), 0.0) * time / (1.0 + self.complexity.gap),
                "limit": root, "ratio": float(rounds.mean()) / root,
            })  # fmt: skip
        return found

    def __str__(self) -> str:
        return table([self])

    def __repr__(self) -> str:
        return f"<{len(self.stops)} runs of {self.rule}, delta {list(self.delta)}: mean {self.rounds.mean(axis=0)} rounds>"


def table(simulations: Sequence[Simulation]) -> str:
    """The report of some simulations as text, with the bound of the instance underneath."""
    rows = [row for simulation in simulations for row in simulation.report()]
    head = ["rule", "threshold", "delta", "runs", "mean", "q25", "median", "q75", "errors", "capped", "mean/limit"]
    body = [
        [row["rule"], row["threshold"], f"{row['delta']:g}", str(row["runs"]),
         (">= " if row["capped"] else "") + f"{row['mean']:,.0f}", *(f"{row[q]:,.0f}" for q in ("q25", "median", "q75")),
         str(row["errors"]), str(row["capped"]), (">= " if row["capped"] else "") + f"{row['ratio']:.2f}"]
        for row in rows
    ]  # fmt: skip
    widths = [max(len(line[i]) for line in [head, *body]) for i in range(len(head))]
    lines = ["  ".join(cell.ljust(w) if i < 2 else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths, strict=True)))
             for line in [head, *body]]  # fmt: skip
    c = simulations[0].complexity
    if c.gap > 1e-3:
        lines.append(
            f"1/D_nu, the characteristic time, lies between {c.time / (1.0 + c.gap):,.1f} and {c.time:,.1f}; limits are for the latter."
        )
    else:
        lines.append(f"1/D_nu = {c.time:,.1f} is the characteristic time of the instance (certified to {c.gap:.0e}).")
    for row in {(r["delta"], r["threshold"]): r for r in rows}.values():
        lines.append(
            f"delta = {row['delta']:g}: no rule can need fewer than ln(1/(2.4 delta))/D_nu = {row['bound']:,.0f} rounds "
            f"on average; with the {row['threshold']} threshold an optimal one stops near the limit t = beta(t, delta)/D_nu = "
            f"{row['limit']:,.0f}."
        )
    lines += sorted({f"{s.threshold} is {s.validity}." for s in simulations})
    return "\n".join(lines)


def simulate(
    problem: Problem,
    means: Any,
    rule: str | RuleBase = "lloo",
    delta: float | Sequence[float] = 0.1,
    threshold: str = "proved",
    runs: int = 100,
    seed: int = 0,
    jobs: int = 1,
    max_rounds: int = 10**6,
    engine: str = "auto",
    ties: str = "error",
    eliminate: bool = False,
    progress: bool | None = None,
) -> Simulation:
    """Run a rule many times on known means.

    delta may be a list: all of them are answered from the same runs. threshold: "proved" (the proved one for the rewards),
    "stylised", "gaussian", "sub-gaussian". ties="run" lets means with two best answers run to the cap. eliminate=True:
    answers that have once lost to the leader by more than the threshold are no longer considered, which keeps delta (one delta, at most
    20,000 answers). A progress bar appears on a terminal after two seconds (progress=False: never).

    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1))
    >>> sim = cg.simulate(problem, [0.5, 0.3, 0.2, 0.1], rule="ofw", runs=3, engine="python")
    >>> sim.answers
    [(0,), (0,), (0,)]
    """
    truth, deltas = _check(problem, means, delta, ties), check_deltas(delta)
    runs, jobs = whole("runs", runs, 1), whole("jobs", jobs, 1)
    max_rounds, seed = whole("max_rounds", max_rounds, 1), whole("seed", seed, 0)
    number = problem.answers.size()
    if eliminate and (number is None or number > LIMIT):
        raise InputError(
            f"eliminate=True lists the answers, at most {LIMIT:,}, and {problem.answers!r} has {number or 'an unknown number of them'}: "
            "drop eliminate, or give the answers with Listed."
        )
    if eliminate and len(deltas) > 1:
        raise InputError(f"eliminate=True needs a single delta, because what is discarded depends on it; got {deltas}.")
    chosen, name = make_rule(rule), resolve(threshold, problem)
    setup, level = chosen.setup(problem), make_threshold(name, problem, deltas)

    def one(number: int) -> tuple[Ints, Floats]:
        run = Run(problem, setup, level, truth, len(deltas), seed, number, engine, eliminate)
        run.advance(max_rounds)
        return run.stops, run.winners

    label = rule if isinstance(rule, str) else describe(rule)
    outcomes = list(_bar(_spread(one, runs, jobs), runs, label, progress))
    return Simulation(
        problem, truth, label, name, tuple(deltas), max_rounds, seed, np.ndim(delta) == 0,
        np.array([stops for stops, _ in outcomes]), np.array([winners for _, winners in outcomes]),
    )  # fmt: skip


def _check(problem: Problem, means: Any, delta: Any, ties: str) -> Floats:
    if not isinstance(problem, Problem):
        raise InputError(f"problem = {problem!r} must be a Problem; see combgame.Problem.")
    truth = problem.means(means)
    if ties not in ("error", "run"):
        raise InputError(f"ties = {ties!r} must be 'error' or 'run'.")
    lead = evidence(problem, truth, np.ones(problem.d))
    gap = truth[list(lead.answer)].sum() - truth[list(lead.rival)].sum()
    if ties == "error" and gap <= 1e-12 * np.abs(truth).max():
        raise TieError(
            f"means: the answers ({problem.label(lead.answer)}) and ({problem.label(lead.rival)}) are equally good, so no "
            "number of plays can tell them apart; change the means, or pass ties='run' to run to max_rounds."
        )
    return truth


def _spread(one: Callable[[int], tuple[Ints, Floats]], runs: int, jobs: int) -> Iterator[tuple[Ints, Floats]]:
    """Outcomes in the order of the runs. The first is made here, which compiles; threads do the others (numba frees the GIL)."""
    yield one(0)
    if jobs == 1 or runs == 1:
        yield from map(one, range(1, runs))
        return
    from joblib import Parallel, delayed

    yield from Parallel(n_jobs=jobs, prefer="threads", return_as="generator")(delayed(one)(i) for i in range(1, runs))


def _bar(outcomes: Iterator[Any], runs: int, label: str, progress: bool | None) -> Iterator[Any]:
    if progress is False or (progress is None and not sys.stderr.isatty()):
        return outcomes
    from tqdm.auto import tqdm

    return iter(tqdm(outcomes, total=runs, desc=label[:40], unit="run", delay=2.0))


def describe(rule: RuleBase) -> str:
    """A rule in few words: what differs from its defaults.

    >>> from combgame import CombGame, LLOO
    >>> describe(CombGame(LLOO(sparsify=False), tracking="D"))
    "CombGame(LLOO(sparsify=False), tracking='D')"
    """
    if not is_dataclass(rule) or isinstance(rule, type):
        return type(rule).__name__
    words = []
    for item in fields(rule):
        value = getattr(rule, item.name)
        if isinstance(value, LearnerBase):
            words.append(describe(value))  # type: ignore[arg-type]
        elif value != item.default:
            words.append(f"{item.name}={value!r}")
    return f"{type(rule).__name__}({', '.join(words)})"


@dataclass(frozen=True)
class Comparison:
    """Several rules on the same instance."""

    simulations: tuple[Simulation, ...]

    def __getitem__(self, rule: str | int) -> Simulation:
        names = [s.rule for s in self.simulations]
        if isinstance(rule, int) and -len(names) <= rule < len(names):
            return self.simulations[rule]
        if rule not in names:
            raise UnknownNameError(f"{rule!r} was not compared; the rules are {names}.")
        return self.simulations[names.index(str(rule))]

    def __iter__(self) -> Iterator[Simulation]:
        return iter(self.simulations)

    def __len__(self) -> int:
        return len(self.simulations)

    def __repr__(self) -> str:
        return f"<comparison of {', '.join(s.rule for s in self.simulations)}; print it for the table>"

    def to_frame(self) -> Any:
        """A pandas DataFrame, one row per rule, run and delta."""
        frames = [s.to_frame() for s in self.simulations]
        import pandas

        return pandas.concat(frames, ignore_index=True)

    def report(self) -> list[dict[str, Any]]:
        return [row for simulation in self.simulations for row in simulation.report()]

    def __str__(self) -> str:
        return table(self.simulations)


def compare(
    rules: Sequence[str | RuleBase] | Mapping[str, str | RuleBase], problem: Problem, means: Any, **settings: Any
) -> Comparison:
    """Simulate several rules with the same settings and seeds; print the result to see them beside the bound.

    rules: a list, or a dictionary from your own labels to rules.

    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1))
    >>> both = cg.compare(["ofw", "uniform"], problem, [0.5, 0.3, 0.2, 0.1], runs=3, engine="python")
    >>> [row["errors"] for row in both.report()]
    [0, 0]
    """
    named = rules if isinstance(rules, Mapping) else {}
    several = list(rules) if isinstance(rules, list | tuple | Mapping) else []
    if not several:
        raise InputError(f"compare: rules = {rules!r} must be a list of at least one rule, such as ['lloo', 'uniform'].")
    chosen = [(None, rule) for rule in several] if not named else list(named.items())
    for _, rule in chosen:
        make_rule(rule)  # before anything runs
    found = [(name, simulate(problem, means, rule=rule, **settings)) for name, rule in chosen]
    return Comparison(tuple(sim if name is None else replace(sim, rule=str(name)) for name, sim in found))
