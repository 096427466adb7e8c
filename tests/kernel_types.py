"""For mypy: a NamedTuple decorated with `kernel(Defaults)` has the methods of `Defaults`, too."""

from mypy.nodes import CallExpr, FuncDef, TypeInfo
from mypy.plugin import Plugin


def add_defaults(context):
    """Enter the default methods that the decorated class does not define itself."""
    call, names = context.reason, context.cls.info.names
    defaults = call.args[0].node if isinstance(call, CallExpr) else None
    if not isinstance(defaults, TypeInfo):
        return False  # not analysed yet: mypy asks again
    for name, entry in defaults.names.items():
        if isinstance(entry.node, FuncDef) and name not in names:
            names[name] = entry.copy()
    return True


class Kernels(Plugin):
    def get_class_decorator_hook_2(self, fullname):
        return add_defaults if fullname == "combgame.engine.kernels.kernel" else None


def plugin(version):
    return Kernels
