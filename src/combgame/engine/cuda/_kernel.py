"""The source of a CUDA kernel whose threads play runs, one after another, until none is left.

A thread that has finished a run takes the next free one: the threads of a warp wait for each other
in every round, but not for the longest run. The source is put together from the kernels of a run:
each consists of views of the thread's own slot, and of numbers.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..jit import jitable
from ..philox import Philox
from ..round import NEEDS_RESIZE, RUNNING, step
from ._memory import SLOTS, WARP, MemoryLayout, Slot

SOURCE = """
def kernel(cursor, slots, runs, first, last, seed, templates, floats, ints, begin_floats,
           begin_ints, fixed_floats, fixed_ints, rows, start, theirs,
           stops_out, winners_out, leaders_out, leads_out, rounds_out, ended_out):
    slot = cuda.grid(1)
    if slot < slots:
        lane, warp = slot % {warp}, slot // {warp} * {warp}
        f, i = warp * {float_words} + lane, warp * {int_words} + lane
        {assign}
        mine, which, ended = -1, 0, 0
        here = start[0, : rows[0]]
        while True:
            if ended != {on}:
                if mine >= 0:
                    record(mine, ended, seen, view, stops, winners, theirs[which], stops_out,
                           winners_out, leaders_out, leads_out, rounds_out, ended_out)
                mine = cuda.atomic.add(cursor, 0, 1)
                if mine >= runs:
                    break
                run = first + mine
                which = run % templates
                for w in range({float_words}):
                    floats[f + {warp} * w] = begin_floats[w, which]
                for w in range({int_words}):
                    ints[i + {warp} * w] = begin_ints[w, which]
                rng.place[0], rng.place[1] = seed, run
                here = start[which, : rows[which]]
            ended = step(game, rule, here, truth, rng, last, seen, view, stops, winners)
            {marks}
"""


@jitable
def record(  # type: ignore[no-untyped-def]
    mine,
    ended,
    stats,
    state,
    stops,
    winners,
    theirs,
    stops_out,
    winners_out,
    leaders_out,
    leads_out,
    rounds_out,
    ended_out,
):
    """Write the results of a run (`state.BatchResult`).

    ``theirs[a]`` is the user's number of arm a of the run.
    """
    rounds_out[mine], ended_out[mine] = stats.n_rounds[0], ended
    for j in range(stops.size):
        stops_out[mine, j] = stops[j]
        for a in range(state.leader.size):
            winners_out[mine, j, theirs[a]] = 1 if winners[j, a] > 0.5 else 0
    lead, rivals = 0.0, 0
    for a in range(state.leader.size):
        leaders_out[mine, theirs[a]] = 1 if state.leader[a] > 0.5 else 0
        if state.rival[a] > 0.5:
            rivals += 1
        if state.leader[a] != state.rival[a]:
            if stats.counts[a] == 0.0:
                lead = math.nan
            lead += (state.leader[a] - state.rival[a]) * stats.mean[a]
    leads_out[mine] = lead if rivals > 0 else math.nan


def source_of(
    parts: dict[str, Any], plan: MemoryLayout, arrays: list[Any], state: Callable[..., Any]
) -> tuple[str, dict[str, Any]]:
    """Return the source of the CUDA kernel, and the objects to which it refers.

    ``state(shape, apart)`` makes the views of arrays of one shape.
    """
    scope: dict[str, Any] = {"math": math, "step": step, "Philox": Philox}
    places = {id(x): place for x, place in zip(arrays, plan.places, strict=True)}
    views: dict[tuple[Any, ...], str] = {}

    def written(x: Any) -> str:
        if isinstance(x, tuple) and hasattr(x, "_fields"):
            name = f"{type(x).__module__}.{type(x).__qualname__}"
            name = "".join(c if c.isalnum() else "_" for c in name)
            while scope.setdefault(name, type(x)) is not type(x):
                name += "_"  # another class has this name
            inner = ", ".join(map(written, x))
            return f"{name}({inner})"
        if isinstance(x, np.ndarray):
            return seen_at(places[id(x)])
        if isinstance(x, bool | np.bool_):
            return repr(bool(x))
        if isinstance(x, int | np.integer):
            return repr(int(x))
        if not math.isfinite(x):
            return "math.nan" if math.isnan(x) else ("math.inf" if x > 0 else "(-math.inf)")
        return f"float({float(x)!r})"

    def seen_at(place: Slot) -> str:
        apart = WARP if place.arena < SLOTS else 1
        name = views.setdefault((place.shape, apart), f"view_{len(views)}")
        scope[name] = scope.get(name) or state(place.shape, apart)
        where = ("floats, f", "ints, i", "fixed_floats, 0", "fixed_ints, 0")[place.arena]
        return f"{name}({where} + {apart * place.first})"

    made = {name: written(kernel) for name, kernel in parts.items()}
    assign = "\n        ".join(f"{name} = {kernel}" for name, kernel in made.items())
    text = SOURCE.format(
        warp=WARP,
        assign=assign,
        on=RUNNING,
        float_words=plan.words[0],
        int_words=plan.words[1],
        marks="\n            ".join(
            f"ended = {NEEDS_RESIZE} if {mark}[0] > 0 else ended"
            for name, kernel in parts.items()
            for mark in marked(name, kernel)
        ),
    )
    return text, scope


def marked(name: str, kernel: Any) -> list[str]:
    """Return the fields of a kernel that mark that something was too small."""
    if not (isinstance(kernel, tuple) and hasattr(kernel, "_fields")):
        return []
    inner = zip(kernel._fields, kernel, strict=True)
    return [
        mark
        for field, x in inner
        for mark in ([f"{name}.{field}"] if field == "outgrown" else marked(f"{name}.{field}", x))
    ]
