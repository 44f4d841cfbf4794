"""The command ``mottle hierarchy``: build, draw, edit, check and convert hierarchies."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import typer
from rich.text import Text
from rich.tree import Tree

from mottle.cli._console import print_json, print_text
from mottle.cli._progress import err
from mottle.cli._terminal import out
from mottle.cli.commands import Hierarchy as Command
from mottle.cli.options.data import SourceOptions
from mottle.encoding import encode
from mottle.encoding.set_columns import held_items
from mottle.errors import DataError, SchemaError, StorageError, UsageError, did_you_mean
from mottle.hierarchy import arx, builders, formats, validation
from mottle.hierarchy.tree import Hierarchy
from mottle.io.read_sets import check_holds_sets, checked_separator
from mottle.itemsets.arrow import is_list
from mottle.schema.model import SEPARATOR, Column, Kind, Role, Schema
from mottle.schema.reading import ReadOptions
from mottle.utils.arrow import as_text
from mottle.utils.option_values import as_names, as_number, as_whole

_OF_COUNTS = ("quantiles", "frequency", "similarity")  # look at how often values occur
_BY_ROW = ("similarity", "mapping")  # look at other columns of the same row


def run(command: Command) -> None:
    """Do what the action says."""
    {"new": _new, "show": _show, "edit": _edit, "lint": _lint, "convert": _convert}[command.action](
        command
    )


# --------------------------------------------------------------------------------------------- new


def _new(command: Command) -> None:
    """Build a hierarchy from a column and write it; say what it was built from."""
    assert command.data is not None
    assert command.column is not None
    assert command.by is not None
    if command.file.exists() and not command.overwrite:
        raise StorageError(f"{command.file} exists.", "Give another name, or --overwrite.")
    beside = as_names(command.qi)
    if command.by in _OF_COUNTS or command.by == "mapping":
        _refuse_sensitive(command.schema_file, [command.column, *beside, *as_names(command.to)])
    table = command.source.read(command.data, _remembered(command))
    separator = _separator(command)
    values = _texts(table, command.column, separator)
    if command.by in _BY_ROW and _holds_sets(table, command.column, separator):
        raise UsageError(
            f"--by {command.by} goes by rows, and column '{command.column}' holds sets of items.",
            "Give a table with one row per item; or use another rule, such as --by prefixes.",
        )
    hierarchy = _built(command, table, values, beside)
    hierarchy.write(command.file, layout=command.layout)
    depth = hierarchy.ancestors.shape[1]
    out.print(
        f"Wrote {command.file}: {len(hierarchy.leaves):,} values, {depth} levels.",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    looked = f"the values of column '{command.column}'"
    if command.by in _OF_COUNTS:
        looked += ", how often they occur"
    if beside:
        looked += f" and with which values of {', '.join(beside)}"
    if command.by == "mapping":
        looked += f" and their groups in {', '.join(as_names(command.to))}"
    out.print(
        f"It was built from {looked}, and a release shows it: these columns have to be"
        " quasi-identifiers, or public.",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    out.print(
        f"Use it with --hierarchy {command.column}={command.file}", markup=False, soft_wrap=True
    )


def _built(
    command: Command, table: pa.Table, values: list[str | None], beside: list[str]
) -> Hierarchy:
    match command.by:
        case "intervals":
            return builders.from_intervals(
                values,
                widths=_numbers("--widths", command.widths),
                breaks=_numbers("--breaks", command.breaks),
            )
        case "quantiles":
            parts = _wholes("--groups", command.groups) or [8]
            return builders.from_quantiles(values, groups=parts[0])
        case "dates":
            units = builders.DATE_UNITS if command.units is None else as_names([command.units])
            return builders.from_dates(values, units=units)
        case "prefixes":
            return builders.from_prefixes(
                values, lengths=_wholes("--lengths", command.lengths) or ()
            )
        case "frequency":
            return builders.from_frequency(values, least=command.least or 0)
        case "similarity":
            others = {name: _column(table, name).to_pylist() for name in beside}
            groups = _wholes("--groups", command.groups)
            return builders.from_cooccurrence(values, others, groups=groups)
        case "mapping":
            levels = [_texts(table, name) for name in as_names(command.to)]
            return builders.from_mapping(values, *levels)
        case _:
            return builders.from_standard(values, str(command.by))


def _remembered(command: Command) -> ReadOptions | None:
    """How the table is read, as the schema says."""
    return None if command.schema_file is None else Schema.read(command.schema_file).reading


def _refuse_sensitive(schema_file: Path | None, names: list[str]) -> None:
    """Refuse columns that a schema does not call quasi-identifying."""
    if schema_file is None:
        return
    roles = {column.name: column.role for column in Schema.read(schema_file).columns}
    for name in names:
        role = roles.get(name)
        if role is not None and role is not Role.QUASI_IDENTIFYING:
            raise SchemaError(
                f"Column '{name}' is {role}: a hierarchy that is built from it would tell about it"
                " in every release.",
                "Use quasi-identifiers only.",
            )


def _column(table: pa.Table, name: str) -> pa.ChunkedArray:
    if name not in table.column_names:
        raise SchemaError(
            f"The table has no column '{name}'.", did_you_mean(name, table.column_names)
        )
    return table.column(name)


def _separator(command: Command) -> str | None:
    """What separates the items of a column of text that holds sets; None if it holds none."""
    if command.item_separator is not None or command.schema_file is None:
        return checked_separator(command.item_separator)
    stated = {each.name: each for each in Schema.read(command.schema_file).columns}
    column = stated.get(command.column or "")
    if column is None or column.kind != Kind.SET:
        return None
    return column.separator or SEPARATOR


def _holds_sets(table: pa.Table, name: str, separator: str | None) -> bool:
    return is_list(_column(table, name).type) or separator is not None


def _texts(table: pa.Table, name: str, separator: str | None = None) -> list[str | None]:
    """The cells of a column as the leaves that stand for them; of sets their items."""
    values = _column(table, name)
    if _holds_sets(table, name, separator):
        check_holds_sets(values.type, name, separator or SEPARATOR, "the table")
        return held_items(values, name, separator)
    encode.kind_of(values.type, Column(name=name, role=Role.SENSITIVE))
    texts: list[str | None] = as_text(values, name).to_pylist()
    return texts


def _numbers(option: str, text: str | None) -> list[float] | None:
    if text is None:
        return None
    return [as_number(option, "", part) for part in text.split(",")]


def _wholes(option: str, text: str | None) -> list[int] | None:
    if text is None:
        return None
    return [as_whole(option, "", part.strip()) for part in text.split(",")]


# ------------------------------------------------------------------------------------ show and edit


def _show(command: Command) -> None:
    """Draw the tree."""
    hierarchy = Hierarchy.read(command.file)
    below: dict[int, list[int]] = {}
    for node, parent in enumerate(hierarchy.parents.tolist()):
        if node != hierarchy.root:
            below.setdefault(parent, []).append(node)
    first, _ = hierarchy.extents

    def drawn(tree: Tree, node: int) -> None:
        children = sorted(below.get(node, []), key=lambda child: int(first[child]))
        for child in children[: command.most]:
            branch = tree.add(_node_text(hierarchy, child, child in below))
            drawn(branch, child)
        if len(children) > command.most:
            tree.add(f"… {len(children) - command.most:,} more")

    root = Tree(_node_text(hierarchy, hierarchy.root, True))
    drawn(root, hierarchy.root)
    out.print(root, highlight=False, soft_wrap=True)


def _node_text(hierarchy: Hierarchy, node: int, is_inner: bool) -> Text:
    label = Text(hierarchy.labels[node])
    if is_inner:
        label.stylize("bold")
        label.append(f" ({hierarchy.cardinality[node]:,})", style="not bold")
    return label


def _edit(command: Command) -> None:
    """Print the hierarchy as indented text, or take over the changed text."""
    text = formats.read_text(command.file)
    layout = formats.detect_format(text)
    before = Hierarchy.read(command.file)
    outline = formats.FORMATS["outline"]
    if command.changes is None:
        print_text(outline.write(before.rows()))
        err.print(
            "Save this text, edit it, and apply it with 'mottle hierarchy edit FILE --with TEXT'.",
            highlight=False,
            soft_wrap=True,
        )
        return
    rows = outline.read(
        formats.read_text(command.changes), name=str(command.changes), delimiter=";"
    )
    after = Hierarchy.from_rows(rows, name=str(command.changes))
    after.write(command.file, layout=layout.name)
    gone = len(set(before.leaves) - set(after.leaves))
    new = len(set(after.leaves) - set(before.leaves))
    out.print(
        f"Wrote {command.file}: {len(after.leaves):,} values, {new:,} new and {gone:,} removed.",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def _convert(command: Command) -> None:
    """Write a hierarchy in another format."""
    assert command.output is not None
    if command.output.exists() and not command.overwrite:
        raise StorageError(f"{command.output} exists.", "Give another name, or --overwrite.")
    Hierarchy.read(command.file).write(command.output, layout=command.layout)
    out.print(f"Wrote {command.output}.", markup=False, highlight=False, soft_wrap=True)


# -------------------------------------------------------------------------------------------- lint


def _lint(command: Command) -> None:
    lint(
        command.file,
        command.data,
        command.column,
        command.source,
        as_json=command.as_json,
        remembered=_remembered(command),
        separator=_separator(command),
    )


def lint(
    file: Path,
    data: str | None,
    column: str | None,
    source: SourceOptions,
    *,
    as_json: bool,
    remembered: ReadOptions | None = None,
    separator: str | None = None,
) -> None:
    """List everything that is wrong with a hierarchy file; exit code 4 if it cannot be used."""
    values = None
    if data is not None and column is not None:
        texts = _texts(source.read(data, remembered), column, separator)
        values = list(dict.fromkeys(text for text in texts if text is not None))
    findings = validation.lint(_rows(file), values=values, name=file.name)
    errors = [found for found in findings if found.severity is validation.Severity.ERROR]
    if as_json:
        print_json(json.dumps([asdict(found) for found in findings], indent=2, ensure_ascii=False))
    else:
        for found in findings:
            label = "" if found.label is None else f" Label: {found.label!r}"
            out.print(
                f"{found.severity}: {found.message}{label}",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )
        out.print(f"{len(errors)} errors, {len(findings) - len(errors)} warnings in {file}.")
    if errors:
        raise typer.Exit(DataError.exit_code)


def _rows(file: Path) -> list[list[str]]:
    """The rows of a file as they are."""
    text = formats.read_text(file)
    layout = formats.detect_format(text)
    if isinstance(layout, arx.ARX):
        return arx.read_rows(file)
    return layout.read(text, name=str(file), delimiter=";")
