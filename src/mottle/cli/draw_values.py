"""The command ``mottle draw-values``: sensitive values over real quasi-identifiers (HET §5)."""

from __future__ import annotations

import pyarrow.csv
import pyarrow.parquet as pq

from mottle.cli._console import Console
from mottle.cli.commands import DrawValues
from mottle.cli.options.guarantees import words_of
from mottle.datasets import with_sensitive_values
from mottle.errors import UsageError
from mottle.io.atomic_write import ensure_absent, staged


def run(command: DrawValues) -> None:
    """Replace or append a column of drawn values and write the table."""
    folder, name = command.output.parent, command.output.name
    ensure_absent(folder, [name], overwrite=command.overwrite)
    labels = words_of(command.values)
    number = labels[0] if len(labels) == 1 and labels[0].isdecimal() else None
    if number is not None and not 1 <= int(number) <= 10_000_000:
        raise UsageError(
            "--values must be a number from 1 to 10,000,000, or names.", "Write --values 50."
        )
    table = with_sensitive_values(
        command.source.read(command.data),
        command.column,
        labels if number is None else int(number),
        command.distribution,
        command.theta,
        command.seed,
    )
    with staged(folder, [name], overwrite=command.overwrite) as stage:
        if command.output.suffix == ".csv":
            pyarrow.csv.write_csv(table, stage / name)
        else:
            pq.write_table(table, stage / name, compression="zstd")
    Console().print(
        f"Wrote {command.output}: {table.num_rows:,} rows, column '{command.column}' is drawn.",
        highlight=False,
        soft_wrap=True,
    )
