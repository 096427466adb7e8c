"""A rule that is watched: whether it leaves what it is given as it was."""

from typing import Any

from ..game.parts import leaves_of
from ..game.protocols import Game
from ..game.records import Ints, Random, Seen, View
from ..rules import Setup


class Watched:
    """A rule's part, which may write view.action, view.rival and view.alternative alone."""

    def __init__(self, part: Any) -> None:
        self.part = part

    def choose(self, game: Game, seen: Seen, view: View, rng: Random) -> None:
        before = _bits(seen, view)
        self.part.choose(game, seen, view, rng)
        after = _bits(seen, view)
        changed = [name for name, bits in before.items() if bits != after[name]]
        assert not changed, (
            f"in round {int(seen.clock[0])} the rule changed {' and '.join(changed)}: it may only "
            "write view.action, and use view.rival and view.alternative as it likes."
        )

    def full(self) -> bool:
        return bool(self.part.full())


def _bits(seen: Seen, view: View) -> dict[str, list[bytes]]:
    """What a rule may read, to the last bit."""
    read = {f"seen.{name}": value for name, value in seen._asdict().items()}
    read |= {"view.best": view.best, "view.evidence": view.evidence}
    return {name: [leaf.tobytes() for leaf in leaves_of(value)] for name, value in read.items()}


class WatchedSetup:
    """A set-up whose rules are watched."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup

    def fresh(self, rng: Random) -> tuple[Any, Ints]:
        part, start = self.setup.fresh(rng)
        return Watched(part), start

    def enlarge(self, rule: Any) -> Any:
        return Watched(self.setup.enlarge(rule.part))

    def figures(self, rule: Any) -> dict[str, int]:
        return self.setup.figures(rule.part)
