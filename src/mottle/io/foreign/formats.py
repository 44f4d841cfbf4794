"""Which files belong to which program, and what reads them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mottle.utils.optional import load_optional

__all__ = [
    "EXCEL",
    "FORMATS",
    "SAS",
    "SPSS",
    "STATA",
    "STATISTICS",
    "XLSX_WRITER",
    "Format",
    "Package",
    "format_of",
]


@dataclass(frozen=True)
class Package:
    """An optional Python package, imported when it is first used."""

    name: str  # as pip knows it
    module: str  # what is imported
    extra: str  # of mottle

    def load(self) -> Any:
        """Import the package.

        Returns
        -------
        module
            Its module.

        Raises
        ------
        UsageError
            It is not installed.
        """
        return load_optional(self.module, self.name, f"mottle[{self.extra}]")


@dataclass(frozen=True)
class Format:
    """A type of file that another program writes."""

    name: str
    title: str  # for messages, with its article
    suffixes: tuple[str, ...]
    package: Package  # that reads it


_CALAMINE = Package("python-calamine", "python_calamine", "excel")
_READSTAT = Package("pyreadstat", "pyreadstat", "statistics")
XLSX_WRITER = Package("XlsxWriter", "xlsxwriter", "excel")

EXCEL = Format(
    "excel",
    "an Excel workbook or OpenDocument table",
    (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"),
    _CALAMINE,
)
SPSS = Format("spss", "an SPSS file", (".sav", ".zsav", ".por"), _READSTAT)
STATA = Format("stata", "a Stata file", (".dta",), _READSTAT)
SAS = Format("sas", "a SAS file", (".sas7bdat", ".xpt"), _READSTAT)
STATISTICS = (SPSS, STATA, SAS)
FORMATS = (EXCEL, *STATISTICS)


def format_of(path: Path) -> Format | None:
    """Find the format of a file by its suffix.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    Format or None
        None for files that are read in this process: text, Parquet, Arrow.

    Examples
    --------
    >>> format_of(Path("survey.SAV")).title
    'an SPSS file'
    """
    suffix = path.suffix.lower()
    return next((one for one in FORMATS if suffix in one.suffixes), None)
