"""Every test of this folder that takes ``database`` runs over all databases that mottle has."""

from __future__ import annotations

from pathlib import Path

import pytest
from live_database import NOT_RUN_HERE, LiveDatabase, make_live

from mottle.io.databases.base import DATABASES


@pytest.fixture(params=[name for name in DATABASES if name not in NOT_RUN_HERE])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> LiveDatabase:
    """An empty database of each system; ``indirect`` chooses some of them."""
    folder = tmp_path / "database"
    folder.mkdir()
    return make_live(
        request.param,
        folder,
        lambda: request.getfixturevalue("postgresql"),
        lambda: request.getfixturevalue("mariadb"),
    )


@pytest.fixture
def url(database: LiveDatabase) -> str:
    """The address of the database."""
    return database.url
