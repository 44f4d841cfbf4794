"""Dotted names of mottle in texts, and whether there are such things."""

from __future__ import annotations

import importlib
import re
import sys

_NAME = re.compile(r"(?<![\w/.-])mottle(?:\.[A-Za-z_]\w*)+(?![\w/-])")
_FILES = {"mottle.toml"}


def names_in(text: str) -> list[str]:
    """The dotted names of mottle in a text, each once.

    >>> names_in("`mottle.Schema.of(…)` reads mottle.toml; see mottle.io.")
    ['mottle.Schema.of', 'mottle.io']
    """
    return sorted(set(_NAME.findall(text)) - _FILES)


def exists(name: str) -> bool:
    """Whether a dotted name leads to a module, an object or a field.

    >>> exists("mottle.Schema.of"), exists("mottle.Column.importance"), exists("mottle.Schema.off")
    (True, True, False)
    """
    parts = name.split(".")
    modules = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
    module = next(each for each in modules if _imported(each))
    found: object = sys.modules[module]
    for place, part in enumerate(parts[module.count(".") + 1 :], start=module.count(".") + 2):
        if not hasattr(found, part):
            return place == len(parts) and _is_field(found, part)
        found = getattr(found, part)
    return True


def _imported(module: str) -> bool:
    """Import a module; False when there is none. What a module lacks itself is an error."""
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        return False
    return True


def _is_field(owner: object, name: str) -> bool:
    """A field without a default is annotated only."""
    classes = owner.__mro__ if isinstance(owner, type) else ()
    return any(name in vars(each).get("__annotations__", {}) for each in classes)
