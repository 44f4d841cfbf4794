"""Questions of the calibration mean the same to the reader and to the owner, for every kind."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest

import mottle
from mottle import KAnonymity, Release, Schema
from mottle.encoding.encode import encode
from mottle.evaluation.calibration import (
    _Asked,
    _conditions,
    _kinds_of_codes,
    _Layout,
    _neighbours,
    _rounded,
    _Spread,
    _Sums,
)
from mottle.queries import Queries

ROWS = 240


def column(kind: str) -> tuple[pa.Array, dict[str, object]]:
    """Values of a kind, some missing, and what the schema says about them."""
    random = np.random.default_rng(len(kind))
    codes = random.integers(0, 12, ROWS).tolist()
    gaps = [code == 11 for code in codes]

    def of(make: object, type_: pa.DataType | None = None) -> pa.Array:
        values = [None if gap else make(code) for code, gap in zip(codes, gaps, strict=True)]  # type: ignore[operator]
        return pa.array(values, type_)

    match kind:
        case "number":
            return of(lambda code: code * 7 - 20), {}
        case "float":
            return of(lambda code: code * 1.1e7 - 3.5), {}
        case "decimal":
            return of(lambda code: Decimal(code) / 4, pa.decimal128(8, 2)), {}
        case "date":
            return of(lambda code: dt.date(1990, 1 + code, 3)), {}
        case "category":
            return of(lambda code: "abcdefghijkl"[code]), {}
        case "boolean":
            return of(lambda code: code % 2 == 0), {}
        case "prefix":
            return of(lambda code: f"{10117 + 977 * code}"), {"kinds": {"x": "prefix"}}
        case "items":
            sets = of(lambda code: ["tea", "rum", "milk"][: code % 4], pa.list_(pa.string()))
            return sets, {"kinds": {"x": "set"}}
        case "coarse":
            rule = {"snaps": {"x": 10}, "tops": {"x": 50}, "bottoms": {"x": 0}}
            return of(lambda code: code * 7 - 20), rule
        case _:
            return pa.nulls(ROWS, pa.int32()), {}


KINDS = (
    *("number", "float", "decimal", "date", "category", "boolean", "prefix", "items"),
    *("coarse", "nothing"),
)


def release_of(kind: str) -> tuple[pa.Table, Schema, Release]:
    values, options = column(kind)
    other = pa.array(np.random.default_rng(1).integers(0, 40, ROWS))
    table = pa.table({"x": values, "age": other})
    schema = Schema.of(quasi_identifying=["x", "age"], **options)  # type: ignore[arg-type]
    return table, schema, mottle.anonymize(table, schema, KAnonymity(4), effort=0, seed=1)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_calibrated_and_questions_mean_the_same_to_reader_and_owner(
    kind: str,
) -> None:
    table, schema, release = release_of(kind)
    stated = release.certificate.calibration
    assert stated is not None
    assert len(stated.counts) == len(stated.sums) == len(stated.averages) <= 2
    codes = encode(table, schema.covering(table.column_names), "mixed")
    queries = release.queries()
    place = [domain.name for domain in codes.domains].index("x")
    domain, own = codes.domains[place], codes.matrix[:, place]
    ranges, values = _conditions(domain, own, np.ones(ROWS), 24, np.random.default_rng(5))
    drawn = [*ranges, *values]
    for condition, fits in drawn:
        true = int(fits[own].sum())
        answer = queries.count({"x": condition})
        assert answer.certain <= true <= answer.possible
        low, high = answer.interval(0.9999)
        if kind != "items" and answer.error == 0.0:
            assert low == high == pytest.approx(true)
    exact = Queries.of(table)
    if kind not in ("coarse", "items", "boolean", "nothing"):
        for condition, fits in drawn:
            assert exact.count({"x": condition}).expected == int(fits[own].sum())


def test_numbers_that_cannot_be_added_up_do_no_harm() -> None:
    table = pa.table(
        {
            "x": np.random.default_rng(1).choice([1e149, -1e149, 3.0, 5e-324], ROWS),
            "age": np.random.default_rng(2).integers(0, 40, ROWS),
        }
    )
    schema = Schema.of(quasi_identifying=["x", "age"])
    release = mottle.anonymize(table, schema, KAnonymity(4), effort=0, seed=1)
    assert release.certificate.calibration is not None


def test_runs_of_values_cover_shares_of_all_sizes() -> None:
    table = pa.table({"age": np.arange(ROWS) % 40})
    schema = Schema.of(quasi_identifying=["age"]).covering(["age"])
    codes = encode(table, schema, "mixed")
    (domain,), own = codes.domains, codes.matrix[:, 0]
    ranges, values = _conditions(domain, own, np.ones(ROWS), 60, np.random.default_rng(5))
    shares = [float(fits.mean()) for _, fits in ranges]
    assert shares == sorted(shares)
    assert shares[0] <= 0.05
    assert shares[-1] >= 0.95
    assert np.diff(shares).max() <= 0.075
    assert {int(fits.sum()) for _, fits in values} == {1}


def test_factors_rest_on_answers_about_neighbouring_numbers_of_columns() -> None:
    used = [list(range(6))[part] for part in _neighbours(6)]
    assert used == [[0], [1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5], [4, 5]]


def test_columns_that_depend_on_each_other_inside_cells_have_the_largest_factor() -> None:
    random = np.random.default_rng(3)
    rows = 2000
    first = random.integers(0, 20, rows)
    table = pa.table(
        {
            "a": first,
            "b": (first + random.integers(0, 2, rows)) % 20,  # nearly what a says
            "c": random.integers(0, 20, rows),
            "d": random.integers(0, 20, rows),
        }
    )
    schema = Schema.of(quasi_identifying=["a", "b", "c", "d"])
    release = mottle.anonymize(table, schema, KAnonymity(10), method="mondrian", seed=1)
    stated = release.certificate.calibration
    assert stated is not None
    factors = {
        (one, other): factor
        for one, named in stated.pair_factors.items()
        for other, factor in named.items()
    }
    assert set(factors) == set(combinations("abcd", 2))
    assert max(factors, key=factors.__getitem__) == ("a", "b")


def test_rounded_factors_are_not_below_what_was_measured() -> None:
    for number in (0.0004264, 1.0004, 3.14159, 9.996, 99.51, 0.0, 12345.6):
        assert number <= _rounded(number) <= number * 1.011


def test_codes_that_the_same_conditions_take_are_of_one_kind() -> None:
    asked = [
        _Asked(np.zeros(1), np.array(codes, np.bool_), stated=False)
        for codes in ([1, 1, 0, 0], [0, 1, 0, 0])
    ]
    kind_of, kinds = _kinds_of_codes(asked)
    assert len(kinds) == 3
    assert kinds[kind_of].tolist() == [[1, 0], [1, 1], [0, 0], [0, 0]]


def test_sums_over_originals_by_bits_are_those_one_by_one() -> None:
    random = np.random.default_rng(3)
    codes = random.integers(0, 40, 3000)
    weights = random.integers(1, 6, 3000) / 10
    numbers = np.append(random.normal(50, 20, 39), np.nan)[codes]
    known = np.isfinite(numbers)
    for order in (codes, np.zeros_like(codes)):  # most bytes hold one number, and nearly none does
        layout = _Layout.of(weights, order)
        sums = _Sums.of(layout, numbers)
        fits = random.random(3000) < 0.3
        bits = np.packbits(layout.spread(fits, False))
        weight, total = sums.among(bits)
        assert weight == pytest.approx(weights[fits & known].sum(), rel=1e-12)
        assert total == pytest.approx((weights * numbers)[fits & known].sum(), rel=1e-12)
        everything = sums.among(layout.present)
        assert everything[0] == pytest.approx(weights[known].sum(), rel=1e-12)


@pytest.mark.parametrize("typical", [0.0, 40.0, 2e5])
def test_errors_of_sums_and_averages_are_those_added_up_record_by_record(typical: float) -> None:
    random = np.random.default_rng(5)
    likely = np.where(random.random(2000) < 0.2, 1.0, random.random(2000))
    known = np.where(random.random(2000) < 0.7, 1.0, random.random(2000))
    mean = random.normal(typical, 5, 2000)
    first, second = known * mean, known * (mean**2 + random.random(2000))
    records, total, error, of_mean = _Spread.of(first, second, known).errors(likely)
    assert records == pytest.approx((likely * known).sum())
    assert total == pytest.approx((likely * first).sum())
    variance = likely * second - (likely * first) ** 2
    assert error == pytest.approx(np.sqrt(variance.sum()))
    average = total / records
    off = likely * (second - 2 * average * first + average**2 * known)
    off -= (likely * (first - average * known)) ** 2
    assert of_mean == pytest.approx(np.sqrt(off.sum()) / records, rel=1e-6)
