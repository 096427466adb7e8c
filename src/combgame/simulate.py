"""simulate() and compare(): many runs of one rule, of several rules."""

import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .complexity import Complexity, complexity, lower_bound
from .engines import choose_engine, own_bounds
from .errors import InputError, TieError, UnknownNameError
from .evidence import best_answer, first_two
from .learners import LearnerBase
from .numbering import RELABELLED, Numbering, drawn, own_numbers
from .presets import make_rule
from .problem import Problem, check_deltas
from .protocols import Floats, Game, Ints, Random, Rule, Seen, Threshold, View, blank
from .round import FULL
from .rules import RuleBase, Setup, Stopping
from .rules.base import copied
from .stopping import limit, make_stopping
from .structures.base import arms_of, whole
from .structures.callback import own_errors
from .thresholds import Validity

Watch = Callable[[Game, Threshold, Seen], Game]


class Run:
    """One run, which can be played on in steps. Run i of seed s is the same whatever the engine or the workers."""

    def __init__(self, problem: Problem, setup: Setup, threshold: Threshold, means: Floats, deltas: int, seed: int,
                 number: int, engine: str, watch: Watch | None = None) -> None:  # fmt: skip
        d = problem.d
        self.rng: Random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
        self.setup, self.means, self.threshold = setup, means, copied(threshold)
        self.game: Game = problem.game()
        self.rule: Rule
        self.rule, self.start = setup.fresh(self.rng)
        self.seen = blank(d)
        if watch is not None:
            self.game = watch(self.game, self.threshold, self.seen)
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


class Outcome(NamedTuple):
    """What a finished run leaves: the first four are the same wherever it ran, the last is measured."""

    stops: Ints  # int64[deltas]: the stopping round, -1 if it was capped
    winners: Floats  # float64[deltas, d]
    rounds: int  # rounds played
    figures: dict[str, int]  # what the rule tells of itself
    seconds: float  # spent on the rounds
    labels: Ints | None = None  # with relabel=True: the given arms in the order in which the run had them


@dataclass(frozen=True)
class Bench:
    """Everything that determines the runs of one rule on one instance: `one(i)` is run i, anywhere, any time."""

    problem: Problem
    means: Floats
    rule: RuleBase
    stopping: Stopping
    deltas: tuple[float, ...]
    max_rounds: int
    seed: int
    engine: str
    eliminate: bool = False
    relabel: bool = False

    @cached_property
    def setup(self) -> Setup:
        return self.rule.setup(self.problem)

    def numbers(self, number: int) -> Numbering:
        """Those of run `number`."""
        return own_numbers(self.problem, self.rule, self.seed, number, self.relabel)

    @cached_property
    def _ready(self) -> bool:
        """Compile, if nobody has: not to be timed."""
        self.run(0).advance(0)
        return True

    def run(self, number: int, mine: Numbering | None = None) -> Run:
        """Run `number`, under its own numbers."""
        mine = mine or self.numbers(number)
        setup, stopping = self.setup, self.stopping
        if mine.rule is not self.rule or any(
            getattr(mine.problem, a) is not getattr(self.problem, a) for a in ("actions", "answers")
        ):
            setup = mine.rule.setup(mine.problem)
        if stopping.watch is not None and mine.problem is not self.problem:
            stopping = make_stopping(mine.rule, stopping.name, mine.problem, self.deltas, self.eliminate, stopping.epsilon)
        return Run(mine.problem, setup, stopping.threshold, self.means[mine.order], len(self.deltas), self.seed, number, self.engine,
                   stopping.watch)  # fmt: skip

    def one(self, number: int) -> Outcome:
        self._ready  # noqa: B018
        mine = self.numbers(number)
        run = self.run(number, mine)
        began = time.perf_counter()
        run.advance(self.max_rounds)
        seconds = time.perf_counter() - began
        tell = getattr(run.setup, "figures", None)
        return Outcome(
            run.stops,
            mine.theirs(run.winners),
            int(run.seen.clock[0]),
            tell(run.rule) if tell else {},
            seconds,
            self.labels(number),
        )

    def labels(self, number: int) -> Ints | None:
        """With relabel=True: labels[i] is the given arm that is the i-th of run `number`."""
        return drawn(self.problem.d, self.seed, number, RELABELLED) if self.relabel else None

    def gather(self, label: str, outcomes: Sequence[Outcome], scalar: bool = False) -> "Simulation":
        stops = np.array([outcome.stops for outcome in outcomes])
        winners = np.array([outcome.winners for outcome in outcomes])
        labels = np.array([outcome.labels for outcome in outcomes]) if self.relabel else None
        return Simulation(
            self.problem,
            self.means,
            label,
            self.stopping,
            self.deltas,
            self.max_rounds,
            self.seed,
            scalar,
            stops,
            winners,
            labels,
        )


@dataclass(frozen=True)
class Simulation:
    """The outcome of many runs of one rule. Arrays have one entry per run, or one row per run where delta was a list."""

    problem: Problem
    means: Floats
    rule: str
    stopping: Stopping
    delta: tuple[float, ...]
    max_rounds: int
    seed: int
    scalar: bool  # delta was one number
    stops: Ints  # int64[runs, deltas]: the stopping round, -1 if it did not stop
    winners: Floats  # float64[runs, deltas, d], under the given numbers, whatever those of the runs were
    labels: Ints | None = None  # int64[runs, d], with relabel=True: the given arms in the order in which a run had them

    @property
    def threshold(self) -> str:
        """The name of the threshold."""
        return self.stopping.name

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
        return best_answer(self.problem, self.means)

    @property
    def answers(self) -> Any:
        """What each run answered, as arms; None where it was capped."""
        found = [[arms_of(w) if stop >= 0 else None for w, stop in zip(ws, row, strict=True)]
                 for ws, row in zip(self.winners, self.stops, strict=True)]  # fmt: skip
        return [row[0] for row in found] if self.scalar else found

    @property
    def correct(self) -> Any:
        """Whether a run stopped with the correct answer, or with one that is as good, or within epsilon of it."""
        truth = np.zeros(self.problem.d)
        truth[list(self.best)] = 1.0
        short = self.means @ truth - self.winners @ self.means  # another answer may be as good
        right = (self.winners == truth).all(axis=2) | (short <= self.stopping.epsilon + 1e-12 * np.abs(self.means).max())
        return self._shape((self.stops >= 0) & right)

    @property
    def error_rate(self) -> Any:
        """The share of runs that stopped with a wrong answer (capped runs stopped with none)."""
        wrong = (~self.correct & ~self.capped).mean(axis=0)
        return float(wrong) if self.scalar else wrong

    @property
    def validity(self) -> Validity:
        """What the threshold guarantees on this problem."""
        return self.stopping.validity

    @cached_property
    def complexity(self) -> Complexity:
        """The characteristic time 1/D_nu of the instance; infinite if two answers are equally good."""
        try:
            return complexity(self.problem, self.means)
        except TieError:
            return Complexity(math.inf, np.full(self.problem.d, math.nan), [], 0.0)

    def limit(self, which: int = 0) -> float:
        """The root of t = beta(t, delta) / D_nu: where the optimal proportions stop without noise; NaN for another kind of threshold."""
        return limit(self.stopping, self.problem, self.means, self.complexity, which)

    def rows(self) -> list[dict[str, Any]]:
        """One row per run and delta."""
        capped, correct = self.stops < 0, np.atleast_2d(self.correct.T).T
        rounds = np.where(capped, self.max_rounds, self.stops)
        return [
            {"rule": self.rule, "threshold": self.threshold, "delta": self.delta[k], "run": i, "rounds": int(rounds[i, k]),
             "answer": None if capped[i, k] else self.problem.label(arms_of(self.winners[i, k])),
             "correct": bool(correct[i, k]), "capped": bool(capped[i, k]),
             **({} if self.labels is None else {"labels": " ".join(map(str, self.labels[i]))})}
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
            root, time = self.limit(k), self.complexity.time
            row = summary(self.stops[:, k], np.atleast_2d(self.correct.T)[k], self.max_rounds)
            bound = lower_bound(self.problem, self.complexity, delta)
            found.append({"rule": self.rule, "threshold": self.threshold, "delta": delta, **row,
                          "time": time, "bound": bound, "limit": root,
                          "ratio": row["mean"] / root if root > 0.0 else math.nan})  # fmt: skip
        return found

    def __str__(self) -> str:
        return table([self])

    def __repr__(self) -> str:
        return f"<{len(self.stops)} runs of {self.rule}, delta {list(self.delta)}: mean {self.rounds.mean(axis=0)} rounds>"


def summary(stops: Ints, correct: Any, max_rounds: int) -> dict[str, Any]:
    """The figures of some runs: rounds (max_rounds where a run was capped), errors with their exact interval, caps."""
    capped = stops < 0
    rounds = np.where(capped, max_rounds, stops)
    low, middle, high = np.percentile(rounds, [25, 50, 75])
    errors = int((~np.asarray(correct, dtype=bool) & ~capped).sum())
    least, most = error_interval(errors, len(rounds))
    return {
        "runs": len(rounds), "mean": float(rounds.mean()), "q25": float(low), "median": float(middle), "q75": float(high),
        "errors": errors, "error_rate": errors / len(rounds), "error_low": least, "error_high": most, "capped": int(capped.sum()),
    }  # fmt: skip


def error_interval(errors: int, runs: int, confidence: float = 0.95) -> tuple[float, float]:
    """The exact (Clopper-Pearson) confidence interval of an error rate.

    >>> [round(x, 4) for x in error_interval(0, 750)]
    [0.0, 0.0049]
    """
    from scipy.stats import beta

    tail = (1.0 - confidence) / 2.0
    low = float(beta.ppf(tail, errors, runs - errors + 1)) if errors > 0 else 0.0
    high = float(beta.ppf(1.0 - tail, errors + 1, runs - errors)) if errors < runs else 1.0
    return low, high


def _ratio(row: dict[str, Any]) -> str:
    return "-" if math.isnan(row["ratio"]) else (">= " if row["capped"] else "") + f"{row['ratio']:.2f}"


def aligned(head: list[str], cells: list[list[str]], left: int = 1) -> str:
    """A table as text: the first columns to the left, the others to the right."""
    widths = [max(len(row[i]) for row in [head, *cells]) for i in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.ljust(w) if i < left else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in [head, *cells]
    )


def table(simulations: Sequence[Simulation]) -> str:
    """The report of some simulations as text, with the bound of the instance underneath."""
    rows = [row for simulation in simulations for row in simulation.report()]
    head = ["rule", "threshold", "delta", "runs", "mean", "q25", "median", "q75", "errors", "capped", "mean/limit"]
    body = [
        [row["rule"], row["threshold"], f"{row['delta']:g}", str(row["runs"]),
         (">= " if row["capped"] else "") + f"{row['mean']:,.0f}", *(f"{row[q]:,.0f}" for q in ("q25", "median", "q75")),
         str(row["errors"]), str(row["capped"]), _ratio(row)]
        for row in rows
    ]  # fmt: skip
    lines = [aligned(head, body, left=2)]
    c = simulations[0].complexity
    if c.gap > 1e-3:
        lines.append(
            f"1/D_nu, the characteristic time, lies between {c.time / (1.0 + c.gap):,.1f} and {c.time:,.1f}; limits are for the latter."
        )
    else:
        lines.append(f"1/D_nu = {c.time:,.1f} is the characteristic time of the instance (certified to {c.gap:.0e}).")
    for row in {(r["delta"], r["threshold"]): r for r in rows}.values():
        said = []
        if not math.isnan(row["bound"]):
            said.append(f"no rule can need fewer than ln(1/(2.4 delta))/D_nu = {row['bound']:,.0f} rounds on average")
        if not math.isnan(row["limit"]):
            end = f"the limit t = beta(t, delta)/D_nu = {row['limit']:,.0f}"
            said.append(f"with the {row['threshold']} threshold the optimal proportions stop without noise at {end}")
        if said:
            lines.append(f"delta = {row['delta']:g}: {'; '.join(said)}.")
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
    relabel: bool = False,
    engine: str = "auto",
    ties: str = "error",
    eliminate: bool = False,
    epsilon: float = 0.0,
    progress: bool | None = None,
) -> Simulation:
    """Run a rule many times on known means.

    delta may be a list: all of them are answered from the same runs. threshold: "proved" (Theorem 2's for the rewards), "mixture" (proved,
    and far tighter), "gaussian", "sub-gaussian", the same with "-counts", "stylised" (heuristic): docs/thresholds.md. ties="run" lets
    means with two best answers run to the cap. eliminate=True: answers that have once lost to the leader by more than the threshold
    are no longer considered, which keeps delta (one delta, at most 20,000 answers). epsilon: an answer that is worse than the best
    by no more counts as correct ("mixture" only). relabel=True: in every run the arms are relabelled at random, which is recorded in
    `labels` and `rows()`; since every run numbers the arms for itself, that changes no distribution. A progress bar appears on a
    terminal after two seconds (progress=False: never).

    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1))
    >>> sim = cg.simulate(problem, [0.5, 0.3, 0.2, 0.1], rule="ofw", runs=3, engine="python")
    >>> sim.answers
    [(0,), (0,), (0,)]
    """
    bench = make_bench(problem, means, rule, delta, threshold, seed, max_rounds, engine, ties, eliminate, epsilon, relabel)
    runs, jobs = whole("runs", runs, 1), whole("jobs", jobs, 1)
    label = rule if isinstance(rule, str) else describe(rule)
    outcomes = list(bar(spread(bench.one, runs, jobs), runs, label, progress))
    return bench.gather(label, outcomes, np.ndim(delta) == 0)


def make_bench(
    problem: Problem,
    means: Any,
    rule: str | RuleBase,
    delta: float | Sequence[float],
    threshold: str,
    seed: int,
    max_rounds: int,
    engine: str = "auto",
    ties: str | None = None,
    eliminate: bool = False,
    epsilon: float = 0.0,
    relabel: bool = False,
) -> Bench:
    """Check everything that determines a run. ties: as in `simulate`; None: refused, where the caller has no such option."""
    truth, deltas = _check(problem, means, ties, epsilon), check_deltas(delta)
    max_rounds, seed = whole("max_rounds", max_rounds, 1), whole("seed", seed, 0)
    chosen = make_rule(rule)
    stopping = make_stopping(chosen, threshold, problem, deltas, eliminate, epsilon)
    if not isinstance(relabel, bool):
        raise InputError(f"relabel = {relabel!r} must be True or False.")
    bench = Bench(problem, truth, chosen, stopping, tuple(deltas), max_rounds, seed, engine, eliminate, relabel)
    bench.numbers(0)  # or a sentence
    return bench


def _check(problem: Problem, means: Any, ties: str | None, epsilon: Any) -> Floats:
    if not isinstance(problem, Problem):
        raise InputError(f"problem = {problem!r} must be a Problem; see combgame.Problem.")
    truth = problem.means(means)
    problem.rewards.spread(problem.d)  # or a sentence
    if ties not in (None, "error", "run"):
        raise InputError(f"ties = {ties!r} must be 'error' or 'run'.")
    best, rival = first_two(problem, truth)
    gap = truth[list(best)].sum() - truth[list(rival)].sum()
    if ties != "run" and not epsilon and gap <= 1e-12 * np.abs(truth).max():
        choice = ", or pass ties='run' to run to max_rounds" if ties == "error" else ""
        raise TieError(
            f"means: the answers ({problem.label(best)}) and ({problem.label(rival)}) are equally good, so no "
            f"number of plays can tell them apart; change the means{choice}."
        )
    return truth


def spread(one: Callable[[int], Outcome], runs: int, jobs: int) -> Iterator[Outcome]:
    """Outcomes in the order of the runs. The first is made here, which compiles; threads do the others (numba frees the GIL)."""
    yield one(0)
    if jobs == 1 or runs == 1:
        yield from map(one, range(1, runs))
        return
    from joblib import Parallel, delayed

    yield from Parallel(n_jobs=jobs, prefer="threads", return_as="generator")(delayed(one)(i) for i in range(1, runs))


def shows_bar(progress: bool | None) -> bool:
    """Whether to show a progress bar: as told, and if nothing is told, on a terminal."""
    return sys.stderr.isatty() if progress is None else progress


def bar(outcomes: Iterator[Any], runs: int, label: str, progress: bool | None) -> Iterator[Any]:
    if not shows_bar(progress):
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
