"""The command ``mottle audit``: run adversaries against a release and show what they achieved."""

from __future__ import annotations

import pyarrow as pa
import typer

from mottle.audit.earlier import EarlierRelease
from mottle.cli._audit_report import BROKEN, show_report
from mottle.cli._console import Console, print_json
from mottle.cli._progress import steps_bar
from mottle.cli.commands import Audit
from mottle.errors import UsageError
from mottle.io.link_file import LinkFile
from mottle.io.read_set_release import holds_sets
from mottle.io.read_sets import read_sets
from mottle.itemsets.data import ItemSets
from mottle.pipeline.replay import audit_and_replay
from mottle.schema.reading import ReadOptions


def run(command: Audit) -> None:
    """Run adversaries against a release; exit code 6 if its guarantee is broken."""
    schema = command.columns.schema if command.columns.given else None
    with steps_bar("Reading original and release") as on_progress:
        report = audit_and_replay(
            _original(command, command.original),
            command.release,
            schema=schema,
            private=command.private,
            guarantee=command.guarantee.guarantee,
            adversaries=command.adversary or None,
            sample=command.sample,
            seed=command.seed,
            earlier=_earlier(command),
            same=command.earlier.same,
            on_progress=on_progress,
        )
    if command.as_json:
        print_json(report.to_json())
    else:
        show_report(report, Console(), command.release.name)
    if not report.passed:
        raise typer.Exit(BROKEN)


def _earlier(command: Audit) -> list[EarlierRelease]:
    """Read the tables of earlier releases as the original is read."""
    options = command.earlier
    return [
        EarlierRelease(
            release,
            _original(command, options.earlier_original[place])
            if options.earlier_original
            else None,
            options.earlier_private[place] if options.earlier_private else None,
        )
        for place, release in enumerate(options.earlier or [])
    ]


def _original(command: Audit, original: str) -> pa.Table | ItemSets:
    """Read what the release was made from."""
    sets = command.sets
    if holds_sets(command.release):
        return read_sets(
            original,
            column=sets.column,
            record=sets.record,
            item=sets.item,
            separator=sets.item_separator,
            label=sets.label,
            encoding=command.source.encoding,
        )
    if sets.given:
        raise UsageError(
            "--column, --record, --item, --sensitive-label and --item-separator are for releases of"
            " sets, and this is a release of a table.",
            "Leave them out.",
        )
    return command.source.read(original, _remembered(command))


def _remembered(command: Audit) -> ReadOptions | None:
    """How the original was read: from mottle.toml, or else from the owner's link file."""
    if command.columns.schema_file is not None:
        return command.columns.schema.reading
    return None if command.private is None else LinkFile(command.private).reading
