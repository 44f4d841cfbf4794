"""What the parts of a certificate have in common: frozen, and only types of JSON in their files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

__all__ = ["Facts", "OpenFacts", "as_json"]


def as_json(content: object) -> object:
    """Return nested content with tuples as lists, as it is read back from a file."""
    if isinstance(content, Mapping):
        return {key: as_json(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [as_json(value) for value in content]
    return content


class Facts(BaseModel):
    """A part of the certificate with fixed entries."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def to_dict(self) -> dict[str, Any]:
        """Return the part as it is written to the file.

        Returns
        -------
        dict
            Only types of JSON; entries that were not set are left out.
        """
        return self.model_dump(mode="json", exclude_unset=True)


class OpenFacts(Facts):
    """A part to which guarantees, methods and checks add entries of their own."""

    model_config = ConfigDict(frozen=True, extra="allow")

    @model_validator(mode="before")
    @classmethod
    def _json_types(cls, content: object) -> object:
        return as_json(content)

    @property
    def facts(self) -> dict[str, Any]:
        """The entries beyond those that every part of this kind has."""
        return dict(self.model_extra or {})
