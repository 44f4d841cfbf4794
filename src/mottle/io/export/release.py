"""The file of another program that a release is written to."""

from __future__ import annotations

from pathlib import Path

from mottle.errors import StorageError, UsageError
from mottle.io.atomic_write import staged
from mottle.io.export.statistics import write_spss, write_stata
from mottle.io.export.variables import variables_of
from mottle.io.export.workbook import write_workbook
from mottle.io.foreign.child import foreign_codebook
from mottle.io.foreign.codebook import Codebook
from mottle.io.foreign.formats import EXCEL, format_of
from mottle.release.data import ReleaseData

__all__ = ["export_release"]

_STATISTICS = {".sav": write_spss, ".zsav": write_spss, ".dta": write_stata}
_WORKBOOK = ".xlsx"
_SUFFIXES = (_WORKBOOK, *_STATISTICS)


def export_release(
    release: ReleaseData, path: Path, *, like: Path | None = None, overwrite: bool = False
) -> None:
    """Write a release as a workbook, an SPSS or a Stata file.

    Parameters
    ----------
    release : ReleaseData
        The release.
    path : Path
        The file; its suffix says which: ``.xlsx``, ``.sav``, ``.zsav`` or ``.dta``.
    like : Path, optional
        The SPSS, Stata or SAS file of the original, whose codes, missing codes, labels and levels
        of measurement the columns of an SPSS or Stata file get.
    overwrite : bool
        Whether an existing file is replaced.

    Raises
    ------
    UsageError
        There is no such format, or the package that writes it is not installed.
    DataError
        The format cannot hold the release: too many rows, or texts that are too long.
    StorageError
        The file exists or cannot be written.
    """
    suffix = path.suffix.lower()
    if suffix not in _SUFFIXES:
        raise UsageError(
            f"{path} has no suffix that a release is exported to.",
            f"Suffixes are {', '.join(_SUFFIXES)}; other programs read release.csv.",
        )
    codebook = _codebook(like, suffix)
    variables = [one for column in release.columns for one in variables_of(release.table, column)]
    with staged(path.parent, [path.name], overwrite=overwrite) as stage:
        if suffix == _WORKBOOK:
            write_workbook(variables, release.num_rows, stage / path.name)
        else:
            _STATISTICS[suffix](variables, codebook, stage / path.name)


def _codebook(like: Path | None, suffix: str) -> Codebook:
    """What the file of the original says about its columns."""
    if like is None:
        return {}
    found = format_of(like)
    if suffix == _WORKBOOK or found is None or found is EXCEL:
        raise UsageError(
            "--like takes codes and labels from an SPSS, Stata or SAS file, for an SPSS or Stata"
            " file.",
            "Leave it out.",
        )
    if not like.is_file():
        raise StorageError(f"{like} does not exist.", "Check the path.")
    return foreign_codebook(like, found)
