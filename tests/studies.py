"""What the tests of studies share: problems, measurements, a look inside."""

import combgame as cg
from combgame.presets import PRESETS

MEANS = (0.5, 0.3, 0.2, 0.1, 0.0)
NAMES = ("ann", "bob", "cid", "dee", "eve")
PROBLEM = cg.Problem(cg.Subsets(5, 2), cg.Arms(5), cg.Gaussian(0.1), names=NAMES)
HARD = cg.Problem(cg.Subsets(6, 2), cg.Arms(6), cg.Gaussian(1.0))
COINS = cg.Problem(cg.Arms(3), rewards=cg.Bernoulli())
UNKNOWN = cg.Problem(cg.Subsets(6, 2), cg.Arms(6), cg.Gaussian(1.0, known=False))
SAME = [(HARD, "mixture"), (HARD, "proved"), (COINS, "mixture"), (UNKNOWN, "mixture")]
RULES = [name for name in PRESETS if name != "gcb-pe"]


def measure(round, rng, means=MEANS, sigma=0.1):
    return {a: means[a] + sigma * rng.standard_normal() for a in round.left}


def advisor_of(study):
    with study._session.reading() as (advisor, _):
        return advisor
