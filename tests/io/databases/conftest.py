"""The three databases, for tests that have to hold for each."""

from __future__ import annotations

from pathlib import Path

import pytest

SYSTEMS = ("postgresql", "sqlite", "duckdb")


@pytest.fixture(params=SYSTEMS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each kind."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgresql")
    return f"{request.param}:///{tmp_path}/store.{request.param}"
