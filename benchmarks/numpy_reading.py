"""Algorithm 1 of the paper with AdaHedge or LLOO, as a careful reader writes it in NumPy: the best
of d arms by playing k at a time, Gaussian values. It shares no line with the package.
"""

import itertools
import math

import numpy as np

FIRST, RATIO = 200.0, (3.0 + math.sqrt(5.0)) / 2.0  # the doubling trick of the paper


class AdaHedge:
    """On the simplex of all actions: de Rooij, van Erven, Gruenwald, Koolen 2014, in losses -U."""

    def __init__(self, actions: np.ndarray, home: np.ndarray) -> None:
        self.actions, self.loss, self.gap = actions, np.zeros(len(actions)), 0.0
        self.weight = np.full(len(actions), 1.0 / len(actions))

    def act(self) -> np.ndarray:
        low = self.loss.min()
        if self.gap > 0.0:
            weight = np.exp(-math.log(len(self.loss)) / self.gap * (self.loss - low))
        else:
            weight = (self.loss == low).astype(float)
        self.weight = weight / weight.sum()
        return self.weight

    def update(self, reward: np.ndarray) -> None:
        loss = -(self.actions @ reward)
        if self.gap > 0.0:
            eta, least = math.log(len(loss)) / self.gap, loss.min()
            mix = least - math.log(self.weight @ np.exp(-eta * (loss - least))) / eta
        else:
            mix = (self.loss + loss).min() - self.loss.min()
        self.gap += max(0.0, self.weight @ loss - mix)
        self.loss += loss


class LLOO:
    """The paper's learner on the transformed simplex, in doubling epochs; all actions have a place
    in its arrays, most of them with weight 0.
    """

    def __init__(self, actions: np.ndarray, home: np.ndarray) -> None:
        self.actions, self.home, self.d = actions, home, actions.shape[1]
        self.diameter = self.mu = math.sqrt(2.0 * actions[0].sum())  # psi = phi = 1
        self.number, self.edge, self.ended, self.rounds = 0, FIRST, 0, 0
        self.restart()
        self.centre = self.weight @ actions

    def restart(self) -> None:
        self.weight = np.zeros(len(self.actions))
        self.weight[self.home] = 1.0 / len(self.home)
        self.total, self.largest = np.zeros(self.d), 0.0

    def act(self) -> np.ndarray:
        return self.weight

    def update(self, reward: np.ndarray) -> None:
        horizon = math.floor(self.edge) - self.ended
        self.total += reward
        self.largest = max(self.largest, float(np.linalg.norm(reward)))
        gamma = 1.0 / (3.0 * self.d * self.mu**2)
        eta = self.diameter / (18.0 * self.mu * math.sqrt(self.d * horizon) * self.largest)
        mass = self.mu**2 * self.d / math.sqrt(horizon) * (1.0 + 1.0 / (18 * self.d * self.mu**2))
        mass = min(mass, 1.0)
        gradient = 2.0 * (self.weight @ self.actions - self.centre) - eta * self.total
        cost = self.actions @ gradient
        order = np.argsort(-cost)  # Algorithm 2: the worst first, until the mass is found
        before = np.concatenate(([0.0], np.cumsum(self.weight[order])[:-1]))
        minus = np.zeros_like(self.weight)
        minus[order] = np.clip(mass - before, 0.0, self.weight[order])
        self.weight = self.weight - gamma * minus
        self.weight[int(np.argmin(cost))] += gamma * mass
        self.rounds += 1
        if self.rounds == math.floor(self.edge):
            self.ended, self.edge = self.rounds, self.edge * RATIO
            self.restart()


def run(
    kind: type, means: np.ndarray, k: int, sigma: float, delta: float, seed: int, cap: int = 10**6
) -> tuple[int, int]:
    """One run with the paper's stylised threshold and bonus and C-tracking: the rounds, and the
    arm that it answers.
    """
    rng, d = np.random.default_rng(seed), len(means)
    sets = list(itertools.combinations(range(d), k))
    actions = np.zeros((len(sets), d))
    for row, chosen in zip(actions, sets, strict=True):
        row[list(chosen)] = 1.0
    if kind is AdaHedge:  # INIT: every action once
        home = rng.permutation(len(sets))
    else:  # INIT: a covering
        cover = [tuple(sorted((i + j) % d for j in range(k))) for i in range(0, d, k)]
        home = np.array([sets.index(one) for one in cover])
    learner = kind(actions, home)
    played, owed = np.zeros(len(sets)), np.zeros(len(sets))
    counts, sums = np.zeros(d), np.zeros(d)
    owed[home] = 1.0
    for t in range(cap):
        if t < len(home):
            action = int(home[t])
        else:
            mean = sums / counts
            best = int(np.argmax(mean))
            apart = (mean[best] - mean) ** 2 / (2.0 * sigma**2)
            # lines 3 and 4: the generalised likelihood ratio at the counts against beta(t, delta)
            ratio = apart / (1.0 / counts[best] + 1.0 / counts)
            ratio[best] = np.inf
            if ratio.min() > math.log((1.0 + math.log(t)) / delta):
                return t, best
            weight = learner.act()  # line 5
            owed += weight
            with np.errstate(divide="ignore", invalid="ignore"):
                action = int(np.nanargmin(np.where(owed > 0.0, played / owed, np.inf)))  # line 6
            arms = weight @ actions
            with np.errstate(divide="ignore"):  # line 7: the best response to the weights
                cost = apart / (1.0 / arms[best] + 1.0 / arms)
            cost[best] = np.inf
            rival = int(np.argmin(cost))
            other, both = mean.copy(), arms[best] + arms[rival]
            if both > 0.0:
                meet = (arms[best] * mean[best] + arms[rival] * mean[rival]) / both
                other[best] = other[rival] = meet
            bonus = math.log(t) / counts  # line 8: optimism
            wide = sigma * np.sqrt(2.0 * bonus)
            far = np.maximum((mean - wide - other) ** 2, (mean + wide - other) ** 2)
            learner.update(np.maximum(bonus, far / (2.0 * sigma**2)))  # line 9
        played[action] += 1.0
        stats = actions[action] > 0.5
        sums[stats] += means[stats] + sigma * rng.standard_normal(int(stats.sum()))
        counts[stats] += 1.0
    return cap, -1
