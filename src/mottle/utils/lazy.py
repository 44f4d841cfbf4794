"""Modules that are imported when they are first used: the one mechanism for a fast start.

``import mottle``, ``mottle --help`` and errors in options must not wait for Numba, SciPy, DuckDB
and the like. There are two places where an import is put off, and both use this module:

- A package whose public names live in modules that are costly to import (`mottle` itself) gets
  them by `lazy_attributes`, following PEP 562.
- The command line declares its options in modules that import nothing costly. What a command does
  lies in other modules, which it reaches by `lazy_module` after its options were read and checked.
  Guarantees declare options too, so their modules get NumPy in this way.

Everything else imports at the top of its file. An import inside a function is left to packages
that are optional (drivers of databases, Spark) or that belong to one platform.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any


class _LazyModule:
    """Stands for a module, which is imported when one of its attributes is used."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._module: ModuleType | None = None

    def __getattr__(self, attribute: str) -> Any:
        if self._module is None:
            self._module = import_module(self._name)
        return getattr(self._module, attribute)

    def __repr__(self) -> str:
        return f"<lazy module {self._name!r}>"


def lazy_module(name: str) -> Any:
    """Return an object that stands for a module and imports it when it is first used.

    Write the plain import under ``TYPE_CHECKING`` as well, so that type checkers see the module.

    Parameters
    ----------
    name : str
        The full name of the module.

    Returns
    -------
    object
        Has all attributes of the module.

    Examples
    --------
    >>> lazy_module("math").sqrt(4)
    2.0
    """
    return _LazyModule(name)


def lazy_attributes(
    package: str, places: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make the ``__getattr__`` and ``__dir__`` of a package whose names are imported on first use.

    Subpackages are found as well: ``package.name`` imports the module ``package.name``.

    Parameters
    ----------
    package : str
        The full name of the package.
    places : mapping of str to str
        By name: ``"module:attribute"``, or ``"module"`` for a name that stands for a module.

    Returns
    -------
    getter, lister : callable
        To be bound to ``__getattr__`` and ``__dir__``.

    Examples
    --------
    >>> getter, lister = lazy_attributes("mottle", {"root": "math:sqrt"})
    >>> getter("root")(9)
    3.0
    >>> getter("roots")
    Traceback (most recent call last):
    AttributeError: module 'mottle' has no attribute 'roots'
    """

    def getter(name: str) -> Any:
        missing = AttributeError(f"module {package!r} has no attribute {name!r}")
        if name in places:
            module, _, attribute = places[name].partition(":")
            found = import_module(module)
            found = getattr(found, attribute) if attribute else found
        elif name.startswith("_"):
            raise missing
        else:
            inner = f"{package}.{name}"
            try:
                found = import_module(inner)
            except ModuleNotFoundError as error:
                if error.name != inner:
                    raise
                raise missing from None
        vars(import_module(package))[name] = found  # from now on without this detour
        return found

    def lister() -> list[str]:
        return sorted({*vars(import_module(package)), *places})

    return getter, lister
