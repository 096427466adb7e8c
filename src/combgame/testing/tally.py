"""What a conformance check has checked, and how often."""

from typing import Any

from ..errors import SEED, must_be, whole
from ..game.descriptions import is_value, short


class Tally:
    """Checks by name, with how often each was made.

    >>> tally = Tally("Mine()")
    >>> tally.add("argmax against all 15 sets", 50)
    >>> tally.add("samples are sets")
    >>> tally.tell()
    Mine() passes:
       50 x  argmax against all 15 sets
        1 x  samples are sets
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self.often: dict[str, int] = {}

    def add(self, check: str, times: int = 1) -> None:
        self.often[check] = self.often.get(check, 0) + times

    def tell(self) -> None:
        """Print it: nothing was found wrong."""
        print(f"{self.what} passes:")
        width = max(len(f"{times:,}") for times in self.often.values())
        for check, times in self.often.items():
            print(f"  {times:{max(width, 3)},} x  {check}")


def check_part(name: str, part: Any, base: type, of: str) -> None:
    """A sentence, unless it is a description of its kind."""
    if not isinstance(part, base):
        what = "an object (not a class) that derives from {base}"
        raise must_be(name, part, what, of=of, base=base.__name__)


def check_numbers(of: str, seed: Any, **least: Any) -> None:
    """A sentence, unless these are whole numbers: a seed, and how often something is tried."""
    whole("seed", seed, 0, of=of, most=SEED)
    for name, number in least.items():
        whole(name, number, 1, of=of)


def named(part: Any) -> str:
    """A description in few words; the name of its class, where it is no value."""
    if isinstance(part, str):
        return repr(part)
    return short(part) if is_value(part) else type(part).__name__
