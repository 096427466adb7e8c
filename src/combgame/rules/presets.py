"""The named rules, with their papers.

=================  ===============================================================================
Name               Rule
=================  ===============================================================================
hedge, adahedge,   CombGame with that learner: Jourdan, Mutný, Kirschner and Krause, ALT 2021
ofw, lloo
sftpl              CombGame with sampled perturbed leaders: Hazan and Minasyan 2020
product-adahedge   adahedge over exponentially many actions, by sums over all sets
uniform            a random action in every round
frank-wolfe        Frank-Wolfe on the counts: after Wang, Tzeng and Proutiere, NeurIPS 2021, and
                   Tzeng et al., NeurIPS 2023
gcb-pe             a covering again and again, with its own stopping rule: Chen, Du and Kuroki 2020
clucb              upper and lower bounds, with its own stopping rule: Chen, Lin, King, Lyu and
                   Chen, NIPS 2014
top-two            leader and nearest rival: EB-TC of Jourdan, Degenne, Baudry, de Heide and
                   Kaufmann, NeurIPS 2022; the split: You, Qin, Wang and Yang, COLT 2023
track-and-stop     the optimal allocation of the estimates: Garivier and Kaufmann, COLT 2016
fws                Frank-Wolfe sampling as published: Wang, Tzeng and Proutiere, NeurIPS 2021
p-fws              perturbed Frank-Wolfe sampling as published: Tzeng, Wang, Proutiere and Lu,
                   NeurIPS 2023
thompson           TS-Explore: Wang and Zhu, ICML 2022
csar               successive accepts and rejects, a fixed budget: Chen et al., NIPS 2014
ttucb, ttts        top two with other leaders: Jourdan and Degenne, NeurIPS 2023; Russo, COLT 2016
=================  ===============================================================================
"""

from ..errors import UnknownNameError, unknown_name
from ..learners import LLOO, OFW, SFTPL, AdaHedge, Hedge
from . import (
    CLUCB,
    CSAR,
    FWS,
    GCBPE,
    PFWS,
    CombGame,
    FrankWolfe,
    ProductAdaHedge,
    RuleBase,
    Thompson,
    TopTwo,
    TrackAndStop,
    Uniform,
)

PRESETS: dict[str, RuleBase] = {
    "hedge": CombGame(Hedge()),
    "adahedge": CombGame(AdaHedge()),
    "ofw": CombGame(OFW()),
    "lloo": CombGame(LLOO()),
    "sftpl": CombGame(SFTPL()),
    "uniform": Uniform(),
    "gcb-pe": GCBPE(),
    "frank-wolfe": FrankWolfe(),
    "product-adahedge": ProductAdaHedge(),
    "clucb": CLUCB(),
    "top-two": TopTwo(),
    "ttucb": TopTwo(leader="ucb", beta=0.5),
    "ttts": TopTwo(leader="sample", challenger="sample", beta=0.5),
    "track-and-stop": TrackAndStop(),
    "fws": FWS(),
    "p-fws": PFWS(),
    "thompson": Thompson(),
    "csar": CSAR(),
}


def make_rule(rule: "str | RuleBase") -> RuleBase:
    """Return the rule of a name; a rule is returned as it is.

    >>> make_rule("ofw").tracking
    'C'
    """
    if isinstance(rule, str):
        if rule not in PRESETS:
            raise unknown_name("rule", rule, PRESETS)
        return PRESETS[rule]
    if isinstance(rule, type) or not hasattr(rule, "bind"):
        raise UnknownNameError(
            "not-a-rule",
            "rule = {rule!r} is not a rule",
            remedy="use a name such as 'lloo' or an object such as CombGame(learner=LLOO()), with "
            "brackets after a class",
            rule=rule,
        )
    return rule
