"""How another tool writes a release: the ``[release]`` table and ``cells`` of mottle.toml."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, field_validator

from mottle.errors import did_you_mean


class CellNotation(StrEnum):
    """How the cells of a column are written."""

    INTERVAL = "interval"  # [20, 40[  (20,40]  20-40  >=65  34
    SET = "set"  # a,b  {a, b}  a
    LABEL = "label"  # a node of the column's hierarchy


class Tool(StrEnum):
    """Tools whose conventions are known."""

    ARX = "arx"
    SDCMICRO = "sdcmicro"
    AMNESIA = "amnesia"
    ANONYPY = "anonypy"
    OTHER = "other"


_SUPPRESSED = {
    Tool.ARX: ("*",),
    Tool.SDCMICRO: ("NA", ""),  # local suppression; R writes it as NA
    Tool.AMNESIA: ("*", "(null)"),
    Tool.ANONYPY: ("*",),
    Tool.OTHER: ("*",),
}


class ExternalRelease(BaseModel):
    """The ``[release]`` table: the tool that wrote a release, and deviations from its conventions.

    >>> ExternalRelease(tool="arx").suppression_markers
    ('*',)
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool: Tool = Tool.OTHER
    suppressed: tuple[str, ...] | None = None  # markers of a cell that may be any value
    missing: tuple[str, ...] = ()  # markers of a missing value, in addition to the empty cell
    count: str | None = None  # a column that holds the number of records of each row

    @field_validator("tool", mode="before")
    @classmethod
    def _known_tool(cls, value: object) -> object:
        return known_word(Tool, value)

    @property
    def suppression_markers(self) -> tuple[str, ...]:
        """The markers of cells that may stand for any value."""
        return _SUPPRESSED[self.tool] if self.suppressed is None else self.suppressed

    @property
    def count_column(self) -> str | None:
        """The column that holds the number of records of each row; anonypy calls it count."""
        return "count" if self.count is None and self.tool is Tool.ANONYPY else self.count

    def to_toml(self) -> list[str]:
        """Return the lines of the ``[release]`` table."""
        lines = ["[release]", f"tool = {_quoted(self.tool)}"]
        if self.suppressed is not None:
            lines.append(f"suppressed = [{', '.join(map(_quoted, self.suppressed))}]")
        if self.missing:
            lines.append(f"missing = [{', '.join(map(_quoted, self.missing))}]")
        if self.count is not None:
            lines.append(f"count = {_quoted(self.count)}")
        return [*lines, ""]


EXTERNAL_OPTIONS = tuple(ExternalRelease.model_fields)


def known_word(words: type[StrEnum], value: object) -> object:
    """Return the member of an enumeration that a text names; ValueError suggests one."""
    if not isinstance(value, str):
        return value
    known = {str(word): word for word in words}
    if value.strip().lower() not in known:
        raise ValueError(f"'{value}' is not known. {did_you_mean(value, known)}")
    return known[value.strip().lower()]


def unknown_option(given: Mapping[str, object]) -> str | None:
    """Return the first option that is not one of a ``[release]`` table; None if all are."""
    return next((option for option in given if option not in EXTERNAL_OPTIONS), None)


def _quoted(text: str) -> str:
    """A TOML basic string."""
    return json.dumps(str(text), ensure_ascii=False).replace("\x7f", "\\u007f")
