"""A name from the literature -> its parts: the index to the papers.

hedge, adahedge, ofw, lloo   CombGame with that learner: Jourdan, Mutny, Kirschner, Krause, ALT 2021
sftpl                        CombGame with sampled perturbed leaders: Hazan, Minasyan 2020
product-adahedge             adahedge over exponentially many actions, by sums over all sets
uniform                      a random action every round
frank-wolfe                  Frank-Wolfe on the counts: after Wang, Tzeng, Proutiere, NeurIPS
                             2021, and Tzeng et al., NeurIPS 2023
gcb-pe                       a covering over and over, its own stopping rule: Chen, Du, Kuroki 2020
"""

from .errors import UnknownNameError, unknown
from .learners import LLOO, OFW, SFTPL, AdaHedge, Hedge
from .rules import GCBPE, CombGame, FrankWolfe, ProductAdaHedge, RuleBase, Uniform

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
}


def make_rule(rule: "str | RuleBase") -> RuleBase:
    """The rule of a name; a rule is returned as it is.

    >>> make_rule("ofw").tracking
    'C'
    """
    if isinstance(rule, str):
        if rule not in PRESETS:
            raise unknown("rule", rule, PRESETS)
        return PRESETS[rule]
    if isinstance(rule, type) or not hasattr(rule, "setup"):
        raise UnknownNameError(
            "not-a-rule",
            "rule = {rule!r} is not a rule",
            remedy="use a name such as 'lloo' or an object such as CombGame(learner=LLOO())",
            rule=rule,
        )
    return rule
