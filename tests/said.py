"""What a refusal says, by its code and its arguments rather than by its words."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from combgame.errors import CombGameError
from combgame.sentences import Sentence


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


def says(sentences: Iterable[Sentence], code: str, **arguments: Any) -> bool:
    """Whether one of them has this code, and at least these arguments."""
    return any(one.code == code and arguments.items() <= one.arguments.items() for one in sentences)
