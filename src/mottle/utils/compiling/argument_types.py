"""Types of the arguments of kernels as JSON, so that kernels can be compiled without arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

from mottle.utils.lazy import lazy_module

__all__ = ["described", "type_of"]

types: Any = numba.types


def described(kind: Any) -> Any:
    """Describe a type of Numba.

    Parameters
    ----------
    kind : numba.types.Type
        Numbers, arrays, None, tuples and named tuples of them, and their literals and defaults.

    Returns
    -------
    object
        To be written as JSON; `type_of` makes the type of it again.

    Raises
    ------
    TypeError
        If the type is of another kind.

    Examples
    --------
    >>> described(types.UniTuple(types.int64, 2))
    ['tuple', 'int64', 'int64']
    >>> type_of(["array", "float64", 1, "C", True])
    Array(float64, 1, 'C', False, aligned=True)
    """
    if isinstance(kind, types.Array):
        return ["array", described(kind.dtype), kind.ndim, kind.layout, kind.mutable]
    if isinstance(kind, types.BaseNamedTuple):
        named = kind.instance_class
        place = f"{named.__module__}:{named.__qualname__}"
        return ["named", place, *(described(field) for field in kind)]
    if isinstance(kind, types.BaseTuple):
        return ["tuple", *(described(field) for field in kind)]
    if isinstance(kind, types.Literal) and isinstance(kind.literal_value, int):
        return ["literal", kind.literal_value]
    if isinstance(kind, types.Omitted):
        return ["omitted", kind.value]
    if isinstance(kind, types.Number | types.Boolean | types.NoneType):
        return str(kind)
    raise TypeError(f"The type {type(kind).__name__} is not described.")


def type_of(description: Any) -> Any:
    """Make a type of what `described` returned.

    Parameters
    ----------
    description : object
        The description.

    Returns
    -------
    numba.types.Type
        The type.

    Raises
    ------
    AttributeError, ImportError, KeyError
        If there is no such type, or not any more.
    """
    if isinstance(description, str):
        return getattr(types, "bool_" if description in ("bool", "boolean") else description)
    name, *parts = description
    return _MAKERS[name](*parts)


def _array(dtype: Any, dimensions: int, layout: str, mutable: bool) -> Any:
    return types.Array(type_of(dtype), dimensions, layout, readonly=not mutable)


def _tuple(*fields: Any) -> Any:
    return types.BaseTuple.from_types(tuple(map(type_of, fields)))


def _named(place: str, *fields: Any) -> Any:
    module, _, name = place.partition(":")
    return types.BaseTuple.from_types(
        tuple(map(type_of, fields)), getattr(lazy_module(module), name)
    )


_MAKERS: dict[str, Callable[..., Any]] = {
    "array": _array,
    "tuple": _tuple,
    "named": _named,
    "literal": types.literal,
    "omitted": types.Omitted,
}
