"""A name from the literature -> its parts: the index to the papers.

hedge, adahedge, ofw, lloo   CombGame with that learner: Jourdan, Mutny, Kirschner, Krause, ALT 2021
sftpl                        CombGame with sampled perturbed leaders: Hazan, Minasyan 2020
product-adahedge             adahedge over exponentially many actions, by sums over all sets
uniform                      a random action every round
frank-wolfe                  Frank-Wolfe on the counts: after Wang, Tzeng, Proutiere, NeurIPS
                             2021, and Tzeng et al., NeurIPS 2023
gcb-pe                       a covering over and over, its own stopping rule: Chen, Du, Kuroki 2020
clucb                        upper and lower bounds, its own stopping rule: Chen, Lin, King, Lyu,
                             Chen, NIPS 2014
top-two                      leader and nearest rival: EB-TC of Jourdan, Degenne, Baudry, de Heide,
                             Kaufmann, NeurIPS 2022; the split: You, Qin, Wang, Yang, COLT 2023
track-and-stop               the optimal allocation of the estimates: Garivier, Kaufmann, COLT 2016
fws                          Frank-Wolfe sampling as published: Wang, Tzeng, Proutiere, NeurIPS 2021
p-fws                        perturbed Frank-Wolfe sampling as published: Tzeng, Wang, Proutiere,
                             Lu, NeurIPS 2023
thompson                     TS-Explore: Wang, Zhu, ICML 2022
csar                         successive accepts and rejects, a fixed budget: Chen et al., NIPS 2014
ttucb, ttts                  top two with other leaders: Jourdan, Degenne, NeurIPS 2023; Russo, COLT
                             2016
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
    """The rule of a name; a rule is returned as it is.

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
