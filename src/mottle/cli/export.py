"""The command ``mottle export``: a release as a file of another program."""

from __future__ import annotations

from mottle.cli._console import Console
from mottle.cli.commands import Export
from mottle.io.export.release import export_release
from mottle.pipeline.release import read_release


def run(command: Export) -> None:
    """Write a release as a workbook, an SPSS or a Stata file."""
    export_release(
        read_release(command.release),
        command.output,
        like=command.like,
        overwrite=command.overwrite,
    )
    Console().print(f"Wrote {command.output}.", highlight=False, soft_wrap=True)
