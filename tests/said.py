"""What a refusal says, by its code and its arguments rather than by its words."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from combgame._messages import Message, safe_repr
from combgame.errors import CombGameError

Case = tuple[Callable[[], Any], str, dict[str, Any]]


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


def case(code: str, call: Callable[[], Any], /, **arguments: Any) -> Case:
    """A line of a table of refusals."""
    return call, code, arguments


def check_refusals(
    cases: Iterable[Case], kind: type[CombGameError] = CombGameError, begins: str = ""
) -> None:
    """Every case is refused with its code and at least its arguments, in one short sentence of one
    line that begins so. What is wrong with any of them is told at once.
    """
    wrong = []
    for number, (call, code, arguments) in enumerate(cases):
        try:
            with refused(code, kind, **arguments) as caught:
                call()
            said = str(caught.value)
            assert said.startswith(begins) and said.endswith((".", ")")) and "\n" not in said
            assert len(said) < 400, said
        except (Exception, pytest.fail.Exception) as error:
            wrong.append(f"case {number}, {code} {safe_repr(arguments)}: {safe_repr(error)}")
    assert not wrong, "\n".join(wrong)


def says(sentences: Iterable[Message], code: str, **arguments: Any) -> bool:
    """Whether one of them has this code, and at least these arguments."""
    return any(one.code == code and arguments.items() <= one.arguments.items() for one in sentences)
