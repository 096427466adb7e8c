import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from combgame.simulate import numbering

# the same examples every time, and no judgement by the clock: no luck in CI
settings.register_profile("fixed", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("fixed")

NAMING_ARMS = ("test_study", "test_data", "test_retract")  # these tell values of arms that they know to have been asked


@pytest.fixture(autouse=True)
def given_numbers(request, monkeypatch):
    """Studies of tests that name arms choose rounds under the given numbers, unless marked own_numbers; given_numbers marks others."""
    module = request.module.__name__.rpartition(".")[2]
    if "given_numbers" in request.keywords or (module.startswith(NAMING_ARMS) and "own_numbers" not in request.keywords):
        monkeypatch.setattr(numbering, "drawn", lambda d, seed, run, what: np.arange(d))
