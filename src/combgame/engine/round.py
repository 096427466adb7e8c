r"""The round: Algorithm 1 of the paper [1]_. Read this file first.

.. code-block:: none

    1       INIT: play the actions of the initial design
    2       for t = n_0 + 1, n_0 + 2, ...:
    3           estimate the means, recommend an answer           update_recommendation
    4           stop if the evidence exceeds the threshold        check_stopping
    5 to 9      choose an action                                  SamplingKernel.choose
    10          play it and observe a value of each of its arms   play_and_observe

Every rule, baseline and engine plays these rounds. Lines 5 to 9 of the CombGame rule are in
`rules/combgame.py`; the kernels that a round calls are described in `engine/protocols.py`.

References
----------
.. [1] Jourdan, Mutný, Kirschner and Krause. *Efficient Pure Exploration for Combinatorial Bandits
   with Semi-Bandit Feedback*. ALT 2021.
"""

from .jit import jitable
from .protocols import ProblemKernel, SamplingKernel, StoppingKernel
from .state import Floats, Ints, Random, RoundState
from .statistics import Statistics

# how `play` ends: every delta has stopped; the last round is played; the rule needs larger arrays
STOPPED, TRUNCATED, NEEDS_RESIZE = 0, 1, 2
RUNNING = -1  # what `step` returns while the run goes on
# stopping times of a delta that has not stopped; NAN_THRESHOLD - t if its threshold was NaN at t
NOT_STOPPED, NAN_THRESHOLD = -1, -2


@jitable
def play(
    problem: ProblemKernel,
    rule: SamplingKernel,
    start: Ints,
    truth: Floats,
    rng: Random,
    last: int,
    stats: Statistics,
    state: RoundState,
    stopping_times: Ints,
    recommended: Floats,
) -> int:
    """Play rounds until every delta has stopped or the last round is played.

    A run that has ended with NEEDS_RESIZE goes on when `play` is called again with a larger rule.

    Parameters
    ----------
    problem : ProblemKernel
        Compiled problem together with its stopping rule.
    rule : SamplingKernel
        The sampling rule.
    start : int64[n_0, K]
        The initial design: a row of arms for each action, filled up with -1.
    truth : float64[d]
        The true means.
    rng : numpy.random.Generator
        Generator of the values and of the rule's draws.
    last : int
        Maximal number of rounds.
    stats : Statistics
        Statistics of the values observed so far; updated.
    state : RoundState
        What the last round decided; updated.
    stopping_times : int64[deltas]
        Stopping time of each delta, or NOT_STOPPED; updated.
    recommended : float64[deltas, d]
        Answer recommended at each stopping time; updated.

    Returns
    -------
    int
        STOPPED, TRUNCATED or NEEDS_RESIZE.
    """
    while True:  # line 2
        ended = step(
            problem, rule, start, truth, rng, last, stats, state, stopping_times, recommended
        )
        if ended != RUNNING:
            return ended


@jitable
def step(
    problem: ProblemKernel,
    rule: SamplingKernel,
    start: Ints,
    truth: Floats,
    rng: Random,
    last: int,
    stats: Statistics,
    state: RoundState,
    stopping_times: Ints,
    recommended: Floats,
) -> int:
    """Stop, or play one round; return how the run ends, or RUNNING. The parameters are `play`'s."""
    t = stats.n_rounds[0]
    if t >= start.shape[0]:
        stats.in_initial_design[0] = 0
    update_recommendation(problem, stats, state)
    if check_stopping(problem.stopping, t, state, stopping_times, recommended):
        return STOPPED
    if t >= last:
        return TRUNCATED
    if t == 0:
        stats.batch.left[0] = start.shape[0]  # the initial design is one block
    if t < start.shape[0]:  # line 1
        for a in range(state.action.size):
            state.action[a] = 0.0
        for j in range(start.shape[1]):
            if start[t, j] >= 0:
                state.action[start[t, j]] = 1.0
    elif rule.needs_resize():
        return NEEDS_RESIZE
    else:
        rule.choose(problem, stats, state, rng)  # lines 5 to 9
    play_and_observe(problem, stats, state.action, truth, rng)
    return RUNNING


@jitable
def update_recommendation(problem: ProblemKernel, stats: Statistics, state: RoundState) -> None:
    r"""Estimate the means, recommend an answer, and evaluate the stopping statistic.

    Implements line 3 of Algorithm 1 and the left-hand side of line 4.

    Parameters
    ----------
    problem : ProblemKernel
        Compiled problem together with its stopping rule.
    stats : Statistics
        Statistics of the values observed so far. ``stats.mean``, ``stats.projected_mean`` and
        ``stats.effective_counts`` are overwritten, and so are the variance estimates that the
        rewards derive from them.
    state : RoundState
        On return, ``state.leader`` is the recommended answer, ``state.rival`` and
        ``state.alternative_means`` describe its closest alternative, and ``state.evidence[0]`` is
        the evidence in favour of the leader.

    Notes
    -----
    The estimate :math:`\hat\mu_a` is the sample mean (0 for an arm without values). The leader is

    .. math:: I_t = \arg\max_{I} \; \langle 1_I, \tilde\mu_{t-1} \rangle,

    where :math:`\tilde\mu` is the projection of :math:`\hat\mu` onto the set of possible means
    :math:`\mathcal M`. Sums are kept with their rounding error, so that means are correct to the
    last digit.
    """
    for a in range(stats.mean.size):
        total = stats.sums[a] + stats.compensation[a]
        stats.mean[a] = total / stats.counts[a] if stats.counts[a] > 0.0 else 0.0
    stats.batch.adjust(stats.mean)
    for a in range(stats.mean.size):
        stats.projected_mean[a] = problem.rewards.project(stats.mean[a], a)
        stats.effective_counts[a] = stats.counts[a]
    problem.rewards.update_variance(stats)
    problem.answers.argmax(stats.projected_mean, state.leader)  # I_t
    state.evidence[0] = problem.stopping.evaluate(problem, stats, state)


@jitable
def check_stopping(
    stopping_kernel: StoppingKernel,
    t: int,
    state: RoundState,
    stopping_times: Ints,
    recommended: Floats,
) -> bool:
    """Record each delta whose threshold the evidence exceeds for the first time (line 4).

    A delta whose threshold is NaN counts as ended, because nothing can exceed NaN.

    Returns
    -------
    bool
        True if no delta is left that has not ended.
    """
    waiting = False
    for index in range(stopping_times.size):
        if stopping_times[index] == NOT_STOPPED:
            threshold = stopping_kernel.critical_value(t, index)
            if state.evidence[0] > threshold:
                stopping_times[index] = t
                for a in range(state.leader.size):
                    recommended[index, a] = state.leader[a]
            elif threshold != threshold:
                stopping_times[index] = NAN_THRESHOLD - t
            else:
                waiting = True
    return not waiting


@jitable
def next_action(
    problem: ProblemKernel, rule: SamplingKernel, stats: Statistics, state: RoundState, rng: Random
) -> bool:
    """Choose the next action after the initial design, for a study.

    Returns
    -------
    bool
        False if the rule needs larger arrays; then no action has been chosen.
    """
    update_recommendation(problem, stats, state)
    if rule.needs_resize():
        return False
    rule.choose(problem, stats, state, rng)
    return True


@jitable
def play_and_observe(
    problem: ProblemKernel, stats: Statistics, action: Floats, truth: Floats, rng: Random
) -> None:
    """Draw a value for every arm of the action and add it to the statistics (line 10)."""
    total = 0.0  # number of values after this round
    for a in range(action.size):
        total += stats.counts[a] + (1.0 if action[a] > 0.5 else 0.0)
    stats.begin_play()
    effect = stats.batch.draw_effect(rng)
    for a in range(action.size):
        if action[a] > 0.5:
            value = problem.rewards.draw(truth[a], a, rng) + effect
            stats.add_value(a, value, 1.0, value, total / (stats.counts[a] + 1.0), True)
            stats.batch.add_value(a, value, 1.0)
    stats.batch.end_play()
    stats.n_rounds[0] += 1
