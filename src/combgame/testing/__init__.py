"""For those who extend or distrust the package: conformance checks for parts of your own
(`check_structure`, `check_learner`, `check_rule`), and `python -m combgame.testing.fuzz`.
"""

from .conformance import check_learner, check_rule, check_structure, same

__all__ = ["check_learner", "check_rule", "check_structure", "same"]
