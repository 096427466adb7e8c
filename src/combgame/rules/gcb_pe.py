"""GCB-PE (Chen, Du and Kuroki 2020) under semi-bandit feedback.

A covering ("global observer set") is played again and again. After n passes the answer with the
largest estimated value is returned if it leads the second best by more than 2 L_p rad_n, where
rad_n = scale beta_sigma sqrt(2 ln(4 n^2 e^2 / delta) / n) and L_p = sqrt(max |I|) (the paper,
appendix on implementation). beta_sigma^2 = max over signs of ||1/N * sum_i S_{A_i}^T eta_i||^2:
every sign belongs to one arm, so equal signs per arm are best, and beta_sigma^2 is the number of
arms, at any d.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from .._messages import Message
from .._values import symmetric
from ..engine.kernels import FixedSizeDefaults, StoppingDefaults, kernel
from ..engine.protocols import ProblemKernel, Threshold
from ..engine.state import Floats, Ints, Random, RoundState
from ..engine.statistics import Statistics
from ..errors import SEED, check_int, invalid_argument, is_real, unknown_name
from ..rewards import Assumption
from ..stopping.base import (
    ProblemLike,
    ProofRequirements,
    Stopping,
    Validity,
    validity_from_assumptions,
)
from ._exploration import padded, start_sets
from .base import FixedBoundRule, RuleBase

COVERINGS = ("minimal", "random")


@kernel(FixedSizeDefaults)
class RepeatKernel(NamedTuple):
    """A sampling rule that repeats a covering."""

    rows: Ints

    def choose(
        self, problem: ProblemKernel, stats: Statistics, state: RoundState, rng: Random
    ) -> None:
        """Play the next action of the covering."""
        row = self.rows[stats.n_rounds[0] % self.rows.shape[0]]
        for a in range(state.action.size):
            state.action[a] = 0.0
        for j in range(row.size):
            if row[j] >= 0:
                state.action[row[j]] = 1.0


class RadiusKernel(NamedTuple):
    """Threshold 2 L_p rad_n at the end of pass n; infinite in between.

    Attributes
    ----------
    passes : int
        Number of rounds in a pass.
    factor : float
        2 L_p scale beta_sigma.
    delta : float64[deltas]
        The deltas.
    """

    passes: int
    factor: float
    delta: Floats

    def critical_value(self, t: int, index: int) -> float:
        """Return the threshold after t rounds."""
        n = t // self.passes
        if n == 0 or t % self.passes != 0:
            return math.inf
        return self.factor * math.sqrt(
            2.0 * (math.log(4.0) + 2.0 * math.log(n) + 2.0 - math.log(self.delta[index])) / n
        )


@kernel(StoppingDefaults)
class LeadKernel(NamedTuple):
    """Stopping rule whose evidence is the lead over the second best answer, at the end of a pass.

    An answer other than the best lacks one of its arms or contains another arm, so one of d forced
    oracle calls finds the second best.
    """

    threshold: Threshold
    passes: int
    score: Floats  # scratch
    trial: Floats

    def evaluate(self, problem: ProblemKernel, stats: Statistics, state: RoundState) -> float:
        """Return the lead over the second best answer; 0 within a pass."""
        t = stats.n_rounds[0]
        if t < self.passes or t % self.passes != 0:
            return 0.0
        return self.least_evidence(
            problem, stats, state.leader, state.rival, state.alternative_means
        )

    def least_evidence(
        self,
        problem: ProblemKernel,
        stats: Statistics,
        best: Floats,
        rival: Floats,
        alternative: Floats,
    ) -> float:
        """Return the lead over the second best answer."""
        score, trial, lead, force, value = self.score, self.trial, math.inf, 1.0, 0.0
        for a in range(best.size):
            alternative[a] = stats.mean[a]
            score[a] = stats.projected_mean[a]
            force += 2.0 * abs(score[a])
            value += best[a] * score[a]
        for a in range(best.size):
            kept = score[a]
            score[a] = -force if best[a] > 0.5 else force
            problem.answers.argmax(score, trial)
            score[a] = kept
            if trial[a] == best[a]:
                continue  # every answer has this arm, or none has
            other = 0.0
            for b in range(best.size):
                other += trial[b] * score[b]
            if value - other < lead:
                lead = value - other
                for b in range(best.size):
                    rival[b] = trial[b]
        return lead

    def evidence_against(
        self, problem: ProblemKernel, stats: Statistics, best: Floats, rival: Floats
    ) -> float:
        """Return the lead over the rival."""
        lead = 0.0
        for a in range(best.size):
            lead += (best[a] - rival[a]) * stats.projected_mean[a]
        return lead


@dataclass(frozen=True, eq=False, repr=False)
class GCBPE(RuleBase):
    """GCB-PE [1]_ with its own stopping rule.

    Parameters
    ----------
    noise_scale : float, optional
        Noise scale in the radius. Defaults to that of the rewards, for which the stopping rule is
        proved.
    covering : {"minimal", "random"}, default="minimal"
        As few actions as observe every arm, or random actions until every arm is observed, as in
        the paper; a run draws its own.
    covering_seed : int, default=0
        Seed of the random covering.

    References
    ----------
    .. [1] Chen, Du and Kuroki. *Combinatorial pure exploration with partial linear feedback*. 2020.

    Examples
    --------
    >>> import combgame as cg
    >>> problem = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(0.1))
    >>> cg.simulate(problem, [0.5, 0.3, 0.2, 0.1], rule=GCBPE(), runs=3, engine="python").answers
    [(0,), (0,), (0,)]
    """

    symmetric: ClassVar[bool] = True
    noise_scale: float | None = None
    covering: str = "minimal"
    covering_seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.covering, str) or self.covering not in COVERINGS:
            raise unknown_name("covering", self.covering, COVERINGS, of="GCBPE")
        object.__setattr__(
            self,
            "covering_seed",
            check_int("covering_seed", self.covering_seed, 0, of="GCBPE", most=SEED),
        )
        if self.noise_scale is not None and not (
            is_real(self.noise_scale) and 0.0 < self.noise_scale < math.inf
        ):
            raise invalid_argument(
                "noise_scale",
                self.noise_scale,
                "a positive number, or None for the noise of the rewards",
                of="GCBPE",
            )
        if self.noise_scale is not None:
            object.__setattr__(self, "noise_scale", float(self.noise_scale))

    def permuted(self, order: Ints) -> "GCBPE | None":
        """Return the rule; a random covering is drawn anew for the permutation."""
        if self.covering == "minimal" or not symmetric(self):
            return self if symmetric(self) else None
        drawn = np.random.SeedSequence([self.covering_seed, *order.tolist()]).generate_state(1)
        return replace(self, covering_seed=int(drawn[0]))

    def bind(self, problem: ProblemLike) -> FixedBoundRule:
        """Return the rule bound to a problem."""
        start, rng = "covering", np.random.default_rng(self.covering_seed)
        if self.covering == "random":
            start = "random-covering"
        rows = padded(start_sets(start, problem.actions, rng))
        return FixedBoundRule(RepeatKernel(rows), rows)

    def stopping(self, problem: ProblemLike, deltas: Sequence[float]) -> Stopping:
        """Return GCB-PE's stopping rule."""
        noise = float(problem.rewards.sub_gaussian_scale(problem.actions.d).max())
        scale = noise if self.noise_scale is None else self.noise_scale
        observed, rows = len(problem.actions.observable_arms()), self.bind(problem).rows
        factor = 2.0 * math.sqrt(problem.answers.max_size()) * scale * beta_sigma(observed)

        def watch(kernel: ProblemKernel, threshold: Threshold, stats: Statistics) -> ProblemKernel:
            d = problem.actions.d
            return kernel._replace(
                stopping=LeadKernel(threshold, len(rows), np.zeros(d), np.zeros(d))
            )

        if observed < 2:
            few = "the argument for GCB-PE's radius needs two arms at least"
            why = Validity(False, Message("radius-of-one-arm", few))
        elif scale < noise:
            low = "GCB-PE's radius with scale {scale:g}, below the noise {noise:g} of the rewards"
            why = Validity(False, Message("radius-too-small", low, scale=scale, noise=noise))
        else:
            radius = Message(
                "radius",
                "GCB-PE's radius for independent sub-Gaussian values with noise scale {scale:g} "
                "(docs/algorithms.md)",
                scale=scale,
            )
            why = validity_from_assumptions(
                "GCB-PE's radius", {Assumption.SUB_GAUSSIAN: radius}, problem.rewards
            )
        return Stopping(
            "gcb-pe",
            RadiusKernel(len(rows), factor, np.asarray(deltas, dtype=float)),
            watch,
            why,
            likelihood=False,
            rests=ProofRequirements(
                ("argmax", "max_size"),
                ("covering",),
                ("assumptions", "divergence", "sub_gaussian_scale"),
            ),
        )


def beta_sigma(arms: int) -> float:
    """Return beta_sigma of any covering of this number of arms, under semi-bandit feedback."""
    return math.sqrt(arms)
