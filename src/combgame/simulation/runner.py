"""All that determines the runs of one rule on one instance.

Compile the round of a rule on a problem without playing any.
"""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..engine.compile_log import LOG, MADE
from ..engine.dispatch import ENGINES
from ..engine.philox import philox
from ..engine.round import CAPPED
from ..engine.state import Floats, Ints
from ..errors import SEED, InputError, must_be, real, said_by, unboxed, unknown, whole
from ..problem import Problem, check_deltas
from ..rules import RuleBase, Setup, Stopping
from ..rules.base import settled, stopping_of
from ..rules.checks import setup_of
from ..rules.presets import make_rule
from ..stopping.base import StoppingBase
from ..theory.complexity import tied
from ..theory.evidence import first_two
from .permutation import RELABELLED, Numbering, drawn, own_numbers
from .result import Simulation
from .run import Outcome, Run, Series

CARD = "cuda"  # the engine that plays many runs at once (`simulation/cuda.py`)
TEMPLATES = 1024  # beginnings of runs on a card
MOMENT, COMPILING = 1.0, 10.0  # seconds: see `Bench.interpreted`
PIECE = 100  # rounds, after which it looks at the clock


@dataclass(frozen=True)
class Bench:
    """Everything that determines the runs of one rule on one instance: `one(i)` is run i, anywhere,
    any time.
    """

    problem: Problem
    means: Floats
    rule: RuleBase
    stopping: Stopping
    deltas: tuple[float, ...]
    max_rounds: int
    seed: int
    engine: str
    eliminate: bool | str = False
    relabel: bool = False
    # what was given, if it is to be minimised; `problem` and `means` are that maximised
    asked: tuple[Problem, Floats] | None = None
    level_sd: float = 0.0  # of the levels of plays, where they have any
    twin: str = "auto"  # the engine of runs of a card that are played on the processor

    @cached_property
    def setup(self) -> Setup:
        return setup_of(self.rule, self.problem)

    @cached_property
    def _series(self) -> Series:
        return Series(self.problem, self.stopping, len(self.deltas), self._here, self.level_sd)

    @property
    def _here(self) -> str:
        """The engine on the processor."""
        return self.twin if self.engine == CARD else self.engine

    def alike(self, number: int) -> int:
        """The run that run `number` begins like."""
        return number % TEMPLATES if self.engine == CARD else number

    def numbers(self, number: int) -> Numbering:
        """Those of run `number`."""
        return own_numbers(self.problem, self.rule, self.seed, self.alike(number), self.relabel)

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
            setup = setup_of(mine.rule, mine.problem)
        if stopping.watch is not None and not (
            mine.problem is self.problem and mine.rule is self.rule
        ):
            stopping = stopping_of(
                mine.rule,
                stopping.asked,
                mine.problem,
                self.deltas,
                self.eliminate,
                stopping.epsilon,
            )
        run = Run(
            mine.problem,
            setup,
            stopping,
            self.means[mine.order],
            len(self.deltas),
            self.seed,
            self.alike(number),
            self._here,
            self._series if mine.problem is self.problem and setup is self.setup else None,
            self.level_sd,
        )
        if self.engine == CARD:
            run.rng = philox(self.seed, number)
        return run

    def one(self, number: int) -> Outcome:
        self._ready  # noqa: B018
        mine = self.numbers(number)
        run = self.run(number, mine)
        began = time.perf_counter()
        run.advance(self.max_rounds)
        return self._outcome(run, mine, number, time.perf_counter() - began)

    def interpreted(self, runs: int) -> Iterator[Outcome]:
        """The first of some runs, interpreted, as long as all of them are likely to be over before
        they could be compiled: for MOMENT seconds, and beyond if what is left will take less than
        COMPILING. They are the same, bit for bit.
        """
        twin, began = replace(self, engine="python"), time.perf_counter()
        for number in range(runs):
            mine, start = twin.numbers(number), time.perf_counter()
            run = twin.run(number, mine)
            for last in range(PIECE, self.max_rounds + PIECE, PIECE):
                ended = run.advance(min(last, self.max_rounds))
                if ended != CAPPED or last >= self.max_rounds:
                    break
                spent = time.perf_counter() - began
                if spent > MOMENT and (number == 0 or spent / number * (runs - number) > COMPILING):
                    return
            yield twin._outcome(run, mine, number, time.perf_counter() - start)
        LOG.info("played %d runs of %s interpreted, which was done sooner", runs, self.rule)

    def _outcome(self, run: Run, mine: Numbering, number: int, seconds: float) -> Outcome:
        tell = getattr(run.setup, "figures", None)
        return Outcome(
            run.stops,
            mine.theirs(run.winners),
            int(run.seen.clock[0]),
            tell(run.rule) if tell else {},
            seconds,
            self.labels(number),
            mine.theirs(run.view.best),
            run.lead(),
        )

    def labels(self, number: int) -> Ints | None:
        """With relabel=True: labels[i] is the given arm that is the i-th of run `number`."""
        if not self.relabel:
            return None
        return drawn(self.problem.d, self.seed, self.alike(number), RELABELLED)

    def gather(self, label: str, outcomes: Sequence[Outcome]) -> "Simulation":
        stops = np.array([outcome.stops for outcome in outcomes])
        winners = np.array([outcome.winners for outcome in outcomes])
        labels = np.array([outcome.labels for outcome in outcomes]) if self.relabel else None
        leaders = np.array([outcome.leader for outcome in outcomes])
        leads = np.array([outcome.lead for outcome in outcomes])
        return self.found(label, stops, winners, labels, leaders, leads)

    def found(
        self, label: str, stops: Ints, winners: Any, labels: Any, leaders: Any, leads: Floats
    ) -> "Simulation":
        """What runs left, beside what determined them."""
        return Simulation(
            *(self.asked or (self.problem, self.means)),
            label,
            self.stopping,
            self.deltas,
            self.max_rounds,
            self.seed,
            stops,
            winners,
            labels=labels,
            leaders=leaders,
            leads=leads,
        )


def make_bench(
    problem: Problem,
    means: Any,
    rule: str | RuleBase,
    delta: float | Sequence[float],
    threshold: str | StoppingBase,
    seed: int,
    max_rounds: int,
    engine: str = "auto",
    ties: str | None = None,
    eliminate: bool | str = False,
    epsilon: float = 0.0,
    relabel: bool = False,
    level_sd: float = 0.0,
) -> Bench:
    """Check everything that determines a run. ties: as in `simulate`; None: refused, where the
    caller has no such option.
    """
    asked, truth, deltas = problem, _check(problem, means, ties, epsilon), check_deltas(delta)
    problem = problem.maximised
    max_rounds, seed = whole("max_rounds", max_rounds, 1), whole("seed", seed, 0, most=SEED)
    chosen = settled(make_rule(rule), deltas)
    if engine not in (*ENGINES, CARD):
        raise unknown("engine", engine, (*ENGINES, CARD))
    stopping = stopping_of(chosen, threshold, problem, deltas, eliminate, epsilon)
    if not isinstance(relabel, bool):
        raise must_be("relabel", relabel, "True or False")
    bench = Bench(
        problem,
        truth,
        chosen,
        stopping,
        tuple(deltas),
        max_rounds,
        seed,
        engine,
        eliminate,
        relabel,
        None if asked is problem else (asked, asked.means(means)),
        check_level_sd(problem, level_sd),
    )
    bench.numbers(0)  # or a sentence
    return bench


def check_level_sd(problem: Problem, level_sd: Any) -> float:
    """The standard deviation of levels, or a sentence."""
    number = unboxed(level_sd)
    plain = isinstance(number, int | float) and not isinstance(number, bool)
    if not plain or not 0.0 <= number < math.inf:
        raise must_be("level_sd", level_sd, "a standard deviation of levels, 0 or more")
    if number and not problem.rewards.levels():
        raise InputError(
            "level-sd-without-level",
            "level_sd = {level_sd:g} is for plays with a level of their own, and {rewards} has "
            "none",
            remedy="use Gaussian(sigma, level='per play'), or leave level_sd out",
            level_sd=float(number),
            rewards=str(problem.rewards),
        )
    if number and (why := problem.coarse(0, 10.0 * float(number))) is not None:
        raise said_by(InputError, why.within("level_sd"))
    return float(number)


def _check(problem: Problem, means: Any, ties: str | None, epsilon: Any) -> Floats:
    """The means as the maximised problem has them."""
    if not isinstance(problem, Problem):
        raise must_be("problem", problem, "a Problem", remedy="it comes first")
    truth = problem.means(means)
    if not problem.rewards.known:
        problem.rewards.spread(problem.d)  # to draw with, or a sentence
    if ties is not None and not (isinstance(ties, str) and ties in ("error", "run")):
        raise must_be("ties", ties, "'error' or 'run'")
    best, rival = first_two(problem, truth)
    truth = problem.inside(truth)
    gap = truth[list(best)].sum() - truth[list(rival)].sum()
    near = real(unboxed(epsilon)) and epsilon > 0.0  # another value is refused later
    if ties != "run" and not near and gap <= 1e-12 * np.abs(truth).max():
        raise tied(problem.label(best), problem.label(rival), may_run=ties == "error")
    return truth


def in_order(bench: Bench, runs: int, jobs: int) -> Iterator[Outcome]:
    """Outcomes in the order of the runs. With the engine "auto" runs that would be over before they
    are compiled are interpreted. Otherwise the first is made here, which compiles; threads do the
    others (numba frees the GIL).
    """
    done = 0
    if bench.engine == "auto" and not bench.run(0).ready():
        for outcome in bench.interpreted(runs):
            yield outcome
            done += 1
    if done == runs:
        return
    yield bench.one(done)
    rest = range(done + 1, runs)
    if jobs == 1 or not rest:
        yield from map(bench.one, rest)
        return
    from joblib import Parallel, delayed

    yield from Parallel(n_jobs=jobs, prefer="threads", return_as="generator")(
        delayed(bench.one)(i) for i in rest
    )


class Warmed(NamedTuple):
    what: str | None  # None: it is interpreted
    compiled: int  # functions; none: it was ready
    seconds: float


def warm(
    problem: Problem,
    rule: str | RuleBase = "frank-wolfe",
    threshold: str | StoppingBase = "mixture",
) -> Warmed:
    """What was compiled, if it was not ready. What is compiled depends on classes, not on means,
    delta or the number of arms.
    """
    chosen = make_rule(rule)
    stopping = stopping_of(chosen, threshold, problem, [0.05])
    before = len(MADE)
    run = Bench(problem, np.zeros(problem.d), chosen, stopping, (0.05,), 1, 0, "auto").run(0)
    run.advance(0)
    if not run.compiled:
        return Warmed(None, 0, 0.0)
    made = MADE[before:]
    return Warmed(
        made[-1].what if made else "",
        sum(one.compiled for one in made),
        sum(one.seconds for one in made),
    )
