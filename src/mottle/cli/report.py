"""The command ``mottle report``."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from rich.console import Console

from mottle.cli.commands import Report
from mottle.errors import DataError, StorageError
from mottle.io.atomic_write import staged
from mottle.io.batch_source import Source, parquet_source
from mottle.io.link_file import LinkFile
from mottle.io.read_set_release import load_any_release
from mottle.io.read_sets import read_sets
from mottle.io.write_release import (
    REPORT,
    check_private_path,
    write_secretly,
)
from mottle.itemsets.data import ItemSets
from mottle.release.set_release import SetReleaseData
from mottle.report import EXAMPLES, Owner, report_html


def run(command: Report) -> None:
    """Write the report of a release again; with an original, the owner's internal one."""
    release = command.release
    if not release.is_dir():
        raise StorageError(f"{release} is not a folder of a release.", "Name the folder.")
    place = command.output or release / REPORT
    if command.original is not None:
        check_private_path(place, release, overwrite=command.overwrite)
    found = load_any_release(release, in_memory=False)
    owner = None
    if command.original is not None:
        links = command.private if command.examples else None
        rows = found.stored.num_rows
        people = None if links is None else LinkFile(links).true_originals(EXAMPLES, rows)
        table = _original(command, command.original, of_sets=isinstance(found, SetReleaseData))
        owner = Owner(table, source=command.source.arguments(command.original), examples=people)
    try:
        page = report_html(found, owner=owner)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise DataError(
            f"{release}: the certificate contradicts itself or the release"
            f" ({type(error).__name__} while the report was made).",
            "If mottle wrote the folder and nobody changed it, please report this as a defect.",
        ) from error
    with staged(place.parent, [place.name], overwrite=command.overwrite) as stage:
        if owner is None:
            (stage / place.name).write_text(page, encoding="utf-8")
        else:
            write_secretly(page, stage / place.name)
    kind = "" if owner is None else " It is for the owner only: keep it secret."
    Console().print(f"Wrote {place}.{kind}", highlight=False, soft_wrap=True)


def _original(command: Report, original: str, *, of_sets: bool) -> pa.Table | Source | ItemSets:
    """Read what the release was made from; a Parquet file is opened, not read."""
    if of_sets:
        sets = command.sets
        return read_sets(
            original,
            column=sets.column,
            record=sets.record,
            item=sets.item,
            separator=sets.separator,
            label=sets.label,
            encoding=command.source.encoding,
        )
    if Path(original).suffix.lower() in (".parquet", ".pq"):
        return parquet_source(Path(original), original, command.source.missing or ())
    return command.source.read(original)
