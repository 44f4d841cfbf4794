"""The files from which anybody can check a release, given the original and the owner's links.

They are for whoever may see the original: the true assignment is among them.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mottle.errors import DataError
from mottle.hierarchy.tree import Hierarchy
from mottle.io.atomic_write import staged
from mottle.io.link_file import LinkFile, private_file
from mottle.itemsets.data import ItemSets
from mottle.kinds.forms.binned_text import high_texts, low_texts
from mottle.kinds.forms.grammar import joined, value_text
from mottle.release.certificate import Certificate, ReleaseKind
from mottle.release.column import PublishedColumn
from mottle.release.data import ReleaseData
from mottle.release.original_values import in_published_type
from mottle.schema.model import Role
from mottle.utils.arrow import is_plain

PROGRAM = "verify_release.py"
ORIGINAL, LINKS, COLUMNS = "original.csv", "links.csv", "columns.json"
FILES = (ORIGINAL, LINKS, COLUMNS, PROGRAM)
_CAPPED = ("l", "beta")  # parameters of guarantees whose caps the program computes


def program_text() -> str:
    """Return the text of the program that checks a release with Python's standard library alone.

    Returns
    -------
    str
        Python.
    """
    return resources.files("mottle.verification").joinpath(PROGRAM).read_text("utf-8")


def write_evidence(
    release: ReleaseData,
    original: pa.Table | ItemSets,
    links: LinkFile,
    folder: Path,
    *,
    overwrite: bool = False,
) -> None:
    """Write what the program needs to check a release, and the program.

    Parameters
    ----------
    release : ReleaseData
        The release, with its certificate.
    original : pyarrow.Table or ItemSets
        The rows that it describes, in their order.
    links : LinkFile
        The owner's links.
    folder : Path
        Where the files go; only the owner can read them.
    overwrite : bool, optional
        Whether existing files are replaced.

    Raises
    ------
    DataError
        The release has two tables, or was not made from the original.
    """
    if release.certificate.kind is ReleaseKind.TWO_TABLES:
        raise DataError(
            "A release of two tables cannot be checked by the program.",
            "'mottle audit' checks it.",
        )
    columns, cells = _described(release, original)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with staged(folder, FILES, overwrite=overwrite) as stage:
        _write_csv(stage / ORIGINAL, list(cells), zip(*cells.values(), strict=True))
        _write_csv(stage / LINKS, ["published", "original", "true"], _edges(links))
        private_file(stage / COLUMNS)
        (stage / COLUMNS).write_text(
            json.dumps(columns, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
        (stage / PROGRAM).write_text(program_text(), encoding="utf-8")


def _write_csv(path: Path, header: list[str], rows: Iterable[Iterable[object]]) -> None:
    private_file(path)
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def _edges(links: LinkFile) -> Iterator[tuple[int, int, int]]:
    for batch in links.batches():
        yield from zip(
            batch.column("published").to_pylist(),
            batch.column("original").to_pylist(),
            map(int, batch.column("true").to_pylist()),
            strict=True,
        )


def _described(
    release: ReleaseData, original: pa.Table | ItemSets
) -> tuple[dict[str, dict[str, Any]], dict[str, list[str]]]:
    """The entries of columns.json, and the cells of original.csv, by column."""
    columns: dict[str, dict[str, Any]] = {}
    cells: dict[str, list[str]] = {}
    if isinstance(original, ItemSets):
        original = _as_table(original)
        items, *labels = release.columns
        columns[items.name] = {"form": "worlds"}
        if items.hierarchy is not None:
            columns[items.name]["tree"] = _paths(items.hierarchy)
        cells[items.name] = _texts(original.column(items.name).combine_chunks())
        described: Iterable[PublishedColumn] = labels
    else:
        described = release.columns
    for column in described:
        values = original.column(column.name).combine_chunks()
        if column.role.keyed or (column.form is None and not is_plain(values.type)):
            continue  # made with the owner's key, or of a type that CSV files do not hold
        typed = in_published_type(values, column)
        cells[column.name] = _texts(typed)
        columns[column.name] = _entry(column, typed, release.certificate)
    who = None if release.certificate.unit is None else release.certificate.unit.column
    if who is not None and who in original.column_names:
        cells[who] = _texts(original.column(who).combine_chunks())
    return columns, cells


def _as_table(sets: ItemSets) -> pa.Table:
    offsets = pa.array(sets.starts.astype("int32"))
    lists = pa.ListArray.from_arrays(offsets, sets.names.take(pa.array(sets.items)))
    columns = {sets.column: lists}
    if sets.labels is not None:
        columns[sets.label_name] = sets.labels
    return pa.table(columns)


def _texts(values: pa.Array) -> list[str]:
    """Values as original.csv holds them, in the notation of cells; empty where they are missing."""
    if pa.types.is_dictionary(values.type):
        values = pc.cast(values, values.type.value_type)
    if pa.types.is_list(values.type):
        sets = pc.binary_join_element_wise("{", joined(values)[1], "}", "")
        return list(pc.if_else(values.is_valid(), sets, "").to_pylist())
    return list(value_text(values).to_pylist())


def _is_text(data_type: pa.DataType) -> bool:
    if pa.types.is_dictionary(data_type):
        return _is_text(data_type.value_type)
    return bool(pa.types.is_string(data_type) or pa.types.is_large_string(data_type))


def _entry(column: PublishedColumn, values: pa.Array, certificate: Certificate) -> dict[str, Any]:
    """What the program has to know about a column."""
    entry: dict[str, Any] = {"text": True} if _is_text(column.value_type) else {}
    if column.form is None:
        entry["unchanged"] = True
        if column.role is Role.SENSITIVE and _has_caps(column.name, certificate):
            entry["capped"] = True
        return entry
    entry["form"] = str(column.form)
    if column.order is not None:
        entry["order"] = list(column.order)
    if column.hierarchy is not None and (column.form.has_tree or column.form.has_items):
        entry["tree"] = _paths(column.hierarchy)
    if column.separator is not None:
        entry["separator"] = column.separator
    if column.rule is not None:
        entry["bins"] = _bins(column, values)
    return entry


def _has_caps(name: str, certificate: Certificate) -> bool:
    """Whether the caps of a column follow from its values and the certificate alone."""
    stated = [parameter for part in certificate.guarantee.each for parameter in part.facts]
    binned = [each for each in certificate.sensitive if name in each.columns and each.binned]
    return not binned and any(parameter in _CAPPED for parameter in stated)


def _paths(tree: Hierarchy) -> dict[str, list[str]]:
    """By leaf: the labels from the leaf up to the root."""
    return {
        leaf: list(dict.fromkeys(tree.labels[node] for node in nodes))
        for leaf, nodes in zip(tree.leaves, tree.ancestors.tolist(), strict=True)
    }


def _bins(column: PublishedColumn, values: pa.Array) -> list[Mapping[str, str]]:
    """The bins of a column's values in ascending order: where each begins, and its ends as text."""
    rule = column.rule
    assert rule is not None
    present = pc.unique(values.drop_null())
    present = present.take(pc.array_sort_indices(present))
    lower, upper = rule.bins(present, column.name)
    bottom, top = rule.tail_values(values.type, column.name)
    texts = zip(
        value_text(lower).to_pylist(),
        low_texts(lower, rule, bottom).to_pylist(),
        high_texts(upper, rule, bottom, top).to_pylist(),
        lower.to_pylist(),
        upper.to_pylist(),
        strict=True,
    )
    found: dict[str, dict[str, str]] = {}
    for start, low, high, first, last in texts:
        found[start] = {"from": start, "low": low, "high": high}
        if bottom is not None and first == bottom.as_py():
            found[start]["open"] = "below"
        elif top is not None and last == top.as_py():
            found[start]["open"] = "above"
    return list(found.values())
