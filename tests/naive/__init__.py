"""Slow, obvious twins of the algorithms, written from the paper's formulas: dictionaries,
enumeration, generic solvers.
"""

import decimal
import itertools
import math
from fractions import Fraction

import numpy as np
from scipy.optimize import brentq, minimize


def best_set(sets, score):
    return max(sets, key=lambda s: (round(sum(score[a] for a in s), 12), tuple(-a for a in s)))


def divergence(family, x, y, sigma=1.0):
    if family == "bernoulli":
        y = min(max(y, 1e-12), 1 - 1e-12)
        return sum(p * math.log(p / q) for p, q in ((x, y), (1 - x, 1 - y)) if p > 0)
    return (x - y) ** 2 / (2 * sigma**2)


def distance(family, mean, weight, best, rival, sigma, low, high):
    """min sum_a w_a d(mean_a, y_a) over low <= y <= high with sum_{rival} y >= sum_{best} y, by a
    generic convex solver.
    """
    arms = sorted(set(best) ^ set(rival))
    sign = np.array([1.0 if a in rival else -1.0 for a in arms])
    lo = np.array([low[a] for a in arms])
    hi = np.array([high[a] for a in arms])
    if family == "bernoulli":
        lo, hi = np.maximum(lo, 1e-9), np.minimum(hi, 1 - 1e-9)
    if (sign * np.where(sign > 0, hi, lo)).sum() < 0:
        return math.inf
    m, w = np.array([mean[a] for a in arms]), np.array([weight[a] for a in arms])
    s = np.array([sigma[a] for a in arms])
    scale = max(w.max(), 1e-9)

    def cost(y):
        return sum(
            wi * divergence(family, mi, yi, si)
            for wi, mi, yi, si in zip(w / scale, m, y, s, strict=True)
        )

    def slope(y):
        if family == "bernoulli":
            return w / scale * (y - m) / (y * (1 - y))
        return w / scale * (y - m) / s**2

    starts = [np.clip(m, lo, hi)]
    finite = np.where(sign > 0, np.minimum(hi, m + 10), np.maximum(lo, m - 10))
    starts += [np.clip((m + finite) / 2, lo, hi), np.clip(np.full(len(m), m.mean()), lo, hi)]
    best_value = math.inf
    for start in starts:
        solved = minimize(
            cost,
            start,
            jac=slope,
            bounds=list(zip(lo, hi, strict=True)),
            method="SLSQP",
            constraints={"type": "ineq", "fun": lambda y: sign @ y, "jac": lambda y: sign},
            options={"ftol": 1e-14, "maxiter": 1000},
        )
        if sign @ solved.x >= -1e-9:
            best_value = min(best_value, float(solved.fun))
    return scale * best_value


def nearest(family, sets, mean, weight, best, sigma, low, high):
    values = {
        s: distance(family, mean, weight, best, s, sigma, low, high)
        for s in sets
        if set(s) != set(best)
    }
    rival = min(values, key=values.get)
    return values[rival], rival


def interval(family, x, level, sigma=1.0):
    """[alpha, beta] = {y: d(x, y) <= level} by bisection."""
    if level == 0:
        return x, x
    top, bottom = (1 - 1e-12, 1e-12) if family == "bernoulli" else (x + 1e6, x - 1e6)

    def f(y):
        return divergence(family, x, y, sigma) - level

    beta = top if f(top) <= 0 else brentq(f, x, top, xtol=1e-15)
    alpha = bottom if f(bottom) <= 0 else brentq(f, bottom, x, xtol=1e-15)
    return alpha, beta


def optimistic(family, mean, count, level, y, sigma=1.0):
    alpha, beta = interval(family, mean, level / count, sigma)
    return max(
        level / count, divergence(family, alpha, y, sigma), divergence(family, beta, y, sigma)
    )


class Epochs:
    """The doubling trick: horizon of the epoch of round t = 1, 2, ..., and whether it is the
    epoch's last round.
    """

    def __init__(self):
        self.i, self.t = 0, 0
        self.edges = [math.floor(200 * ((3 + math.sqrt(5)) / 2) ** i) for i in range(20)]

    @property
    def horizon(self):
        return self.edges[self.i] - (self.edges[self.i - 1] if self.i else 0)

    def tick(self):
        self.t += 1
        if self.t == self.edges[self.i]:
            self.i += 1
            return True
        return False


class Hedge:
    def __init__(self, sets):
        self.sets, self.epochs = sets, Epochs()
        self.restart()

    def restart(self):
        self.gain, self.b = dict.fromkeys(self.sets, 0.0), 0.0

    def act(self):
        eta = (
            math.sqrt(8 * math.log(len(self.sets)) / self.epochs.horizon) / self.b
            if self.b
            else 0.0
        )
        top = max(self.gain.values())
        w = {s: math.exp(eta * (g - top)) for s, g in self.gain.items()}
        total = sum(w.values())
        return {s: x / total for s, x in w.items()}

    def update(self, reward):
        got = {s: sum(reward[a] for a in s) for s in self.sets}
        self.b = max(self.b, max(got.values()) - min(got.values()))
        for s in self.sets:
            self.gain[s] += got[s]
        if self.epochs.tick():
            self.restart()


class AdaHedge:
    """de Rooij et al. (2014), figure 1, in losses l = -U."""

    def __init__(self, sets):
        self.sets, self.delta, self.loss = sets, 0.0, np.zeros(len(sets))

    def act(self):
        low = self.loss.min()
        if self.delta == 0:
            w = (self.loss == low).astype(float)
        else:
            w = np.exp(-math.log(len(self.sets)) / self.delta * (self.loss - low))
        self.w = w / w.sum()
        return dict(zip(self.sets, self.w, strict=True))

    def update(self, reward):
        loss = -np.array([sum(reward[a] for a in s) for s in self.sets])
        hedge = self.w @ loss
        if self.delta == 0:
            mix = (self.loss + loss).min() - self.loss.min()
        else:
            eta = math.log(len(self.sets)) / self.delta
            shift = loss.min()
            mix = shift - math.log(self.w @ np.exp(-eta * (loss - shift))) / eta
        self.delta += max(0.0, hedge - mix)
        self.loss = self.loss + loss


class OFW:
    def __init__(self, sets, d, home, diameter):
        self.sets, self.d, self.diameter = sets, d, diameter
        self.w = dict.fromkeys(home, 1 / len(home))
        self.centre, self.rewards = marginals(self.w, d), []

    def act(self):
        return self.w

    def update(self, reward):
        self.rewards.append(np.array(reward))
        t, x = len(self.rewards), marginals(self.w, self.d)
        gradient = (
            sum(
                2 * s**-0.25 / self.diameter * (x - self.centre) - r
                for s, r in enumerate(self.rewards, 1)
            )
            / t
        )
        vertex = best_set(self.sets, -gradient)
        self.w = {s: x * (1 - t**-0.25) for s, x in self.w.items()}
        self.w[vertex] = self.w.get(vertex, 0.0) + t**-0.25


class LLOO:
    def __init__(self, sets, d, home, diameter, psi=1.0, phi=1.0):
        self.sets, self.d, self.diameter, self.mu = sets, d, diameter, psi * diameter / phi
        self.home, self.epochs = home, Epochs()
        self.restart()
        self.centre = marginals(self.w, d)

    def restart(self):
        self.w, self.total, self.largest = (
            dict.fromkeys(self.home, 1 / len(self.home)),
            np.zeros(self.d),
            0.0,
        )

    def act(self):
        return self.w

    def update(self, reward):
        d, mu, T = self.d, self.mu, self.epochs.horizon
        self.total = self.total + reward
        self.largest = max(self.largest, float(np.linalg.norm(reward)))
        gamma = 1 / (3 * d * mu**2)
        eta = self.diameter / (18 * mu * math.sqrt(d * T) * self.largest)
        M = min(mu**2 * d / math.sqrt(T) * (1 + 1 / (18 * d * mu**2)), 1)
        gradient = 2 * (marginals(self.w, d) - self.centre) - eta * self.total
        vertex = best_set(self.sets, -gradient)
        minus = reduce(self.w, M, gradient)
        w = {s: x - gamma * minus.get(s, 0.0) for s, x in self.w.items()}
        w[vertex] = w.get(vertex, 0.0) + gamma * M
        self.w = w
        if self.epochs.tick():
            self.restart()


def reduce(w, M, c):
    """Algorithm 2 of the paper."""
    order = sorted(w, key=lambda s: -sum(c[a] for a in s))
    minus, left = {}, M
    for s in order:
        minus[s] = min(w[s], left)
        left -= minus[s]
        if left <= 0:
            break
    return minus


def marginals(w, d):
    x = np.zeros(d)
    for s, weight in w.items():
        x[list(s)] += weight
    return x


def smallest_cover(sets, d):
    seen = set().union(*map(set, sets))
    return next(
        n
        for n in range(1, d + 1)
        for c in itertools.combinations(sets, n)
        if set().union(*map(set, c)) == seen
    )


def combgame(
    kind,
    learner_per_answer,
    sets,
    d,
    answers,
    sigma,
    means,
    rng,
    rounds,
    bonus,
    low=-math.inf,
    high=math.inf,
    order="learner",
):
    """Algorithm 1 from beginning to end, Gaussian rewards, C-tracking over all of B_t: the actions
    played. order: who plays first.
    """
    diameter = math.sqrt(max(len(set(a) ^ set(b)) for a in sets for b in sets))

    def learner():
        if kind == "Hedge":
            return Hedge(sets)
        if kind == "AdaHedge":
            return AdaHedge(sets)
        return (OFW if kind == "OFW" else LLOO)(sets, d, home, diameter)

    if kind in ("Hedge", "AdaHedge"):
        home = [sets[i] for i in rng.permutation(len(sets))]  # INIT: full
    else:
        k = len(sets[0])
        home = [
            tuple(sorted((first + i) % d for i in range(k))) for first in range(0, d, k)
        ]  # INIT: covering
    counts, total = dict.fromkeys(sets, 0.0), dict.fromkeys(sets, 0.0)
    for s in home:
        total[s] = 1.0
    number, values, played, learners = np.zeros(d), np.zeros(d), [], {}
    known = list(sets) if kind in ("Hedge", "AdaHedge") else list(home)
    past = sum(marginals({s: 1.0}, d) for s in home)
    for t in range(rounds):
        if t < len(home):
            action = home[t]
        else:
            mean = values / number
            best = max(answers, key=lambda s: sum(min(max(mean[a], low), high) for a in s))
            which = best if learner_per_answer else 0
            if which not in learners:
                learners[which] = learner()
            player = learners[which]
            w = player.act()
            for s, x in w.items():
                total[s] += x
            known += [s for s in w if s not in known]  # ties go to the action that was met first
            action = min(
                (s for s in known if total[s] > 0), key=lambda s: round(counts[s] / total[s], 12)
            )
            arms = marginals(w, d)
            seen_by_nature = arms if order == "learner" else past.copy()
            options = []
            for rival in answers:
                if rival != best:
                    options.append(
                        _gaussian_move(mean, seen_by_nature, best, rival, sigma, low, high)
                    )
            other = min(options, key=lambda option: option[0])[1]
            f = bonus(t)
            reward = [
                optimistic("gaussian", mean[a], number[a], f, other[a], sigma[a]) for a in range(d)
            ]
            player.update(np.array(reward))
            if order == "nature":
                action = max(sets, key=lambda s: sum(reward[a] for a in s))
                arms = marginals({action: 1.0}, d)
            past += arms
        counts[action] += 1
        played.append(action)
        for a in action:
            values[a] += means[a] + sigma[a] * rng.standard_normal()
            number[a] += 1
    return played


def _gaussian_move(mean, weight, best, rival, sigma, low, high):
    """The cost and the nearest means at which `rival` is as good as `best`: bisection on the
    multiplier.
    """

    def clip(x):
        return min(max(x, low), high)

    point = [clip(x) for x in mean]
    sign = {a: 1.0 if a in rival else -1.0 for a in sorted(set(best) ^ set(rival))}

    def lead(y):
        return -sum(s * y[a] for a, s in sign.items())

    def cost(y):
        return sum(weight[a] * (mean[a] - y[a]) ** 2 / (2 * sigma[a] ** 2) for a in sign)

    for a, s in sign.items():  # an arm without weight moves alone until the answers tie
        if weight[a] == 0 and lead(point) > 0:
            point[a] = clip(point[a] + s * lead(point))
    if lead(point) <= 1e-15:
        return cost(point), point

    def at(alpha):
        y = list(point)
        for a, s in sign.items():
            if weight[a] > 0:
                y[a] = clip(mean[a] + s * alpha * sigma[a] ** 2 / weight[a])
        return y

    left, right = 0.0, 1e12
    while left < (middle := 0.5 * (left + right)) < right:
        left, right = (middle, right) if lead(at(middle)) > 0 else (left, middle)
    return cost(at(right)), at(right)


def alternative(family, mean, weight, best, rival, sigma, low, high):
    """The means nearest to `mean` at which `rival` is as good as `best`, by their one multiplier;
    None if there are none.
    """
    arms = sorted(set(best) ^ set(rival))
    sign = {a: 1.0 if a in rival else -1.0 for a in arms}

    def moved(a, alpha):
        push = alpha * sign[a] / weight[a]
        if family == "bernoulli":  # (y - x) / (y (1 - y)) = push

            def excess(y):
                return (y - mean[a]) - push * y * (1 - y)

            y = (
                mean[a]
                if push == 0
                else brentq(excess, 0.0, mean[a])
                if push < 0
                else brentq(excess, mean[a], 1.0)
            )
        else:
            y = mean[a] + push * sigma[a] ** 2
        return min(max(y, low[a]), high[a])

    def lead(alpha):
        return sum(-sign[a] * moved(a, alpha) for a in arms)

    top = 1e-6
    while lead(top) > 0:
        top *= 4
        if top > 1e15:
            return None
    alpha = brentq(lead, 0.0, top, xtol=1e-300, rtol=1e-14) if lead(0.0) > 0 else 0.0
    return {a: moved(a, alpha) for a in arms}


def characteristic_time(family, actions, answers, mean, sigma, low, high):
    """1/D_nu = 1 / max_w min_J f_J(w) over all actions and answers, by SLSQP: at least the true
    value, since every w bounds D_nu.
    """
    best, d, n = best_set(answers, mean), len(mean), len(actions)
    incidence = np.array([[1.0 if a in chosen else 0.0 for a in range(d)] for chosen in actions])

    def gradient(w, rival):
        """d f_J / d w~, zero outside the arms that differ; f_J is its product with w~."""
        y = alternative(
            family, mean, np.maximum(w @ incidence, 1e-9), best, rival, sigma, low, high
        )
        return (
            None
            if y is None
            else np.array(
                [divergence(family, mean[a], y.get(a, mean[a]), sigma[a]) for a in range(d)]
            )
        )

    start = np.full(n, 1.0 / n)
    rivals = [s for s in answers if set(s) != set(best) and gradient(start, s) is not None]

    def value(w):
        return min(gradient(w, s) @ (w @ incidence) for s in rivals)

    scale = value(start)

    def solve(start):
        solved = minimize(
            lambda x: -x[n],
            np.r_[start, value(start) / scale],
            jac=lambda x: np.r_[np.zeros(n), -1.0],
            bounds=[(0.0, 1.0)] * n + [(0.0, None)],
            constraints=[
                {
                    "type": "eq",
                    "fun": lambda x: x[:n].sum() - 1.0,
                    "jac": lambda x: np.r_[np.ones(n), 0.0][None],
                },
                {
                    "type": "ineq",
                    "fun": lambda x: np.array(
                        [gradient(x[:n], s) @ (x[:n] @ incidence) / scale - x[n] for s in rivals]
                    ),
                    "jac": lambda x: np.array(
                        [np.r_[incidence @ gradient(x[:n], s) / scale, -1.0] for s in rivals]
                    ),
                },
            ],
            method="SLSQP",
            options={"ftol": 1e-10, "maxiter": 300},
        )
        w = np.maximum(solved.x[:n], 0.0)
        return w / w.sum()

    found = [start]
    for _ in range(3):  # again from a little inside, where it got stuck at a corner
        found.append(solve(0.9 * found[-1] + 0.1 * start))
    return 1.0 / max(value(w) for w in found)


def ensemble(sets, score, d):
    """ln sum_A exp(<1_A, score>) and the chance of every arm, by enumeration in long doubles."""
    value = np.array([sum((np.longdouble(score[a]) for a in s), np.longdouble(0)) for s in sets])
    w = np.exp(value - value.max())
    out = np.zeros(d, np.longdouble)
    for s, x in zip(sets, w / w.sum(), strict=True):
        out[list(s)] += x
    return float(value.max() + np.log(w.sum())), out.astype(float)


def subset_chances(score, k):
    """The same for all sets of k arms, from the elementary symmetric polynomials in 60 digits with
    any exponent.
    """
    with decimal.localcontext(decimal.Context(prec=60, Emax=10**15, Emin=-(10**15))):
        w = [decimal.Decimal(float(x)).exp() for x in score]

        def polynomials(weights):
            e = [decimal.Decimal(1)] + [decimal.Decimal(0)] * k
            for x in weights:
                for j in range(k, 0, -1):
                    e[j] += x * e[j - 1]
            return e

        total = polynomials(w)[k]
        chance = [
            float(x * polynomials(w[:a] + w[a + 1 :])[k - 1] / total) for a, x in enumerate(w)
        ]
        return float(total.ln()), np.array(chance)


def tree_chances(nodes, edges, score):
    """The same for spanning trees: the determinant, and each edge's weight over the conductance
    between its ends, in 60 digits.
    """
    with decimal.localcontext(decimal.Context(prec=60, Emax=10**15, Emin=-(10**15))):
        weight = [decimal.Decimal(float(x)).exp() for x in score]

        def eliminate(kept):
            w = {(i, j): decimal.Decimal(0) for i in range(nodes) for j in range(nodes)}
            for (u, v), x in zip(edges, weight, strict=True):
                w[u, v] += x
                w[v, u] += x
            left, product = set(range(nodes)), decimal.Decimal(1)
            for v in range(nodes):
                if v not in kept:
                    left.remove(v)
                    around = sum(w[v, i] for i in left)
                    product *= around
                    for i, j in itertools.permutations(left, 2):
                        w[i, j] += w[v, i] * w[v, j] / around
            return w, product

        chance = [
            float(x / eliminate((u, v))[0][u, v]) for (u, v), x in zip(edges, weight, strict=True)
        ]
        return float(eliminate((0,))[1].ln()), np.array(chance)


def product_adahedge(sets, d, home, answers, sigma, means, rng, bonus, played):
    """Algorithm 1 with enumerated AdaHedge and the arms tracked by one oracle call, along the
    actions `played`.

    How far each action was from the best one, and the second best one, for the lag sum_s w~_s - N~.
    """
    player, owed, number, values, short, lead = (
        AdaHedge(sets),
        np.zeros(d),
        np.zeros(d),
        np.zeros(d),
        [],
        [],
    )
    for t, action in enumerate(played):
        if t < len(home):
            assert action == home[t]
            owed[list(action)] += 1
        else:
            mean = values / number
            best = max(answers, key=lambda s: sum(mean[a] for a in s))
            arms = marginals(player.act(), d)
            owed += arms
            lag = owed - number
            order = sorted((sum(lag[a] for a in s) for s in sets), reverse=True)
            short.append(order[0] - sum(lag[a] for a in action))
            lead.append(order[0] - order[1])
            infinite = (-math.inf, math.inf)
            other = min(
                (
                    _gaussian_move(mean, arms, best, s, sigma, *infinite)
                    for s in answers
                    if s != best
                ),
                key=lambda x: x[0],
            )[1]
            f = bonus(t)
            player.update(
                np.array(
                    [
                        optimistic("gaussian", mean[a], number[a], f, other[a], sigma[a])
                        for a in range(d)
                    ]
                )
            )
        for a in action:
            values[a] += means[a] + sigma[a] * rng.standard_normal()
            number[a] += 1
    return short, lead


def changes(events):
    """How often what counts in a study was changed otherwise than by new values: retractions, and
    values in the place of retracted ones.
    """
    arms, entered, said, taken, outside, open_to_it, count, anew = (
        {},
        {},
        set(),
        set(),
        [],
        [],
        0,
        False,
    )
    for event in events:
        values = [int(a) for a, entry in event.data.get("values", {}).items() if entry is not None]
        entered.setdefault(event.round, set()).update(map(int, event.data.get("values", {})))
        if event.kind == "asked":
            arms[event.round] = event.data["arms"]
        elif event.kind == "told":
            back = [a for a in values if (event.round, a) in taken]
            anew |= bool(back)
            for a in back:
                if a in open_to_it:
                    open_to_it.remove(a)
            taken -= {(event.round, a) for a in values}
            said |= {
                (event.round, a)
                for a in (
                    arms[event.round] if event.data["final"] else map(int, event.data["values"])
                )
            }
        elif (
            event.kind == "failed"
            and not event.data["retry"]
            and any(number == event.round for number, _ in said)
        ):
            said |= {(event.round, a) for a in arms[event.round]}
        elif event.kind == "observed":
            for a in values:
                if a in open_to_it:
                    open_to_it.remove(a)
                    anew = True
            outside += [(event.round, a) for a in values]
        elif event.kind == "retracted":
            count += 1

            def gone(place, event=event):
                return (
                    place[0] == event.round
                    if event.round is not None
                    else place[1] == event.data["arm"]
                )

            taken |= {place for place in said if gone(place)}
            if event.round is not None:
                said = {place for place in said if not gone(place)}
            theirs = [a for number, a in outside if gone((number, a))]
            named = (
                sorted(entered.get(event.round, ()))
                if event.round is not None
                else [event.data["arm"]]
            )
            open_to_it += theirs + [a for a in named if a not in theirs]
            outside = [place for place in outside if not gone(place)]
        if anew and not event.data.get("more"):
            count, anew = count + 1, False
    return count


# ---- what events say of the rounds of a study, each question answered from the whole history


def values_of(event):
    return {int(a): entry for a, entry in event.data.get("values", {}).items()}


def counting(events):
    """The values that were not retracted, as (round, arm, entry), in the order in which they
    came.
    """
    kept = []
    for event in events:
        if event.kind == "retracted":
            gone, arm = event.round, event.data.get("arm")
            kept = [one for one in kept if (one[0] != gone if gone is not None else one[1] != arm)]
        else:
            kept += [
                (event.round, a, entry)
                for a, entry in values_of(event).items()
                if entry is not None
            ]
    return kept


def look_up(events, number):
    """How a round stands that has ended ("told", "given up", "observed"), what was told of it, and
    which arms may be told anew.
    """
    events = [e for e in events if e.round == number or (e.round is None and e.kind == "retracted")]
    first = next(e for e in events if e.round == number)
    if first.kind == "observed":
        gone = any(e.round == number and e.kind == "retracted" for e in events)
        return "observed", {} if gone else values_of(first), set()
    told, again, over, arms = {}, set(), False, first.data["arms"]
    for event in events:
        if event.round is None:
            arm = event.data["arm"]
            if not over:
                told.pop(arm, None)
            elif told.get(arm) is not None:
                again.add(arm)
        elif event.kind == "retracted":
            told, again, over = {}, set(), False
        else:
            told.update(values_of(event))
            again -= set(values_of(event))
            ends = event.data.get("final") or event.data.get("retry") is False
            over = bool(ends) or set(told) == set(arms)
            if event.data.get("final") or (ends and told):
                told = {**dict.fromkeys(arms), **told}
    return "told" if told else "given up", told, again


def rows(events, label, moment):
    """The table of rounds and arms, written line by line and mended as the events come."""
    found, over = {}, set()
    for event in events:
        own = found.setdefault(event.round, {}) if event.round is not None else {}
        if event.kind in ("asked", "observed"):
            for arm in event.data["arms"] if event.kind == "asked" else values_of(event):
                blank = dict.fromkeys(("state", "n", "mean", "client", "asked", "observed", "told"))
                row = own.setdefault(
                    arm, {"round": event.round, "arm": label(arm), **blank, "n": 0, "stands": False}
                )
                row["client"], row[event.kind] = event.client, moment(event.timestamp)
                row["state"] = row["state"] if row["told"] else "open"
        for arm, entry in values_of(event).items():
            xs = [] if entry is None else entry if isinstance(entry, list) else [entry]
            xs = [(x["mean"], x["n"]) if isinstance(x, dict) else (x, 1) for x in xs]
            n = sum(k for _, k in xs)
            mean = sum(x * k for x, k in xs) / n if n else None
            own[arm].update(
                state=event.kind if n else "missing",
                n=n,
                mean=mean,
                told=moment(event.timestamp),
                stands=True,
            )
        if event.kind == "retracted":
            arm = event.data.get("arm")
            gone = [row for row in own.values() if row["stands"]]
            if (
                arm is not None
            ):  # what is missing in a round that has ended is not a value of the arm
                theirs = [(number, rows[arm]) for number, rows in found.items() if arm in rows]
                gone = [
                    row
                    for number, row in theirs
                    if row["told"] and (row["n"] or number not in over)
                ]
            for row in gone:
                row.update(state="retracted", n=0, mean=None, told=None, stands=False)
            over -= {event.round}
        elif event.kind == "failed" or event.data.get("final"):
            for row in own.values():
                if row["told"] is None:
                    row["state"] = "failed" if event.kind == "failed" else "missing"
        ends = event.data.get("final") or event.data.get("retry") is False
        if (ends and any(row["stands"] for row in own.values())) or event.data.get("final"):
            for row in own.values():
                row["stands"] = True
        if (
            event.kind == "observed"
            or ends
            or (event.kind == "told" and all(row["stands"] for row in own.values()))
        ):
            over.add(event.round)
    return [
        {key: x for key, x in row.items() if key != "stands"}
        for own in found.values()
        for row in own.values()
    ]


# ---- the same to 50 digits or more: floats are taken at their word, however wild they are

HIGH = decimal.Context(prec=90, Emax=10**15, Emin=-(10**15))


def ratio(x):
    """A float (or a fraction) as a fraction; infinities stay."""
    return x if isinstance(x, Fraction) else Fraction(float(x)) if math.isfinite(x) else float(x)


def real(x):
    """A fraction as a decimal of the present precision."""
    return decimal.Decimal(x.numerator) / decimal.Decimal(x.denominator)


def true_distance(family, mean, weight, best, rival, sigma, low, high):
    """min sum_a w_a d(mean_a, y_a) over low <= y <= high with sum_{rival} y >= sum_{best} y: a
    Decimal, or infinity.
    """
    moving, lead, start = [], Fraction(0), decimal.Decimal(0)
    with decimal.localcontext(HIGH):
        for a in sorted(set(best) ^ set(rival)):
            sign, x, w, v = (
                (1 if a in rival else -1),
                ratio(mean[a]),
                ratio(weight[a]),
                ratio(sigma[a]) ** 2,
            )
            here, end = (
                min(max(x, ratio(low[a])), ratio(high[a])),
                ratio(high[a] if a in rival else low[a]),
            )
            lead -= sign * here
            if w:
                moving.append((sign, x, w, v, here, end))
                start += real(w) * _true_divergence(family, x, here, v)
            else:  # free to go
                lead -= sign * (end - here)
        if lead <= 0:
            return start
        room = sum(sign * (end - here) for sign, _, _, _, here, end in moving)
        if room < lead:
            return math.inf
        if room == lead:  # at the ends, or nowhere
            return sum(
                (real(w) * _true_divergence(family, x, end, v) for _, x, w, v, _, end in moving),
                decimal.Decimal(0),
            )
        return (_true_bernoulli if family == "bernoulli" else _true_gaussian)(moving, lead)


def _true_divergence(family, x, y, v):
    if family != "bernoulli":
        return real((x - y) ** 2 / (2 * v))
    if y in (0, 1):
        return decimal.Decimal(0 if x == y else "Infinity")
    return _true_kl(real(x), real(1 - x), real(y), real(1 - y))


def _true_kl(x, c, y, z):
    """Bernoulli, with the chances of 0 beside those of 1; `HIGH` has digits enough for the
    difference.
    """
    return sum((p * (p / q).ln() for p, q in ((x, y), (c, z)) if p and p != q), decimal.Decimal(0))


def _true_gaussian(moving, lead):
    """Each arm goes at the speed v/w of the multiplier alpha, from where it leaves its projection
    to the end of its box.
    """
    events = []
    for sign, x, w, v, here, end in moving:
        if end != here:
            events.append((sign * (here - x) * w / v, v / w))
            if math.isfinite(end):
                events.append((sign * (end - x) * w / v, -v / w))
    alpha, gone, speed = Fraction(0), Fraction(0), Fraction(0)
    for when, change in sorted(events):
        if speed and gone + speed * (when - alpha) >= lead:
            break
        gone, alpha, speed = gone + speed * (when - alpha), when, speed + change
    if gone < lead:
        alpha += (lead - gone) / speed

    def at(sign, x, w, v, here, end):
        y = sign * max(sign * here, sign * (x + sign * alpha * v / w))
        return y if sign * y < sign * end else end

    return real(
        sum(
            w * (x - at(sign, x, w, v, here, end)) ** 2 / (2 * v)
            for sign, x, w, v, here, end in moving
        )
    )


def _true_bernoulli(moving, lead):
    """The multiplier by bisection; y is the root in [0, 1] of w (y - x) = alpha y (1 - y)."""
    arms = [
        (sign, real(x), real(1 - x), real(w), real(here), real(1 - here), real(end), real(1 - end))
        for sign, x, w, _, here, end in moving
    ]
    lead = real(lead)

    def at(alpha, sign, x, c, w, here, there, end, rest):
        q = alpha / w
        if sign > 0:
            x, c, here, there, end, rest = c, x, there, here, rest, end
        root = ((1 - q) ** 2 + 4 * q * c).sqrt()  # towards 0
        y = 2 * x / (1 + q + root)
        z = 2 * c / (1 - q + root) if q < 1 else (q - 1 + root) / (2 * q)
        y, z = (here, there) if y > here else (end, rest) if y < end else (y, z)
        return (z, y) if sign > 0 else (y, z)

    def left(alpha):
        return lead - sum(arm[0] * (at(alpha, *arm)[0] - arm[4]) for arm in arms)

    low, high = decimal.Decimal("1e-600"), decimal.Decimal("1e-600")
    while left(high) > 0:
        low, high = high, high * 10**20
    while high > low * (1 + decimal.Decimal("1e-45")):
        middle = (low * high).sqrt()
        low, high = (middle, high) if left(middle) > 0 else (low, middle)
    return sum(arm[3] * _true_kl(arm[1], arm[2], *at(high, *arm)) for arm in arms)


def true_nearest(family, sets, mean, weight, best, sigma, low, high):
    """The least `true_distance` of all sets, and the distances."""
    every = {
        s: true_distance(family, mean, weight, best, s, sigma, low, high)
        for s in sets
        if set(s) != set(best)
    }
    return min(every.values()), every


def true_mixture(scales, joint, own, pair):
    """min over x in [low, high] of F_ij(x) = ln sum_k p_k exp(g_k(mean_i - x) + g_k(x - mean_j)) of
    docs/thresholds.md, to 40 digits.

    joint: (c, chance) of scales with a direction that both arms share; own: how many times c each
    arm has; pair: ((mean, count, sigma) of arm i, the same of arm j, low, high).
    """
    import mpmath

    with mpmath.workdps(50):
        (one, n, sigma), (other, m, tau), low, high = (
            [mpmath.mpf(float(x)) for x in arm] if isinstance(arm, tuple) else arm for arm in pair
        )

        def side(u, count, spread, c, sided):
            rate = count / (spread * mpmath.sqrt(count + c))
            z = u * rate
            value, slope = z * z / 2 - mpmath.log(1 + count / c) / 2, z
            if sided:
                twice = mpmath.erfc(-z / mpmath.sqrt(2))
                value, slope = value + mpmath.log(twice), z + 2 * mpmath.npdf(z) / twice
            return value, slope * rate

        def both(x):
            found = []
            for c, e, first, second, chance in scales:
                value, fall = side(one - x, n, sigma, mpmath.mpf(c), first)
                more, rise = side(x - other, m, tau, mpmath.mpf(e), second)
                found.append((value + more + mpmath.log(mpmath.mpf(chance)), rise - fall))
            for even, chance in joint:
                c = mpmath.mpf(own) * mpmath.mpf(even)
                value, fall = side(one - x, n, sigma, c, False)
                more, rise = side(x - other, m, tau, c, False)
                base, b, e = even * (sigma**2 + tau**2) / 2, n * c / (n + c), m * c / (m + c)
                q = b * sigma**2 + e * tau**2
                sd = mpmath.sqrt(q + base)
                z = (b * (one - x) + e * (x - other)) / sd
                twice = mpmath.erfc(-z / mpmath.sqrt(2))
                value += z * z / 2 + mpmath.log(twice) - mpmath.log(1 + q / base) / 2
                turn = (z + 2 * mpmath.npdf(z) / twice) * (e - b) / sd
                found.append((value + more + mpmath.log(mpmath.mpf(chance)), rise - fall + turn))
            top = max(value for value, _ in found)
            shares = [mpmath.exp(value - top) for value, _ in found]
            slope = sum(share * rise for share, (_, rise) in zip(shares, found, strict=True)) / sum(
                shares
            )
            return top + mpmath.log(sum(shares)), slope

        step = sigma / mpmath.sqrt(n) + tau / mpmath.sqrt(m) + abs(one - other)
        left, right = (
            min(max(min(one, other) - step, low), high),
            max(min(max(one, other) + step, high), low),
        )
        while left > low and both(left)[1] > 0:
            step, left = 4 * step, max(left - step, low)
        while right < high and both(right)[1] < 0:
            step, right = 4 * step, min(right + step, high)
        if both(left)[1] >= 0 or both(right)[1] <= 0:
            return both(left if both(left)[1] >= 0 else right)[0]
        for _ in range(100):
            middle = (left + right) / 2
            left, right = (left, middle) if both(middle)[1] > 0 else (middle, right)
        return both(left)[0]


def true_regret(n, ones):
    """`judges.beta_regret` from its definition."""
    import mpmath

    with mpmath.workdps(50):
        n, s = (mpmath.mpf(x.numerator) / x.denominator for x in (n, ones))
        fit = sum((x * mpmath.log(x / n) for x in (s, n - s) if x > 0), mpmath.mpf(0))
        return float(
            fit
            - (
                mpmath.loggamma(s + 0.5)
                + mpmath.loggamma(n - s + 0.5)
                - mpmath.loggamma(n + 1)
                - mpmath.log(mpmath.pi)
            )
        )


def correlated_plays(problem, truth, delta, seed, number, cap):
    """CorrelatedProblem's run, in lists: the actions that are played, the round and the answer."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
    d, plays, answers = problem.actions.d, problem.actions.to_list(), problem.answers.to_list()
    sigma, root = problem.covariance, np.linalg.cholesky(problem.covariance)

    def told(chosen):  # V_A, arm by arm
        matrix, inner = np.zeros((d, d)), np.linalg.inv(sigma[np.ix_(chosen, chosen)])
        for i, a in enumerate(chosen):
            for j, b in enumerate(chosen):
                matrix[a, b] = inner[i, j]
        return matrix

    def nearest(total, mean):
        best = max(answers, key=lambda one: sum(mean[a] for a in one))
        found = []
        for rival in answers:
            if rival != best:
                z = np.array([(a in best) - (a in rival) for a in range(d)], dtype=float)
                turned = np.linalg.solve(total, z)
                moved = mean - turned * (z @ mean) / (z @ turned)
                found.append((0.5 * (mean - moved) @ total @ (mean - moved), moved))
        return best, *min(found, key=lambda one: one[0])

    order, shuffled = rng.permutation(d), rng.permutation(len(plays)).tolist()
    start = [
        plays.index(tuple(sorted(int(order[a]) for a in one)))
        for one in problem.actions.permuted(order).covering()
    ]
    matrices, n = [told(chosen) for chosen in plays], len(plays)
    played, owed = [], [1.0 if i in start else 0.0 for i in range(n)]
    gain, mixed, total, right = [0.0] * n, 0.0, np.zeros((d, d)), np.zeros(d)
    for t in range(cap):
        if t < len(start):
            action = start[t]
        else:
            mean = np.linalg.solve(total, right)
            best, value, _ = nearest(total, mean)
            if value > math.log((1.0 + math.log(t)) / delta):
                return played, t, best
            if mixed == 0.0:
                w = [1.0 / n] * n
            else:  # AdaHedge, at the rate ln n / Delta
                raw = [math.exp(math.log(n) / mixed * (g - max(gain))) for g in gain]
                w = [x / sum(raw) for x in raw]
            owed = [o + x for o, x in zip(owed, w, strict=True)]
            action = min(
                (i for i in shuffled if owed[i] > 0.0), key=lambda i: played.count(i) / owed[i]
            )
            _, _, moved = nearest(sum(x * v for x, v in zip(w, matrices, strict=True)), mean)
            off, got = moved - mean, []
            for v in matrices:  # optimism: the bonus in every direction that A tells of
                bonus = math.sqrt(2.0 * math.log(t) * np.trace(v @ np.linalg.inv(total)))
                got.append(0.5 * (math.sqrt(max(off @ v @ off, 0.0)) + bonus) ** 2)
            expected = sum(x * g for x, g in zip(w, got, strict=True))
            if mixed == 0.0:
                mixed += max(0.0, max(got) - expected)
            else:
                rate = math.log(n) / mixed
                powers = [x * math.exp(rate * (g - max(got))) for x, g in zip(w, got, strict=True)]
                mixed += max(0.0, max(got) + math.log(sum(powers)) / rate - expected)
            gain = [a + b for a, b in zip(gain, got, strict=True)]
        played.append(action)
        values = truth + root @ rng.standard_normal(d)
        total, right = total + matrices[action], right + matrices[action] @ values
    return played, math.inf, ()
