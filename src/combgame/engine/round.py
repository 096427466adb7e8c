"""THE ROUND: Algorithm 1 of the paper (Jourdan, Mutny, Kirschner, Krause, ALT 2021). Read this file
first.

estimate -> recommend -> stop? -> the rule chooses -> play -> observe. Every rule, baseline and
engine uses it. The CombGame rule's own lines, 5 to 9, are in `rules/combgame.py`.
"""

from .jit import jitable
from .protocols import Game, Judge, Rule
from .state import Floats, Ints, Random, View
from .statistics import Seen

# how `play` ends: every delta has stopped; last round; the rule needs larger arrays
STOPPED, CAPPED, FULL = 0, 1, 2
ON = -1  # or it does not end yet
# of `stops`: no stop so far; and, less the round, a threshold that was no number
WAITING, LOST = -1, -2


@jitable
def recommend(game: Game, seen: Seen, view: View) -> None:
    """The estimate, the answer it recommends, and the evidence for that answer, at the counts."""
    for a in range(seen.mean.size):
        total = seen.sums[a] + seen.rest[a]
        seen.mean[a] = total / seen.counts[a] if seen.counts[a] > 0.0 else 0.0
    seen.blocks.adjust(seen.mean)
    for a in range(seen.mean.size):
        seen.feasible[a] = game.rewards.project(seen.mean[a], a)
        seen.worth[a] = seen.counts[a]
    game.rewards.estimate(seen)
    game.answers.argmax(seen.feasible, view.best)  # line 3: I_t
    view.evidence[0] = game.judge.look(game, seen, view)


@jitable
def settle(judge: Judge, t: int, view: View, stops: Ints, winners: Floats) -> bool:
    """Note every delta whose threshold is passed for the first time, or is no number, with which
    nothing can be compared; True when no other is left.
    """
    waiting = False
    for which in range(stops.size):
        if stops[which] == WAITING:
            level = judge.level(t, which)
            if view.evidence[0] > level:  # line 4: the stopping rule
                stops[which] = t
                for a in range(view.best.size):
                    winners[which, a] = view.best[a]
            elif level != level:
                stops[which] = LOST - t
            else:
                waiting = True
    return not waiting


@jitable
def advise(game: Game, rule: Rule, seen: Seen, view: View, rng: Random) -> bool:
    """The next action for what has been seen, after the start; False: the rule needs larger arrays,
    and nothing has happened.
    """
    recommend(game, seen, view)
    if rule.full():
        return False
    rule.choose(game, seen, view, rng)  # lines 5 to 9
    return True


@jitable
def observe(game: Game, seen: Seen, action: Floats, truth: Floats, rng: Random) -> None:
    """Line 10: a value for every arm of the action."""
    total = 0.0  # values, with those to come
    for a in range(action.size):
        total += seen.counts[a] + (1.0 if action[a] > 0.5 else 0.0)
    seen.begin_play()
    lift = seen.blocks.lift(rng)
    for a in range(action.size):
        if action[a] > 0.5:
            value = game.rewards.draw(truth[a], a, rng) + lift
            seen.add_value(a, value, 1.0, value, total / (seen.counts[a] + 1.0), True)
            seen.blocks.put(a, value, 1.0)
    seen.blocks.pass_play()
    seen.clock[0] += 1


@jitable
def step(
    game: Game,
    rule: Rule,
    start: Ints,
    truth: Floats,
    rng: Random,
    last: int,
    seen: Seen,
    view: View,
    stops: Ints,
    winners: Floats,
) -> int:
    """Stop, or play one round; how the run ends, or ON."""
    t = seen.clock[0]
    if t >= start.shape[0]:
        seen.start[0] = 0
    recommend(game, seen, view)
    if settle(game.judge, t, view, stops, winners):
        return STOPPED
    if t >= last:
        return CAPPED
    if t == 0:
        seen.blocks.left[0] = start.shape[0]  # the start is one block
    if t < start.shape[0]:
        for a in range(view.action.size):
            view.action[a] = 0.0
        for j in range(start.shape[1]):
            if start[t, j] >= 0:
                view.action[start[t, j]] = 1.0  # line 1: INIT
    elif rule.full():
        return FULL
    else:
        rule.choose(game, seen, view, rng)  # lines 5 to 9
    observe(game, seen, view.action, truth, rng)
    return ON


@jitable
def play(
    game: Game,
    rule: Rule,
    start: Ints,
    truth: Floats,
    rng: Random,
    last: int,
    seen: Seen,
    view: View,
    stops: Ints,
    winners: Floats,
) -> int:
    """Play rounds until every delta has stopped or `last` rounds are played; may be called again to
    go on.
    """
    while True:  # line 2
        ended = step(game, rule, start, truth, rng, last, seen, view, stops, winners)
        if ended != ON:
            return ended
