"""Names in paths."""

from typing import Annotated
from urllib.parse import unquote

from fastapi import Depends, Path

from ..errors import plain_text

InPath = Annotated[str, Path(description="The study's name.", max_length=2000)]


async def named(name: InPath) -> str:
    """A study's name, as it stands in a path: `guard` keeps it in one piece."""
    return plain_text("name", unquote(name), "a text, such as 'plate-7'")


Name = Annotated[str, Depends(named)]
