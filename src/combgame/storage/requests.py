"""Requests that are done once, however often they are made: the key under which a client makes one
is stored in the very transaction of what it does, with the answer.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from ..errors import StudyError


class Request(NamedTuple):
    """key: what its client calls it; digest: of what it asks for, so that a key which is used for
    something else is noticed.
    """

    key: str
    digest: str


class Repeated(Exception):  # noqa: N818  (nothing is wrong)
    """A request that was done before: what it was answered."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer


CURRENT: ContextVar[Request | None] = ContextVar("request", default=None)


@contextmanager
def once(request: Request | None) -> Iterator[None]:
    """What is stored inside is stored under this request; `Repeated` is raised if it was before."""
    token = CURRENT.set(request)
    try:
        yield
    finally:
        CURRENT.reset(token)


def check_repeated(request: Request, known: tuple[str, Any] | None) -> None:
    """known: the digest and the answer that are stored under the key."""
    if known is None:
        return
    if known[0] != request.digest:
        text = "the key {key!r} was used before for something else"
        remedy = "give every request a key of its own, and only its repetitions the same"
        raise StudyError("key-used", text, remedy=remedy, key=request.key)
    raise Repeated(known[1])
