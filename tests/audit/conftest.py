"""What the tests of adversaries share: releases built from graphs, and sound ones to break."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import mottle
from mottle import KAnonymity, KnownRecords, LDiversity, Release, Role, Schema, anonymize
from mottle.encoding.domain import Form
from mottle.graph.model import Graph
from mottle.release.cell_text import published_type
from mottle.release.certificate import Certificate
from mottle.release.column import PublishedColumn
from mottle.release.links import Links
from mottle.schema.model import Kind

PEOPLE_SCHEMA = Schema.of(
    quasi_identifying=["age", "sex", "origin"], sensitive=["diagnosis"], rest="insensitive"
)


@pytest.fixture(scope="session")
def crowd() -> pa.Table:
    """People with quasi-identifiers and a sensitive value no more frequent than 1/4."""
    people = mottle.datasets.population(600, seed=5).select(["age", "sex", "origin", "income"])
    illnesses = [f"illness {number}" for number in range(8)]
    drawn = np.random.default_rng(1).integers(0, 8, people.num_rows)
    return people.append_column("diagnosis", pa.array([illnesses[number] for number in drawn]))


@pytest.fixture(scope="session")
def sound(crowd: pa.Table) -> Release:
    """k-anonymous by overlapping ranges, with its links."""
    return anonymize(crowd, PEOPLE_SCHEMA, KAnonymity(5), method="nh", seed=2)


@pytest.fixture(scope="session")
def diverse(crowd: pa.Table) -> Release:
    """ℓ-diverse in homogeneous groups, with its links."""
    return anonymize(crowd, PEOPLE_SCHEMA, LDiversity(3), method="mondrian", seed=2)


@pytest.fixture(scope="session")
def guarded(crowd: pa.Table) -> Release:
    """ℓ-diverse by permuted buckets, with its links."""
    guarantee = LDiversity(3) & KnownRecords(15)
    return anonymize(crowd, PEOPLE_SCHEMA, guarantee, method="buckets", effort=0, seed=2)


def _population(rows: int) -> pa.Table:
    """People in no particular order, eight illnesses independent of everything else."""
    people = mottle.datasets.population(rows, seed=5).select(["age", "sex", "origin", "income"])
    drawn = np.random.default_rng(1).integers(0, 8, rows)
    return people.append_column("diagnosis", pa.array([f"illness {each}" for each in drawn]))


@pytest.fixture(scope="session", params=[1500, 8000])
def bucketed(request: pytest.FixtureRequest) -> tuple[pa.Table, Release]:
    """A table and its release at ℓ = 3 by permuted buckets, small and large."""
    table = _population(request.param)
    release = anonymize(table, PEOPLE_SCHEMA, LDiversity(3), method="buckets", effort=0, seed=2)
    return table, release


@pytest.fixture(scope="session", params=[1500, 8000])
def rotated(request: pytest.FixtureRequest) -> tuple[pa.Table, Release]:
    """A table and its release at ℓ = 3 by rotated rings, small and large."""
    table = _population(request.param)
    return table, anonymize(table, PEOPLE_SCHEMA, LDiversity(3), method="nh", seed=2)


@pytest.fixture(scope="session")
def with_rows() -> Callable[[Release, np.ndarray], Release]:
    """The release with its rows in another order; row r becomes the one that was ``order[r]``."""

    def reordered(release: Release, order: np.ndarray) -> Release:
        links = release.links
        assert links is not None
        again = Links(links.graph, links.position_of_row[order], links.truth)
        return replace(release, stored=release.table.take(pa.array(order)), links=again)

    return reordered


@pytest.fixture(scope="session")
def of_graph() -> Callable[..., tuple[pa.Table, Release]]:
    """A table and its release with any given matches: [original, published] true or false."""
    return _of_graph


def _of_graph(
    matches: np.ndarray, certificate: Certificate | None = None
) -> tuple[pa.Table, Release]:
    names = [f"p{person:03}" for person in range(len(matches))]
    cells = [[names[person] for person in np.flatnonzero(column)] for column in matches.T]
    column = PublishedColumn("who", Role.QUASI_IDENTIFYING, Kind.CATEGORY, Form.SET, pa.string())
    array = pa.array(cells, published_type(Form.SET, pa.string()))
    released = pa.table([array], schema=pa.schema([column.field()]))
    return pa.table({"who": names}), Release(released, (column,), certificate)


@pytest.fixture(scope="session")
def outside() -> Callable[[Release], Release]:
    """The release as others see it: without links."""
    return lambda release: replace(release, links=None)


@pytest.fixture(scope="session")
def with_cells() -> Callable[[Release, str, list], Release]:
    """The release with other cells in one column."""

    def changed(release: Release, name: str, cells: list) -> Release:
        field = release.table.schema.field(name)
        place = release.table.schema.get_field_index(name)
        table = release.table.set_column(place, field, pa.array(cells, field.type))
        return replace(release, stored=table)

    return changed


@pytest.fixture(scope="session")
def with_draw(crowd: pa.Table) -> Callable[..., Release]:
    """The release published again with another assignment on the same graph.

    ``draw`` gives the place of the true original by record position; ``in_order`` leaves the rows
    in the order of the records instead of a random one; ``original`` is the table.
    """

    def drawn(
        release: Release,
        draw: Callable[[Graph], np.ndarray],
        in_order: bool = False,
        original: pa.Table = crowd,
    ) -> Release:
        assert release.links is not None
        links = release.links
        truth = draw(links.graph).astype(np.int32)
        positions = np.arange(len(truth)) if in_order else links.position_of_row
        again = Links(links.graph, positions, truth)
        rows = pa.array(np.argsort(links.position_of_row)[positions])
        columns = {}
        for column in release.columns:
            source = release.table if column.form is not None else original
            taken = rows if column.form is not None else pa.array(again.original_of_row)
            columns[column.name] = source.column(column.name).take(taken)
        table = pa.table(list(columns.values()), schema=release.table.schema)
        return replace(release, stored=table, links=again)

    return drawn
