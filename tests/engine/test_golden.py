"""A tenth of what tests/golden.py records, without the slow structures; all of it: python
tests/golden.py --check.
"""

import json

from tests import golden

KEPT = json.loads(golden.FILE.read_text())
CASES = {name: case for name, *case in golden.cases()}


def test_the_file_has_every_case():
    assert set(KEPT["runs"]) == set(CASES)


TENTH = [name for name in sorted(CASES) if not name.startswith(("programme", "oracle"))][::9]


def test_runs_are_as_they_were():
    """Another machine's exp and log may have other last digits, and a run may then take another
    course; in 60 rounds few do. (Of all 288 runs that one machine had recorded, none did on a
    second one of other arithmetic.)
    """
    changed = [name for name in TENTH if golden.outcome(*CASES[name]) != KEPT["runs"][name]]
    allowed = 0 if KEPT["arithmetic"] == golden.fingerprint() else len(TENTH) // 10
    assert len(changed) <= allowed, changed
