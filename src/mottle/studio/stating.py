"""What the owner states about a release, written into ``[context]`` of mottle.toml."""

from __future__ import annotations

from pydantic import ValidationError

from mottle.errors import UsageError
from mottle.schema.context import Context
from mottle.studio.state import Studio, schema_text

_WORDS = {"review_by": "the day of the next review", "questions": "a question"}


def state_context(studio: Studio, **entries: object) -> None:
    """Change some entries; the others stay.

    Parameters
    ----------
    studio : Studio
        The state.
    **entries : object
        New entries of `Context`.

    Raises
    ------
    UsageError
        No table is open, or an entry cannot be published.
    """
    if studio.opened is None:
        raise UsageError("No table is open.", "Open one.")
    schema = studio.project.schema()
    before = schema.context or Context()
    try:
        stated = Context(**(before.model_dump() | entries))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = str(first["loc"][0])
        reason = first["msg"].removeprefix("Value error, ").rstrip(".")
        raise UsageError(
            f"{_WORDS.get(name, name)}: {reason[0].lower()}{reason[1:]}.", "Change it."
        ) from None
    new = schema.model_copy(
        update={"context": stated if stated.model_dump(exclude_defaults=True) else None}
    )
    studio.project.change(toml=schema_text(studio.project.state.toml, new, studio.project.folder))
