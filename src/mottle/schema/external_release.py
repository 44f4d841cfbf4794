"""How another tool writes a release: the ``[release]`` table and ``cells`` of mottle.toml."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, field_validator

from mottle.errors import did_you_mean


class CellNotation(StrEnum):
    """What the cells of a column say."""

    INTERVAL = "interval"  # [20, 40[  (20,40]  20-40  >=65  34
    SET = "set"  # a,b  {a, b}  a
    LABEL = "label"  # a node of the column's hierarchy


class Tool(StrEnum):
    """Tools whose ways are known."""

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
    """The ``[release]`` table: which tool wrote the release, and what deviates from its ways.

    >>> ExternalRelease(tool="arx").words_for_anything
    ('*',)
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool: Tool = Tool.OTHER
    suppressed: tuple[str, ...] | None = None  # words for a cell of which nothing is told
    missing: tuple[str, ...] = ()  # words for a missing value, besides the empty cell
    count: str | None = None  # a column that says for how many records a row stands

    @field_validator("tool", mode="before")
    @classmethod
    def _known_tool(cls, value: object) -> object:
        return known_word(Tool, value)

    @property
    def words_for_anything(self) -> tuple[str, ...]:
        """Cells that may stand for any value."""
        return _SUPPRESSED[self.tool] if self.suppressed is None else self.suppressed

    @property
    def count_column(self) -> str | None:
        """The column that says for how many records a row stands; anonypy calls it count."""
        return "count" if self.count is None and self.tool is Tool.ANONYPY else self.count

    def to_toml(self) -> list[str]:
        """The lines of the ``[release]`` table."""
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
    """The member of an enumeration that a text names, or a ValueError that suggests one."""
    if not isinstance(value, str):
        return value
    known = {str(word): word for word in words}
    if value.strip().lower() not in known:
        raise ValueError(f"'{value}' is not known. {did_you_mean(value, known)}")
    return known[value.strip().lower()]


def unknown_option(given: Mapping[str, object]) -> str | None:
    """The first option that a ``[release]`` table does not have."""
    return next((option for option in given if option not in EXTERNAL_OPTIONS), None)


def _quoted(text: str) -> str:
    """A TOML basic string."""
    return json.dumps(str(text), ensure_ascii=False).replace("\x7f", "\\u007f")
