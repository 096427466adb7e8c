"""An accelerator of compiling: machine code is made once for a call, and functions are kept singly.

numba makes machine code of every function that it compiles, including everything that the function
calls; of these only the outermost is ever run. A `DeferredLibrary` stays LLVM code if only compiled
code can call it. A library that Python can call is linked with everything that it needs, optimised
once, and made machine code once. Everything else in it is internal, so that functions with a single
call are inlined.

This depends on private parts of numba, so it is used only for versions with which it was tested,
and only if a small function compiles correctly; otherwise numba compiles in its own way, which
takes up to three times as long the first time. Rounds are as fast, and results the same, to the
last bit. COMBGAME_COMPILER=plain turns the accelerator off.
"""

import functools
import itertools
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba import njit
from numba.core import codegen
from numba.core.bytecode import FunctionIdentity
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.environment import lookup_environment
from numba.core.registry import cpu_target
from numba.extending import register_jitable

# beginnings of the names of global variables that hold the address of an environment, and of
# functions that Python calls
ENVIRONMENT = "_ZN08NumbaEnv"
OPEN = ("_ZN7cpython", "cfunc.")


class DeferredLibrary(codegen.JITCodeLibrary):  # type: ignore[misc]
    """A code library that stays LLVM code until Python calls a function in it.

    `inner` is true while the library holds only its own LLVM code.
    """

    inner = False

    def finalize(self) -> None:
        """Make machine code if Python can call a function of the library."""
        if any(
            f.name.startswith(OPEN) and not f.is_declaration for f in self._final_module.functions
        ):
            self._whole()
        else:
            self._finalize_dynamic_globals()
            self.inner = self._finalized = True

    def _optimize_final_module(self) -> None:
        """Optimise in one pass: few reference counts need pruning in between."""
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)

    def _needs(self, known: dict[Any, None]) -> dict[Any, None]:
        for library in self._linking_libraries:
            if library not in known:
                known[library] = None
                if isinstance(library, DeferredLibrary) and library.inner:
                    library._needs(known)
        return known

    def _whole(self) -> None:
        """Do `CPUCodeLibrary.finalize` with everything that the linked libraries need."""
        self.inner, self._finalized, self._shared_module = False, False, None
        self._dynamic_globals: list[Any] = []
        codegen.require_global_compiler_lock()
        self._codegen._check_llvm_bugs()
        for library in self._needs({}):
            self._reload_init.update(library._reload_init)
            own = codegen.JITCodeLibrary._get_module_for_linking
            self._final_module.link_in(own(library), preserve=True)
        for function in self._final_module.functions:
            if not function.is_declaration and not function.name.startswith(OPEN):
                function.linkage = "internal"
        self._optimize_final_module()
        self._final_module.verify()
        self._finalize_final_module()
        for variable in self._final_module.global_variables:
            if variable.name.startswith(ENVIRONMENT):
                env = lookup_environment(variable.name)
                if env is not None:
                    self._codegen.set_env(variable.name, env)

    def _with_needs(self) -> Any:
        """Return the LLVM code together with that of everything it needs."""
        module = self._final_module.clone()
        for library in self._needs({}):
            module.link_in(codegen.JITCodeLibrary._get_module_for_linking(library), preserve=True)
        return module

    @property
    def has_dynamic_globals(self) -> bool:
        """Return whether the library or anything it needs has dynamic globals."""
        return super().has_dynamic_globals or (
            self.inner and any(library.has_dynamic_globals for library in self._needs({}))
        )

    def serialize_using_object_code(self) -> Any:
        """Return the state that `unserialized` takes."""
        if not self.inner:
            return super().serialize_using_object_code()
        start = {begin for library in (self, *self._needs({})) for begin in library._reload_init}
        return self.name, "inner", (self._with_needs().as_bitcode(), start)

    def environments(self) -> tuple[Any, ...]:
        """Return the environments to which the LLVM code refers by name."""
        modules = [
            codegen.JITCodeLibrary._get_module_for_linking(library)
            for library in (self, *self._needs({}))
        ]
        names = {
            v.name
            for module in modules
            for v in module.global_variables
            if v.name.startswith(ENVIRONMENT)
        }
        looked_up = [lookup_environment(name) for name in sorted(names)]
        return tuple(env for env in looked_up if env is not None and env.can_cache())

    def _get_module_for_linking(self) -> Any:
        """Return the module as numba makes it, for a library that is not deferred."""
        self._ensure_finalized()
        if self.inner:
            self._whole()
        return super()._get_module_for_linking()

    def get_pointer_to_function(self, name: str) -> int:
        """Return the address of a function, or 0 if the library does not define it."""
        self._ensure_finalized()
        if self.inner:
            if not any(
                f.name == name and not f.is_declaration for f in self._final_module.functions
            ):
                return 0
            self._whole()
        return int(super().get_pointer_to_function(name))


def unserialized(generator: Any, state: Any) -> Any:
    """Return a library from its stored state."""
    name, kind, data = state
    if kind != "inner":
        return codegen.JITCodeLibrary._unserialize(generator, state)
    library = DeferredLibrary(generator, name)
    library._final_module = codegen.ll.parse_bitcode(data[0])
    library._reload_init.update(data[1])
    library.inner = library._finalized = True
    return library


@contextmanager
def deferred_codegen() -> Iterator[None]:
    """Make deferred libraries in this context.

    An environment is set only when there is machine code that refers to it.

    The names of functions contain numbers, which are 1, 2, ... in every process. LLVM code on disk
    may meet code of another process, so random numbers take their place, and no name is used twice.
    """
    generator = cpu_target.target_context.codegen()
    with global_compiler_lock:
        plain, numbers = generator.set_env, FunctionIdentity._unique_ids
        FunctionIdentity._unique_ids = itertools.count(secrets.randbits(62))

        def set_env(name: str, env: Any) -> None:
            if generator._engine.is_symbol_defined(name):
                plain(name, env)

        generator.set_env = set_env
        generator.unserialize_library = functools.partial(unserialized, generator)
        try:
            yield
        finally:
            del generator.set_env, generator.unserialize_library
            FunctionIdentity._unique_ids = numbers


def into_lazy(state: Any, func: Any) -> None:
    """Let compiled code go into a deferred library."""
    state.library = DeferredLibrary(state.targetctx.codegen(), func.__qualname__)
    state.library.enable_object_caching()


class Deferred(Compiler):  # type: ignore[misc]
    """numba's compiler with deferred libraries."""

    def compile_extra(self, func: Any) -> Any:
        """Compile into a deferred library."""
        into_lazy(self.state, func)
        return super().compile_extra(func)


def failure() -> str:
    """Return the reason why the accelerator does not work with this numba, or "" if it does."""

    def inner(x):  # type: ignore[no-untyped-def]
        return 2.0 * x[0]

    called = register_jitable(pipeline_class=Deferred, no_cfunc_wrapper=True, _nrt=False)(inner)

    def outer(x):  # type: ignore[no-untyped-def]
        return called(x) + x[1]

    try:
        with deferred_codegen():
            entry = njit(pipeline_class=Deferred, no_cfunc_wrapper=True, _nrt=False)(outer)
            found = entry((1.5, 4.0))
            made = entry.overloads[entry.signatures[0]].library
            kept = unserialized(made.codegen, made.serialize_using_object_code())
    except Exception as error:  # a private part of numba may have changed in any way
        return f"{type(error).__name__}: {error}"
    right = found == 7.0 and isinstance(made, DeferredLibrary) and kept.name == made.name
    return "" if right else "a small function compiled to something else"
