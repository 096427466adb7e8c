"""The table of characteristic times: python -m combgame.instances.times writes `times.json`.

A name that the table has already is kept, unless it is given: `... times "E20" "grid n_s = 6"`.
"""

import json
import sys
from pathlib import Path

from .known import computed
from .suites import suite

FILE = Path(__file__).with_name("times.json")


def main(again: list[str]) -> None:
    kept = json.loads(FILE.read_text()) if FILE.exists() else {}
    made = {}
    for one in suite("all"):
        row = kept.get(one.name, {})
        if row.get("of") != one.key or one.name in again:
            time, gap = computed(one)
            row = {"of": one.key, "time": float(f"{time:.10g}"), "gap": float(f"{gap:.3g}")}
            print(f"{one.name}: {time:.6g}, gap {gap:.2g}", flush=True)
        made[one.name] = row
        lines = (f"{json.dumps(name)}: {json.dumps(figures)}" for name, figures in made.items())
        FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
