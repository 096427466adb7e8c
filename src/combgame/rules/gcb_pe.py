"""GCB-PE (Chen, Du, Kuroki 2020, *Combinatorial pure exploration with partial linear feedback*),
under semi-bandit feedback.

A covering ("global observer set") is played again and again. After n passes the answer with the
largest estimated value is returned if it leads the second best by more than 2 L_p rad_n, rad_n =
scale beta_sigma sqrt(2 ln(4 n^2 e^2 / delta) / n), with L_p = sqrt(max |I|) (the paper, appendix on
implementation). beta_sigma^2 = max over signs of ||1/N * sum_i S_{A_i}^T eta_i||^2: every sign
belongs to one arm, so equal signs per arm are best and beta_sigma^2 is the number of arms, at any
d.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from .._messages import Sentence
from .._values import impartial
from ..engine.protocols import FixedSizeDefaults, Game, StoppingDefaults, Threshold, kernel
from ..engine.state import Floats, Ints, Random, View
from ..engine.statistics import Seen
from ..errors import SEED, must_be, real, unknown, whole
from ..rewards import License
from ..stopping.base import Question, Rests, Stopping, Validity, earned
from ._exploration import padded, start_sets
from .base import FixedSetup, RuleBase

COVERINGS = ("minimal", "random")


@kernel(FixedSizeDefaults)
class RepeatPart(NamedTuple):
    """The covering, over and over."""

    rows: Ints

    def choose(self, game: Game, seen: Seen, view: View, rng: Random) -> None:
        row = self.rows[seen.clock[0] % self.rows.shape[0]]
        for a in range(view.action.size):
            view.action[a] = 0.0
        for j in range(row.size):
            if row[j] >= 0:
                view.action[row[j]] = 1.0


class RadiusPart(NamedTuple):
    """2 L_p rad_n at the end of pass n, infinite in between."""

    passes: int  # rounds in a pass
    factor: float  # 2 L_p scale beta_sigma
    delta: Floats

    def level(self, t: int, which: int) -> float:
        n = t // self.passes
        if n == 0 or t % self.passes != 0:
            return math.inf
        return self.factor * math.sqrt(
            2.0 * (math.log(4.0) + 2.0 * math.log(n) + 2.0 - math.log(self.delta[which])) / n
        )


@kernel(StoppingDefaults)
class LeadPart(NamedTuple):
    """The evidence is the lead over the second best, at the end of a pass; d oracle calls find that
    one.

    A set other than the best lacks one of its arms or has an arm that it has not, so one of d
    forced oracle calls meets it.
    """

    threshold: Threshold
    passes: int
    score: Floats  # scratch
    trial: Floats

    def look(self, game: Game, seen: Seen, view: View) -> float:
        """How far the best leads the second best, at the estimates; 0 within a pass."""
        t = seen.clock[0]
        if t < self.passes or t % self.passes != 0:
            return 0.0
        return self.weakest(game, seen, view.best, view.rival, view.alternative)

    def weakest(
        self, game: Game, seen: Seen, best: Floats, rival: Floats, alternative: Floats
    ) -> float:
        score, trial, lead, force, value = self.score, self.trial, math.inf, 1.0, 0.0
        for a in range(best.size):
            alternative[a] = seen.mean[a]
            score[a] = seen.feasible[a]
            force += 2.0 * abs(score[a])
            value += best[a] * score[a]
        for a in range(best.size):
            kept = score[a]
            score[a] = -force if best[a] > 0.5 else force
            game.answers.argmax(score, trial)
            score[a] = kept
            if trial[a] == best[a]:
                continue  # every set has this arm, or none has
            other = 0.0
            for b in range(best.size):
                other += trial[b] * score[b]
            if value - other < lead:
                lead = value - other
                for b in range(best.size):
                    rival[b] = trial[b]
        return lead

    def versus(self, game: Game, seen: Seen, best: Floats, rival: Floats) -> float:
        lead = 0.0
        for a in range(best.size):
            lead += (best[a] - rival[a]) * seen.feasible[a]
        return lead


@dataclass(frozen=True, eq=False, repr=False)
class GCBPE(RuleBase):
    """GCB-PE, with its own stopping rule. scale: the noise scale in its radius; None: that of the
    rewards, which is proved. covering: as few actions as see every arm ("minimal"), or at "random"
    until every arm is seen, as in the paper; a run draws its own (draw: its seed).

    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1))
    >>> cg.simulate(problem, [0.5, 0.3, 0.2, 0.1], rule=GCBPE(), runs=3, engine="python").answers
    [(0,), (0,), (0,)]
    """

    impartial: ClassVar[bool] = True
    scale: float | None = None
    covering: str = "minimal"
    draw: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.covering, str) or self.covering not in COVERINGS:
            raise unknown("covering", self.covering, COVERINGS, of="GCBPE")
        object.__setattr__(self, "draw", whole("draw", self.draw, 0, of="GCBPE", most=SEED))
        if self.scale is not None and not (real(self.scale) and 0.0 < self.scale < math.inf):
            raise must_be(
                "scale",
                self.scale,
                "a positive number, or None for the noise of the rewards",
                of="GCBPE",
            )
        if self.scale is not None:
            object.__setattr__(self, "scale", float(self.scale))

    def numbered(self, order: Ints) -> "GCBPE | None":
        """With a covering of its own, if it is drawn."""
        if self.covering == "minimal" or not impartial(self):
            return self if impartial(self) else None
        drawn = np.random.SeedSequence([self.draw, *order.tolist()]).generate_state(1)
        return replace(self, draw=int(drawn[0]))

    def setup(self, problem: Question) -> FixedSetup:
        start, rng = "covering", np.random.default_rng(self.draw)
        if self.covering == "random":
            start = "random-covering"
        rows = padded(start_sets(start, problem.actions, rng))
        return FixedSetup(RepeatPart(rows), rows)

    def stopping(self, problem: Question, deltas: Sequence[float]) -> Stopping:
        noise = float(problem.rewards.spread(problem.actions.d).max())
        scale = noise if self.scale is None else self.scale
        observed, rows = len(problem.actions.observable()), self.setup(problem).rows
        factor = 2.0 * math.sqrt(problem.answers.largest()) * scale * beta_sigma(observed)

        def watch(game: Game, threshold: Threshold, seen: Seen) -> Game:
            d = problem.actions.d
            return game._replace(judge=LeadPart(threshold, len(rows), np.zeros(d), np.zeros(d)))

        if observed < 2:
            few = "the argument for GCB-PE's radius needs two arms at least"
            why = Validity(False, Sentence("radius-of-one-arm", few))
        elif scale < noise:
            low = "GCB-PE's radius with scale {scale:g}, below the noise {noise:g} of the rewards"
            why = Validity(False, Sentence("radius-too-small", low, scale=scale, noise=noise))
        else:
            radius = Sentence(
                "radius",
                "GCB-PE's radius for independent sub-Gaussian values with noise scale {scale:g} "
                "(docs/algorithms.md)",
                scale=scale,
            )
            why = earned("GCB-PE's radius", {License.SUB_GAUSSIAN: radius}, problem.rewards)
        return Stopping(
            "gcb-pe",
            RadiusPart(len(rows), factor, np.asarray(deltas, dtype=float)),
            watch,
            why,
            likelihood=False,
            rests=Rests(("argmax", "largest"), ("covering",), ("licenses", "divergence", "spread")),
        )


def beta_sigma(arms: int) -> float:
    """beta_sigma of any covering of so many arms, under semi-bandit feedback."""
    return math.sqrt(arms)
