"""Draws from a posterior of the means."""

from ..game.marks import jitable
from ..game.protocols import Rewards
from ..game.records import Floats, Random, Seen


@jitable
def draw_means(rewards: Rewards, seen: Seen, scale: float, rng: Random, out: Floats) -> None:
    """One draw: out_a is as far from the estimate as a standard normal Z says, N_a d(mean_a, out_a)
    = scale Z^2 / 2, on the side of its sign.

    For Gaussian values and scale 1 that is the posterior N(mean_a, sigma_a^2 / N_a) of a flat
    prior; for others the signed root of the likelihood ratio, which is normal to first order. An
    arm without values counts as if it had one.
    """
    for a in range(out.size):
        z = rng.standard_normal()
        level = 0.5 * scale * z * z / max(seen.counts[a], 1.0)
        if z < 0.0:
            out[a] = rewards.project(rewards.lower(seen.mean[a], level, a), a)
        else:
            out[a] = rewards.project(rewards.upper(seen.mean[a], level, a), a)
