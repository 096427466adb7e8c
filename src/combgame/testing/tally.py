"""What a conformance check has checked, and how often."""

from typing import Any

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


def named(part: Any) -> str:
    """A description in few words; the name of its class, where it is no value."""
    if isinstance(part, str):
        return repr(part)
    return short(part) if is_value(part) else type(part).__name__
