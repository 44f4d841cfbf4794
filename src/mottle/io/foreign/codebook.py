"""What a file of a statistics package says about its columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

__all__ = [
    "LETTERS",
    "Code",
    "Codebook",
    "Variable",
    "code_of_letter",
    "code_text",
    "codebook_of_json",
]

Code = float | str
LETTERS = 2.0**900  # from here on, numbers are the missing values .a to .z of Stata and SAS
_STEPS = 32  # between letters


@dataclass(frozen=True)
class Variable:
    """One column of a file."""

    label: str  # what the column is called for people; empty if it has no such name
    measure: str  # nominal, ordinal, scale or unknown
    codes: tuple[tuple[Code, str, bool], ...]  # code, text when it is read, whether it is missing
    missing: tuple[tuple[Code, Code], ...]  # SPSS: ranges of codes that are declared missing

    def to_json(self) -> dict[str, Any]:
        """Return the facts for `codebook_of_json`."""
        return asdict(self)


def code_of_letter(letter: str) -> float:
    """Return the number that stands for a missing value of Stata or SAS.

    >>> code_text(code_of_letter("c"))
    '.c'
    """
    return LETTERS * (1 + (ord(letter.lower()) - ord("a")) / _STEPS)


def code_text(code: Code) -> str:
    """Return a code as it is shown: whole numbers without a point, missing values as ``.a``.

    >>> code_text(97.0), code_text(1.5), code_text("m")
    ('97', '1.5', 'm')
    """
    if isinstance(code, str):
        return code
    if code >= LETTERS:
        return f".{chr(round((code / LETTERS - 1) * _STEPS) + ord('a'))}"
    return str(int(code)) if code.is_integer() else str(code)


Codebook = Mapping[str, Variable]


def codebook_of_json(content: Mapping[str, Any]) -> Codebook:
    """Read what `Variable.to_json` returned of every column.

    Parameters
    ----------
    content : mapping of str to dict
        The facts by column.

    Returns
    -------
    Codebook
        The same as objects.
    """
    return {
        name: Variable(
            str(facts["label"]),
            str(facts["measure"]),
            tuple((code, str(text), bool(missing)) for code, text, missing in facts["codes"]),
            tuple((low, high) for low, high in facts["missing"]),
        )
        for name, facts in content.items()
    }
