"""The part of the link file that a further release of the same people needs.

The file's metadata then hold, besides blocks and centres, the position of every released row in the
graph, the rows that the release describes and the people who were published (`History`). From these
the graph and the true assignment can be restored.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mottle.errors import DataError, PrivacyError
from mottle.graph.model import Graph, is_order
from mottle.io.link_file import HISTORY, LinkFile, pack, unpack
from mottle.release.history import History
from mottle.release.links import Links
from mottle.typing import Int32Array
from mottle.utils.untrusted.arrow import validated
from mottle.utils.untrusted.text import parse_json

__all__ = ["history_metadata", "links_of_file", "read_history", "read_links"]

_ROWS, _PEOPLE, _WITHHELD, _POSITIONS = (
    HISTORY + ending for ending in (b".rows", b".people", b".withheld", b".positions")
)


def history_metadata(links: Links, files: Mapping[str, str] | None = None) -> dict[bytes, bytes]:
    """Return the metadata of the link file about the history; empty if there is none.

    Parameters
    ----------
    links : Links
        The owner's links.
    files : mapping of str to str, optional
        Checksums of the files of the release, by which a further one knows what it may replace.

    Returns
    -------
    dict of bytes to bytes
        Entries of the file's metadata.
    """
    history = links.history
    if history is None:
        return {}
    facts = {
        "same": history.same,
        "key": history.key.hex(),
        "made": dict(history.made),
        "seeded": history.seeded,
        "known_records": history.known_records,
        "files": dict(files or {}),
    }
    people = pa.table(
        {
            "person": pa.array(history.people.tolist(), pa.binary()),
            "cohort": history.cohort,
            "presence": history.presence,
            "seal": history.seals,
        }
    )
    withheld = pa.table({"person": pa.array(history.withheld.tolist(), pa.binary())})
    return {
        HISTORY: json.dumps(facts).encode(),
        _ROWS: _stored(history.rows),
        _PEOPLE: _stored(people),
        _WITHHELD: _stored(withheld),
        _POSITIONS: pack(links.position_of_row),
    }


def read_history(file: LinkFile) -> History | None:
    """Read what a link file says about releases over time.

    Parameters
    ----------
    file : LinkFile
        The file.

    Returns
    -------
    History or None
        None if the release was made without ``--same``.

    Raises
    ------
    DataError
        The file is damaged.
    """
    content = file.metadata
    if HISTORY not in content:
        return None
    try:
        facts = _checked_facts(parse_json(content[HISTORY]))
        people, rows = _restored(content[_PEOPLE]), _restored(content[_ROWS])
        return History(
            same=facts["same"],
            key=bytes.fromhex(facts["key"]),
            rows=rows,
            people=_hashes(people),
            cohort=people.column("cohort").to_numpy().astype(np.int32),
            presence=people.column("presence").to_numpy().astype(np.uint8),
            seals=people.column("seal").to_numpy().astype(np.uint64),
            withheld=_hashes(_restored(content[_WITHHELD])),
            made=facts["made"],
            seeded=facts["seeded"],
            known_records=facts["known_records"],
            files=facts["files"],
        )
    except (KeyError, ValueError, TypeError, AttributeError, OSError, pa.ArrowException, DataError):
        raise file.not_a_link_file() from None


def read_links(path: Path) -> Links:
    """Restore the graph and the true assignment of a release over time.

    Parameters
    ----------
    path : Path
        A link file.

    Returns
    -------
    Links
        As they were when the file was written, with their history; rings have explicit edges.

    Raises
    ------
    StorageError
        There is no such file.
    DataError
        The file is not a link file, or was written without ``--same``.
    """
    file = LinkFile(path)
    history = read_history(file)
    if history is None or file.blocks is None or file.centres is None:
        raise DataError(
            f"{path} does not say who is who, so that no further release can continue it.",
            "Name the identifying column with --same COLUMN in the run of the first release.",
        )
    try:
        positions = unpack(file.metadata.get(_POSITIONS))
    except (ValueError, zlib.error):
        raise file.not_a_link_file() from None
    if positions is None or len(history.people) != len(positions):
        raise file.not_a_link_file()
    return replace(_restored_links(file, positions), history=replace(history, source=path))


def links_of_file(path: Path) -> Links:
    """Restore the graph and the true assignment of any release from its link file.

    Parameters
    ----------
    path : Path
        A link file.

    Returns
    -------
    Links
        Every edge and which are true, without history. Blocks are in the order of their numbers,
        and their records in that of the release; rings have explicit edges.

    Raises
    ------
    StorageError
        There is no such file.
    DataError
        The file is not a link file, or an old version wrote it without blocks.
    """
    file = LinkFile(path)
    if file.blocks is None or file.centres is None:
        raise DataError(
            f"{path} was written by an old version and does not hold the blocks of the graph.",
            "Make the release again.",
        )
    positions = np.empty(len(file.blocks), np.int32)
    positions[np.argsort(file.blocks, kind="stable")] = np.arange(len(file.blocks))
    return _restored_links(file, positions)


def _restored_links(file: LinkFile, positions: Int32Array) -> Links:
    """The links of a file whose released rows have these positions in the graph."""
    assert file.blocks is not None
    assert file.centres is not None
    rows = len(positions)
    if not len(file.blocks) == len(file.centres) == rows:
        raise file.not_a_link_file()
    edges = pa.Table.from_batches(list(file.batches()), file.SCHEMA)
    published, original = (edges.column(name).to_numpy() for name in ("published", "original"))
    is_true = edges.column("true").to_numpy()
    if not (
        is_order(positions)
        and is_order(file.centres)
        and is_order(original[is_true])
        and np.array_equal(published[is_true], np.arange(rows))
        and np.all(np.diff(published) >= 0)
        and min(published.min(initial=0), original.min(initial=0)) >= 0
        and max(published.max(initial=-1), original.max(initial=-1)) < rows
    ):
        raise file.not_a_link_file()
    degree_of_row = np.bincount(published, minlength=rows)
    row_at = np.empty(rows, np.int64)
    row_at[positions] = np.arange(rows)
    members = file.centres[row_at]
    place_of = np.empty(rows, np.int64)
    place_of[members] = np.arange(rows)
    blocks = file.blocks[row_at]
    starts = np.concatenate([[0], np.flatnonzero(np.diff(blocks)) + 1, [rows]])
    first_edge = np.concatenate([[0], np.cumsum(degree_of_row)])
    start_of = np.repeat(starts[:-1], np.diff(starts))  # of the block of every position
    degrees = degree_of_row[row_at]
    skipped = first_edge[row_at] - np.cumsum(degrees) + degrees
    by_position = np.arange(len(original)) + np.repeat(skipped, degrees)
    sources = place_of[original[by_position]] - np.repeat(start_of, degrees)
    sizes = np.repeat(np.diff(starts), np.diff(starts))  # of the block of every position
    of_block = np.repeat(sizes, degrees)
    if np.any(sources < 0) or np.any(sources >= of_block):
        raise file.not_a_link_file()
    if not np.array_equal(degrees, np.repeat(degrees[starts[:-1]], np.diff(starts))):
        raise file.not_a_link_file()
    graph = Graph.explicit(members, starts, degrees[starts[:-1]].astype(np.int32), sources)
    truth = np.empty(rows, np.int32)
    truth[positions[published[is_true]]] = place_of[original[is_true]]
    try:
        graph.check_regular(1)
    except PrivacyError:
        raise file.not_a_link_file() from None
    return Links(graph, positions.astype(np.int64), truth, file.fingerprint)


def _checked_facts(facts: object) -> Mapping[str, Any]:
    """The facts in the metadata; raises TypeError if they have other types."""
    if not isinstance(facts, dict):
        raise TypeError("not a history")
    texts, mappings = (facts["same"], facts["key"]), (facts["made"], facts["files"])
    numbers = (facts["seeded"], facts["known_records"])
    if not (
        all(isinstance(text, str) for text in texts)
        and all(isinstance(mapping, dict) for mapping in mappings)
        and all(number is None or isinstance(number, bool | int) for number in numbers)
    ):
        raise TypeError("not a history")
    return facts


def _stored(table: pa.Table) -> bytes:
    """A table as text for the metadata."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return b64encode(sink.getvalue().to_pybytes())


def _restored(content: bytes) -> pa.Table:
    return validated(pa.ipc.open_stream(b64decode(content, validate=True)).read_all(), "history")


def _hashes(table: pa.Table) -> np.ndarray:
    return np.array(table.column("person").to_pylist(), "S32")
