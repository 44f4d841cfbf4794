"""File formats of hierarchies: what a format implements, and which one a file is in.

A format is one module of this package that registers a `HierarchyFormat` in `FORMATS`. Formats
translate between the text of a file and rows (leaf, level 1, …, ``*``), which is what
`Hierarchy.from_rows` takes; they do not know the tree.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from os import PathLike
from typing import ClassVar

from mottle.errors import DataError, UsageError
from mottle.utils.registry import Registry
from mottle.utils.untrusted.text import check_text, read_bytes

__all__ = ["DEFAULT_FORMAT", "FORMATS", "HierarchyFormat", "detect_format", "read_text"]

DEFAULT_FORMAT = "arx"  # for writing, and for files that no format recognizes


class HierarchyFormat(ABC):
    """How a hierarchy is written in a text file."""

    name: ClassVar[str]  # in lower case; the key in the registry
    title: ClassVar[str]  # the tool or layout, as messages name it

    @abstractmethod
    def detect(self, text: str) -> bool:
        """Tell whether a file is in this format.

        Parameters
        ----------
        text : str
            The content of the file.

        Returns
        -------
        bool
            True only if no other format could be meant.
        """

    @abstractmethod
    def read(self, text: str, *, name: str, delimiter: str) -> list[list[str]]:
        """Read the rows of a hierarchy.

        Parameters
        ----------
        text : str
            The content of the file.
        name : str
            The file, for messages.
        delimiter : str
            The character between cells, for formats that have cells.

        Returns
        -------
        list of list of str
            One row per leaf: the leaf, its generalizations from narrow to wide, and ``*``. Rows of
            an invalid hierarchy are returned as they are; `Hierarchy.from_rows` refuses them.

        Raises
        ------
        DataError
            The text is not in this format.
        UsageError
            The delimiter is not valid.
        """

    def write(self, rows: Sequence[Sequence[str]]) -> str:
        """Return the content of a file from which `read` gives the same rows.

        Parameters
        ----------
        rows : sequence of sequence of str
            One row per leaf, as `read` returns them.

        Returns
        -------
        str
            The text.

        Raises
        ------
        UsageError
            The format is only read.
        """
        raise UsageError(
            f"Hierarchies are not written in the format '{self.name}'.",
            f"Write them in the format '{DEFAULT_FORMAT}'.",
        )


FORMATS: Registry[HierarchyFormat] = Registry("hierarchy format", "mottle.hierarchy")


def detect_format(text: str) -> HierarchyFormat:
    """Find the format of a file.

    Parameters
    ----------
    text : str
        The content of the file.

    Returns
    -------
    HierarchyFormat
        The one that recognizes the text; ARX's layout if none does, so that messages explain what
        is wrong in terms of that layout.

    Examples
    --------
    >>> detect_format("Male;*\\nFemale;*\\n").title, detect_format("distinct\\nname sex\\n").title
    ("ARX's CSV layout", 'Amnesia')
    """
    known = FORMATS.values()
    return next((each for each in known if each.detect(text)), FORMATS[DEFAULT_FORMAT])


def read_text(path: str | PathLike[str], *, encoding: str = "utf-8-sig") -> str:
    """Read a hierarchy file as text.

    Parameters
    ----------
    path : str or path-like
        The file.
    encoding : str
        Its encoding, as Python names it.

    Returns
    -------
    str
        The content, with its line ends as they are.

    Raises
    ------
    StorageError
        The file cannot be read.
    UsageError
        There is no such encoding.
    DataError
        The file is not text in that encoding.
    """
    try:
        return check_text(read_bytes(path).decode(encoding))
    except LookupError as error:
        raise UsageError(f"There is no encoding {encoding!r}.", "Try 'utf-8'.") from error
    except UnicodeError as error:
        raise DataError(
            f"{path} is not text in the encoding {encoding!r}.",
            "Name its encoding, for example encoding='latin-1', or save the file as UTF-8.",
        ) from error
    except ValueError as error:
        raise DataError(
            f"{path} is not a hierarchy: {error}.", "Give a file with one row per value."
        ) from None
