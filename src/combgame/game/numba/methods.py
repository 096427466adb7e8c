"""For numba: methods of parts."""

from typing import Any

from numba.core import types
from numba.core.typing import templates
from numba.extending import lower_builtin, register_jitable

from ..methods import teach_methods
from .borrow import Borrowing

# of what only compiled code calls
INNER: dict[str, Any] = {"no_cfunc_wrapper": True, "pipeline_class": Borrowing}

teach_methods(types, templates, templates.infer_getattr, lower_builtin, register_jitable(**INNER))
