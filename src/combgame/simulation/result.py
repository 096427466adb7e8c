"""The outcome of many runs of one rule, and summaries of it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .._display.text import aligned
from ..engine.state import Floats, Ints, arms_of
from ..errors import InputError, TieError, missing_extra, unknown_name
from ..problem import Problem
from ..rules import Stopping
from ..stopping.base import Validity
from ..theory.complexity import Complexity, least_time, listed, lower_bound
from ..theory.stopping_time import oracle_stopping_time

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Simulation:
    """The outcome of many runs of one rule.

    Attributes
    ----------
    problem : Problem
        The problem.
    means : ndarray of float64, shape (d,)
        The true means.
    rule : str
        The name of the rule.
    stopping : Stopping
        The stopping rule.
    delta : tuple of float
        The confidence parameters; `at` chooses one of several.
    max_rounds : int
        The number of rounds after which runs were capped.
    seed : int
        The seed of the runs.
    stopping_times : ndarray of int64, shape (runs, deltas)
        The round in which a run stopped; -1 if it was capped.
    recommended : ndarray, shape (runs, deltas, d)
        The recommended answers as 0/1 vectors in the user's order of the arms.
    labels : ndarray of int64, shape (runs, d), or None
        With ``shuffle_arms=True``, the user's arms in the order of each run.
    final_leaders : ndarray, shape (runs, d), or None
        The leading answers after the last round as 0/1 vectors.
    final_leads : ndarray of float64, shape (runs,), or None
        The estimated leads of these answers over their nearest rivals.
    n_cpu_fallback : int
        The number of runs on a GPU that were played on the processor, because their arrays had to
        grow.
    """

    problem: Problem
    means: Floats
    rule: str
    stopping: Stopping
    delta: tuple[float, ...]
    max_rounds: int
    seed: int
    stopping_times: Ints
    recommended: Any
    _delta_index: tuple[int, ...] = ()  # positions of `delta` among those of the stopping rule
    labels: Ints | None = None
    final_leaders: Any = None
    final_leads: Floats | None = None
    n_cpu_fallback: int = 0

    @property
    def threshold(self) -> str:
        """Return the name of the threshold."""
        return self.stopping.name

    def at(self, delta: float) -> "Simulation":
        """Return the same runs at one of the deltas.

        The properties `rounds`, `answers`, `correct`, `capped` and `error_rate` need a single
        delta.

        Parameters
        ----------
        delta : float
            One of the deltas.

        Returns
        -------
        Simulation
            The runs at this delta.
        """
        if delta not in self.delta:
            raise unknown_name("delta", delta, self.delta)
        k = self.delta.index(delta)
        return replace(
            self,
            delta=(delta,),
            stopping_times=self.stopping_times[:, k : k + 1],
            recommended=self.recommended[:, k : k + 1],
            _delta_index=(self._place(k),),
        )

    def _place(self, k: int) -> int:
        return self._delta_index[k] if self._delta_index else k

    def _one(self, values: Any) -> Any:
        """Return the column of the only delta."""
        if len(self.delta) > 1:
            raise InputError(
                "several-deltas",
                "there are {n} deltas",
                remedy="choose one with at(), such as at({first:g}), or see report()",
                n=len(self.delta),
                first=self.delta[0],
            )
        return values[:, 0]

    @property
    def capped(self) -> Bools:
        """Return whether each run reached `max_rounds` without stopping: bool[runs]."""
        capped: Bools = self._one(self.stopping_times < 0)
        return capped

    @property
    def rounds(self) -> Ints:
        """Return the stopping round of each run, or `max_rounds` if it was capped: int64[runs]."""
        rounds: Ints = self._one(
            np.where(self.stopping_times < 0, self.max_rounds, self.stopping_times)
        )
        return rounds

    @cached_property
    def best(self) -> tuple[int, ...]:
        """Return the correct answer."""
        return self.problem.best_two(self.means)[0]

    @property
    def answers(self) -> list[tuple[int, ...] | None]:
        """Return the answer of each run as arms; None for capped runs."""
        winners, stops = self._one(self.recommended), self._one(self.stopping_times)
        return [arms_of(w) if stop >= 0 else None for w, stop in zip(winners, stops, strict=True)]

    @property
    def correct(self) -> Bools:
        """Return whether each run stopped with a correct answer: bool[runs].

        Answers that are as good as the best one, or within epsilon of it, are correct.
        """
        correct: Bools = self._one(self._right)
        return correct

    @cached_property
    def _right(self) -> Bools:
        """Return whether each run stopped with a correct answer, per delta: bool[runs, deltas]."""
        stopped_right: Bools = (self.stopping_times >= 0) & self._good(self.recommended)
        return stopped_right

    def _good(self, answers: Floats) -> Bools:
        """Return whether answers (float64[..., d]) are best, as good, or within epsilon."""
        truth = np.zeros(self.problem.d)
        truth[list(self.best)] = 1.0
        gains = self.problem.to_internal(self.means)
        short = gains @ truth - answers @ gains  # another answer may be as good
        good: Bools = (answers == truth).all(axis=-1) | (
            short <= self.stopping.epsilon + 1e-12 * np.abs(self.means).max()
        )
        return good

    @property
    def leader_correct(self) -> Bools:
        """Return whether each run's final answer is correct: bool[runs].

        The final answer is the one with which the run stopped, or which led when it was capped: the
        answer of a user who acts on it.
        """
        capped = self.capped
        if self.final_leaders is None:
            raise InputError(
                "leaders-missing",
                "the leaders of these runs were not kept",
                remedy="simulate them anew",
            )
        right: Bools = np.where(capped, self._good(self.final_leaders), self.correct)
        return right

    @property
    def leader_accuracy(self) -> float:
        """Return the share of correct leaders among the capped runs; NaN if none was capped."""
        capped = self.capped
        return float(self.leader_correct[capped].mean()) if capped.any() else math.nan

    @property
    def error_rate(self) -> float:
        """Return the share of runs that stopped with a wrong answer; capped runs have none."""
        return float((~self.correct & ~self.capped).mean())

    @property
    def validity(self) -> Validity:
        """Return what the threshold guarantees for this problem."""
        return self.stopping.validity

    @cached_property
    def complexity(self) -> Complexity:
        """Return the complexity of the instance.

        The characteristic time 1/D_nu is infinite if two answers are equally good.
        """
        try:
            return least_time(self.problem, self.means)
        except TieError:
            return Complexity(math.inf, np.full(self.problem.d, math.nan), [], 0.0)

    def oracle_stopping_time(self, which: int = 0) -> float:
        """Return the round at which the optimal proportions stop without noise.

        Parameters
        ----------
        which : int, default=0
            The position of the delta.

        Returns
        -------
        float
            The root of t = beta(t, delta) / D_nu; NaN for other kinds of thresholds.
        """
        return oracle_stopping_time(
            self.stopping, self.problem, self.means, self.complexity, self._place(which)
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per run and delta."""
        capped, correct = self.stopping_times < 0, self._right
        rounds = np.where(capped, self.max_rounds, self.stopping_times)
        return [
            {
                "rule": self.rule,
                "threshold": self.threshold,
                "delta": self.delta[k],
                "run": i,
                "rounds": int(rounds[i, k]),
                "answer": None
                if capped[i, k]
                else self.problem.label(arms_of(self.recommended[i, k])),
                "correct": bool(correct[i, k]),
                "capped": bool(capped[i, k]),
                **({} if self.labels is None else {"labels": " ".join(map(str, self.labels[i]))}),
            }
            for i in range(len(self.stopping_times))
            for k in range(len(self.delta))
        ]

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row per run and delta."""
        try:
            import pandas
        except ImportError:
            raise missing_extra("to_frame()", "frames") from None
        return pandas.DataFrame(self.rows())

    def summary(self) -> list[dict[str, Any]]:
        """Return one row per delta.

        Returns
        -------
        list of dict
            Rounds, errors and the number of capped runs, beside the lower bound and the limit of
            the threshold.
        """
        rows = []
        for k, delta in enumerate(self.delta):
            root, time = self.oracle_stopping_time(k), self.complexity.characteristic_time
            row = summary(self.stopping_times[:, k], self._right[:, k], self.max_rounds)
            bound = lower_bound(self.problem, self.complexity, delta)
            if self.stopping.epsilon:  # the bound is for rules that must find the best answer
                bound = math.nan
            known = self.final_leaders is not None and row["capped"] > 0
            right = self.at(delta).leader_accuracy if known else None
            rows.append(
                {
                    "rule": self.rule,
                    "threshold": self.threshold,
                    "validity": self.validity.label,
                    "delta": delta,
                    **row,
                    "leaders_right": right,
                    "time": time,
                    "bound": bound,
                    "limit": root,
                    "ratio": row["mean"] / root if root > 0.0 else math.nan,
                }
            )
        return rows

    def __str__(self) -> str:
        return table([self])

    def _repr_html_(self) -> str:
        return as_html([self])

    def __repr__(self) -> str:
        means = ", ".join(f"{self.at(delta).rounds.mean():,.0f}" for delta in self.delta)
        return (
            f"<{len(self.stopping_times)} runs of {self.rule}, delta {list(self.delta)}: "
            f"mean {means} rounds>"
        )


def summary(stops: Ints, correct: Any, max_rounds: int) -> dict[str, Any]:
    """Return the summary of some runs.

    It has the rounds (`max_rounds` for capped runs), the errors with their exact confidence
    interval, and the number of capped runs.
    """
    capped = stops < 0
    rounds = np.where(capped, max_rounds, stops)
    low, middle, high = np.percentile(rounds, [25, 50, 75])
    errors = int((~np.asarray(correct, dtype=bool) & ~capped).sum())
    least, most = error_interval(errors, len(rounds))
    return {
        "runs": len(rounds),
        "mean": float(rounds.mean()),
        "q25": float(low),
        "median": float(middle),
        "q75": float(high),
        "errors": errors,
        "error_rate": errors / len(rounds),
        "error_low": least,
        "error_high": most,
        "capped": int(capped.sum()),
    }


def error_interval(errors: int, runs: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the exact (Clopper-Pearson) confidence interval of an error rate.

    >>> [round(x, 4) for x in error_interval(0, 750)]
    [0.0, 0.0049]
    """
    from scipy.stats import beta

    tail = (1.0 - confidence) / 2.0
    low = float(beta.ppf(tail, errors, runs - errors + 1)) if errors > 0 else 0.0
    high = float(beta.ppf(1.0 - tail, errors + 1, runs - errors)) if errors < runs else 1.0
    return low, high


def _ratio(row: dict[str, Any]) -> str:
    return (
        "-"
        if math.isnan(row["ratio"])
        else (">= " if row["capped"] else "") + f"{row['ratio']:.2f}"
    )


def table(simulations: Sequence[Simulation]) -> str:
    """Return the summary of some simulations as text, with the bound of the instance below."""
    return "\n".join(tabled(simulations)[2])


def as_html(simulations: Sequence[Simulation]) -> str:
    """Return the summary of some simulations for a notebook, with a picture."""
    from .._display import html, plotting

    head, body, (_, *notes) = tabled(simulations)
    rows = [row for simulation in simulations for row in simulation.summary()]
    drawn = html.inline(plotting.picture(rows), "Rounds needed")
    return html.render("fragment.html", head=head, rows=body, left=2, picture=drawn, notes=notes)


def tabled(simulations: Sequence[Simulation]) -> tuple[list[str], list[list[str]], list[str]]:
    """Return the head of the table, its cells, and the text: the table, then the notes."""
    rows = [row for simulation in simulations for row in simulation.summary()]
    head = [
        "rule",
        "threshold",
        "delta",
        "runs",
        "mean",
        "q25",
        "median",
        "q75",
        "errors",
        "capped",
        "mean/limit",
    ]
    body = [
        [
            row["rule"],
            row["threshold"],
            f"{row['delta']:g}",
            str(row["runs"]),
            (">= " if row["capped"] else "") + f"{row['mean']:,.0f}",
            *(f"{row[q]:,.0f}" for q in ("q25", "median", "q75")),
            str(row["errors"]),
            str(row["capped"]),
            _ratio(row),
        ]
        for row in rows
    ]
    lines, epsilon = [aligned(head, body, left=2)], simulations[0].stopping.epsilon
    right = f"an answer within {epsilon:g} of the best" if epsilon else "the right answer"
    lines += [
        f"{row['rule']} at delta = {row['delta']:g}: {right} led in "
        f"{row['leaders_right']:.0%} of the {row['capped']} runs that were capped."
        for row in rows
        if row["leaders_right"] is not None
    ]
    lines += [
        f"{s.rule}: {s.n_cpu_fallback:,} of {len(s.stopping_times):,} runs outgrew the card and "
        "were played on the processor."
        for s in simulations
        if s.n_cpu_fallback
    ]
    c, limits = simulations[0].complexity, any(not math.isnan(row["limit"]) for row in rows)
    if c.duality_gap > 1e-3:
        lines.append(
            f"1/D_nu, the characteristic time, lies between "
            f"{c.characteristic_time / (1.0 + c.duality_gap):,.1f} and "
            f"{c.characteristic_time:,.1f}" + ("; limits are for the latter." if limits else ".")
        )
    else:
        lines.append(
            f"1/D_nu = {c.characteristic_time:,.1f} is the characteristic time of the instance "
            f"(certified to {c.duality_gap:.0e})."
        )
    problem = simulations[0].problem
    if problem.rewards.has_batch_effect() and not listed(problem):
        lines[-1] += " It is that of plays without levels of their own."
    if epsilon:
        lines[-1] += (
            f" That is for the best answer itself; errors are answers that are worse by more than "
            f"epsilon = {epsilon:g}, for which no bound is known."
        )
    for row in {(r["delta"], r["threshold"]): r for r in rows}.values():
        said = []
        if not math.isnan(row["bound"]):
            said.append(
                f"no rule can need fewer than ln(1/(2.4 delta))/D_nu = {row['bound']:,.0f} "
                "rounds on average"
            )
        if not math.isnan(row["limit"]):
            end = "the limit " + ("" if epsilon else "t = beta(t, delta)/D_nu = ")
            end += f"{row['limit']:,.0f}"
            said.append(
                f"with the {row['threshold']} threshold the optimal proportions stop without "
                f"noise at {end}"
            )
        if said:
            lines.append(f"delta = {row['delta']:g}: {'; '.join(said)}.")
    lines += sorted({f"{s.threshold} is {s.validity}." for s in simulations})
    return head, body, lines
