"""The part of the link file that a further release of the same people needs.

The file's metadata then hold, besides blocks and centres, the position of every released row in the
graph, the rows that the release describes and the people who were published (`History`). From these
the graph and the true assignment can be restored.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from mottle.errors import DataError
from mottle.graph.model import Graph
from mottle.io.link_file import HISTORY, LinkFile, pack, unpack
from mottle.release.history import History
from mottle.release.links import Links

__all__ = ["history_metadata", "read_history", "read_links"]

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
        facts = json.loads(content[HISTORY])
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
    except (KeyError, ValueError, TypeError, pa.ArrowException):
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
    positions = unpack(file.metadata.get(_POSITIONS))
    rows = len(history.people)
    if positions is None or not len(positions) == len(file.blocks) == len(file.centres) == rows:
        raise file.not_a_link_file()
    edges = pa.Table.from_batches(list(file.batches()))
    published, original = (edges.column(name).to_numpy() for name in ("published", "original"))
    is_true = edges.column("true").to_numpy()
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
    graph = Graph.explicit(members, starts, degrees[starts[:-1]].astype(np.int32), sources)
    truth = np.empty(rows, np.int32)
    truth[positions[published[is_true]]] = place_of[original[is_true]]
    graph.check_regular(1)
    history = replace(history, source=path)
    return Links(graph, positions.astype(np.int64), truth, file.fingerprint, history)


def _stored(table: pa.Table) -> bytes:
    """A table as text for the metadata."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return b64encode(sink.getvalue().to_pybytes())


def _restored(content: bytes) -> pa.Table:
    return pa.ipc.open_stream(b64decode(content, validate=True)).read_all()


def _hashes(table: pa.Table) -> np.ndarray:
    return np.array(table.column("person").to_pylist(), "S32")
