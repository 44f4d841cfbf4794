"""Ordered columns whose values are no text."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from mottle import KAnonymity, Schema, anonymize
from mottle.report.render import report_html


@pytest.mark.parametrize(
    "values",
    [
        pa.array([Decimal("2.27"), Decimal("9.99")] * 3, pa.decimal128(5, 2)),
        pa.array([2.5, 9.75] * 3),
        pa.array([3, 7] * 3),
    ],
    ids=["decimals", "floats", "integers"],
)
def test_report_shows_an_order_of_numbers(values: pa.Array) -> None:
    order = sorted({str(value) for value in values.to_pylist()}, reverse=True)
    schema = Schema.of(quasi_identifying=["grade"], orders={"grade": order})
    release = anonymize(pa.table({"grade": values}), schema, KAnonymity(2), seed=1)
    assert order[0] in report_html(release, release.certificate, None)
