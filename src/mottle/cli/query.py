"""The commands ``mottle query`` and ``mottle sample``: what an analyst does with a release."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import typer
from rich.console import Console
from rich.table import Table

from mottle.cli._options import Overwrite
from mottle.encoding.set_columns import as_text_of_items
from mottle.errors import UsageError, did_you_mean
from mottle.io.atomic_write import staged
from mottle.pipeline.release import read_release
from mottle.queries.engine import FITS
from mottle.queries.sql.answer import notes
from mottle.release.column import PublishedColumn
from mottle.schema.model import SEPARATOR

FORMATS = ("csv", "parquet")
_ENDINGS = ("_low", "_high", "_error")
_SHOWN = 1000  # rows of an answer on a terminal

ReleasePath = Annotated[
    Path, typer.Argument(help="Release folder, or its release.parquet or release.csv.")
]
Fit = Annotated[
    str,
    typer.Option(help=f"How likely the values of a cell are: {' or '.join(FITS)}."),
]


def query_command(
    release: ReleasePath,
    sql: Annotated[str, typer.Argument(help='"SELECT count(*) FROM release WHERE age > 60"')],
    plain: Annotated[
        bool,
        typer.Option(
            "--plain", help="Hand the SQL to DuckDB as it is: ranges are structs, sets are lists."
        ),
    ] = False,
    fit: Fit = FITS[0],
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the answer as CSV.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")] = False,
) -> None:
    """Ask RELEASE in SQL: counts, sums and averages with bounds and a standard error."""
    asked = read_release(release)
    answer = asked.query(sql, plain=plain, fit=fit)
    if not plain:
        for note in notes(asked.queries(fit), sql):
            Console(stderr=True).print(f"Note: {note}", markup=False, highlight=False)
    if as_json:
        print(json.dumps(answer.to_pylist(), indent=2, ensure_ascii=False, default=str))
    elif as_csv:
        print(_csv(answer), end="")
    else:
        out = Console()
        show_answer(answer if plain else _for_people(answer), out)
        if not plain:
            out.print(_LEGENDS[fit], highlight=False)


_LEGENDS = {
    fit: f"Expected ± standard error, if {likely}; the truth lies between the bounds, whatever the"
    " values are."
    for fit, likely in (
        (FITS[0], "the values in a cell are as likely as the whole release says"),
        (FITS[1], "all values in a cell are equally likely"),
    )
}


def sample_command(
    release: ReleasePath,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the tables.")],
    tables: Annotated[int, typer.Option("--tables", "-m", help="How many to draw.")] = 5,
    seed: Annotated[
        int | None, typer.Option(help="Makes the draw repeatable.", show_default="random")
    ] = None,
    fit: Fit = FITS[0],
    format_: Annotated[str, typer.Option("--format", help=f"{' or '.join(FORMATS)}.")] = FORMATS[0],
    overwrite: Overwrite = False,
) -> None:
    """Draw ordinary tables that RELEASE allows: every cell becomes one of its values."""
    if format_ not in FORMATS:
        raise UsageError(f"There is no format '{format_}'.", did_you_mean(format_, FORMATS))
    published = read_release(release)
    drawn = published.sample(tables, seed=seed, fit=fit)
    if format_ == "csv":
        drawn = [_without_lists(table, published.columns) for table in drawn]
    names = [f"sample-{number}.{format_}" for number in range(1, len(drawn) + 1)]
    with staged(output, names, overwrite=overwrite) as stage:
        for name, table in zip(names, drawn, strict=True):
            if format_ == "csv":
                pyarrow.csv.write_csv(table, stage / name)
            else:
                pq.write_table(table, stage / name, compression="zstd")
    out = Console()
    out.print(f"Wrote {', '.join(names)} to {output}.", highlight=False, soft_wrap=True)
    if len(names) > 1:
        out.print(
            "Run the analysis on each and pool the results: mottle.queries.combine(estimates,"
            " variances).",
            highlight=False,
            soft_wrap=True,
        )


def _without_lists(table: pa.Table, columns: Sequence[PublishedColumn]) -> pa.Table:
    """Sets of items as text, as a CSV file may hold them."""
    for column in columns:
        if column.form is not None and column.form.has_items:
            place = table.column_names.index(column.name)
            separator = column.separator or SEPARATOR
            texts = as_text_of_items(table.column(place), column.name, separator)
            table = table.set_column(place, column.name, texts)
    return table


def _for_people(answer: pa.Table) -> pa.Table:
    """Expected value and error in one column, the bounds in another."""
    names = answer.column_names
    columns: dict[str, list[str]] = {}
    for name in names:
        parts = [f"{name}{part}" for part in ("", "_low", "_high", "_error")]
        if all(part in names for part in parts):
            values = [[_text(cell) for cell in answer.column(part).to_pylist()] for part in parts]
            columns[name] = [f"{one} ± {error}" for one, _, _, error in zip(*values, strict=True)]
            columns[f"{name} between"] = [
                f"{low} and {high}" for _, low, high, _ in zip(*values, strict=True)
            ]
        elif not any(name == f"{label}{part}" for label in columns for part in _ENDINGS):
            columns[name] = [_text(cell) for cell in answer.column(name).to_pylist()]
    return pa.table(columns)


def show_answer(answer: pa.Table, out: Console) -> None:
    """An answer as a table for people, numbers to the right."""
    shown = Table()
    for name, kind in zip(answer.column_names, answer.schema.types, strict=True):
        numeric = pa.types.is_floating(kind) or pa.types.is_integer(kind)
        shown.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in answer.slice(0, _SHOWN).to_pylist():
        shown.add_row(*(_text(value) for value in row.values()))
    out.print(shown)
    if answer.num_rows > _SHOWN:
        out.print(f"… and {answer.num_rows - _SHOWN:,} more rows: --csv prints all.")


def _text(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        if value.is_integer():
            return f"{value:,.0f}"
        return f"{value:,.1f}" if abs(value) >= 100 else f"{value:,.3g}"
    return str(value)


def _csv(answer: pa.Table) -> str:
    text = pa.BufferOutputStream()
    flat = pa.table(
        {
            name: column
            if not pa.types.is_nested(column.type)
            else pa.array([None if cell is None else str(cell) for cell in column.to_pylist()])
            for name, column in zip(answer.column_names, answer.columns, strict=True)
        }
    )
    pyarrow.csv.write_csv(flat, text)
    return str(text.getvalue().to_pybytes(), "utf-8")
