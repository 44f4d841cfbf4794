"""The command ``mottle query``: queries in SQL on a release."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.csv
from rich.table import Table

from mottle.cli._console import Console, print_json, print_text
from mottle.cli.commands import Query
from mottle.io.read_table import read_table
from mottle.pipeline.release import Release, read_release
from mottle.queries.engine import FITS
from mottle.queries.estimate import with_error
from mottle.queries.sql.answer import doubts_of, notes
from mottle.queries.sql.plain import cell_macros
from mottle.release.formula_guard import guarded_table

_ENDINGS = ("_low", "_high", "_error", "_reliable")
_SHOWN = 1000  # rows of an answer on a terminal


def run(command: Query) -> None:
    """Query a release in SQL: counts, sums and averages with bounds and a standard error."""
    if command.macros:
        print(cell_macros(), end="")
        return
    assert command.release is not None
    release = read_release(command.release)
    if command.rules or command.itemsets:
        _show(_listed(release, command), command, is_estimate=True)
        return
    assert command.sql is not None
    tables = {
        name: read_table(file)
        for name, _, file in (one.partition("=") for one in command.with_ or ())
    }
    answer = release.query(command.sql, tables=tables, plain=command.plain, fit=command.fit)
    if not command.plain:
        for note in notes(release.queries(command.fit), command.sql, tables):
            Console(stderr=True).print(f"Note: {note}", markup=False, highlight=False)
    _show(answer, command, is_estimate=not command.plain)


def _listed(release: Release, command: Query) -> pa.Table:
    """Frequent sets of items, or rules between them."""
    size, column, fit = command.size, command.column, command.fit
    if command.rules:
        return release.association_rules(
            command.support, command.confidence, size=size, column=column, fit=fit
        )
    return release.frequent_itemsets(command.support, size=size, column=column, fit=fit)


def _show(answer: pa.Table, command: Query, *, is_estimate: bool) -> None:
    """Print an answer as the options say."""
    if command.as_json:
        print_json(json.dumps(answer.to_pylist(), indent=2, ensure_ascii=False, default=str))
    elif command.as_csv:
        print_text(_csv(answer))
    else:
        out = Console()
        show_answer(_for_people(answer) if is_estimate else answer, out)
        if is_estimate:
            out.print(_LEGENDS[command.fit], highlight=False)
            for doubt in doubts_of(answer):
                out.print(f"Unreliable: {doubt}.", markup=False, highlight=False)


_LEGENDS = {
    fit: f"Expected ± standard error, if {likely}; the true value is between the bounds"
    " in any case. Answers marked by a question mark are unreliable: the error is above a third of"
    " the answer, or not calibrated."
    for fit, likely in (
        (FITS[0], "the values in a cell are as likely as the whole release says"),
        (FITS[1], "all values in a cell are equally likely"),
    )
}


def _for_people(answer: pa.Table) -> pa.Table:
    """Put expected value and error into one column, the bounds into another."""
    names = answer.column_names
    columns: dict[str, list[str]] = {}
    for name in names:
        parts = [f"{name}{part}" for part in ("", *_ENDINGS)]
        if all(part in names for part in parts):
            values = [answer.column(part).to_pylist() for part in parts]
            columns[name] = [
                f"{' ± '.join(with_error(one, error))}{'' if reliable else ' ?'}"
                for one, _, _, error, reliable in zip(*values, strict=True)
            ]
            columns[f"{name} between"] = [
                f"{_text(low)} and {_text(high)}"
                for _, low, high, _, _ in zip(*values, strict=True)
            ]
        elif not any(name == f"{label}{part}" for label in columns for part in _ENDINGS):
            columns[name] = [_text(cell) for cell in answer.column(name).to_pylist()]
    return pa.table(columns)


def show_answer(answer: pa.Table, out: Console) -> None:
    """Print an answer as a table, numbers aligned to the right."""
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
    if isinstance(value, list):
        return ", ".join(str(one) for one in value)
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
    pyarrow.csv.write_csv(guarded_table(flat), text)
    return str(text.getvalue().to_pybytes(), "utf-8")
