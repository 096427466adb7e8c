"""What a refusal says, by its code and its arguments rather than by its words."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from combgame.errors import CombGameError


@contextmanager
def refused(
    code: str, kind: type[CombGameError] = CombGameError, /, **arguments: Any
) -> Iterator["pytest.ExceptionInfo[CombGameError]"]:
    """The block raises an error of a kind, with this code and at least these arguments."""
    with pytest.raises(kind) as caught:
        yield caught
    error = caught.value
    assert error.code == code, f"{error.code}: {error}"
    for name, value in arguments.items():
        assert error.arguments.get(name) == value, (name, error.arguments)
    assert str(error).strip(), "an error without a sentence"
