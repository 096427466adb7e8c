"""What the public code of P-FWS (Tzeng, Wang, Proutiere, Lu, NeurIPS 2023; repository
rctzeng/NeurIPS2023-PerturbedFWS, read 2026-11-16) does in place of a nearest alternative, and when
it stops: a heuristic, here to explain its table (docs/peers.md). Do not stop a real study with it.

Rivals are the leaders of exponential noise plus a learned term, which is slight beside the noise (a
perturbed leader with a rate of one over a very large constant); the least f_J of those drawn
is an estimate of the distance *from above*. The statistic is t F(N / sum N), which is smaller than
the likelihood ratio F(N) by the number of arms in a play.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from ..engine.likelihood_ratio import RatioPart, against, alike, ratio
from ..engine.philox import LOW, Philox, philox
from ..engine.protocols import Game, StoppingDefaults, kernel
from ..engine.state import Floats, Ints, Random, View
from ..engine.statistics import Seen
from ..errors import InputError, whole
from .base import Question, StoppingBase
from .glr import StylisedPart

NEVER = 1e9  # off a score: an arm that is not to be chosen
SLACK = 1.001  # 1 + epsilon, epsilon = 1e-3: the precision that the search is meant to have


class DrawnSearch(NamedTuple):
    draws: int
    largest: float  # D: the arms in an answer
    losses: Floats  # the sum of what every arm has cost
    score: Floats
    trial: Floats
    other: Floats

    def seek(
        self,
        game: Game,
        mean: Floats,
        weight: Floats,
        best: Floats,
        rng: Random | Philox,
        rival: Floats,
    ) -> float:
        """The least f_J at weights that may be negative, of `draws` rivals J; writes that J."""
        d, least, top, heavy = mean.size, math.inf, -math.inf, 0.0
        for a in range(d):
            self.losses[a] = 0.0
            top = max(top, mean[a])
            if weight[a] > 1e-10:
                heavy += game.rewards.blur(1.0, a) / weight[a]
        scale = 4.0 * self.largest * self.largest * d * top * top * heavy  # L
        rate = math.sqrt(d * (math.log(d) + 1.0) / 2.0) / scale if scale > 0.0 else 0.0
        for s in range(1, self.draws + 1):
            for a in range(d):
                noise = -math.log(1.0 - rng.random())
                self.score[a] = -(rate / math.sqrt(s) * self.losses[a] + noise)
            game.answers.argmax(self.score, self.trial)
            if alike(self.trial, best) and not self.second(game, best):
                continue
            lead, spread = 0.0, 0.0
            for a in range(d):
                if self.trial[a] != best[a]:
                    lead += (best[a] - self.trial[a]) * mean[a]
                    spread += game.rewards.blur(1.0, a) / weight[a]
            alpha = lead / spread
            for a in range(d):
                half = 0.5 * alpha * alpha * game.rewards.blur(1.0, a) / weight[a]
                self.losses[a] -= alpha * mean[a] + half * (1.0 - 2.0 * best[a])
            if 0.5 * alpha * lead < least:
                least = 0.5 * alpha * lead
                for a in range(d):
                    rival[a] = self.trial[a]
        return least

    def second(self, game: Game, best: Floats) -> bool:
        """The answer with the largest score that lacks an arm of `best` goes to `trial`; whether
        there is one.
        """
        most = -math.inf
        for a in range(best.size):
            if best[a] > 0.5:
                kept = self.score[a]
                self.score[a] = kept - NEVER
                game.answers.argmax(self.score, self.other)
                self.score[a] = kept
                total = 0.0
                for b in range(best.size):
                    total += self.other[b] * self.score[b]
                if self.other[a] < 0.5 and total > most:
                    most = total
                    for b in range(best.size):
                        self.trial[b] = self.other[b]
        return most > -math.inf


def make_search(of: str, draws: int, problem: Question) -> DrawnSearch:
    """The search of a problem, or a sentence where it is not defined."""
    d, rewards = problem.answers.d, problem.rewards
    open_ended = np.full(d, np.inf)
    part = rewards.part(-open_ended, open_ended)
    if rewards.levels() or not rewards.known or not part.blur(1.0, 0) > 0.0:
        raise InputError(
            "draws-gaussian",
            "{of}: draws = {draws} needs Gaussian values with a stated sigma, as the public code "
            "of P-FWS has them",
            remedy="give Gaussian a sigma, or use what is proved for these values",
            of=of,
            draws=draws,
        )
    return DrawnSearch(draws, float(problem.answers.largest()), *np.zeros((4, d)))


@kernel(StoppingDefaults)
class DrawnRatioPart(NamedTuple):
    ratio: RatioPart  # the exact one, for what is said of single rivals
    search: DrawnSearch
    rng: Philox  # seeded by the first values; every round has numbers of its own
    share: Floats

    def look(self, game: Game, seen: Seen, view: View) -> float:
        total, sums = 0.0, 0.0
        for a in range(self.share.size):
            total += seen.counts[a]
            sums += seen.sums[a]
            if seen.counts[a] == 0.0:  # the start is not over
                return self.ratio.look(game, seen, view)
        if self.rng.place[0] == 0:
            self.rng.place[0] = 1 + (int(abs(sums) * 1e6) & LOW)
        self.rng.place[1], self.rng.place[2], self.rng.block[4] = seen.clock[0], 0, 0
        for a in range(self.share.size):
            self.share[a] = seen.counts[a] / total
        value = self.search.seek(game, seen.mean, self.share, view.best, self.rng, view.rival)
        against(
            game.rewards,
            seen.mean,
            self.share,
            view.best,
            self.ratio.arms,
            self.ratio.sign,
            view.rival,
            view.alternative,
        )
        return float(seen.clock[0] * value)

    def level(self, t: int, which: int) -> float:
        return SLACK * self.ratio.level(t, which)

    def foreseen(self, game: Game, seen: Seen, arms: Ints, sign: Floats, n: int) -> float:
        return self.ratio.foreseen(game, seen, arms, sign, n)

    def weakest(
        self, game: Game, seen: Seen, best: Floats, rival: Floats, alternative: Floats
    ) -> float:
        return self.rounds(seen) * self.ratio.weakest(game, seen, best, rival, alternative)

    def versus(self, game: Game, seen: Seen, best: Floats, rival: Floats) -> float:
        return self.rounds(seen) * self.ratio.versus(game, seen, best, rival)

    def rounds(self, seen: Seen) -> float:
        """t / sum N, of what the exact likelihood ratio is."""
        total = 0.0
        for a in range(seen.counts.size):
            total += seen.counts[a]
        return seen.clock[0] / total if total > 0.0 else 0.0


@dataclass(frozen=True, eq=False, repr=False)
class DrawnRivals(StoppingBase):
    """Stop as the public code of P-FWS does: t F(N / sum N) against 1.001 ln((1 + ln t) / delta), F
    estimated from above by the least of `draws` rivals drawn at random. Heuristic: its errors may
    exceed delta.

    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Subsets(4, 2), None, cg.Gaussian(0.1))
    >>> how = {"rule": cg.PFWS(draws=20), "threshold": DrawnRivals(20), "engine": "python"}
    >>> cg.simulate(problem, [0.5, 0.3, 0.2, 0.1], runs=3, **how).validity.label
    'heuristic'
    """

    validity: ClassVar[str] = ""
    draws: int = 4999

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("draws", self.draws, 1, of="DrawnRivals")

    def part(self, problem: Question, deltas: Floats) -> DrawnRatioPart:
        d = problem.answers.d
        search = make_search("DrawnRivals", self.draws, problem)
        return DrawnRatioPart(ratio(StylisedPart(deltas), d), search, philox(0, 0), np.zeros(d))
