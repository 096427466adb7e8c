"""THE ROUND: Algorithm 1 of the paper (Jourdan, Mutny, Kirschner, Krause, ALT 2021). Read this file
first.

estimate -> recommend -> stop? -> the rule chooses -> play -> observe. Every rule, baseline and
engine uses it. The CombGame rule's own lines, 5 to 9, are in `rules/combgame.py`.
"""

from .jit import jitable
from .protocols import ProblemKernel, SamplingKernel, StoppingKernel
from .state import Floats, Ints, Random, RoundState
from .statistics import Statistics

# how `play` ends: every delta has stopped; last round; the rule needs larger arrays
STOPPED, TRUNCATED, NEEDS_RESIZE = 0, 1, 2
RUNNING = -1  # or it does not end yet
# of `stopping_times`: no stop so far; and, less the round, a threshold that was no number
NOT_STOPPED, NAN_THRESHOLD = -1, -2


@jitable
def update_recommendation(problem: ProblemKernel, stats: Statistics, state: RoundState) -> None:
    """The estimate, the answer it recommends, and the evidence for that answer, at the counts."""
    for a in range(stats.mean.size):
        total = stats.sums[a] + stats.compensation[a]
        stats.mean[a] = total / stats.counts[a] if stats.counts[a] > 0.0 else 0.0
    stats.batch.adjust(stats.mean)
    for a in range(stats.mean.size):
        stats.projected_mean[a] = problem.rewards.project(stats.mean[a], a)
        stats.effective_counts[a] = stats.counts[a]
    problem.rewards.update_variance(stats)
    problem.answers.argmax(stats.projected_mean, state.leader)  # line 3: I_t
    state.evidence[0] = problem.stopping.evaluate(problem, stats, state)


@jitable
def check_stopping(
    stopping_kernel: StoppingKernel,
    t: int,
    state: RoundState,
    stopping_times: Ints,
    recommended: Floats,
) -> bool:
    """Note every delta whose threshold is passed for the first time, or is no number, with which
    nothing can be compared; True when no other is left.
    """
    waiting = False
    for index in range(stopping_times.size):
        if stopping_times[index] == NOT_STOPPED:
            level = stopping_kernel.critical_value(t, index)
            if state.evidence[0] > level:  # line 4: the stopping rule
                stopping_times[index] = t
                for a in range(state.leader.size):
                    recommended[index, a] = state.leader[a]
            elif level != level:
                stopping_times[index] = NAN_THRESHOLD - t
            else:
                waiting = True
    return not waiting


@jitable
def next_action(
    problem: ProblemKernel, rule: SamplingKernel, stats: Statistics, state: RoundState, rng: Random
) -> bool:
    """The next action for what has been seen, after the start; False: the rule needs larger arrays,
    and nothing has happened.
    """
    update_recommendation(problem, stats, state)
    if rule.needs_resize():
        return False
    rule.choose(problem, stats, state, rng)  # lines 5 to 9
    return True


@jitable
def play_and_observe(
    problem: ProblemKernel, stats: Statistics, action: Floats, truth: Floats, rng: Random
) -> None:
    """Line 10: a value for every arm of the action."""
    total = 0.0  # values, with those to come
    for a in range(action.size):
        total += stats.counts[a] + (1.0 if action[a] > 0.5 else 0.0)
    stats.begin_play()
    lift = stats.batch.lift(rng)
    for a in range(action.size):
        if action[a] > 0.5:
            value = problem.rewards.draw(truth[a], a, rng) + lift
            stats.add_value(a, value, 1.0, value, total / (stats.counts[a] + 1.0), True)
            stats.batch.put(a, value, 1.0)
    stats.batch.pass_play()
    stats.n_rounds[0] += 1


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
    """Stop, or play one round; how the run ends, or ON."""
    t = stats.n_rounds[0]
    if t >= start.shape[0]:
        stats.in_initial_design[0] = 0
    update_recommendation(problem, stats, state)
    if check_stopping(problem.stopping, t, state, stopping_times, recommended):
        return STOPPED
    if t >= last:
        return TRUNCATED
    if t == 0:
        stats.batch.left[0] = start.shape[0]  # the start is one block
    if t < start.shape[0]:
        for a in range(state.action.size):
            state.action[a] = 0.0
        for j in range(start.shape[1]):
            if start[t, j] >= 0:
                state.action[start[t, j]] = 1.0  # line 1: INIT
    elif rule.needs_resize():
        return NEEDS_RESIZE
    else:
        rule.choose(problem, stats, state, rng)  # lines 5 to 9
    play_and_observe(problem, stats, state.action, truth, rng)
    return RUNNING


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
    """Play rounds until every delta has stopped or `last` rounds are played; may be called again to
    go on.
    """
    while True:  # line 2
        ended = step(
            problem, rule, start, truth, rng, last, stats, state, stopping_times, recommended
        )
        if ended != RUNNING:
            return ended
