"""What does not fit into memory is refused before it is read."""

from __future__ import annotations

import pytest

from mottle.errors import DataError
from mottle.utils.untrusted.memory import available_memory, check_fits


def test_more_than_the_machine_has_is_refused() -> None:
    assert 2**20 < available_memory() < 2**60
    check_fits(1, "file")
    with pytest.raises(DataError, match=r"file takes .* or more in memory"):
        check_fits(2**60, "file")
