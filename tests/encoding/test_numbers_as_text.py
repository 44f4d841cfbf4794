"""Numbers that stayed text are not made categories without a word."""

from __future__ import annotations

import logging
from pathlib import Path

import pyarrow as pa
import pytest

from mottle import KAnonymity, Schema, anonymize
from mottle.encoding.numbers_as_text import are_numbers_as_text
from mottle.pipeline import streaming

CELLS = ["1.0", "2.5", "3", "4.25"] * 10


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (CELLS, True),
        (["1,5", "2,50", None], True),
        (["1", "2"], False),
        (["1.5", "a"], False),
        (["01.5", "2"], False),
        (["250.1", "V57"], False),
        ([None], False),
    ],
)
def test_numbers_are_told_from_codes(cells: list[str | None], numbers: bool) -> None:
    assert are_numbers_as_text(pa.array(cells, pa.string())) is numbers


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("kind", "warned"), [({}, 1), ({"dose": "number"}, 0), ({"dose": "category"}, 0)]
)
def test_undeclared_numbers_are_warned_about(
    kind: dict[str, str],
    warned: int,
    streamed: bool,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("dose,x\n" + "".join(f"{cell},1\n" for cell in CELLS), encoding="utf-8")
    schema = Schema.of(quasi_identifying=["dose"], rest="insensitive", kinds=kind)
    with caplog.at_level(logging.WARNING):
        if streamed:
            streaming.anonymize(path, schema, KAnonymity(2), tmp_path / "out", seed=1)
        else:
            anonymize(path, schema, KAnonymity(2), seed=1, method="nh")
    messages = [text for text in caplog.messages if "'dose'" in text and "categories" in text]
    assert len(messages) == warned
    assert "4.25" not in " ".join(messages)
