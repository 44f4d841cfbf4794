"""The screen on which it is said how the values of a column are made coarser."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import ValidationError

from mottle.encoding.set_columns import held_items
from mottle.errors import MottleError, SchemaError, UsageError
from mottle.guarantees.k_anonymity import KAnonymity
from mottle.hierarchy import builders, validation
from mottle.hierarchy.tree import Hierarchy
from mottle.itemsets.arrow import is_list
from mottle.pipeline.anonymize import anonymize
from mottle.schema.model import Column, Kind, Role, Schema, Unit
from mottle.studio import trees
from mottle.studio.screens.base import Mark, Screen, number_of, text_of
from mottle.studio.screens.columns import bars_of
from mottle.studio.state import Opened, Studio, schema_text
from mottle.utils.arrow import as_text

FOLDER = "hierarchies"  # of the project: the trees, a new file for every change
_EXAMPLES, _EXAMPLE_K = 5, 5
_COARSER = ("snap", "bottom", "top", "breaks", "granularity")  # options of a column

# How a tree is built: what it is called, the word that is asked for, and an example of it.
BUILDERS = {
    "intervals": ("ranges of equal width", "widths", "5,10,20"),
    "quantiles": ("ranges with as many people each", "groups", "8"),
    "dates": ("months, quarters, years", "units", "month,year"),
    "prefixes": ("the first letters or digits", "lengths", "3,1"),
    "frequency": ("rare values together", "least", "20"),
    "similarity": ("values of similar people together", "groups", "6,2"),
    "by hand": ("all values below one root", "", ""),
}


def _columns(studio: Studio, opened: Opened) -> list[Column]:
    schema = studio.project.schema().covering(opened.table.column_names)
    return list(schema.with_role(Role.QUASI_IDENTIFYING))


def _measure(studio: Studio) -> Mark:
    opened = studio.opened
    if opened is None:
        return Mark.OPEN
    bad = any(_findings(opened, column, only_errors=True) for column in _columns(studio, opened))
    return Mark.INVALID if bad else Mark.DONE


def _findings(
    opened: Opened, column: Column, *, only_errors: bool = False
) -> list[validation.HierarchyFinding]:
    """What is wrong with the tree of a column."""
    if column.hierarchy is None:
        return []
    found = validation.lint(column.hierarchy.rows(), values=_distinct(opened, column))
    return [each for each in found if each.severity is validation.Severity.ERROR or not only_errors]


def _content(studio: Studio) -> dict[str, Any]:
    opened = studio.opened
    if opened is None:
        return {"opened": None}
    columns = _columns(studio, opened)
    if not columns:
        return {"opened": opened, "column": None, "columns": []}
    place = min(studio.shown_column, len(columns) - 1)
    column = columns[place]
    tree = None if column.hierarchy is None else trees.nodes_of(column.hierarchy)
    whole = column.hierarchy is None or trees.is_shown_whole(column.hierarchy)
    return {
        "opened": opened,
        "columns": columns,
        "place": place,
        "column": column,
        "kind": str(column.kind or "as the type says"),
        "bars": opened.kept("bars", column.name, bars_of),
        "line": opened.kept("line", column.name, _line),
        "tree": tree if whole else None,
        "whole": whole,
        "builders": {
            by: BUILDERS[by]
            for by in _fitting(opened.table.schema.field(column.name).type)
            if by != "similarity" or not _holds_sets(opened.table, column)
        },
        "coarser": {name: _option_text(getattr(column, name)) for name in _COARSER},
        "steps": _steps(opened.table.schema.field(column.name).type),
        "findings": _findings(opened, column),
        "examples": studio.examples.get((studio.project.state.toml, column.name)),
    }


def _fitting(kind: pa.DataType) -> tuple[str, ...]:
    """The ways to build a tree that fit the type of a column."""
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return ("intervals", "quantiles", "prefixes", "frequency")
    if pa.types.is_temporal(kind):
        return ("dates", "frequency")
    return ("by hand", "frequency", "similarity", "prefixes", "dates")


def _steps(kind: pa.DataType) -> dict[str, str]:
    """The options that make values of a type coarser, by name, in words."""
    ends = {"bottom": "everything below", "top": "everything from"}
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return {"snap": "steps of", **ends, "breaks": "breaks at"}
    return {"granularity": "unit", **ends} if pa.types.is_temporal(kind) else {}


def _line(values: pa.ChunkedArray) -> tuple[float, float, bool] | None:
    """The ends of a column of numbers, and whether they are whole; None for other columns."""
    kind = values.type
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if not is_number or values.null_count == len(values):
        return None
    ends = [float(each) for each in pc.min_max(values).as_py().values()]
    if not all(map(isfinite, ends)):
        return None
    return ends[0], ends[1], pa.types.is_integer(kind)


def _option_text(value: object) -> str:
    if value is None:
        return ""
    return ",".join(f"{each:g}" for each in value) if isinstance(value, tuple) else str(value)


def _holds_sets(table: pa.Table, column: Column) -> bool:
    return column.kind == Kind.SET or is_list(table.schema.field(column.name).type)


def _distinct(opened: Opened, column: Column) -> list[str]:
    """The values of a column, or the items of its sets."""
    key = f"values {column.separator}" if _holds_sets(opened.table, column) else "values"
    found = opened.kept(key, column.name, lambda _: dict.fromkeys(_texts(opened.table, column)))
    return [text for text in found if text is not None]


def _texts(table: pa.Table, column: Column) -> list[str | None]:
    """The cells of a column as text, or the items of its sets."""
    cells = table.column(column.name)
    if _holds_sets(table, column):
        return held_items(cells, column.name, column.separator)
    found: list[str | None] = as_text(cells, column.name).to_pylist()
    return found


# ------------------------------------------------------------------------------------------ actions


async def _show(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Show another column."""
    studio.shown_column = number_of(body, "column")
    return {}


async def _build(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Build the tree of the column."""
    by, words = text_of(body, "by"), text_of(body, "words")
    await asyncio.to_thread(
        _change, studio, lambda opened, it: _built(studio, opened, it, by, words)
    )
    return {}


def _built(studio: Studio, opened: Opened, column: Column, by: str, words: str) -> Hierarchy:
    values = _texts(opened.table, column)
    match by:
        case "intervals":
            return builders.from_intervals(values, widths=_numbers(words))
        case "quantiles":
            return builders.from_quantiles(values, groups=_wholes(words)[0])
        case "dates":
            return builders.from_dates(values, units=[unit.strip() for unit in words.split(",")])
        case "prefixes":
            return builders.from_prefixes(values, lengths=_wholes(words))
        case "frequency":
            return builders.from_frequency(values, least=_wholes(words)[0])
        case "similarity":
            names = [each.name for each in _columns(studio, opened) if each.name != column.name]
            others = {name: opened.table.column(name).to_pylist() for name in names}
            return builders.from_cooccurrence(values, others, groups=_wholes(words))
        case "by hand":
            return Hierarchy.from_rows(
                [(leaf, validation.ROOT) for leaf in _distinct(opened, column)]
            )
        case _:
            raise UsageError("There is no such way to build a tree.", "Load the page again.")


def _numbers(words: str) -> list[float]:
    try:
        return [float(word) for word in words.split(",")]
    except ValueError:
        raise UsageError("These are not numbers.", "Write them like 5,10,20.") from None


def _wholes(words: str) -> list[int]:
    try:
        return [int(word) for word in words.split(",")]
    except ValueError:
        raise UsageError("These are not whole numbers.", "Write them like 3,1.") from None


async def _group(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Put the chosen nodes below a new one."""
    chosen, name = _chosen(body), text_of(body, "name").strip()
    await asyncio.to_thread(_change, studio, lambda _, it: trees.grouped(_tree(it), chosen, name))
    return {}


async def _move(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Put the chosen nodes into a group that is there."""
    chosen, to = _chosen(body), number_of(body, "to")
    await asyncio.to_thread(_change, studio, lambda _, it: trees.moved(_tree(it), chosen, to))
    return {}


async def _split(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Take the chosen groups away; what is below them moves up."""
    chosen = _chosen(body)
    if len(chosen) != 1:
        raise UsageError("One group is split at a time.", "Choose one.")
    await asyncio.to_thread(_change, studio, lambda _, it: trees.split(_tree(it), chosen[0]))
    return {}


async def _rename(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Give a group another name."""
    chosen, name = _chosen(body), text_of(body, "name").strip()
    if len(chosen) != 1:
        raise UsageError("One group is renamed at a time.", "Choose one.")
    await asyncio.to_thread(
        _change, studio, lambda _, it: trees.renamed(_tree(it), chosen[0], name)
    )
    return {}


def _chosen(body: Mapping[str, Any]) -> list[int]:
    """The numbers of the nodes that are ticked."""
    names = [name.removeprefix("node-") for name, value in body.items() if value is True]
    return [int(name) for name in names if name.isdecimal()]


def _tree(column: Column) -> Hierarchy:
    if column.hierarchy is None:
        raise UsageError("The column has no tree.", "Build one.")
    return column.hierarchy


async def _without(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Go on without a tree."""
    await asyncio.to_thread(_change, studio, lambda *_: None)
    return {}


async def _coarsen(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Write steps and open ends of numbers and dates into the schema."""
    typed = {name: text_of(body, name).strip() for name in _COARSER}
    await asyncio.to_thread(_write_coarser, studio, typed)
    return {}


def _write_coarser(studio: Studio, typed: Mapping[str, str]) -> None:
    _, schema, column = _shown(studio)
    options: dict[str, Any] = {name: text for name, text in typed.items() if text}
    for name in ("snap", "bottom", "top"):
        if name in options and _is_number(options[name]):
            number = float(options[name])
            options[name] = int(number) if number.is_integer() else number
    if "breaks" in options:
        options["breaks"] = tuple(_numbers(options["breaks"]))
    _write(studio, schema, _column(column, **options))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _column(before: Column, **options: Any) -> Column:
    """The column with other options; those that do not go together are an error."""
    kept: dict[str, Any] = {
        "importance": before.importance,
        "representation": before.representation,
    }
    if "hierarchy" not in options and before.hierarchy is None:
        kept |= {"kind": before.kind, "order": before.order}
    try:
        return Column(name=before.name, role=before.role, **kept, **options)
    except ValidationError as error:
        problem = str(error.errors()[0]["msg"]).removeprefix("Value error, ")
        raise SchemaError(f"Column '{before.name}': {problem}.", "Change it.") from None


def _shown(studio: Studio) -> tuple[Opened, Schema, Column]:
    opened = studio.opened
    if opened is None:
        raise UsageError("No table is open.", "Open one.")
    columns = _columns(studio, opened)
    if studio.shown_column >= len(columns):
        raise UsageError("There is no such column.", "Load the page again.")
    schema = studio.project.schema().covering(opened.table.column_names)
    return opened, schema, columns[studio.shown_column]


def _change(studio: Studio, make: Callable[[Opened, Column], Hierarchy | None]) -> None:
    """Give the column another tree, in a file of its own: undo goes back to the file before."""
    opened, schema, column = _shown(studio)
    hierarchy = make(opened, column)
    if hierarchy is None:
        found = next(each for each in opened.found.columns if each.name == column.name)
        if _holds_sets(opened.table, column):
            new = _column(column, kind=Kind.SET, hierarchy=None, separator=column.separator)
        else:
            new = Column(name=column.name, role=column.role, kind=found.kind, order=found.order)
        _write(studio, schema, new)
        return
    folder = studio.project.folder / FOLDER
    folder.mkdir(exist_ok=True)
    file = folder / f"{_next(folder)}.csv"
    hierarchy.write(file)
    options = {"kind": Kind.HIERARCHY, "hierarchy": hierarchy, "hierarchy_file": file}
    if _holds_sets(opened.table, column):
        options |= {
            "kind": Kind.SET,
            "separator": column.separator,
            "node_holders": column.node_holders,
        }
    _write(studio, schema, _column(column, **options))


def _next(folder: Path) -> int:
    return 1 + max(
        (int(each.stem) for each in folder.glob("*.csv") if each.stem.isdigit()), default=0
    )


def _write(studio: Studio, schema: Schema, column: Column) -> None:
    columns = tuple(column if each.name == column.name else each for each in schema.columns)
    new = schema.model_copy(update={"columns": columns})
    text = schema_text(studio.project.state.toml, new, studio.project.folder)
    studio.project.change(toml=text)


async def _example(studio: Studio, body: Mapping[str, Any]) -> dict[str, Any]:
    """Publish five cells of some rows, to see what they look like."""
    await asyncio.to_thread(_make_examples, studio)
    return {}


def _make_examples(studio: Studio) -> None:
    opened, _, column = _shown(studio)
    rows = opened.table.select([column.name])
    if rows.num_rows < _EXAMPLES * _EXAMPLE_K:
        raise UsageError("The table is too short for examples.", "Go on.")
    schema = Schema(columns=(column,), unit=Unit.ROW)
    sample = rows.slice(0, _EXAMPLES * _EXAMPLE_K)
    method = "nh" if _holds_sets(opened.table, column) else "mondrian"
    try:
        release = anonymize(sample, schema, KAnonymity(_EXAMPLE_K), method=method, effort=0)
    except MottleError as error:
        raise UsageError(f"There are no examples: {error.problem}", error.remedy) from None
    texts = release.text_of(release.table).to_pylist()
    found: Sequence[str] = [" ".join(str(cell) for cell in row.values()) for row in texts]
    shown = list(dict.fromkeys(found))[:_EXAMPLES]
    studio.examples = {(studio.project.state.toml, column.name): shown}


VALUES = Screen(
    "values",
    "Values",
    _measure,
    _content,
    {
        "show": _show,
        "build": _build,
        "group": _group,
        "split": _split,
        "move": _move,
        "rename": _rename,
        "without": _without,
        "coarsen": _coarsen,
        "example": _example,
    },
)
