"""Numbers of values by the footer of a Parquet file, as pyarrow counts them; damage is an error."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mottle.utils.untrusted.parquet_footer import column_values

TABLE = pa.table(
    {
        "list": [[1, 2, 3], [], None, [4]],
        "struct": [{"x": 1, "y": ["a", "b"]}] * 4,
        "map": pa.array([[("k", 1)], [("l", 2), ("m", 3)]] * 2, pa.map_(pa.string(), pa.int64())),
        "text": ["a", "b", None, "c"],
        "flag": [True, False, None, True],
    }
)


def test_every_item_of_a_list_is_a_value(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "a.parquet", row_group_size=3, write_page_index=True)
    metadata = pq.read_metadata(tmp_path / "a.parquet")
    groups = [metadata.row_group(place) for place in range(metadata.num_row_groups)]
    assert list(column_values(tmp_path / "a.parquet")) == [
        [group.column(place).num_values for place in range(group.num_columns)] for group in groups
    ]


def test_damaged_footers_are_errors_of_values(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(TABLE, path)
    content, chance, refused = path.read_bytes(), random.Random(1), 0
    for _ in range(500):
        damaged = bytearray(content)
        for _ in range(chance.choice([1, 4, 30])):
            damaged[chance.randrange(len(content) - 800, len(content))] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        try:
            assert all(count >= 0 for counts in column_values(path) for count in counts)
        except ValueError:
            refused += 1
    assert refused > 50
    path.write_bytes(b"PAR1")
    with pytest.raises(ValueError, match="footer"):
        list(column_values(path))
