"""python -m tests.fuzz"""

import argparse
import shlex
import sys
import tempfile
from collections import Counter
from pathlib import Path

from .case import Foreign
from .run import KINDS, again, fuzz, page, summary


def show(one: Foreign) -> None:
    said = ascii(one.said)[1:-1]
    print(f"{one.kind} {one.number}: {one.error}\n  at {one.place}\n  {said}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz",
        description="Odd input at random; prints every exception that is not of this package, "
        "with the case that made it. Exit code 1 if there is one.",
    )
    parser.add_argument("--cases", type=int, default=2000, help="how many, in all [2000]")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other cases [0]")
    parser.add_argument("--kind", action="append", choices=list(KINDS), help="only this kind")
    parser.add_argument("--out", type=Path, help="write the table to this file too, as Markdown")
    parser.add_argument("--number", type=int, help="only this case of the (one) kind")
    chosen = parser.parse_args()
    if chosen.number is not None:
        if not chosen.kind or len(chosen.kind) != 1:
            parser.error("--number needs one --kind")
        with tempfile.TemporaryDirectory() as place:
            outcome = again(chosen.kind[0], chosen.seed, chosen.number, Path(place))
        if isinstance(outcome, Foreign):
            show(outcome)
        else:
            print(outcome)
        sys.exit(isinstance(outcome, Foreign))
    tallies = fuzz(chosen.cases, chosen.seed, chosen.kind or (), show)
    print(summary(tallies))
    if chosen.out is not None:
        words = shlex.join(sys.argv[1:])
        made = page(tallies, f"python -m tests.fuzz {words}")
        chosen.out.write_text(made, encoding="utf-8")
    places = Counter(one.place for tally in tallies.values() for one in tally.foreign)
    for place, number in places.most_common():
        print(f"{number:6}  {place}")
    sys.exit(bool(places))


if __name__ == "__main__":
    main()
