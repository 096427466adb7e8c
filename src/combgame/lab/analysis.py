"""What the values of a study show beside the stopping rule: estimates, lead, outliers, noise.

Nothing here influences which rounds are assigned or when a study stops. Everything is computed on
demand.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from .._messages import Message
from ..engine.user_code import own_bounds, own_errors
from . import diagnostics
from .corrections import delta_after_corrections
from .diagnostics import NoiseCheck, VarianceComponents, typical
from .estimates import Estimate, LeadInterval
from .estimates import estimates as estimates_of
from .estimates import margin as margin_of
from .monitor import COMPILED_FROM, Monitor
from .outliers import Outlier, find_outliers_within
from .outliers import find_outliers as doubts_of


def noise(monitor: Monitor) -> NoiseCheck | None:
    """Compare how the values vary with what was stated."""
    history = monitor.history
    problem, late, early = monitor.setting.problem, history.late_stats, history.initial_residuals
    return diagnostics.noise(problem, history.stats, late, early)


def outliers_of(monitor: Monitor) -> tuple[Outlier, ...]:
    """Find values that are hard to believe."""
    problem, history, misfit = monitor.setting.problem, monitor.history, noise(monitor)
    wrong = misfit is not None and misfit.contradicted
    if problem.rewards.has_batch_effect():  # outliers contradict sigma, too
        return find_outliers_within(
            problem, history.within(), problem.rewards.variance_known and not wrong
        )
    # if sigma is contradicted, correct values would look like outliers
    scale = typical(problem, history.stats, history.extremes) if wrong else 1.0
    outside = {number for number, *_ in history.outside}
    found = doubts_of(problem, history.stats, history.extremes, scale=scale)
    return tuple(one._replace(external=one.round in outside) for one in found)


def estimates(monitor: Monitor) -> list[Estimate]:
    """Estimate all arms, with intervals that hold at all times."""
    state, given = monitor.told, monitor.setting.problem
    best = state.state.leader if monitor.compared else np.zeros(monitor.problem.d)
    made = estimates_of(monitor.problem, state.kernel, state.stats, best, monitor.delta)
    if given is monitor.problem:
        return made

    def turned(x: float | None) -> float | None:
        return None if x is None else float(given.to_internal(x))

    return [
        one._replace(mean=turned(one.mean), low=turned(one.high), high=turned(one.low))
        for one in made
    ]


def margin(monitor: Monitor, certified: bool = False) -> LeadInterval | None:
    """Estimate the lead over the nearest rival, and how much better another answer can be.

    If ``certified`` is True and the threshold is proved, the lead is at least what the certificate
    states.
    """
    state, (_, rival) = monitor.told, monitor.least_evidence()
    if not monitor.comparable(rival):
        return None
    setting, best = monitor.setting, state.state.leader
    surely = certified and monitor.stopping.validity.proved
    least = 0.0 - setting.epsilon if surely else -math.inf  # no -0
    made = margin_of(monitor.problem, state.kernel, state.stats, best, rival, monitor.delta, least)
    if made is None:
        return None
    within = setting.epsilon if surely else suboptimality_bound(monitor)
    misfit = noise(monitor)
    doubted = misfit is not None and misfit.contradicted
    return replace(made, within=within, delta=setting.delta, sigma_doubted=doubted)


def suboptimality_bound(monitor: Monitor) -> float | None:
    """Return a bound for the amount by which another answer can be better than the leader.

    The bound holds with probability 1 - delta. It is the least epsilon, rounded up to three digits,
    with which the study would stop now; None if there is no such epsilon, if no theorem applies, or
    if the problem has too many arms.
    """
    proved = monitor.stopping.name == "mixture" and monitor.stopping.validity.proved
    if not proved or monitor.problem.d >= COMPILED_FROM:
        return None
    spread = float(np.ptp(monitor.history.stats.mean[monitor.needed]))
    with own_errors(), own_bounds(monitor.told.kernel):
        return least_passing(lambda epsilon: monitor.would_pass(monitor.delta, epsilon), spread)


def p_value(monitor: Monitor) -> float:
    """Return the smallest delta at which the evidence would be enough now; 1 if there is none."""
    history = monitor.history

    def passes(log_delta: float) -> bool:
        return monitor.would_pass(
            delta_after_corrections(math.exp(log_delta), history.n_changes) * history.share
        )

    low, high = math.log(monitor.setting.delta), math.log(1.0 - 1e-9)
    with own_errors(), own_bounds(monitor.told.kernel):
        if not passes(high):
            return 1.0
        for _ in range(40):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if passes(middle) else (middle, high)
    return math.exp(high)


def snapshot_at_end(
    monitor: Monitor, levels: VarianceComponents | None, facts: dict[str, Any]
) -> dict[str, Any]:
    """Return what is known beside the facts of a study's end, as plain data.

    Parameters
    ----------
    monitor : Monitor
        Monitor of the study.
    levels : VarianceComponents, optional
        Result of `Policy.variance_components`.
    facts : dict
        Result of `Monitor.facts`, or the contents of the certificate.
    """
    certified = facts["why"] == "certified"
    # nothing is derived from a certificate that this version would not have given
    lead = margin(monitor, certified and facts.get("short") is None)
    if certified and facts["answer"] != monitor.leader():
        lead = None
    sigma = noise(monitor)
    return {
        "noise": None if sigma is None else sigma._asdict(),
        "doubts": [[*one[:-1], list(one.instead)] for one in outliers_of(monitor)],
        "levels": None if levels is None else list(levels),
        "margin": None if lead is None else lead.plain(),
        "estimates": [list(one) for one in estimates(monitor)],
        "p_value": None if certified else p_value(monitor),
    }


def batch_warning(monitor: Monitor, levels: VarianceComponents | None) -> Message | None:
    """Return a warning if the initial design shows batch effects that the problem does not declare.

    For a study that has stopped, the result is that at its end.

    Parameters
    ----------
    monitor : Monitor
        Monitor of the study.
    levels : VarianceComponents, optional
        Result of `Policy.variance_components`.
    """
    if monitor.ended is not None and "levels" in monitor.ended:
        before = monitor.ended["levels"]
        levels = before and VarianceComponents(*before)
    return diagnostics.unstated(monitor.setting.problem, levels) if levels else None


def least_passing(passes: Callable[[float], bool], scale: float) -> float | None:
    """Return the least number from which on a condition holds, rounded up to three digits.

    The condition must hold for all larger numbers. The result is None if it holds for no number up
    to a million times ``scale``.

    >>> least_passing(lambda x: x > 0.123321, 1.0), least_passing(lambda x: x >= 7000, 1.0)
    (0.124, 7000.0)
    """
    low, high = 0.0, scale if scale > 0.0 else 1.0
    least, most = 1e-6 * high, 1e6 * high
    while not passes(high):
        low, high = high, 4.0 * high
        if high > most:
            return None
    while high - low > 1e-3 * high and high > least:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if passes(middle) else (middle, high)
    digit = 10.0 ** (math.floor(math.log10(high)) - 2)
    up = math.ceil(high / digit) * digit
    return float(f"{up:.3g}")
