"""Commands and groups of options as data classes, expanded into what Typer reads.

A group declares each of its options once, as a field with an ``Annotated`` Typer option; a command
lists the groups it takes and its own arguments and options. The class of a command gets an instance
from what was typed, with an instance of every group in it.

Declarations import nothing costly, so that help and usage errors are fast: see `mottle.utils.lazy`.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, get_args, get_origin, get_type_hints

import typer
from typer.models import OptionInfo, ParameterInfo

DATA, COLUMNS, GUARANTEE = "Data", "Columns", "Guarantee"
EFFORT, OUTPUT, OVER_TIME, SCALE = "Effort", "Output", "Over time", "Scale"
PANELS = (DATA, COLUMNS, GUARANTEE, EFFORT, OUTPUT, OVER_TIME, SCALE)


class OptionGroup:
    """Options that belong together; a frozen data class with keyword-only fields.

    Fields are Typer options or arguments, or further groups.
    """

    # The panel of ``--help`` in which options are shown that do not name another one.
    panel: ClassVar[str] = ""

    @classmethod
    def parameters(cls) -> Iterator[inspect.Parameter]:
        """Yield the options and arguments of the group and of the groups in it, for Typer."""
        for name, hint, default in _fields(cls):
            if _is_group(hint):
                yield from hint.parameters()
            elif (info := _typer_info(hint)) is not None:
                yield parameter(
                    name, get_args(hint)[0], _shown(info, hint, cls.panel, name), default
                )

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Make an instance from the values of all parameters by name."""
        found = {}
        for name, hint, _ in _fields(cls):
            if _is_group(hint):
                found[name] = hint.from_values(values)
            elif name in values:
                found[name] = values[name]
        return cls(**found)

    def check(self) -> None:
        """Raise `UsageError` if the options are wrong, before anything costly is imported."""
        for name, hint, _ in _fields(type(self)):
            if _is_group(hint):
                getattr(self, name).check()


def parameter(name: str, kind: Any, info: ParameterInfo, default: Any) -> inspect.Parameter:
    """Make one parameter of a command's function."""
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info]
    )


def as_option(kind: Any, *flags: str, text: str, panel: str) -> OptionInfo:
    """Make an option that is declared elsewhere, for `parameter`; ``text`` explains it."""
    info: OptionInfo = typer.Option(*flags, help=text, rich_help_panel=panel)
    return _readable(info, kind)


def whole_number(text: str) -> int:
    """Read the value of an option that is a whole number."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter("It must be a whole number.") from None


def number(text: str) -> float:
    """Read the value of an option that is a number."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter("It must be a number.") from None


# Placeholders of values in ``--help``; none for a flag.
_METAVARS = {int: "INTEGER", float: "NUMBER", str: "TEXT", Path: "PATH", bool: ""}
# Parsers of numbers.
_PARSERS: dict[Any, Callable[[str], float]] = {int: whole_number, float: number}


def _fields(group: type[OptionGroup]) -> Iterator[tuple[str, Any, Any]]:
    """Name, type and default of every field."""
    hints = get_type_hints(group, include_extras=True)
    for field in dataclasses.fields(group):  # type: ignore[arg-type]  # every subclass is one
        missing = field.default is dataclasses.MISSING
        yield field.name, hints[field.name], inspect.Parameter.empty if missing else field.default


def _is_group(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, OptionGroup)


def _typer_info(hint: Any) -> ParameterInfo | None:
    """The Typer option or argument in an annotation."""
    if get_origin(hint) is not Annotated:
        return None
    return next((each for each in get_args(hint)[1:] if isinstance(each, ParameterInfo)), None)


def _shown(info: ParameterInfo, hint: Any, panel: str, name: str) -> ParameterInfo:
    """The option in its panel, the argument under its name in capitals."""
    info = copy(info)
    if isinstance(info, OptionInfo):
        info.rich_help_panel = info.rich_help_panel or panel
        return _readable(info, get_args(hint)[0])
    info.metavar = info.metavar or name.upper()
    return info


def _readable(info: OptionInfo, kind: Any) -> OptionInfo:
    """Give the option a short placeholder, and a parser with a clear error message."""
    kinds = [each for each in (get_args(kind) or (kind,)) if each in _METAVARS]
    if kinds and get_origin(kind) is not list:
        info.metavar = _METAVARS[kinds[0]] if info.metavar is None else info.metavar
        info.parser = _PARSERS.get(kinds[0])
    return info
