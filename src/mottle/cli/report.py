"""The command ``mottle report``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from mottle.audit.earlier import described_by
from mottle.cli._console import Console
from mottle.cli._progress import steps_bar
from mottle.cli.commands import Report
from mottle.errors import DataError, StorageError, UsageError
from mottle.io.atomic_write import staged
from mottle.io.batch_source import Source, parquet_source
from mottle.io.link_file import LinkFile
from mottle.io.original import check_original
from mottle.io.read_set_release import load_any_release
from mottle.io.read_sets import read_sets
from mottle.io.write_release import (
    CERTIFICATE,
    REPORT,
    check_private_path,
    write_certificate,
    write_secretly,
)
from mottle.itemsets.data import ItemSets
from mottle.release.certificate import Certificate
from mottle.release.data import ReleaseData
from mottle.release.per_person import original_of
from mottle.release.set_release import SetReleaseData
from mottle.report import EXAMPLES, Owner, report_html
from mottle.schema.context import Context
from mottle.schema.model import Schema
from mottle.schema.reading import ReadOptions
from mottle.utils.steps import Step


def run(command: Report) -> None:
    """Write the report of a release again; with an original, the owner's internal one."""
    release = command.release
    if not release.is_dir():
        raise StorageError(f"{release} is not a folder of a release.", "Name the folder.")
    place = command.output or release / REPORT
    if command.original is not None:
        check_private_path(place, release, overwrite=command.overwrite)
    with steps_bar("Reading the release") as on_progress:
        page, certificate, owner = _page(command, on_progress)
    written = [place.name, *([] if command.context_file is None else [CERTIFICATE])]
    with staged(place.parent, written, overwrite=command.overwrite) as stage:
        if command.context_file is not None:
            write_certificate(certificate, stage)
        if owner is None:
            (stage / place.name).write_text(page, encoding="utf-8")
        else:
            write_secretly(page, stage / place.name)
    kind = "" if owner is None else " It is for the owner only: keep it secret."
    Console().print(f"Wrote {place}.{kind}", highlight=False, soft_wrap=True)


def _page(
    command: Report, on_progress: Callable[[Step], None]
) -> tuple[str, Certificate, Owner | None]:
    """The page, the certificate that it is about, and what only the owner adds."""
    release = command.release
    found = load_any_release(release, in_memory=False)
    certificate = _certificate(command, found)
    links = None if command.private is None else LinkFile(command.private)
    reading = _reading(command, links)
    found = replace(found, reading=reading)
    owner = None
    if command.original is not None:
        rows = found.stored.num_rows
        people = None
        if links is not None and command.examples:
            people = links.true_originals(EXAMPLES, rows)
        of_sets = isinstance(found, SetReleaseData)
        table = _original(command, command.original, reading, of_sets=of_sets)
        history = None if found.certified is None else found.certified.history
        if history is not None and history.release > 1:
            read = command.source.read(command.original, reading)
            table = described_by(read, _needed(command.private))
        elif not isinstance(table, ItemSets):
            whole = isinstance(table, pa.Table)
            compared = original_of(table, found.certified)[0] if whole else table
            check_original(compared, found, None if links is None else links.fingerprint)
        owner = Owner(table, source=command.source.arguments(command.original), examples=people)
    try:
        page = report_html(found, certificate, owner, on_progress)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise DataError(
            f"{release}: the certificate contradicts itself or the release"
            f" ({type(error).__name__} while the report was made).",
            "If mottle wrote the folder and nobody changed it, please report this as a defect.",
        ) from error
    return page, certificate, owner


def _certificate(command: Report, release: ReleaseData) -> Certificate:
    """The certificate, with the context and the checklists that are asked for."""
    certificate = release.certificate
    if command.context_file is not None:
        certificate = certificate.with_changes(context=Context.read(command.context_file))
    if not command.checklists:
        return certificate
    context = (certificate.context or Context()).with_checklists(command.checklists)
    return certificate.with_changes(context=context)


def _needed(private: Path | None) -> Path:
    """Return the link file of a release that describes other rows than the table has."""
    if private is None:
        raise UsageError(
            "The release continues earlier ones, and describes rows that only its links have.",
            "Give --private with the link file.",
        )
    return private


def _reading(command: Report, links: LinkFile | None) -> ReadOptions | None:
    """How the original was read, as far as a mottle.toml, the links or options say so."""
    remembered = None if links is None else links.reading
    if command.schema_file is not None:
        remembered = Schema.read(command.schema_file).reading
    typed = command.source.options
    return typed if remembered is None and typed.given else remembered and typed.over(remembered)


def _original(
    command: Report, original: str, reading: ReadOptions | None, *, of_sets: bool
) -> pa.Table | Source | ItemSets:
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
        return parquet_source(Path(original), original, () if reading is None else reading.missing)
    return command.source.read(original, reading)
