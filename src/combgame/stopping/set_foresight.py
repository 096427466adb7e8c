"""What the mixtures of best sets will charge at the end that a run can expect: for sampling rules
only (see `foresight`).
"""

import math
from typing import NamedTuple

import numpy as np

from ..game.records import Fixed, Floats, Ints, Seen
from .foresight import FIRST, LEAST, LONGEST
from .pairs import tail

ONE_SIDED = 1.0  # what one-sidedness gains every arm's own mixture, roughly
NEVER = -1e3  # odds of rivals that are never ruled out
HOPELESS = -10.0  # evidence below it is of no interest


class SetForesightPart(NamedTuple):
    variance: Floats
    prior: Fixed  # float64[2, k]: c of the leader's arms and of the others, per scale
    cost: Fixed  # ln 1/chance of each
    steady: Fixed  # c of weighed values
    shared: float  # how many times smaller that of what they share is
    goal: float  # what the evidence must exceed
    scale: Floats  # float64[1]: s

    def expect(
        self, seen: Seen, mean: Floats, even: Floats, arms: Ints, sign: Floats, n: int, odds: float
    ) -> float:
        """s, from the nearest rival: where the evidence against it would be enough. One step of a
        fixed point at a time; 0 if nothing can be foreseen.
        """
        lead, blur, s = 0.0, 0.0, self.scale[0]
        for i in range(n):
            a = arms[i]
            if not (seen.counts[a] > 0.0 and seen.weighed[0, a] > 0.0):
                return 0.0
            lead -= sign[i] * mean[a]
            blur += self.variance[a] / seen.counts[a]
        if lead > 0.0:
            ratio = 0.5 * lead * lead / blur
            charges = max(s * ratio - self.charged(seen, mean, even, arms, sign, n, odds), 0.0)
            self.scale[0] = min(max((self.goal + charges) / max(ratio, LEAST), 1.0), LONGEST)
        return float(self.scale[0])

    def charged(
        self, seen: Seen, mean: Floats, even: Floats, arms: Ints, sign: Floats, n: int, odds: float
    ) -> float:
        """The evidence against a rival, less its charges, at s times the counts: by the scale that
        suits it best. even: the means of the weighed values.
        """
        lead, level, noise, most = 0.0, 0.0, 0.0, HOPELESS
        for i in range(n):
            a = arms[i]
            if not (seen.counts[a] > 0.0 and seen.weighed[0, a] > 0.0):
                return 0.0
            lead -= sign[i] * mean[a]
            level -= sign[i] * even[a]
            noise += self.variance[a] / n
        for k in range(self.cost.size):
            most = max(most, self.apart(seen, arms, sign, n, k, max(lead, 0.0)))
        for k in range(self.steady.size):
            most = max(most, self.together(seen, arms, n, self.steady[k], noise, max(level, 0.0)))
        return float(most + odds if odds > NEVER else most)

    def apart(self, seen: Seen, arms: Ints, sign: Floats, n: int, k: int, lead: float) -> float:
        """A scale of every arm's own mixture."""
        blur, fees = 0.0, self.cost[k]
        for i in range(n):
            a = arms[i]
            many, c = self.scale[0] * seen.counts[a], self.prior[0 if sign[i] < 0.0 else 1, k]
            blur += self.variance[a] * (many + c) / (many * many)
            fees += 0.5 * math.log1p(many / c)
        return float(0.5 * lead * lead / blur - fees + ONE_SIDED)

    def together(
        self, seen: Seen, arms: Ints, n: int, c: float, noise: float, lead: float
    ) -> float:
        """A scale of the mixture whose direction is shared. (`WeigherPart.aligned`, once.)"""
        blur, pull, square, spare, fees = 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(n):
            a, s = arms[i], self.scale[0]
            v, total, many = self.variance[a], s * seen.weighed[0, a], s * seen.weighed[1, a]
            share = c / (many + c)
            blur += v * (many + c) / (total * total)
            pull += v * c / total
            square += v * c * share
            spare += v * many * share
            fees += 0.5 * math.log1p(many / c)
        base = c / self.shared * noise
        sd = math.sqrt(spare + base)
        middle = lead * pull / (blur * sd)
        loose = max(square - pull * pull / blur, 0.0) / (sd * sd)
        z = middle / (1.0 + loose)
        for _ in range(3):
            _, p, bend = tail(z)
            z -= (loose * p + z - middle) / (loose * bend + 1.0)
        height, p, _ = tail(z)
        value = height + p * (middle - z) - 0.5 * p * p * loose + 0.5 * lead * lead / blur
        fees += 0.5 * math.log1p(spare / base) + math.log(self.steady.size)
        return float(value - fees)


def set_foresight(
    variance: Floats, prior: Floats, cost: Floats, steady: Floats, shared: float, goal: float
) -> SetForesightPart:
    return SetForesightPart(variance, prior, cost, steady, shared, goal, np.full(1, FIRST))
