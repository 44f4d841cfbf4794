"""Compile functions that only compiled functions call, without making machine code of them.

By itself Numba optimizes every function, makes machine code of it, and does both again wherever
the function is called, because it puts the code of callees beside that of their callers. Of a
function that Python never calls, a kernel's part, the first is for nothing: here it stays as it
was generated, until a kernel that Python calls has all its parts and is optimized as a whole.

This uses what Numba does not promise to keep: libraries of code, and how they are written to the
cache. `tests/utils/compiling/test_parts.py` says what it relies on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import llvmlite.binding as llvm
from numba.core import caching, compiler, types
from numba.core.codegen import JITCodeLibrary
from numba.core.registry import CPUDispatcher

__all__ = ["KernelCompiler", "keep_as_part"]

_KIND = "part of a kernel"  # in the cache
_DYNAMIC = "numba.dynamic.globals"  # addresses in this process, by what Numba calls them

Compiler: Any = compiler.Compiler
Library: Any = JITCodeLibrary


class _KernelLibrary(Library):  # type: ignore[misc]
    """The code of a kernel that Python calls, with all its parts: optimized once, as a whole."""

    def _optimize_functions(self, module: Any) -> None:
        """Leave functions to the optimization of the whole, which begins with the same passes."""
        module.data_layout = self._codegen._data_layout


class _PartLibrary(_KernelLibrary):
    """The code of a part, to be put beside that of its callers."""

    @classmethod
    def read(cls, codegen: Any, name: str, bitcode: bytes) -> Any:
        """Make a library of what was kept in the cache."""
        self = cls(codegen, name)
        self._final_module = self._shared_module = llvm.parse_bitcode(bitcode)
        self._finalized = True
        return self

    @property
    def codegen(self) -> Any:
        """Something that keeps no environments: only machine code has a place for them."""
        return _WithoutEnvironments()

    def _optimize_final_module(self) -> None:
        """Leave all to the callers, but what would keep the part out of the cache."""
        if any(each.name.startswith(_DYNAMIC) for each in self._final_module.global_variables):
            super()._optimize_final_module()  # most often nothing uses them

    def _finalize_final_module(self) -> None:
        """Make no machine code."""
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """State that there is no machine code."""
        self._ensure_finalized()
        return 0

    def serialize_using_object_code(self) -> tuple[str, str, tuple[bytes, bytes]]:
        """Return what the cache keeps, of the same form as for other libraries."""
        return self.name, _KIND, (b"", self._get_module_for_linking().as_bitcode())


class _WithoutEnvironments:
    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing."""


class KernelCompiler(Compiler):  # type: ignore[misc]
    """Compiles a kernel, and what it needs of NumPy, as parts where Python does not call them."""

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        """Compile a function."""
        if not self.state.flags.no_cpython_wrapper:
            library = _KernelLibrary(self.state.targetctx.codegen(), function.__qualname__)
            library.enable_object_caching()
            self.state.library = library
        with _parts():
            compiled = super().compile_extra(function)
        if not self.state.flags.no_cpython_wrapper:
            for environment in compiled._find_referenced_environments():  # those of its parts
                compiled.library.codegen.set_env(environment.env_name, environment)
        return compiled


@contextmanager
def _parts() -> Iterator[None]:
    """Make parts of what is compiled for others; in a thread that has Numba's lock."""
    original = Compiler.define_pipelines

    def define_pipelines(self: Any) -> Any:
        state = self.state
        _leave_out_addresses(state.targetctx)
        if state.library is None and state.flags.no_cpython_wrapper:
            state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return original(self)

    Compiler.define_pipelines = define_pipelines
    try:
        yield
    finally:
        Compiler.define_pipelines = original


def _leave_out_addresses(target: Any) -> None:
    """Leave out the addresses of called functions in Python, which compiled code never uses.

    An address would keep a part out of the cache, and only optimizing it shows that it is unused.
    """
    original = target.add_dynamic_addr

    def add_dynamic_addr(builder: Any, address: int, info: str) -> Any:
        if info == CPUDispatcher.__name__:
            return target.get_constant_null(types.voidptr)
        return original(builder, address, info)

    target.add_dynamic_addr = add_dynamic_addr


def keep_as_part(dispatcher: Any) -> None:
    """Let a function that is compiled as a part be read from the cache as one.

    Parameters
    ----------
    dispatcher : numba.core.dispatcher.Dispatcher
        What the decorator of Numba returned.
    """
    if isinstance(dispatcher._cache, caching.FunctionCache):  # there is a place for it
        dispatcher._cache._impl.rebuild = _rebuilt


def _rebuilt(target: Any, kept: Any) -> Any:
    """Make a result of compiling from what the cache keeps."""

    class PartCodegen:
        def unserialize_library(self, library: Any) -> Any:
            name, _, (_, bitcode) = library
            return _PartLibrary.read(target.codegen(), name, bitcode)

    view = target.subtarget()
    view.codegen = PartCodegen
    results: Any = compiler.CompileResult
    return results._rebuild(view, *kept)._replace(target_context=target)
