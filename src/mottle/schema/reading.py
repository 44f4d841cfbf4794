"""How a table is read: the ``[read]`` table of mottle.toml, kept in the owner's link file as well.

A table that is read differently is a different table: another word for missing values, another
decimal mark. So what a run was told, or `inspect` found, is remembered for the commands after it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from mottle.errors import SchemaError
from mottle.utils.untrusted.text import parse_json

__all__ = ["READ_OPTIONS", "ReadOptions"]


class ReadOptions(BaseModel):
    """How the cells of a table are written; what is None or empty is detected or not used.

    Delimiter, quote, encoding, decimal mark, thousands separator and date formats are those of text
    files, sheet and row of the header those of workbooks, and missing codes those of statistics
    packages; words for missing values apply to the text columns of every table.

    >>> ReadOptions(missing=["?"], delimiter=";").words()
    ['--missing', '?', '--delimiter', ';']
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    missing: tuple[str, ...] = ()  # words that stand for a missing value
    delimiter: str | None = None
    quote: str | None = None
    encoding: str | None = None
    decimal: str | None = None  # the decimal mark of numbers; None: a point
    thousands: str | None = None  # between groups of three digits; None: none
    date_format: tuple[str, ...] = ()  # such as dd.mm.yyyy, in addition to 2024-12-31
    sheet: str | None = None  # of a workbook: its name, or its number from 1
    header_row: int | None = None  # of a workbook: the row of the names; None: the first with cells
    user_missing: bool = False  # of SPSS, Stata, SAS: declared missing codes are categories
    allow_generalized: bool = False  # whether cells such as {a|b} and 1..5 are the table's own

    @field_validator("sheet", mode="before")
    @classmethod
    def _name_or_number(cls, value: object) -> object:
        return str(value) if type(value) is int else value

    @field_validator("missing", "date_format", mode="before")
    @classmethod
    def _one_or_several(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value

    def over(self, remembered: ReadOptions) -> ReadOptions:
        """Return these options, completed by remembered ones.

        Parameters
        ----------
        remembered : ReadOptions
            What an earlier command was told.

        Returns
        -------
        ReadOptions
            An option that is given here replaces the remembered one.

        Examples
        --------
        >>> ReadOptions(missing=["NA"]).over(ReadOptions(missing=["?"], decimal=",")).words()
        ['--missing', 'NA', '--decimal', ',']
        """
        return remembered.model_copy(update=self.given)

    @property
    def given(self) -> dict[str, object]:
        """The options that differ from their defaults, by name."""
        return self.model_dump(exclude_defaults=True)

    def words(self) -> list[str]:
        """Return the options as they are typed on a command line.

        Returns
        -------
        list of str
            Names and values; empty if nothing is given.
        """
        return list(self._words())

    def _words(self) -> Iterator[str]:
        for name, value in self.given.items():
            flag = f"--{name.replace('_', '-')}"
            if value is True:
                yield flag
            for one in value if isinstance(value, tuple) else [value]:
                yield from () if one is True else (flag, "\\t" if one == "\t" else str(one))

    def to_toml(self) -> list[str]:
        """Return the lines of the table ``[read]``; none if nothing is given.

        Returns
        -------
        list of str
            TOML.
        """
        if not self.given:
            return []
        lines = ["[read]  # how the table is read; other commands take it from here"]
        return [*lines, *(f"{name} = {_toml(value)}" for name, value in self.given.items()), ""]

    def to_json(self) -> str:
        """Return the options as JSON, for the owner's link file.

        Returns
        -------
        str
            An object with what is given.
        """
        return json.dumps(self.given, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> ReadOptions:
        """Read what `to_json` returned.

        Parameters
        ----------
        text : str or bytes
            The JSON.

        Returns
        -------
        ReadOptions
            The options.

        Raises
        ------
        ValueError
            The text is something else.
        """
        content = parse_json(text)
        if not isinstance(content, Mapping):
            raise ValueError("These are not reading options.")
        return cls(**content)

    @classmethod
    def of_toml(cls, content: object, source: str) -> ReadOptions:
        """Check the table ``[read]`` of a mottle.toml.

        Parameters
        ----------
        content : object
            What stands there.
        source : str
            The file, for messages.

        Returns
        -------
        ReadOptions
            The options.

        Raises
        ------
        SchemaError
            An option is unknown or has a wrong type.
        """
        if not isinstance(content, Mapping):
            raise SchemaError(
                f"In {source}, read must be a table.", 'Write [read] and below it missing = ["?"].'
            )
        try:
            return cls(**content)
        except ValidationError as error:
            name = str(error.errors(include_url=False)[0]["loc"][0])
            if name not in READ_OPTIONS:
                raise SchemaError(
                    f"In {source}, [read]: unknown option '{name}'.",
                    f"Options are: {', '.join(READ_OPTIONS)}.",
                ) from None
            raise SchemaError(
                f"In {source}, [read]: {name} has a value of the wrong type.",
                'Write for instance missing = ["?"], delimiter = ";", decimal = ",".',
            ) from None


READ_OPTIONS = tuple(ReadOptions.model_fields)


def _toml(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, bool | int):
        return str(value).lower()
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
