"""Ways to damage a file, or to write into it what nobody should believe."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

STRANGE: list[Any] = [
    None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, 10**400, 1.5, -0.5, 1e308, float("nan"),
    float("inf"), "", " ", "x", "*", "../../home/victim.txt", "/etc/passwd", "\x00", "\ud7ff",
    "a" * 100_000, [], {},
    [[]], {"": {}}, [None], ["a", "a"], {"lo": 1}, "quasi-identifying", "range", "set",
]  # fmt: skip


def flip(content: bytes, chance: Random) -> bytes:
    """Change a few bits."""
    changed = bytearray(content or b"\0")
    for _ in range(chance.choice([1, 1, 2, 8, 40])):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def truncate(content: bytes, chance: Random) -> bytes:
    """Cut the end off."""
    return content[: chance.randrange(len(content) + 1)]


def insert(content: bytes, chance: Random) -> bytes:
    """Put bytes between others."""
    place = chance.randrange(len(content) + 1)
    piece = chance.choice(
        [b"\0" * 9, b"\xff\xfe", b"\n", b'"', b"[" * 5000, b"9" * 500, b"\xe2\x80\xae"]
    )
    return content[:place] + piece + content[place:]


def repeat(content: bytes, chance: Random) -> bytes:
    """Repeat a piece."""
    first, last = sorted(chance.randrange(len(content) + 1) for _ in range(2))
    return content[:last] + content[first:]


def overwrite(content: bytes, chance: Random) -> bytes:
    """Replace a piece by noise."""
    first = chance.randrange(len(content) + 1)
    noise = chance.randbytes(chance.choice([1, 4, 16]))
    return content[:first] + noise + content[first + len(noise) :]


def noise(content: bytes, chance: Random) -> bytes:
    """Something else altogether."""
    brackets = b"[" * 10**5
    return chance.choice(
        [b"", b"\0", b"PAR1PAR1", b"ARROW1\0\0", b"{}", b"[]", b"null", b"\x1f\x8b\x08\0",
         b"SQLite format 3\0", chance.randbytes(500), b"a" * 10**6, brackets, b"a = " + brackets]
    )  # fmt: skip


BYTES: dict[str, Callable[[bytes, Random], bytes]] = {
    "flipped bits": flip,
    "truncated": truncate,
    "inserted bytes": insert,
    "repeated bytes": repeat,
    "overwritten bytes": overwrite,
    "other content": noise,
}


def change_bytes(path: Path, how: str, chance: Random) -> None:
    """Change the content of a file."""
    path.write_bytes(BYTES[how](path.read_bytes(), chance))


def change_place(path: Path, chance: Random) -> str:
    """Put something else in the place of a file; returns what."""
    how = chance.choice(
        ["nothing", "folder", "link to a file", "dangling link", "link to itself", "pipe"]
    )
    path.unlink()
    match how:
        case "folder":
            path.mkdir()
        case "link to a file":
            path.symlink_to(path.parent.parent / "home" / "victim.txt")
        case "dangling link":
            path.symlink_to(path.parent.parent / "home" / "nothing")
        case "link to itself":
            path.symlink_to(path)
        case "pipe":
            os.mkfifo(path)
    return how


# -------------------------------------------------------------------------------- structures


def strange_json(content: Any, chance: Random) -> Any:
    """Replace, remove, repeat or wrap one node of a structure."""
    nodes = list(_nodes(content, ()))
    path = chance.choice(nodes)
    return _replaced(content, path, chance)


def _nodes(content: Any, path: tuple[Any, ...]) -> Any:
    yield path
    if len(path) > 30:
        return
    if isinstance(content, dict):
        for key, value in content.items():
            yield from _nodes(value, (*path, key))
    elif isinstance(content, list):
        for place, value in enumerate(content):
            yield from _nodes(value, (*path, place))


def _replaced(content: Any, path: tuple[Any, ...], chance: Random) -> Any:
    if not path:
        how = chance.random()
        if how < 0.15:
            deep: Any = content
            for _ in range(chance.choice([3, 60, 3000])):
                deep = [deep]
            return deep
        if how < 0.3 and isinstance(content, list):
            return content * 2
        return chance.choice(STRANGE)
    first, *rest = path
    copy = dict(content) if isinstance(content, dict) else list(content)
    if not rest and chance.random() < 0.25:
        del copy[first]
        return copy
    copy[first] = _replaced(copy[first], tuple(rest), chance)
    return copy


def json_text(content: Any) -> str:
    """JSON without the limits of Python's writer: deep structures and huge numbers."""
    pieces: list[str] = []
    stack: list[Any] = [("value", content)]
    while stack:
        kind, value = stack.pop()
        if kind == "text":
            pieces.append(value)
        elif isinstance(value, dict):
            stack.append(("text", "}"))
            for place, (key, member) in enumerate(reversed(value.items())):
                stack.append(("value", member))
                comma = "" if place == len(value) - 1 else ","
                stack.append(("text", f"{comma}{json.dumps(key)}:"))
            stack.append(("text", "{"))
        elif isinstance(value, list):
            stack.append(("text", "]"))
            for place, member in enumerate(reversed(value)):
                stack.append(("value", member))
                stack.append(("text", "" if place == len(value) - 1 else ","))
            stack.append(("text", "["))
        elif isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**300:
            pieces.append("9" * 5000)
        else:
            pieces.append(json.dumps(value))
    return "".join(pieces)


def change_json(path: Path, chance: Random) -> None:
    """Change nodes of a JSON file."""
    content = json.loads(path.read_text("utf-8"))
    for _ in range(chance.choice([1, 1, 3])):
        content = strange_json(content, chance)
    path.write_text(json_text(content), "utf-8", errors="replace")


def change_metadata(path: Path, chance: Random) -> None:
    """Change what the metadata of a Parquet file's columns, or of the file, say."""
    table = pq.ParquetFile(path).read()
    place = chance.randrange(table.num_columns)
    field = table.schema.field(place)
    facts = json.loads((field.metadata or {}).get(b"mottle", b"{}"))
    facts = strange_json(facts, chance)
    changed = field.with_metadata({b"mottle": json_text(facts).encode("utf-8", "replace")})
    own = dict(table.schema.metadata or {})
    if own and chance.random() < 0.5:
        key = chance.choice(sorted(own))
        own[key] = BYTES[chance.choice(list(BYTES))](own[key], chance)
    schema = table.schema.set(place, changed).with_metadata(own)
    _write(pa.Table.from_arrays(table.columns, schema=schema), path)


def change_cells(path: Path, chance: Random) -> None:
    """Change cells, types, names, columns or rows of a Parquet file, and keep its metadata."""
    table = pq.ParquetFile(path).read()
    place = chance.randrange(table.num_columns)
    field = table.schema.field(place)
    match chance.choice(["cells", "cells", "cells", "type", "name", "column", "rows", "null"]):
        case "cells":
            cells = table.column(place).to_pylist()
            for _ in range(chance.choice([1, 1, 5])):
                if cells:
                    row = chance.randrange(len(cells))
                    cells[row] = _strange_cell(cells[row], chance)
            try:
                table = table.set_column(place, field, pa.array(cells, field.type))
            except (pa.ArrowException, OverflowError, TypeError, ValueError):
                table = table.set_column(place, field, pa.nulls(table.num_rows, field.type))
        case "type":
            kinds = [pa.string(), pa.int64(), pa.list_(pa.string()), pa.float64(), pa.null()]
            kind = chance.choice(kinds)
            table = table.set_column(place, field.with_type(kind), pa.nulls(table.num_rows, kind))
        case "name":
            names = table.column_names
            names[place] = chance.choice(["", "x", *names, "a\x00b"])
            table = table.rename_columns(names)
        case "column":
            table = (
                table.remove_column(place)
                if chance.random() < 0.5
                else table.append_column(field, table.column(place))
            )
        case "rows":
            table = chance.choice(
                [table.slice(0, 0), table.slice(1), pa.concat_tables([table] * 2)]
            )
        case "null":
            table = table.set_column(place, field, pa.nulls(table.num_rows, field.type))
    _write(table, path)


def _strange_cell(cell: Any, chance: Random) -> Any:
    if isinstance(cell, dict):
        key = chance.choice(sorted(cell))
        if chance.random() < 0.3 and "lo" in cell:
            return {**cell, "lo": cell["hi"], "hi": cell["lo"]}
        return {**cell, key: _strange_cell(cell[key], chance)}
    if isinstance(cell, list):
        return chance.choice([[], [None], cell * 2, cell[1:], None, [*cell, None]])
    if isinstance(cell, bool):
        return not cell
    if isinstance(cell, int | float):
        return chance.choice([None, -cell, cell + 1, 2**31 - 1, -(2**31), 0])
    return chance.choice([None, "", "*", "nobody", "\u202e", "a" * 10_000])


def change_text(path: Path, chance: Random) -> None:
    """Change words and lines of a text file: CSV, TOML, hierarchies."""
    text = path.read_text("utf-8")
    for _ in range(chance.choice([1, 2, 6])):
        words = list(re.finditer(r'[^\s,;"=|{}\[\]]+|[,;"=|{}\[\]]', text))
        if not words:
            break
        word = chance.choice(words)
        new = chance.choice(
            ["", ",", ";", '"', "{", "}", "|", "..", "\\", "\\e", "{|}", "nan", "1e999", "9" * 400,
             "=", "[", "]", "\n", "''",
             "-0", "*", "\ufeff", "true", "[columns.x]", word.group() * 2]
        )  # fmt: skip
        text = text[: word.start()] + new + text[word.end() :]
    path.write_text(text, "utf-8", newline="")


def _write(table: pa.Table, path: Path) -> None:
    pq.write_table(table, path)


def reseal(folder: Path) -> None:
    """State the checksums and rows of changed files on the certificate."""
    path = folder / "certificate.json"
    content = json.loads(path.read_text("utf-8"))
    for name in content["sha256"]:
        if (folder / name).is_file():
            content["sha256"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    path.write_text(json.dumps(content), "utf-8")
