"""The command ``mottle export``: a release as a file of another program, or in a database."""

from __future__ import annotations

from mottle.cli._console import Console
from mottle.cli.commands import Export
from mottle.io.databases.write import write_database
from mottle.io.export.release import export_release
from mottle.pipeline.release import read_release


def run(command: Export) -> None:
    """Write a release as a workbook, an SPSS or a Stata file, or into a database."""
    release = read_release(command.release)
    if command.to is not None and command.to_table is not None:
        names = write_database(release, command.to, command.to_table, overwrite=command.overwrite)
        written = ", ".join(names)
    else:
        assert command.output is not None
        export_release(release, command.output, like=command.like, overwrite=command.overwrite)
        written = str(command.output)
    Console().print(f"Wrote {written}.", markup=False, highlight=False, soft_wrap=True)
