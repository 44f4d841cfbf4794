"""Text, JSON and TOML of others: limits on size, nesting and digits, and no other exceptions.

Whatever a file contains, reading it ends with its content, a `StorageError` (it cannot be opened)
or a ``ValueError`` that says what is wrong without quoting it; callers add the name of the file.
"""

from __future__ import annotations

import json
import math
import os
import stat
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from typing import Any, BinaryIO

from mottle.errors import StorageError
from mottle.utils.untrusted.memory import available_memory

__all__ = [
    "LARGEST_FILE",
    "check_text",
    "distinct_texts",
    "open_regular",
    "parse_json",
    "parse_toml",
    "read_bytes",
    "read_text",
    "texts_of",
]

LARGEST_FILE = 1 << 26  # bytes of a certificate, schema or hierarchy: 64 MB
DEEPEST = 50  # levels of lists and tables within each other
MOST_DIGITS = 100  # of an integer
_SMALL = 1 << 20  # bytes that are parsed without a look at the memory
_MOST_PER_BYTE = 40  # of memory, for each byte that is parsed: "{}," is an object of 64 bytes


def read_bytes(path: str | PathLike[str], limit: int = LARGEST_FILE) -> bytes:
    """Read a small file.

    Parameters
    ----------
    path : str or path-like
        The file, which has to be a regular one: a pipe or device could be read for ever.
    limit : int, optional
        The most bytes that are read.

    Returns
    -------
    bytes
        The content.

    Raises
    ------
    StorageError
        The file cannot be read.
    ValueError
        The file has more bytes.
    """
    with open_regular(path) as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise ValueError(f"it is larger than {limit >> 20} MB")
    return content


@contextmanager
def open_regular(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """Open a regular file: a pipe or device could be read for ever.

    Parameters
    ----------
    path : str or path-like
        The file.

    Yields
    ------
    binary file
        For reading.

    Raises
    ------
    StorageError
        It is something else, or cannot be opened or read.
    """
    try:
        file = open(path, "rb", opener=_open_at_once)  # noqa: SIM115 - closed below
    except ValueError:  # open() refuses such a path before the operating system sees it
        raise StorageError("A path holds a NUL character.", "Check the path.") from None
    except OSError as error:
        raise _unreadable(path, error) from None
    with file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise StorageError(f"{path} is not a file.", "Check the path.")
        try:
            yield file
        except OSError as error:
            raise _unreadable(path, error) from None


def _unreadable(path: str | PathLike[str], error: OSError) -> StorageError:
    return StorageError(
        f"{path} cannot be read: {error.strerror}.", "Check the path and its permissions."
    )


def _open_at_once(path: str, flags: int) -> int:
    """Open a file without waiting for a writer, should it be a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def read_text(path: str | PathLike[str], limit: int = LARGEST_FILE) -> str:
    """Read a small file of UTF-8 text.

    Parameters
    ----------
    path : str or path-like
        The file.
    limit : int, optional
        The most bytes that are read.

    Returns
    -------
    str
        The text, without a byte order mark.

    Raises
    ------
    StorageError
        The file cannot be read.
    ValueError
        The file has more bytes, or they are not UTF-8.
    """
    try:
        return read_bytes(path, limit).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None


def parse_json(text: str | bytes) -> Any:
    """Parse JSON within limits.

    Parameters
    ----------
    text : str or bytes
        The text.

    Returns
    -------
    object
        The content: finite numbers, integers of up to `MOST_DIGITS` digits, nested up to
        `DEEPEST` levels, and texts that can be written as UTF-8.

    Raises
    ------
    ValueError
        The text is something else.

    Examples
    --------
    >>> parse_json('{"k": [5]}')
    {'k': [5]}
    >>> parse_json("[" * 10_000)
    Traceback (most recent call last):
    ValueError: it is nested too deeply
    """
    _check_fits(text)
    try:
        content = json.loads(
            text, parse_int=_integer, parse_float=_finite, parse_constant=_refuse_constant
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None
    return _within_limits(content)


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML within limits.

    Parameters
    ----------
    text : str
        The text.

    Returns
    -------
    dict
        The content, within the limits of `parse_json`; TOML has infinite numbers and NaN.

    Raises
    ------
    ValueError
        The text is something else.

    Examples
    --------
    >>> parse_toml("k = 5")
    {'k': 5}
    """
    _check_fits(text)
    try:
        content = tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except (OverflowError, AttributeError, TypeError):  # of odd dates and keys
        raise ValueError("it is not TOML") from None
    _within_limits(content)
    return content


def check_text(text: str) -> str:
    """Check that a text can be written: it has no half of a surrogate pair.

    Parameters
    ----------
    text : str
        The text.

    Returns
    -------
    str
        The same.

    Raises
    ------
    ValueError
        It cannot.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("a text in it is not valid Unicode") from None
    return text


def texts_of(content: object) -> tuple[str, ...]:
    """Take a list of texts from parsed content.

    Parameters
    ----------
    content : object
        What should be a list of texts.

    Returns
    -------
    tuple of str
        The texts.

    Raises
    ------
    ValueError
        It is something else.
    """
    if not isinstance(content, list) or not all(isinstance(text, str) for text in content):
        raise ValueError("a list of texts is something else")
    return tuple(content)


def distinct_texts(content: object) -> tuple[str, ...]:
    """Take a list of different texts from parsed content.

    Parameters
    ----------
    content : object
        What should be a list of texts.

    Returns
    -------
    tuple of str
        The texts.

    Raises
    ------
    ValueError
        It is something else, or a text occurs twice.
    """
    texts = texts_of(content)
    if len(set(texts)) < len(texts):
        raise ValueError("a text occurs twice")
    return texts


def _check_fits(text: str | bytes) -> None:
    if len(text) > _SMALL and len(text) * _MOST_PER_BYTE > available_memory():
        raise ValueError("its content may take more memory than is available")


def _integer(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a number has more than {MOST_DIGITS} digits")
    return int(digits)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _refuse_constant(_: str) -> float:
    raise ValueError("a number is infinite or not a number")


def _within_limits(content: Any) -> Any:
    """Check depth, integers and texts of parsed content; without recursion."""
    level, depth = [content], 0
    while level:
        depth += 1
        if depth > DEEPEST + 1:
            raise ValueError("it is nested too deeply")
        inner: list[Any] = []
        for value in level:
            if isinstance(value, Mapping):
                inner += value
                inner += value.values()
            elif isinstance(value, list):
                inner += value
            elif isinstance(value, str):
                check_text(value)
            elif isinstance(value, int) and abs(value) >= 10**MOST_DIGITS:
                raise ValueError(f"a number has more than {MOST_DIGITS} digits")
        level = inner
    return content
