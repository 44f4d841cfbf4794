"""An independent checker of release folders; it imports nothing of mottle.

It reads the files of a release as anybody could, and the owner's link file, and compares them with
the original and with what was asked for. `check_release` raises `Wrong` with a sentence that says
what does not hold.
"""

from __future__ import annotations

import csv
import datetime as dt
import decimal
import hashlib
import io
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

REMOVED = ("identifying", "person")
FILES = {
    "certificate.json",
    "release.parquet",
    "release.csv",
    "report.html",
    "sensitive.parquet",
    "sensitive.csv",
}
TINY = 1e-9
CAPS = 4  # the invariant that caps hold


class Wrong(AssertionError):  # noqa: N818 - what is wrong is the release
    """A release is not what it has to be."""


@dataclass(frozen=True)
class Asked:
    """What a release was asked to be; the columns of the original by name."""

    roles: Mapping[str, str]
    k: int = 1
    # sensitive columns: by value, the highest share among anybody's matches
    caps: Sequence[tuple[str, Callable[[object], float]]] = ()
    # sensitive columns: groups of values, and the highest share of each
    group_caps: Sequence[tuple[str, frozenset[object], float]] = ()
    orders: Mapping[str, Sequence[str]] = field(default_factory=dict)
    trees: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)  # rows, leaf first
    separators: Mapping[str, str] = field(default_factory=dict)
    person: str | None = None
    from_text: bool = False  # whether the original is a file of text, whose types are inferred
    rows_are_kept: bool = True  # not where one row is made of all rows of a person
    unsafe: bool = False  # whether caps may be broken, as papers' draws break them
    secrets: Sequence[str] = ()  # texts that must not be in any file of the folder


def require(holds: object, what: str) -> None:
    """Raise `Wrong` unless something holds."""
    if not holds:
        raise Wrong(what)


# ------------------------------------------------------------------------------------- values


def plain(value: object) -> object:
    """A value in a form in which equal values are equal: no NaN, no −0.0, no nested types."""
    if isinstance(value, float):
        return None if math.isnan(value) else value + 0.0
    if isinstance(value, list | tuple):
        return tuple(plain(member) for member in value)
    if isinstance(value, dict):
        return tuple((key, plain(member)) for key, member in value.items())
    return value


def day(value: object) -> object:
    """The day of a point in time."""
    return value.date() if isinstance(value, dt.datetime) else value


def number(value: object) -> object:
    """A number that compares exactly with every other."""
    if isinstance(value, str):
        return Fraction(decimal.Decimal(value.strip()))
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float | decimal.Decimal):
        return Fraction(value)
    return value


def typed(text: str, target: pa.DataType) -> object:
    """Read the text of a cell as a value of a type, as Python reads it."""
    types = pa.types
    if types.is_dictionary(target):
        return typed(text, target.value_type)
    if types.is_boolean(target):
        return {"true": True, "false": False}[text]
    if types.is_integer(target):
        return int(text)
    if types.is_floating(target):
        return plain(pa.scalar(float(text), target).as_py())
    if types.is_decimal(target):
        return decimal.Decimal(text)
    if types.is_date(target):
        return day(moment(text))
    if types.is_timestamp(target):
        return moment(text)
    if types.is_time(target):
        return dt.time.fromisoformat(text)
    return text


def moment(text: str) -> object:
    """A point in time to the microsecond, those with a zone in UTC."""
    shortened = re.sub(r"(\.\d{6})\d+", r"\1", text.strip())
    found = dt.datetime.fromisoformat(shortened)
    return found if found.tzinfo is None else found.astimezone(dt.UTC)


def comparable(value: object) -> object:
    """A value of Parquet in the form that `typed` gives the text of the same cell."""
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC)
    return plain(value)


def values_of(column: pa.ChunkedArray) -> list[object]:
    """The values of a column in Python; nanoseconds are cut off, which text does not keep."""
    kind = column.type
    if kind == pa.uuid():
        return [None if cell is None else str(cell) for cell in column.to_pylist()]
    if isinstance(kind, pa.BaseExtensionType):
        column, kind = column.cast(kind.storage_type), kind.storage_type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        column = column.cast(pa.timestamp("us", kind.tz), safe=False)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return [None if cell is None else cell.decode() for cell in column.to_pylist()]
    if pa.types.is_fixed_size_binary(kind) or pa.types.is_binary_view(kind):
        return [None if cell is None else bytes(cell).decode() for cell in column.to_pylist()]
    return [plain(cell) for cell in column.to_pylist()]


# -------------------------------------------------------------------------------------- cells


def parse_members(text: str) -> list[tuple[str | None, str | None]]:
    r"""Split the text of a generalized cell into its members, each a range (docs/guide.md).

    >>> parse_members(r"{1..5|a\|b|}"), parse_members("")
    ([('1', '5'), ('a|b', 'a|b'), (None, None)], [(None, None)])
    """
    inside, braces = text, text.startswith("{") and text.endswith("}")
    if braces:
        inside = text[1:-1]
    members: list[list[str]] = [[""]]
    escaped = [[False]]
    place = 0
    while place < len(inside):
        letter = inside[place]
        if letter == "\\":
            following = inside[place + 1]
            if following != "e":
                members[-1][-1] += following
            escaped[-1][-1] = True
            place += 2
            continue
        if letter == "|" and braces:
            members.append([""])
            escaped.append([False])
        elif inside.startswith("..", place):
            members[-1].append("")
            escaped[-1].append(False)
            place += 1
        else:
            members[-1][-1] += letter
        place += 1
    found: list[tuple[str | None, str | None]] = []
    for parts, marks in zip(members, escaped, strict=True):
        require(len(parts) <= 2, "a cell has a member with more than two ends")
        if parts == [""] and not marks[0]:
            found.append((None, None))
        else:
            found.append((parts[0], parts[-1]))
    return found


def unguarded(text: str) -> str:
    """A text of a CSV file without the apostrophe that protects spreadsheets."""
    return re.sub(r"\A'('*[=+@\t\r\n＝＋－＠-])", r"\1", text)


def is_text(kind: pa.DataType) -> bool:
    """Whether values of a type are guarded in CSV files."""
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    return not (pa.types.is_primitive(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind))


# ------------------------------------------------------------------------------------- folder


@dataclass(frozen=True)
class Folder:
    """The files of a release."""

    certificate: dict[str, Any]
    table: pa.Table
    facts: dict[str, dict[str, Any]]  # by column: its description in the metadata
    texts: list[list[str]]  # rows of release.csv, the header first

    @classmethod
    def read(cls, folder: Path) -> Folder:
        """Read a folder; check that it holds a release and nothing else."""
        names = {path.name for path in folder.iterdir()}
        require(names <= FILES, f"the folder also holds {sorted(names - FILES)}")
        certificate = json.loads((folder / "certificate.json").read_text("utf-8"))
        published = {name for name in names if name.endswith((".parquet", ".csv"))}
        require(published == set(certificate["sha256"]), "checksums of other files")
        for name, checksum in certificate["sha256"].items():
            found = hashlib.sha256((folder / name).read_bytes()).hexdigest()
            require(found == checksum, f"another checksum of {name}")
        table = pq.ParquetFile(folder / "release.parquet").read()
        facts = {
            described.name: json.loads((described.metadata or {}).get(b"mottle", b"{}"))
            for described in table.schema
        }
        content = (folder / "release.csv").read_bytes().decode("utf-8")
        before = csv.field_size_limit(1 << 30)  # of all readers in this process
        try:
            texts = list(csv.reader(io.StringIO(content, newline=""), strict=True))
        finally:
            csv.field_size_limit(before)
        return cls(certificate, table, facts, texts)

    def text_of(self, name: str) -> list[str]:
        """The cells of one column of release.csv."""
        header = [unguarded(text) for text in self.texts[0]]
        require(header.count(name) == 1, "release.csv lacks a column")
        place = header.index(name)
        return [row[place] for row in self.texts[1:]]


def check_no_secrets(folder: Path, secrets: Iterable[str]) -> None:
    """No file below the folder holds any of these texts, in whatever format."""
    sought = [secret for secret in secrets if secret]
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.is_symlink():
            continue
        content = path.read_bytes()
        if path.suffix == ".parquet" or content[:4] == b"PAR1":
            try:
                opened = pq.ParquetFile(path).read()
                content += repr((opened.to_pydict(), opened.schema)).encode()
            except (pa.ArrowException, OSError, ValueError):
                pass  # unfinished; its bytes are searched all the same
        for secret in sought:
            require(secret.encode() not in content, f"{path.name} holds an identifier")


# -------------------------------------------------------------------------------------- graph


@dataclass(frozen=True)
class Edges:
    """The link file: by published row its preimages, and its true original."""

    preimages: list[list[int]]
    truth: list[int]

    @classmethod
    def read(cls, path: Path, rows: int) -> Edges:
        """Read a link file and check that the graph is regular and the truth one-to-one."""
        table = pq.ParquetFile(path).read(["published", "original", "true"])
        preimages: list[list[int]] = [[] for _ in range(rows)]
        truth: list[list[int]] = [[] for _ in range(rows)]
        for published, original, is_true in zip(*table.to_pydict().values(), strict=True):
            preimages[published].append(original)
            if is_true:
                truth[published].append(original)
        require(all(len(set(each)) == len(each) for each in preimages), "an edge occurs twice")
        require(all(len(each) == 1 for each in truth), "a record has not one true original")
        originals = [each[0] for each in truth]
        require(sorted(originals) == list(range(rows)), "the assignment is not one-to-one")
        matches = Counter(original for each in preimages for original in each)
        for each in preimages:
            require(
                all(matches[original] == len(each) for original in each),
                "the graph is not regular",
            )
        return cls(preimages, originals)

    @property
    def degrees(self) -> Counter[int]:
        """How many records have how many preimages."""
        return Counter(len(each) for each in self.preimages)

    def matches(self) -> list[list[int]]:
        """By original: the published rows that it may be."""
        found: list[list[int]] = [[] for _ in self.preimages]
        for row, originals in enumerate(self.preimages):
            for original in originals:
                found[original].append(row)
        return found


def check_release(folder: Path, links: Path, original: pa.Table, asked: Asked) -> str:
    """Check a release of a table; returns the kind of release that it is."""
    release = Folder.read(folder)
    certificate = release.certificate
    rows = release.table.num_rows
    require(certificate["rows"] == rows == len(release.texts) - 1, "other numbers of rows")
    edges = Edges.read(links, rows)
    check_certificate(certificate, edges, asked)
    check_no_secrets(folder, asked.secrets)
    if certificate["kind"] == "two tables":
        _check_two_tables(folder, release, edges, original, asked)
        return "two tables"
    _check_text(release)
    if not asked.rows_are_kept:
        return "table"
    require(rows == original.num_rows, "rows are missing")
    kept = [name for name in original.column_names if asked.roles[name] not in REMOVED]
    require(set(release.table.column_names) == set(kept), "other columns")
    for name in kept:
        role = asked.roles[name]
        require(release.facts[name]["role"] == role, "another role")
        if role == "quasi-identifying":
            _check_covered(release, name, original.column(name), edges, asked)
        else:
            _check_unchanged(release, name, original.column(name), edges, asked)
    check_caps(release.table, edges, original, asked)
    _check_people(edges, original, asked)
    return "table"


def check_certificate(certificate: Mapping[str, Any], edges: Edges, asked: Asked) -> None:
    """The certificate states what is in the files."""
    degrees = edges.degrees
    stated = certificate["degree"]
    require(min(degrees) >= asked.k, f"a record has {min(degrees)} preimages, not {asked.k}")
    require((stated["min"], stated["max"]) == (min(degrees), max(degrees)), "another degree")
    if len(degrees) <= 64:
        require(dict(stated["records"]) == degrees, "other degrees")
    failed = {check["invariant"] for check in certificate["checks"] if not check["passed"]}
    require(failed <= ({CAPS} if asked.unsafe else set()), f"checks that failed: {failed}")
    require(len(certificate["checks"]) in (5, 6), "other checks")
    for name, role in asked.roles.items():
        if asked.rows_are_kept:
            found = [column for column in certificate["columns"] if column["name"] == name]
            require([column["role"] for column in found] == [role], "another role of a column")
    loss = [certificate.get("gcp"), *certificate.get("ncp", {}).values()]
    require(all(each is None or 0 <= each <= 1 + TINY for each in loss), "an impossible loss")


# ------------------------------------------------------------------------- cells and originals


def _check_covered(
    release: Folder, name: str, column: pa.ChunkedArray, edges: Edges, asked: Asked
) -> None:
    """Every cell covers all preimages of its record."""
    facts, kind = release.facts[name], release.table.schema.field(name).type
    cells = release.table.column(name).to_pylist()
    values = values_of(column)
    stripped = [None if value is None else str(value).strip() for value in values]
    if asked.from_text and all(text is None or _is_number_or_date(text) for text in stripped):
        values = list(stripped)  # spaces around numbers and dates do not count
    covers, key = _coverage(facts, kind, column.type, name, asked)
    keys = [None if value is None else key(value) for value in values]
    if facts["form"] == "worlds" and name in asked.trees:
        read = _in_one_notation if asked.from_text else str
        rows = [[read(label) for label in row] for row in asked.trees[name]]
        keys = _as_nodes(keys, [_read_worlds(cell, read) for cell in cells], rows)
    for cell, originals in zip(cells, edges.preimages, strict=True):
        for original in originals:
            require(covers(cell, keys[original]), f"a {facts['form']} does not cover a preimage")


def _coverage(
    facts: Mapping[str, Any], kind: pa.DataType, original: pa.DataType, name: str, asked: Asked
) -> tuple[Callable[[Any, Any], bool], Callable[[Any], Any]]:
    """How a cell covers a value, and how a value of the original has to be looked at."""
    form, known = facts["form"], facts["kind"]
    if form == "worlds":
        separator = facts.get("separator") or asked.separators.get(name, ";")
        # Python prints some of them otherwise than they are written: 4.94E+5 for 494000.
        if any(
            is_of(original)
            for is_of in (pa.types.is_floating, pa.types.is_temporal, pa.types.is_decimal)
        ):
            return _worlds_of(lambda item: typed(item, original)), (
                lambda value: frozenset([comparable(value)])
            )
        if asked.from_text:  # points in time are written in another notation
            return _worlds_of(_in_one_notation), (
                lambda value: frozenset(map(_in_one_notation, _items(_printed(value), separator)))
            )
        return _in_worlds, lambda value: _items(value, separator)
    if known == "duration":  # published as a number of whole seconds
        return (_in_range if form == "range" else _in_set), (
            lambda value: Fraction(value // dt.timedelta(seconds=1))
        )
    ends = kind.field("lo").type if pa.types.is_struct(kind) else kind
    if form == "range":
        if known == "ordered":
            if is_text(ends):
                return _in_ranks({text: rank for rank, text in enumerate(facts["order"])}), _as_text
            places = {typed(text, ends): rank for rank, text in enumerate(facts["order"])}
            return _in_ranks(places), _as_type(ends)
        if known == "date":
            return (
                _in_range,
                lambda value: day(moment(value)) if isinstance(value, str) else day(value),
            )
        return _in_range, lambda value: number(_as_type(ends)(value))
    if form == "node":
        if known == "prefix":
            return _prefixed, _as_text
        chains = {row[0]: set(row) for row in asked.trees[name]}
        return (
            lambda cell, value: cell in (None, "*") if value is None else cell in chains[value]
        ), _as_text
    require(form == "set", f"an unknown form {form}")
    members = kind.value_type
    if asked.from_text and not is_text(members):
        return _in_set, lambda value: comparable(typed(value.strip(), members))
    if pa.types.is_date(members):
        return _in_set, day
    if is_text(members):
        return _in_set, lambda value: value if isinstance(value, dt.time) else _as_text(value)
    return _in_set, number


def _is_number_or_date(text: str) -> bool:
    return re.fullmatch(r"-?[0-9]+(\.[0-9]+)?|[0-9]{4}-[0-9]{2}-[0-9]{2}.*", text) is not None


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def _items(value: object, separator: str) -> frozenset[str]:
    if isinstance(value, str):
        members: Iterable[object] = value.split(separator)
        return frozenset(text for text in (str(each).strip(" \t") for each in members) if text)
    if not isinstance(value, tuple):
        return frozenset([_as_text(value)])
    return frozenset(_as_text(member) for member in value if member is not None)


def _in_worlds(cell: Any, value: frozenset[str] | None) -> bool:
    if value is None:
        return bool(cell["missing"])
    if cell["base"] is None:
        return False
    base, uncertain = set(cell["base"]), set(cell["uncertain"])
    differing = base ^ value
    return differing <= uncertain and len(differing) <= cell["distance"]


_MOMENT = r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}:[0-9]{2}.*)"


def _printed(text: str) -> str:
    """The text of a cell with its points in time as they are printed: a blank before the time."""
    found = re.fullmatch(_MOMENT, text)
    return text if found is None else " ".join(found.groups())


def _in_one_notation(item: str) -> object:
    """An item as a point or a part in time, if it is one: they are printed with more digits."""
    if re.fullmatch(_MOMENT, item):
        return moment(item)
    if re.fullmatch(r"[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?", item):
        return dt.time.fromisoformat(item)
    return item


def _worlds_of(read: Callable[[str], object]) -> Callable[[Any, Any], bool]:
    """Possible worlds of values that are no text: the text of an item is read as a value."""
    return lambda cell, value: _in_worlds(_read_worlds(cell, read), value)


def _read_worlds(cell: Any, read: Callable[[str], object]) -> Any:
    """A cell with its items read as values."""
    parts = {
        part: None if cell[part] is None else {read(item) for item in cell[part]}
        for part in ("base", "uncertain")
    }
    return {**cell, **parts}


def _in_range(cell: Any, value: Any) -> bool:
    if value is None:
        return bool(cell["missing"])
    if cell["lo"] is None:
        return False
    return bool(number(cell["lo"]) <= value <= number(cell["hi"]))


def _as_type(kind: pa.DataType) -> Callable[[Any], Any]:
    """Read what is text as a value of a type, and leave values as they are."""
    return lambda value: typed(value, kind) if isinstance(value, str) else plain(value)


def _in_ranks(rank: Mapping[Any, int]) -> Callable[[Any, Any], bool]:
    def covers(cell: Any, value: Any) -> bool:
        if value is None:
            return bool(cell["missing"])
        if cell["lo"] is None:
            return False
        return rank[plain(cell["lo"])] <= rank[value] <= rank[plain(cell["hi"])]

    return covers


def _prefixed(cell: str | None, value: str | None) -> bool:
    if value is None:
        return cell is None or len(set(cell)) == 1
    if not cell:
        return cell == value
    mask = cell[-1]
    return cell == value or value.startswith(cell.rstrip(mask))


def _in_set(cell: Any, value: Any) -> bool:
    members = [comparable(member) for member in cell]
    if isinstance(value, Fraction):
        members = [number(member) for member in members]
    if isinstance(value, dt.time):  # published as text
        return any(member and dt.time.fromisoformat(member) == value for member in members)
    return value in members


def _check_unchanged(
    release: Folder, name: str, column: pa.ChunkedArray, edges: Edges, asked: Asked
) -> None:
    """A column that is published as it is has the values of the true originals."""
    expected = [values_of(column)[original] for original in edges.truth]
    found = values_of(release.table.column(name))
    if not asked.from_text:
        require(found == expected, f"an unchanged column of type {column.type} differs")
        return
    kind = release.table.schema.field(name).type
    texts = release.text_of(name)
    for text, before in zip(texts, expected, strict=True):
        shown = unguarded(text) if is_text(kind) else text
        if pa.types.is_timestamp(kind) and shown:
            require(moment(shown) == moment(str(before)), "a point in time differs")
            continue
        same = shown == (before or "") or (not is_text(kind) and shown == str(before).strip())
        require(same, f"a cell of an unchanged {kind} column is not as it was written")


def _check_text(release: Folder) -> None:
    """release.csv has the cells of release.parquet."""
    for described in release.table.schema:
        name, kind, facts = described.name, described.type, release.facts[described.name]
        cells = release.table.column(name)
        form = facts.get("form")
        if form == "worlds":
            _check_worlds_text(release, name)
            continue
        texts = release.text_of(name)
        if form is None:
            guarded = is_text(kind)
            for text, cell in zip(texts, values_of(cells), strict=True):
                shown = unguarded(text) if guarded else text
                if cell is None or shown == "":
                    require(shown in ("", "nan") and cell in (None, ""), "CSV differs from Parquet")
                elif not isinstance(cell, dt.timedelta):
                    require(
                        comparable(typed(shown, kind)) == comparable(cell),
                        f"CSV differs from Parquet in an unchanged {kind} column",
                    )
            continue
        members = kind.field("lo").type if form == "range" else None
        members = kind.value_type if form == "set" else members or kind
        for text, cell in zip(texts, cells.to_pylist(), strict=True):
            shown = unguarded(text) if is_text(members) else text
            require(_read(shown, form, members) == _shown(cell, form), f"the CSV of a {form}")


def _read(text: str, form: str, members: pa.DataType) -> object:
    """What the text of a generalized cell says."""
    found = [
        tuple(None if end is None else comparable(typed(end, members)) for end in member)
        for member in parse_members(text)
    ]
    if form == "node":
        return found[0][0]
    if form == "set":
        require(all(low == high for low, high in found), "a range in a set")
        return [low for low, _ in found]
    missing = (None, None) in found
    ends = [member for member in found if member != (None, None)]
    require(len(ends) <= 1, "several ranges")
    return (*(ends[0] if ends else (None, None)), missing)


def _shown(cell: Any, form: str) -> object:
    """What a typed cell says, in the same form."""
    if form == "node":
        return cell
    if form == "set":
        return [comparable(member) for member in cell]
    return comparable(cell["lo"]), comparable(cell["hi"]), cell["missing"]


def _check_worlds_text(release: Folder, name: str) -> None:
    parts = [release.text_of(f"{name}.{part}") for part in ("base", "uncertain", "distance")]
    cells = release.table.column(name).to_pylist()
    for base, uncertain, distance, cell in zip(*parts, cells, strict=True):
        members = _members(unguarded(uncertain))
        may_miss = None in members
        require(may_miss == bool(cell.get("missing", False)), "the CSV of a set: missing")
        if distance == "":
            require(cell["base"] is None, "the CSV of a set: a base")
            continue
        require(_members(unguarded(base)) == cell["base"], "the CSV of a set: its base")
        rest = [member for member in members if member is not None]
        require(rest == cell["uncertain"], "the CSV of a set: its uncertain items")
        require(int(distance) == cell["distance"], "the CSV of a set: its distance")


def _members(text: str) -> list[str | None]:
    if text == "{}":
        return []
    return [low for low, _ in parse_members(text)]


# ------------------------------------------------------------------------- caps, people, sets


def check_caps(table: pa.Table, edges: Edges, original: pa.Table, asked: Asked) -> None:
    """No sensitive value has a higher share among anybody's matches than its cap."""
    matches = edges.matches()
    for name, cap in asked.caps:
        values = values_of(table.column(name))
        for rows in matches:
            for value, count in Counter(values[row] for row in rows).items():
                require(
                    count <= cap(value) * len(rows) + TINY,
                    f"a sensitive value has the share {count}/{len(rows)}, its cap is {cap(value)}",
                )
    for name, group, cap_of_group in asked.group_caps:
        values = values_of(table.column(name))
        for rows in matches:
            count = sum(values[row] in group for row in rows)
            require(count <= cap_of_group * len(rows) + TINY, "a group exceeds its cap")


def _check_people(edges: Edges, original: pa.Table, asked: Asked) -> None:
    """Of the preimages of a record, at most one in k is one person's."""
    if asked.person is None:
        return
    people = [
        ("row", row) if (person in (None, "") and asked.from_text) or person is None else person
        for row, person in enumerate(values_of(original.column(asked.person)))
    ]
    for originals in edges.preimages:
        most = max(Counter(people[original] for original in originals).values())
        require(most * asked.k <= len(originals), "a person has too many of a record's preimages")


def _check_two_tables(
    folder: Path, release: Folder, edges: Edges, original: pa.Table, asked: Asked
) -> None:
    """Exact quasi-identifiers with groups, and sensitive values by group within their caps."""
    sensitive = pq.ParquetFile(folder / "sensitive.parquet").read()
    group = next(name for name in sensitive.column_names if name not in asked.roles)
    hidden = {name for name, role in asked.roles.items() if role == "sensitive"}
    require(not hidden & set(release.table.column_names), "a sensitive column beside the others")
    groups = release.table.column(group).to_pylist()
    sizes = Counter(groups)
    rows_of = defaultdict(list)
    for row, number_of_group in enumerate(groups):
        rows_of[number_of_group].append(row)
    for row, originals in enumerate(edges.preimages):
        members = {edges.truth[other] for other in rows_of[groups[row]]}
        require(set(originals) == members, "a group is not the record's preimages")
    count = next(
        name for name in sensitive.column_names if name not in asked.roles and name != group
    )
    for name, cap in asked.caps:
        held: Counter[tuple[object, object]] = Counter()
        values = values_of(sensitive.column(name))
        for place, value in enumerate(values):
            key = sensitive.column(group)[place].as_py()
            held[key, value] += sensitive.column(count)[place].as_py()
        for (number_of_group, value), found in held.items():
            require(found <= cap(value) * sizes[number_of_group] + TINY, "a value exceeds its cap")


def _as_nodes(
    sets: Sequence[Any], cells: Sequence[Any], tree: Sequence[Sequence[Any]]
) -> Sequence[Any]:
    """The sets of nodes: of those above an item, the release may name only one."""
    named = {name for cell in cells for part in ("base", "uncertain") for name in cell[part] or ()}
    held = {item for each in sets for item in each or ()}
    node_of: dict[object, object] = {}
    for item, *above in tree:
        found = {node for node in (item, *above) if node in named}
        require(len(found) <= 1 or item not in held, "an item is published as two nodes")
        node_of[item] = found.pop() if found else item
    require(named <= {node_of.get(item, item) for item in held}, "a node that nobody holds")
    return [
        None if each is None else frozenset(node_of.get(item, item) for item in each)
        for each in sets
    ]


def check_sets(
    folder: Path,
    links: Path,
    sets: Sequence[frozenset[str]],
    labels: Sequence[object] | None,
    asked: Asked,
    tree: Sequence[Sequence[str]] = (),
) -> None:
    """Check a release of sets against the sets and labels that it was made from.

    Rows of the ``tree`` lead from an item to the root; every item is the same node everywhere.
    """
    release = Folder.read(folder)
    certificate, rows = release.certificate, release.table.num_rows
    require(certificate["kind"] == "sets", "another kind of release")
    require(certificate["rows"] == rows == len(sets) == len(release.texts) - 1, "other rows")
    edges = Edges.read(links, rows)
    check_certificate(certificate, edges, Asked(roles={}, k=asked.k, unsafe=asked.unsafe))
    check_no_secrets(folder, asked.secrets)
    name = release.table.column_names[0]
    cells = release.table.column(0).to_pylist()
    sets = _as_nodes(sets, cells, tree)
    for cell, originals in zip(cells, edges.preimages, strict=True):
        for original in originals:
            require(_in_worlds(cell, sets[original]), "a preimage is no possible world")
    _check_worlds_text(release, name)
    if labels is not None:
        found = values_of(release.table.column(1))
        expected = [labels[original] for original in edges.truth]
        require(found == expected, "a label is not that of the true record")
        named = [(release.table.column_names[1], cap) for _, cap in asked.caps]
        check_caps(release.table, edges, pa.table({}), Asked(roles={}, caps=named))
