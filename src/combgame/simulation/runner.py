"""Runs of one rule on one instance: what determines them, how they begin, and how they are played.

A `RunSpec` describes the runs. A `Runner` checks it once and plays the run of any number.
`InitialState` is what the runs have in common when they begin, and `Run` plays the rounds.

Every run permutes the arms. Indices cannot be avoided: they decide ties, coverings, and the order
of lists and heaps. The user's indices must decide nothing, so each run draws a permutation of its
own, and everything in it (problem, rule, stopping rule) is made and played under that permutation.
By construction, relabelling the arms then changes no distribution. docs/algorithms.md names the
places where this matters.
"""

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .._messages import OptionHint
from ..engine.compile_log import LOG, MADE
from ..engine.dispatch import ENGINES, choose_engine
from ..engine.kernels import make_template, type_key
from ..engine.philox import philox
from ..engine.protocols import ProblemKernel, SamplingKernel
from ..engine.round import NEEDS_RESIZE, TRUNCATED, play
from ..engine.state import Floats, Ints, RoundState
from ..engine.statistics import Statistics, blank
from ..engine.user_code import own_bounds, own_errors
from ..errors import (
    SEED,
    InputError,
    check_int,
    error_from,
    invalid_argument,
    is_real,
    to_python_scalar,
    unknown_name,
)
from ..problem import Problem, check_deltas
from ..rules import BoundRule, RuleBase
from ..rules.base import again_larger, is_trusted, settled, stopping_of
from ..rules.checks import CheckedBoundRule
from ..rules.presets import make_rule
from ..stopping.base import Stopping, StoppingBase, check_compared
from ..theory.complexity import tied
from .result import Simulation

CARD = "cuda"  # the engine that plays many runs at once (`simulation/cuda.py`)
TEMPLATES = 1024  # number of different initial states on a GPU
MOMENT, COMPILING = 1.0, 10.0  # seconds: see `Runner.interpreted`
PIECE = 100  # rounds of an interpreted run between two looks at the clock
STRETCH = 10_000  # rounds of a run in a thread between two checks whether it is still wanted
AHEAD = 16  # runs per thread that are submitted before the first result is taken
REPLAYED = 2_000  # maximal number of rounds that are replayed to find an error
OWN, RELABELLED = 1, 2  # spawn keys (run, key) of permutations; the noise of a run has (run,)


@dataclass(frozen=True, eq=False)
class RunSpec:
    """Describe the runs of one rule on one instance; the arguments are those of `simulate`.

    Parameters
    ----------
    problem : Problem
        The problem of the user, to be maximised or minimised.
    means : array_like of float, shape (d,)
        The true means, as the user gives them.
    on_tie : {"raise", "run"}, optional
        What happens if two answers are best. None refuses ties where the caller has no such option.
    cpu_engine : str
        The engine of those runs with engine "cuda" that are played on the processor.

    Notes
    -----
    The other fields are documented by `simulate`. `Runner` checks all of them.
    """

    problem: Problem
    means: Any
    rule: str | RuleBase = "frank-wolfe"
    delta: float | Sequence[float] = 0.05
    threshold: str | StoppingBase = "mixture"
    seed: int = 0
    max_rounds: int = 10**6
    engine: str = "auto"
    on_tie: str | None = None
    elimination: str | None = None
    epsilon: float = 0.0
    shuffle_arms: bool = False
    batch_sd: float = 0.0
    cpu_engine: str = "auto"


class Runner:
    """Check a specification once, and play its runs.

    ``run(i)`` is the same run i, wherever and whenever it is played on a processor. With engine
    "cuda" its noise is that of run i on a GPU.
    """

    def __init__(self, spec: RunSpec) -> None:
        self.asked = spec.problem, _check_means(spec)  # in the user's order of the arms
        deltas = check_deltas(spec.delta)
        self.deltas = tuple(deltas)
        self.means = spec.problem.to_internal(self.asked[1])
        self.problem = spec.problem.as_maximisation
        self.max_rounds = check_int("max_rounds", spec.max_rounds, 1)
        self.seed = check_int("seed", spec.seed, 0, most=SEED)
        self.rule = settled(make_rule(spec.rule), deltas)
        if spec.engine not in (*ENGINES, CARD):
            raise unknown_name("engine", spec.engine, (*ENGINES, CARD))
        self.engine = spec.engine
        self.stopping = stopping_of(
            self.rule, spec.threshold, self.problem, deltas, spec.elimination, spec.epsilon
        )
        if not isinstance(spec.shuffle_arms, bool):
            raise invalid_argument("shuffle_arms", spec.shuffle_arms, "True or False")
        self.batch_sd = check_batch_sd(self.problem, spec.batch_sd)
        self.spec = spec
        self.numbers(0)  # raises an error if the arms cannot be permuted

    def numbers(self, number: int) -> "ArmPermutation":
        """Return the permutation of the arms in run `number`."""
        return draw_permutation(
            self.problem, self.rule, self.seed, self.alike(number), self.spec.shuffle_arms
        )

    def alike(self, number: int) -> int:
        """Return the number of the run that has the same permutation and initial design."""
        return number % TEMPLATES if self.engine == CARD else number

    @cached_property
    def _initial(self) -> "InitialState":
        """Return the initial state of runs whose permutation changes neither problem nor rule."""
        setup, engine = bind(self.rule, self.problem), self.engine
        engine = self.spec.cpu_engine if engine == CARD else engine
        n_deltas = len(self.deltas)
        return InitialState(self.problem, setup, self.stopping, n_deltas, engine, self.batch_sd)

    @cached_property
    def _interpreted(self) -> "InitialState":
        return replace(self._initial, engine="python")

    def begin(
        self, number: int, mine: "ArmPermutation | None" = None, interpreted: bool = False
    ) -> "Run":
        """Return run `number` at its beginning, under its own permutation."""
        mine = mine or self.numbers(number)
        initial = self._interpreted if interpreted else self._initial
        same_rule = mine.rule is self.rule
        if not (mine.problem is self.problem and same_rule):
            setup, stopping = initial.bound, self.stopping
            if not same_rule or any(
                getattr(mine.problem, a) is not getattr(self.problem, a)
                for a in ("actions", "answers")
            ):
                setup = bind(mine.rule, mine.problem)
            if stopping.make_kernel is not None:
                stopping = stopping_of(
                    mine.rule,
                    stopping.asked,
                    mine.problem,
                    self.deltas,
                    self.spec.elimination,
                    stopping.epsilon,
                )
            initial = replace(initial, problem=mine.problem, bound=setup, stopping=stopping)
        run = Run(initial, self.means[mine.order], self.seed, self.alike(number))
        if self.engine == CARD:
            run.rng = philox(self.seed, number)
        return run

    @cached_property
    def _compiled(self) -> bool:
        """Compile if necessary, so that compiling is not part of the measured time."""
        self.begin(0).advance(0)
        return True

    def run(self, number: int, wanted: Callable[[], bool] | None = None) -> "RunResult":
        """Play run `number` to its end.

        Parameters
        ----------
        number : int
            The number of the run.
        wanted : callable, optional
            It is called now and then; the run is given up when it returns False.

        Returns
        -------
        RunResult
            The result of the run.
        """
        self._compiled  # noqa: B018
        mine = self.numbers(number)
        run = self.begin(number, mine)
        began = time.perf_counter()
        if wanted is None:
            run.advance(self.max_rounds)
        else:
            stretch = STRETCH if run.compiled else PIECE
            for last in range(stretch, self.max_rounds + stretch, stretch):
                if run.advance(min(last, self.max_rounds)) != TRUNCATED or not wanted():
                    break
        return self._result(run, mine, number, time.perf_counter() - began)

    def interpreted(self, runs: int) -> "Iterator[RunResult]":
        """Play the first runs interpreted, as long as that is likely to be faster than compiling.

        It goes on for MOMENT seconds, and longer if the remaining runs will take less than
        COMPILING seconds. The results are the same, bit for bit.
        """
        began = time.perf_counter()
        for number in range(runs):
            mine, start = self.numbers(number), time.perf_counter()
            run = self.begin(number, mine, interpreted=True)
            for last in range(PIECE, self.max_rounds + PIECE, PIECE):
                ended = run.advance(min(last, self.max_rounds))
                if ended != TRUNCATED or last >= self.max_rounds:
                    break
                spent = time.perf_counter() - began
                if spent > MOMENT and (number == 0 or spent / number * (runs - number) > COMPILING):
                    return
            yield self._result(run, mine, number, time.perf_counter() - start)
        LOG.info("played %d runs of %s interpreted, which was done sooner", runs, self.rule)

    def _result(
        self, run: "Run", mine: "ArmPermutation", number: int, seconds: float
    ) -> "RunResult":
        tell = getattr(run.bound, "diagnostics", None)
        return RunResult(
            run.stopping_times,
            mine.theirs(run.recommended),
            int(run.stats.n_rounds[0]),
            tell(run.rule) if tell else {},
            seconds,
            self.labels(number),
            mine.theirs(run.state.leader),
            run.lead(),
        )

    def labels(self, number: int) -> Ints | None:
        """Return the user's arms in the order of run `number`; None without ``shuffle_arms``."""
        if not self.spec.shuffle_arms:
            return None
        return drawn(self.problem.d, self.seed, self.alike(number), RELABELLED)

    def gather(self, label: str, results: "Sequence[RunResult]") -> Simulation:
        """Return the results of many runs as one simulation."""
        columns = {
            "stopping_times": [one.stopping_times for one in results],
            "recommended": [one.recommended for one in results],
            "labels": [one.labels for one in results],
            "final_leaders": [one.leader for one in results],
            "final_leads": [one.lead for one in results],
        }
        if not self.spec.shuffle_arms:
            del columns["labels"]
        return self.found(label, **{name: np.array(many) for name, many in columns.items()})

    def found(self, label: str, **arrays: Any) -> Simulation:
        """Return a simulation from the arrays of its runs and what determines them."""
        return Simulation(
            *self.asked,
            label,
            self.stopping,
            self.deltas,
            self.max_rounds,
            self.seed,
            **arrays,
        )


def _check_means(spec: RunSpec) -> Floats:
    """Return the means; raise an error if they are wrong.

    Two equally good answers are an error, too, unless epsilon or `on_tie` allows them.
    """
    problem, on_tie, epsilon = spec.problem, spec.on_tie, spec.epsilon
    if not isinstance(problem, Problem):
        raise invalid_argument("problem", problem, "a Problem", remedy="it comes first")
    truth = problem.check_means(spec.means)
    if not problem.rewards.variance_known:
        problem.rewards.sub_gaussian_scale(problem.d)  # raises an error if values cannot be drawn
    if on_tie is not None and not (isinstance(on_tie, str) and on_tie in ("raise", "run")):
        raise invalid_argument("on_tie", on_tie, "'raise' or 'run'")
    best, rival = problem.best_two(truth)
    inside = problem.to_internal(truth)
    gap = inside[list(best)].sum() - inside[list(rival)].sum()
    near = is_real(to_python_scalar(epsilon)) and epsilon > 0.0  # other values are refused later
    if on_tie != "run" and not near and gap <= 1e-12 * np.abs(inside).max():
        raise tied(problem.label(best), problem.label(rival), may_run=on_tie == "raise")
    return truth


def check_batch_sd(problem: Problem, batch_sd: Any) -> float:
    """Return the standard deviation of batch effects; raise an error if it is impossible."""
    number = to_python_scalar(batch_sd)
    plain = isinstance(number, int | float) and not isinstance(number, bool)
    if not plain or not 0.0 <= number < math.inf:
        raise invalid_argument("batch_sd", batch_sd, "a standard deviation of levels, 0 or more")
    if number and not problem.rewards.has_batch_effect():
        raise InputError(
            "level-sd-without-level",
            "batch_sd = {batch_sd:g} is for plays with a level of their own, and {rewards} has "
            "none",
            remedy="use Gaussian(sigma, batch_effect=True), or leave batch_sd out",
            batch_sd=float(number),
            rewards=str(problem.rewards),
        )
    if number and (why := problem.precision_problem(0, 10.0 * float(number))) is not None:
        raise error_from(InputError, why.with_context("batch_sd"))
    return float(number)


def bind(rule: RuleBase, problem: Problem) -> BoundRule:
    """Bind a rule to a problem; check the rule as it runs if a part is from outside the package."""
    return rule.bind(problem) if is_trusted(rule) else CheckedBoundRule(rule, problem, every=False)


# ---- one run


@dataclass(eq=False)
class InitialState:
    """The state that the runs of a rule on a problem have in common when they begin.

    The arrays are made once and copied for every run. The engine's function is chosen once.

    Parameters
    ----------
    problem : Problem
        The problem, to be maximised, under the permutation of the runs.
    bound : BoundRule
        The rule, bound to that problem.
    stopping : Stopping
        The stopping rule for that problem.
    n_deltas : int
        The number of deltas that the runs answer.
    engine : {"auto", "compiled", "python"}
        What plays the rounds.
    batch_sd : float
        The standard deviation of the batch effects, if there are any.
    """

    problem: Problem
    bound: BoundRule
    stopping: Stopping
    n_deltas: int = 1
    engine: str = "auto"
    batch_sd: float = 0.0

    def __post_init__(self) -> None:
        self._copied = False
        self._chosen: dict[Any, Callable[..., int]] = {}  # by the types of a rule and its start

    def copy(self) -> "_Parts":
        """Return the parts of a run without its rule; copies are cheap from the second one on."""
        first, self._copied = not self._copied, True
        return self._made() if first or self._template is None else self._template.copy()

    def _made(self) -> "_Parts":
        problem, d = self.problem, self.problem.d
        stats = blank(d, problem.rewards.variance_groups(d), problem.precision())
        stats.batch.lifted[1] = self.batch_sd
        return _Parts(
            self.stopping.on(problem.kernel(), stats),
            stats,
            RoundState(np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(1), np.zeros(d)),
            np.full(self.n_deltas, -1, np.int64),
            np.zeros((self.n_deltas, d)),
        )

    @cached_property
    def _template(self) -> Any:
        return make_template(self._made())

    def choose(self, run: "Run") -> Callable[..., int]:
        """Return the function that plays a run."""
        parts = run.kernel, run.rule
        if vars(self).get("_template") is None:  # the first run, or parts that cannot be copied
            return choose_engine(self.engine, parts)
        key = getattr(run.bound, "alike", False) or type_key((run.rule, run.start))
        if key is None:
            return choose_engine(self.engine, parts)
        if key not in self._chosen:
            chosen = choose_engine(self.engine, parts)
            self._chosen[key] = getattr(chosen, "alike", lambda: chosen)()
        return self._chosen[key]


class _Parts(NamedTuple):
    """The arrays that `Run` takes from an initial state."""

    kernel: ProblemKernel
    stats: Statistics
    state: RoundState
    stops: Ints
    winners: Floats


class Run:
    """One run, which can be played step by step.

    Run i of seed s is the same for all engines of the processor and all workers. On a GPU it has
    other noise (`simulation/cuda.py`).
    """

    def __init__(self, initial: InitialState, means: Floats, seed: int = 0, number: int = 0):
        self.rng: Any = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
        self.initial, self.bound, self.means = initial, initial.bound, means
        self._noise = seed, number
        self.rule: SamplingKernel
        self.rule, self.start = initial.bound.start_run(self.rng)
        if initial.problem.rewards.variance_shared:
            self.start = repeat_initial_design(self.start)
        self.kernel, self.stats, self.state, self.stopping_times, self.recommended = initial.copy()
        self._play = initial.choose(self)

    def lead(self) -> float:
        """Return the leader's estimated lead over its nearest rival; NaN if there is no rival."""
        best, rival = self.state.leader, self.state.rival
        if not rival.any() or (self.stats.counts[best != rival] == 0.0).any():
            return math.nan
        return float((best - rival) @ self.stats.mean)

    @property
    def compiled(self) -> bool:
        """Return whether the rounds are played by compiled code."""
        return self._play is not play

    def advance(self, last: int) -> int:
        """Play until every delta has stopped or `last` rounds have been played.

        Returns how the run ended (`round.STOPPED`, ...).
        """
        larger = (-1, 0)  # the round in which the arrays of the rule were enlarged, and how often
        while True:
            with own_errors(), own_bounds(self.kernel, self.rule, again=self._interpret):
                ended = self._play(*self._given(last))
            if isinstance(self.bound, CheckedBoundRule):
                self.bound.check(self.rule)
            if ended != NEEDS_RESIZE:
                check_compared(self.initial.stopping, self.stopping_times)
                return int(ended)
            larger = again_larger(*larger, int(self.stats.n_rounds[0]), self.rule)
            self.rule = self.bound.resize(self.rule)
            if self.compiled:  # larger arrays may be of other types
                self._play = choose_engine(self.initial.engine, (self.kernel, self.rule))

    def _given(self, last: int) -> tuple[Any, ...]:
        """Return the arguments with which rounds are played."""
        before = self.kernel, self.rule, self.start, self.means, self.rng, int(last)
        return *before, self.stats, self.state, self.stopping_times, self.recommended

    def ready(self) -> bool:
        """Return whether the run can be played without compiling first."""
        chosen = choose_engine(self.initial.engine, (self.kernel, self.rule))
        known: Callable[[tuple[Any, ...]], bool] | None = getattr(chosen, "ready", None)
        return known is None or known(self._given(0))

    def _interpret(self) -> None:
        """Replay a short compiled run interpreted, which finds the place of an error."""
        last = int(self.stats.n_rounds[0]) + 1
        if self.compiled and last <= REPLAYED:
            Run(replace(self.initial, engine="python"), self.means, *self._noise).advance(last)


def repeat_initial_design(start: Ints) -> Ints:
    """Return an initial design that observes every arm twice, if it observed some arm only once.

    One value per arm does not show how values vary.
    """
    often = np.bincount(start[start >= 0])
    return np.concatenate((start, start)) if often[often > 0].min() < 2 else start


class RunResult(NamedTuple):
    """The result of a finished run.

    The first four fields are the same wherever the run was played; `seconds` is measured.
    """

    stopping_times: Ints  # int64[deltas]: the stopping round; -1 if the run was capped
    recommended: Floats  # float64[deltas, d]
    rounds: int  # rounds played
    figures: dict[str, int]  # diagnostics of the rule
    seconds: float  # time spent on the rounds
    labels: Ints | None = None  # with shuffle_arms=True: the user's arms in the order of the run
    leader: Floats | None = None  # float64[d]: the leading answer after the last round
    lead: float = math.nan  # its estimated lead over the nearest rival


# ---- permutations of the arms


class ArmPermutation(NamedTuple):
    """A problem and a rule under the permutation of a run."""

    problem: Problem
    rule: RuleBase
    order: Ints  # order[i] is the arm of the user that the run calls i

    def theirs(self, mine: Floats) -> Floats:
        """Return values per arm (in the last axis) in the user's order of the arms."""
        out = np.empty_like(mine)
        out[..., self.order] = mine
        return out


def drawn(d: int, seed: int, run: int, what: int) -> Ints:
    """Return a random order of d arms for a run of a seed."""
    order: Ints = np.random.default_rng(
        np.random.SeedSequence(seed, spawn_key=(run, what))
    ).permutation(d)
    return order


def draw_permutation(
    problem: Problem, rule: RuleBase, seed: int, run: int, shuffle_arms: bool = False
) -> ArmPermutation:
    """Return the permutation of a run.

    With `shuffle_arms`, the arms are also relabelled at random, as if the user had listed them like
    that. A structure, a rule or rewards of the user that do not define `permuted` keep the given
    order.
    """
    order = drawn(problem.d, seed, run, OWN)
    if shuffle_arms:
        order = drawn(problem.d, seed, run, RELABELLED)[order]
    other, alike = getattr(rule, "permuted", None), None
    mine = problem.permuted(order) if other is not None else None
    alike = other(order) if other is not None and mine is not None else None
    if mine is not None and alike is not None:
        return ArmPermutation(mine, alike, order)
    if shuffle_arms:
        raise InputError(
            "not-numbered",
            "{kernel} does not say how its arms are numbered anew, so they cannot be relabelled",
            remedy="say `symmetric = True` in a rule or learner that names no arm "
            "(docs/new-part.md), give others the method `permuted` (docs/new-structure.md), or "
            "leave {shuffle_arms} out",
            kernel=str(rule if mine is not None or other is None else problem),
            shuffle_arms=OptionHint("shuffle_arms"),
        )
    return ArmPermutation(problem, rule, np.arange(problem.d))


# ---- many runs


def ordered_results(runner: Runner, runs: int, jobs: int) -> Iterator[RunResult]:
    """Yield the results of `runs` runs in their order.

    With the engine "auto", runs that would be over before they are compiled are interpreted.
    Otherwise the next run is played in this thread, which compiles, and the others follow, in
    threads if `jobs` is more than 1 (numba releases the GIL).
    """
    done = 0
    if runner.engine == "auto" and not runner.begin(0).ready():
        for result in runner.interpreted(runs):
            yield result
            done += 1
    if done == runs:
        return
    yield runner.run(done)
    rest = range(done + 1, runs)
    yield from map(runner.run, rest) if jobs == 1 else _in_threads(runner, rest, jobs)


def _in_threads(runner: Runner, numbers: Iterable[int], jobs: int) -> Iterator[RunResult]:
    """Yield the results in the order of the numbers.

    If this ends early, for example by Ctrl-C or by an error of a run, the runs that are being
    played are given up.
    """
    given_up = threading.Event()
    pool, waiting = ThreadPoolExecutor(jobs), deque[Future[RunResult]]()
    try:
        for number in numbers:
            waiting.append(pool.submit(runner.run, number, lambda: not given_up.is_set()))
            if len(waiting) > AHEAD * jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        given_up.set()
        pool.shutdown(cancel_futures=True)


class CompileReport(NamedTuple):
    """What `warm` compiled."""

    what: str | None  # None if the run is interpreted
    compiled: int  # number of compiled functions; 0 if the run was ready
    seconds: float


def warm(
    problem: Problem,
    rule: str | RuleBase = "frank-wolfe",
    threshold: str | StoppingBase = "mixture",
) -> CompileReport:
    """Compile what the runs of a rule need, and report it.

    What is compiled depends on classes, not on means, delta or the number of arms.
    """
    mine = draw_permutation(problem.as_maximisation, make_rule(rule), 0, 0)
    stopping = stopping_of(mine.rule, threshold, mine.problem, [0.05])
    before = len(MADE)
    run = Run(
        InitialState(mine.problem, bind(mine.rule, mine.problem), stopping), np.zeros(problem.d)
    )
    run.advance(0)
    if not run.compiled:
        return CompileReport(None, 0, 0.0)
    made = MADE[before:]
    return CompileReport(
        made[-1].what if made else "",
        sum(one.compiled for one in made),
        sum(one.seconds for one in made),
    )
