"""What the owner states about a release: the table ``[context]`` of mottle.toml.

Nothing of it can be checked; it is published as it is given, on certificate and report.
"""

from __future__ import annotations

import datetime as dt
import json
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from mottle.errors import SchemaError, did_you_mean
from mottle.utils.untrusted.text import parse_toml, read_text

__all__ = ["CHECKLISTS", "Context"]

CHECKLISTS = ("iso27559", "wp216", "ema", "hipaa")
LONGEST_TEXT = 2000  # characters
MOST_TEXTS = 50  # of one entry
# What word processors and scripts other than Latin put into texts, and what harms no reader: a tab,
# soft hyphens, joiners. Marks that reverse the direction of a text are not among them.
_HARMLESS = frozenset("\n\t\u00ad\u200c\u200d")

_Text = Annotated[str, Field(min_length=1, max_length=LONGEST_TEXT)]
_Texts = Annotated[tuple[_Text, ...], Field(max_length=MOST_TEXTS)]


class Context(BaseModel):
    """Why a release is made, for whom, and who answers for it; published as it is given.

    Parameters
    ----------
    purpose : str, optional
        What the release is for.
    recipients : str or sequence of str, optional
        Who receives it.
    controls : str or sequence of str, optional
        What recipients are bound to: contracts, a secure room, deletion.
    adversaries : str or sequence of str, optional
        Who might look for people in it, and what they know besides.
    reviewer : str, optional
        Who reviewed it, or is to.
    review_by : date or str, optional
        The day by which the release is to be reviewed again, such as 2027-01-31.
    questions : str or sequence of str, optional
        Questions in SQL that the report answers in its section on accuracy.
    checklists : sequence of str, optional
        The checklists that the report prints: iso27559, wp216, ema, hipaa.

    Raises
    ------
    pydantic.ValidationError
        An entry is empty, too long, or not of its type.

    Examples
    --------
    >>> stated = Context(purpose="Study of hospital stays", recipients="University of Exampleton")
    >>> stated.recipients, stated.review_by
    (('University of Exampleton',), None)
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    purpose: _Text | None = None
    recipients: _Texts = ()
    controls: _Texts = ()
    adversaries: _Texts = ()
    reviewer: _Text | None = None
    review_by: dt.date | None = None
    questions: _Texts = ()
    checklists: tuple[str, ...] = ()

    @field_validator(
        "recipients", "controls", "adversaries", "questions", "checklists", mode="before"
    )
    @classmethod
    def _one_or_several(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value

    @field_validator("purpose", "recipients", "controls", "adversaries", "questions", "reviewer")
    @classmethod
    def _is_readable(cls, value: str | tuple[str, ...] | None) -> str | tuple[str, ...] | None:
        texts = (value,) if isinstance(value, str) else value or ()
        if any(not text.strip() for text in texts):
            raise ValueError("is empty")
        for text in texts:
            hidden = next((letter for letter in text if not _can_be_shown(letter)), None)
            if hidden is not None:
                raise ValueError(f"has a character that cannot be shown, U+{ord(hidden):04X}")
        return value

    @field_validator("review_by", mode="before")
    @classmethod
    def _is_a_day(cls, value: object) -> object:
        if value is None or isinstance(value, dt.date):
            return value
        with suppress(ValueError):
            return dt.date.fromisoformat(value if isinstance(value, str) else "")
        raise ValueError("is not a day")

    @field_validator("checklists")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name not in CHECKLISTS:
                raise ValueError(f"there is no such checklist. {did_you_mean(name, CHECKLISTS)}")
        return tuple(dict.fromkeys(names))

    @property
    def stated(self) -> bool:
        """Whether the owner stated anything beyond what the report contains."""
        return bool(self.model_dump(exclude_defaults=True, exclude={"questions", "checklists"}))

    def with_checklists(self, names: tuple[str, ...]) -> Self:
        """Return a copy with some checklists, if any are named.

        Parameters
        ----------
        names : tuple of str
            Their names; none to keep those that are stated.

        Returns
        -------
        Context
            The copy.
        """
        return self.model_copy(update={"checklists": names}) if names else self

    def to_toml(self) -> list[str]:
        """Return the lines of the table ``[context]``; none if nothing is stated.

        Returns
        -------
        list of str
            TOML.
        """
        given = self.model_dump(exclude_defaults=True)
        if not given:
            return []
        lines = ["[context]  # stated by the owner; published as it is given"]
        return [*lines, *(f"{name} = {_toml(value)}" for name, value in given.items()), ""]

    @classmethod
    def read(cls, path: str | Path) -> Context | None:
        """Read the table ``[context]`` of a file; what else stands in it is not looked at.

        Parameters
        ----------
        path : str or Path
            A mottle.toml, or a TOML file with that table alone.

        Returns
        -------
        Context or None
            What is stated; None if nothing is.

        Raises
        ------
        StorageError
            The file cannot be read.
        SchemaError
            It is not TOML, has no such table, or an entry is wrong.
        """
        path = Path(path)
        try:
            content = parse_toml(read_text(path))
        except ValueError as error:
            raise SchemaError(f"{path} is not valid TOML: {error}.") from None
        if "context" not in content:
            raise SchemaError(
                f"{path} has no table [context].", 'Write [context] and below it purpose = "…".'
            )
        return cls.of_toml(content["context"], str(path))

    @classmethod
    def of_toml(cls, content: object, source: str) -> Context | None:
        """Check the table ``[context]`` of a mottle.toml.

        Parameters
        ----------
        content : object
            What stands there; None if there is no such table.
        source : str
            The file, for messages.

        Returns
        -------
        Context or None
            What is stated; None if nothing is.

        Raises
        ------
        SchemaError
            An entry is unknown, empty or of a wrong type.
        """
        if content is None:
            return None
        if isinstance(content, Context):
            return content
        if not isinstance(content, Mapping):
            raise SchemaError(
                f"In {source}, context must be a table.",
                'Write [context] and below it purpose = "…".',
            )
        try:
            found = cls(**content)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            name = str(first["loc"][0])
            if name not in cls.model_fields:
                raise SchemaError(
                    f"In {source}, [context]: unknown entry '{name}'.",
                    did_you_mean(name, cls.model_fields),
                ) from None
            reason = first["msg"].removeprefix("Value error, ").rstrip(".")
            raise SchemaError(
                f"In {source}, [context]: {name}: {reason[0].lower()}{reason[1:]}.",
                'Write for instance purpose = "…", recipients = ["…"], review_by = 2027-01-31.',
            ) from None
        return found if found.model_dump(exclude_defaults=True) else None


def _can_be_shown(letter: str) -> bool:
    """Whether a reader sees a character, or the space or joint that it makes."""
    return letter.isprintable() or letter in _HARMLESS or unicodedata.category(letter) == "Zs"


def _toml(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dt.date):
        return value.isoformat()
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
