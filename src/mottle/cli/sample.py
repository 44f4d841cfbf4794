"""The command ``mottle sample``: ordinary tables that a release allows."""

from __future__ import annotations

import pyarrow.csv
import pyarrow.parquet as pq

from mottle.cli._console import Console
from mottle.cli._progress import steps_bar
from mottle.cli.commands import FORMATS, Sample
from mottle.errors import UsageError, did_you_mean
from mottle.io.atomic_write import staged
from mottle.io.set_columns_text import sets_as_text
from mottle.pipeline.release import read_release
from mottle.release.formula_guard import guarded_table


def run(command: Sample) -> None:
    """Draw ordinary tables that a release allows: every cell becomes one of its values."""
    if command.format_ not in FORMATS:
        raise UsageError(
            f"There is no format '{command.format_}'.", did_you_mean(command.format_, FORMATS)
        )
    with steps_bar("Reading the release") as on_progress:
        published = read_release(command.release)
        drawn = published.sample(
            command.tables, seed=command.seed, fit=command.fit, on_progress=on_progress
        )
    if command.format_ == "csv":
        drawn = [sets_as_text(table, published.columns) for table in drawn]
    names = [f"sample-{number}.{command.format_}" for number in range(1, len(drawn) + 1)]
    with staged(command.output, names, overwrite=command.overwrite) as stage:
        for name, table in zip(names, drawn, strict=True):
            if command.format_ == "csv":
                pyarrow.csv.write_csv(guarded_table(table), stage / name)
            else:
                pq.write_table(table, stage / name, compression="zstd")
    out = Console()
    out.print(f"Wrote {', '.join(names)} to {command.output}.", highlight=False, soft_wrap=True)
    if len(names) > 1:
        out.print(
            "Run the analysis on each and pool the results: mottle.queries.combine(estimates,"
            " variances).",
            highlight=False,
            soft_wrap=True,
        )
