"""Which modules a call passes, in the order in which it first enters them: python -m tests.walk
[simulate | Study | ask | tell | certify | status | decision ...] lists them; without a name it
counts. `tell` does not certify the study, `certify` is the one that does.

Every call is made twice before it is recorded, so that what is made once per process does not
count.
"""

import ast
import re
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path

import combgame as cg
from combgame.storage.thread import Job

ROOT = Path(cg.__file__).parent
MEANS = [0.9, 0.5, 0.4, 0.3, 0.2]


def walked(call):
    """The modules whose functions are called, imports aside, in the order of the first call."""
    first = {}

    def look(frame, event, _):
        name = frame.f_code.co_filename
        own = (
            event == "call"
            and name.startswith(str(ROOT))
            and not frame.f_code.co_name.startswith("<")
        )
        if own and not importing(frame):
            first.setdefault(Path(name).relative_to(ROOT).with_suffix("").as_posix())

    with everywhere(look):
        call()
    return [name for name in first if name != "__init__"]


@contextmanager
def everywhere(look):
    """What is called in this thread and in those of studies, which are there or begin now."""
    real, before = Job.make, sys.getprofile()

    def make(job):
        sys.setprofile(look)
        try:
            real(job)
        finally:
            sys.setprofile(None)

    Job.make = make
    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(before)
        Job.make = real


def importing(frame):
    """Whether a module is being made: what it calls then belongs to no walk."""
    while (frame := frame.f_back) is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(str(ROOT)):
            return True
    return False


def problem():
    return cg.Problem(cg.Subsets(5, 2), cg.Arms(5), cg.Gaussian(0.1))


def walks():
    """{name of a call: the modules that it passes}."""
    found = {}

    def note(name, call):
        made = []
        found[name] = walked(lambda: made.append(call()))
        return made[0]

    def simulate():
        return cg.simulate(problem(), MEANS, runs=2, engine="python", progress=False)

    simulate(), simulate()
    note("simulate", simulate)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        for turn in range(3):
            study = note(
                "Study",
                lambda turn=turn: cg.Study(
                    problem(), storage=f"sqlite:///{folder}/{turn}.db", name="walk"
                ),
            )
            stack.enter_context(study)
        while not study.done:
            todo = note("ask", study.ask)
            values = {arm: MEANS[arm] for arm in todo.arms}
            note("certify", lambda todo=todo, values=values: study.tell(todo, values))
            if not study.done:
                found["tell"] = found["certify"]
            note("status", lambda: str(study.status))
        note("decision", lambda: str(study.decision))
    return found


def said(module):
    """The first sentence of a module's docstring."""
    path = ROOT / f"{module}.py"
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    return re.split(r"(?<=[.?])\s", " ".join(text.split("\n\n")[0].split()))[0]


def main(names):
    found = walks()
    if unknown := set(names) - set(found):
        sys.exit(f"there is no {unknown.pop()}: give one of {', '.join(found)}")
    for name in names:
        print(f"{name}: {len(found[name])} modules")
        for k, module in enumerate(found[name], 1):
            print(f"{k:4} {module:40} {said(module)}")
    if not names:
        for name, modules in found.items():
            print(f"{name:10} {len(modules):3} modules")


if __name__ == "__main__":
    main(sys.argv[1:])
