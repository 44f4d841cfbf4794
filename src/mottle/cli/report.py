"""The command ``mottle report``, and the options of ``anonymize`` about reports."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import pyarrow as pa
import pyarrow.compute as pc
import typer
from rich.console import Console

from mottle.cli._options import (
    Delimiter,
    Encoding,
    Item,
    ItemsColumn,
    Label,
    Missing,
    Quote,
    Record,
    Separator,
)
from mottle.cli._sources import ARGUMENTS
from mottle.errors import StorageError, UsageError
from mottle.io.atomic_write import staged
from mottle.io.batch_source import Source, parquet_source
from mottle.io.databases import redacted
from mottle.io.link_file import LinkFile
from mottle.io.read_set_release import load_any_release
from mottle.io.read_sets import read_sets
from mottle.io.read_table import read_table
from mottle.io.write_release import (
    REPORT,
    check_private_path,
    write_secretly,
)
from mottle.itemsets.data import ItemSets
from mottle.release.set_release import SetReleaseData

if TYPE_CHECKING:
    from mottle.report import InternalReport

NoReport = Annotated[bool, typer.Option("--no-report", help="Leave report.html out.")]
InternalFile = Annotated[
    Path | None,
    typer.Option(
        "--internal-report",
        help="Also write a report for the owner only here: it compares with the original.",
    ),
]
WithExamples = Annotated[
    bool,
    typer.Option("--report-examples", help="Ten rows before and after in the internal report."),
]


@dataclass(frozen=True)
class ReportOptions:
    """What a run is asked to report."""

    publishable: bool
    internal: Path | None
    examples: bool

    @classmethod
    def of(cls, no_report: bool, internal: Path | None, examples: bool) -> ReportOptions:
        """From the options; examples are for the owner's eyes only."""
        if examples and internal is None:
            raise UsageError(
                "--report-examples shows rows of the original, which report.html must not.",
                "Name a file for the internal report with --internal-report.",
            )
        return cls(not no_report, internal, examples)

    def internal_report(
        self, original: pa.Table | ItemSets | None, source: str, context: typer.Context
    ) -> InternalReport | None:
        """The internal report to write, if one was asked for; None for what the run reads."""
        if self.internal is None:
            return None
        from mottle.report import InternalReport, Owner

        command = redacted(shlex.join(["mottle", *context.meta[ARGUMENTS]]))
        return InternalReport(self.internal, Owner(original, command, source), self.examples)

    def tell(self, as_json: bool) -> None:
        """Say where the internal report is, to people."""
        if self.internal is not None and not as_json:
            Console().print(f"Internal report: {self.internal} (keep it secret)", highlight=False)


def report_command(
    release: Annotated[Path, typer.Argument(help="Folder of a release.")],
    original: Annotated[
        Path | None,
        typer.Option(help="The table or sets it was made from: makes an internal report."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Where to write it.", show_default="RELEASE/report.html"
        ),
    ] = None,
    private: Annotated[
        Path | None, typer.Option(help="The owner's secret link file, for --report-examples.")
    ] = None,
    examples: WithExamples = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an existing file.")
    ] = False,
    delimiter: Delimiter = None,
    quote: Quote = None,
    encoding: Encoding = None,
    missing: Missing = None,
    column: ItemsColumn = None,
    separator: Separator = None,
    record: Record = None,
    item: Item = None,
    label: Label = None,
) -> None:
    """Write the report of a release again; with --original, the owner's internal one."""
    from mottle.report import EXAMPLES, Owner, report_html

    if original is not None and output is None:
        raise UsageError(
            "Where should the internal report go?", "Name a file outside the release: -o FILE."
        )
    if examples and (original is None or private is None):
        raise UsageError(
            "--report-examples needs to know who is whose record.",
            "Give --original, and --private with the owner's link file.",
        )
    if not release.is_dir():
        raise StorageError(f"{release} is no folder of a release.", "Name the folder.")
    place = output or release / REPORT
    if original is not None:
        check_private_path(place, release, overwrite=overwrite)
    found = load_any_release(release, in_memory=False)
    owner = None
    if original is not None:
        table: pa.Table | Source | ItemSets
        if isinstance(found, SetReleaseData):
            table = read_sets(
                original,
                column=column,
                record=record,
                item=item,
                separator=separator,
                label=label,
                encoding=encoding,
            )
        elif original.suffix.lower() in (".parquet", ".pq"):
            table = parquet_source(original, str(original), missing or ())
        else:
            table = read_table(
                original, delimiter=delimiter, quote=quote, encoding=encoding, missing=missing or ()
            )
        people = _true_originals(private, EXAMPLES) if private is not None and examples else None
        owner = Owner(table, source=str(original), examples=people)
    page = report_html(found, owner=owner)
    with staged(place.parent, [place.name], overwrite=overwrite) as stage:
        if owner is None:
            (stage / place.name).write_text(page, encoding="utf-8")
        else:
            write_secretly(page, stage / place.name)
    kind = "" if owner is None else " It is for the owner only: keep it secret."
    Console().print(f"Wrote {place}.{kind}", highlight=False, soft_wrap=True)


def _true_originals(links: Path, rows: int) -> list[int]:
    """The rows of the original that the first so many rows of the release really come from."""
    found: dict[int, int] = {}
    for batch in LinkFile(links).batches():
        wanted = pc.and_(batch.column("true"), pc.less(batch.column("published"), rows))
        for link in batch.filter(wanted).to_pylist():
            found[link["published"]] = link["original"]
    return [found[row] for row in sorted(found)]
