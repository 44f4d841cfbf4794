"""Columns whose values are made coarser first: steps, breaks, open ends, units of time."""

from __future__ import annotations

import datetime as dt
import math
import re
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from small_releases import check_readable
from typer.testing import CliRunner

import mottle
from mottle import Form, KAnonymity, Kind, Release, Schema, SchemaError, UsageError
from mottle.audit.containment.coarsened import lower_ends
from mottle.cli.app import app
from mottle.encoding.encode import encode
from mottle.kinds.coarsening import CALENDAR, Coarsening
from mottle.release.cell_text import from_text, to_text
from mottle.report.reproduce import schema_of
from mottle.schema.model import Column, Representation

DAY = dt.date(1970, 1, 1)
TYPES = {
    "small": (pa.int8(), st.integers(-128, 127)),
    "whole": (pa.int64(), st.integers(-(10**6), 10**6)),
    "float": (pa.float64(), st.floats(-1e6, 1e6, allow_nan=False)),
    "single": (pa.float32(), st.floats(-1e3, 1e3, width=32, allow_nan=False)),
    "decimal": (pa.decimal128(9, 2), st.decimals("-9999", "9999", places=2)),
    "date": (pa.date32(), st.dates(dt.date(1000, 1, 1), dt.date(3000, 1, 1))),
}


@st.composite
def binned(draw: st.DrawFn) -> tuple[pa.Array, Coarsening]:
    """Values of any type, and a rule that fits them."""
    name = draw(st.sampled_from(sorted(TYPES)))
    kind, values = TYPES[name]
    found = draw(st.lists(values, min_size=1, max_size=20))
    if name == "date":
        tail = values
        rule: dict[str, Any] = {"granularity": draw(st.sampled_from([None, *CALENDAR]))}
    else:
        fraction = name in ("float", "single", "decimal")
        tail = st.integers(-100, 100)
        snaps = [None, 1, 5, 12, *([0.1, 0.25, 2.5] if fraction and name != "decimal" else [])]
        rule = {"snap": draw(st.sampled_from(snaps))}
        if draw(st.booleans()):
            breaks = draw(st.lists(st.integers(-100, 100), min_size=1, max_size=4, unique=True))
            return pa.array(found, kind), Coarsening(breaks=tuple(sorted(breaks)))
    ends = sorted(draw(st.lists(tail, min_size=2, max_size=2, unique=True)))
    rule["bottom"] = draw(st.sampled_from([None, ends[0]]))
    rule["top"] = draw(st.sampled_from([None, ends[1]]))
    made = Coarsening.of(**rule)
    assume(made is not None)
    assert made is not None
    return pa.array(found, kind), made


# -------------------------------------------------------------------------------------------- bins


@given(binned())
def test_bins_hold_their_values_and_do_not_overlap(drawn: tuple[pa.Array, Coarsening]):
    values, rule = drawn
    lower, upper = (ends.to_pylist() for ends in rule.bins(values, "c"))
    bottom, top = (
        None if tail is None else tail.as_py() for tail in rule.tail_values(values.type, "c")
    )
    for value, low, high in zip(values.to_pylist(), lower, upper, strict=True):
        if top is not None and value >= top:
            assert (low, high) == (top, top)
        elif bottom is not None and value <= bottom:
            assert (low, high) == (bottom, bottom)
        else:
            assert low <= value <= high
    distinct = sorted(set(zip(lower, upper, strict=True)))
    assert all(one[1] < other[0] for one, other in pairwise(distinct))
    ends = pa.array([end for pair in distinct for end in pair], values.type)
    again = rule.bins(ends, "c")
    assert [*zip(again.lower.to_pylist(), again.upper.to_pylist(), strict=True)] == [
        pair for pair in distinct for _ in range(2)
    ]


@pytest.mark.parametrize("unit", CALENDAR)
def test_the_first_and_the_last_days_have_bins_too(unit: str):
    days = pa.array([dt.date.min, dt.date(9, 12, 31), dt.date.max])
    bins = Coarsening(granularity=unit).bins(days, "c")
    for day, low, high in zip(*(part.to_pylist() for part in (days, *bins)), strict=True):
        assert low <= day <= high
    assert lower_ends(days, {"granularity": unit}).equals(bins.lower)


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"snap": "5"},
        {"snap": 10**400},
        {"snap": float("nan")},
        {"breaks": 5},
        {"breaks": [1, 10**400]},
        {"breaks": [True]},
        {"top": "9999-99-99"},
        {"top": [1]},
        {"colour": 1},
        "snap",
    ],
)
def test_descriptions_that_are_none_are_refused(facts: object):
    with pytest.raises((TypeError, ValueError)):
        Coarsening.of_facts(facts)


@given(binned())
def test_the_audit_finds_the_same_bins_on_its_own(drawn: tuple[pa.Array, Coarsening]):
    values, rule = drawn
    assert lower_ends(values, rule.facts).equals(rule.bins(values, "c").lower)


@given(binned(), st.data())
def test_text_of_cells_is_read_back(drawn: tuple[pa.Array, Coarsening], data: st.DataObject):
    values, rule = drawn
    bins = sorted(zip(*(ends.to_pylist() for ends in rule.bins(values, "c")), strict=True))
    cells: list[dict[str, object]] = [{"lo": None, "hi": None, "missing": True}]
    for first in range(len(bins)):
        last = data.draw(st.integers(first, len(bins) - 1))
        missing = data.draw(st.booleans())
        cells.append({"lo": bins[first][0], "hi": bins[last][1], "missing": missing})
    typed = pa.array(cells, Form.RANGE.arrow_type(values.type))
    texts = to_text(typed, Form.RANGE, rule)
    assert from_text(texts, Form.RANGE, values.type, rule).equals(typed)
    assert Coarsening.of_facts(rule.facts) == rule


def test_text_is_what_people_write():
    def texts(rule: Coarsening, kind: pa.DataType, *ends: tuple[object, object]) -> list[str]:
        cells = [{"lo": low, "hi": high, "missing": False} for low, high in ends]
        found: list[str] = to_text(
            pa.array(cells, Form.RANGE.arrow_type(kind)), Form.RANGE, rule
        ).to_pylist()
        return found

    coded = Coarsening(snap=5, bottom=9, top=90)
    ends = [(20, 29), (85, 90), (90, 90), (9, 24), (9, 9), (9, 90)]
    assert texts(coded, pa.int64(), *ends) == ["20..29", "85+", "90+", "..24", "..9", ".."]
    below = math.nextafter(25.0, 0)
    assert texts(Coarsening(snap=5), pa.float64(), (20.0, below)) == ["20..<25"]
    day = dt.date
    units = {
        "month": (day(2024, 3, 1), day(2024, 5, 31), "2024-03..2024-05"),
        "quarter": (day(2024, 1, 1), day(2024, 3, 31), "2024-Q1"),
        "year": (day(2024, 1, 1), day(2025, 12, 31), "2024..2025"),
        "decade": (day(2020, 1, 1), day(2029, 12, 31), "2020s"),
        "week": (day(2024, 12, 30), day(2025, 1, 5), "2025-W01"),
    }
    for unit, (low, high, text) in units.items():
        assert texts(Coarsening(granularity=unit), pa.date32(), (low, high)) == [text]


@pytest.mark.parametrize(
    ("text", "kind"),
    [("85+", pa.int64()), ("..5", pa.int64()), ("..", pa.int64()), ("2024-13", pa.date32())],
)
def test_text_that_is_no_cell_is_refused(text: str, kind: pa.DataType):
    rule = Coarsening(granularity="month") if pa.types.is_date(kind) else Coarsening(snap=5)
    with pytest.raises(mottle.DataError, match="is not a range"):
        from_text(pa.array([text]), Form.RANGE, kind, rule)


# ------------------------------------------------------------------------------------------ tables


def people(rows: int = 300, seed: int = 5) -> pa.Table:
    random = np.random.default_rng(seed)
    born = [DAY + dt.timedelta(days=int(day)) for day in random.integers(-14000, 12000, rows)]
    hours, minutes = random.integers(0, 24, rows), random.integers(0, 60, rows)
    income = [None if share < 0.1 else round(share * 9000, 2) for share in random.random(rows)]
    return pa.table(
        {
            "age": random.integers(0, 108, rows),
            "latitude": random.uniform(47.3, 54.9, rows),
            "born": born,
            "at": pa.array(
                [
                    dt.time(int(hour), int(minute))
                    for hour, minute in zip(hours, minutes, strict=True)
                ],
                pa.time32("s"),
            ),
            "stay": pa.array(random.integers(0, 400, rows) * 1000, pa.duration("s")),
            "income": income,
            "diagnosis": random.choice(["flu", "cold", "gout"], rows),
        }
    )


SCHEMA = Schema.of(
    quasi_identifying=["age", "latitude", "born", "at", "stay", "income"],
    sensitive=["diagnosis"],
    kinds={"at": "time"},
    snaps={"age": 5, "latitude": 0.5, "stay": 12},
    breaks={"income": [1000, 2500, 6000]},
    tops={"age": 90, "born": "1995-01-01"},
    bottoms={"age": 9},
    granularities={"born": "quarter", "at": "hour", "stay": "hour"},
)
QUASI = ["age", "latitude", "born", "at", "stay", "income"]


@pytest.fixture(scope="module")
def release() -> Release:
    return mottle.anonymize(people(), SCHEMA, KAnonymity(4), seed=1, audit="full", method="nh")


def test_a_release_survives_its_files_and_passes_the_audit(release: Release, tmp_path: Path):
    release.save(tmp_path / "out")
    again = mottle.read_release(tmp_path / "out")
    assert again.table.equals(release.table)
    assert again.columns == release.columns
    assert mottle.audit_release(people(), again).passed
    (tmp_path / "out" / "release.parquet").unlink()
    texts = mottle.read_release(tmp_path / "out" / "release.csv")
    assert (
        texts.table.select(QUASI)
        .cast(release.table.select(QUASI).schema)
        .equals(release.table.select(QUASI))
    )
    cells = release.to_text().column("age").to_pylist()
    assert any(cell.endswith("+") for cell in cells)
    assert any(cell.startswith("..") for cell in cells)


def test_the_report_writes_the_schema_that_makes_the_release_again(release: Release):
    again = schema_of(release)
    for column in SCHEMA.columns:
        made = next(each for each in again.columns if each.name == column.name)
        assert made.coarsening == column.coarsening


def test_a_database_shows_the_cells_and_gives_them_back(release: Release, tmp_path: Path):
    for url in (f"duckdb:///{tmp_path}/x.duckdb", f"sqlite:///{tmp_path}/x.sqlite"):
        mottle.write_database(release, url, "open")
        check_readable(url, release)
        shown = mottle.read_database(url, table="open_readable").column("age").to_pylist()
        assert sorted(shown) == sorted(release.to_text().column("age").to_pylist())


def inside_bins(table: pa.Table, seed: int) -> pa.Table:
    """Another table with the same bins: every value is replaced by any other one of its bin."""
    random = np.random.default_rng(seed)
    ages = np.array(table["age"])
    moved = ages - ages % 5 + random.integers(0, 5, len(ages))
    moved = np.where(ages >= 90, random.integers(90, 2000, len(ages)), moved)
    moved = np.where(ages <= 9, random.integers(-50, 10, len(ages)), moved)
    quarters = [(day.year, (day.month - 1) // 3 * 3 + 1) for day in table["born"].to_pylist()]
    days = [
        dt.date(year, month + int(random.integers(0, 3)), int(random.integers(1, 28)))
        for year, month in quarters
    ]
    late = dt.date(1995, 1, 1)
    days = [
        late + dt.timedelta(days=int(random.integers(0, 9999))) if old >= late else new
        for old, new in zip(table["born"].to_pylist(), days, strict=True)
    ]
    table = table.set_column(table.column_names.index("age"), "age", pa.array(moved))
    return table.set_column(table.column_names.index("born"), "born", pa.array(days))


@pytest.mark.parametrize("method", ["nh", "freeform", "mondrian", "auto"])
def test_a_release_depends_on_the_bins_alone(method: str):
    """What coarsening removes cannot be in the release: neither cells, nor losses, nor totals."""
    table = people()
    made = [
        mottle.anonymize(each, SCHEMA, KAnonymity(4), seed=3, method=method, effort=0)
        for each in (table, inside_bins(table, 8), inside_bins(table, 9))
    ]
    for other in made[1:]:
        assert other.table.equals(made[0].table, check_metadata=True)
        assert other.certificate.gcp == made[0].certificate.gcp
        assert other.columns == made[0].columns


def test_somebody_of_an_extreme_age_is_not_told_from_others_of_the_tail():
    """A planted victim, the only person above 99: whoever knows the age finds as many matches."""
    table = people(120)
    ages = np.array(table["age"]).clip(0, 99)
    ages[17] = 119
    victim = table.set_column(0, "age", pa.array(ages))
    schema = Schema.of(quasi_identifying=["age"], rest="insensitive", tops={"age": 90})
    release = mottle.anonymize(victim, schema, KAnonymity(5), seed=2)
    highest = [cell["hi"] for cell in release.table["age"].to_pylist()]
    assert max(highest) == 90
    totals = next(column.totals for column in release.columns if column.name == "age")
    assert totals is not None
    assert "119" not in totals.values
    assert sum(end == 90 for end in highest) >= 5
    free = Schema.of(quasi_identifying=["age"], rest="insensitive")
    shown = mottle.anonymize(victim, free, KAnonymity(5), seed=2).table["age"].to_pylist()
    assert max(cell["hi"] for cell in shown) == 119


@given(st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_cell_holds_its_originals(data: st.DataObject):
    values, rule = data.draw(binned())
    assume(len(values) >= 2)
    options = {name: {"c": option} for name, option in _options(rule).items()}
    table = pa.table({"c": values})
    schema = Schema.of(quasi_identifying=["c"], **options)
    k = data.draw(st.integers(2, min(len(values), 4)))
    method = data.draw(st.sampled_from(["nh", "mondrian"]))
    made = mottle.anonymize(table, schema, KAnonymity(k), seed=1, method=method, audit="full")
    assert 0 <= made.gcp <= 1
    links = made.links
    assert links is not None
    bins = rule.bins(values, "c")
    cells = made.table["c"].to_pylist()
    for cell, original in zip(cells, links.original_of_row.tolist(), strict=True):
        assert cell["lo"] <= bins.lower[original].as_py()
        assert bins.upper[original].as_py() <= cell["hi"]


def _options(rule: Coarsening) -> dict[str, object]:
    plural = {"granularity": "granularities", "breaks": "breaks"}
    return {plural.get(name, f"{name}s"): getattr(rule, name) for name in rule.facts}


# -------------------------------------------------------------------------------------------- loss


def test_the_loss_of_a_cell_is_the_width_that_is_published():
    table = pa.table({"age": [20, 23, 31, 39]})
    schema = Schema.of(quasi_identifying=["age"], snaps={"age": 5})
    codes = encode(table, schema, Representation.SET)  # bins are published as ranges all the same
    (domain,) = codes.domains
    assert (domain.form, domain.values.to_pylist()) == (Form.RANGE, [20, 30, 35])
    assert domain.uppers is not None
    assert domain.uppers.to_pylist() == [24, 34, 39]
    release = mottle.anonymize(table, schema, KAnonymity(2), seed=1, method="mondrian")
    widths = [cell["hi"] - cell["lo"] for cell in release.table["age"].to_pylist()]
    assert release.gcp == pytest.approx(float(Fraction(sum(widths), 4 * (39 - 20))))


def test_equal_steps_change_no_choice_but_that_of_bins():
    """With steps of one, all bins are values: the release is the one without steps."""
    table = people(150).select(["age", "diagnosis"])
    plain = Schema.of(quasi_identifying=["age"], sensitive=["diagnosis"])
    stepped = Schema.of(quasi_identifying=["age"], sensitive=["diagnosis"], snaps={"age": 1})
    one, other = (
        mottle.anonymize(table, schema, KAnonymity(3), seed=4, method="nh")
        for schema in (plain, stepped)
    )
    assert one.to_text().equals(other.to_text())
    assert one.gcp == pytest.approx(other.gcp)


# ----------------------------------------------------------------------------------------- queries


def test_counts_are_within_their_bounds(release: Release):
    table = people()
    ages, born = np.array(table["age"]), table["born"].to_pylist()
    for low, high in ((20, 40), (22, 38), (9, 90), (60, None)):
        true = int(np.sum((ages >= low) & (ages <= (high if high not in (None, 90) else 999))))
        true += int(np.sum(ages < 9)) if low == 9 else 0
        found = release.count({"age": (low, high)})
        assert found.certain <= true <= found.possible
    true = sum(day.year < 1980 for day in born)
    found = release.count({"born": (None, dt.date(1979, 12, 31))})
    assert found.certain <= true <= found.possible
    assert release.count({"at": ("08h", "12h")}).possible > 0


@pytest.mark.parametrize("wanted", [(95, None), (None, 120), 100, (0, 50), [3, 20]])
def test_what_a_tail_does_not_tell_is_not_answered(release: Release, wanted: object):
    with pytest.raises(UsageError, match="'age' values below 9 are published as 9"):
        release.count({"age": wanted})


def test_averages_need_a_condition_that_leaves_tails_out(release: Release):
    with pytest.raises(UsageError, match="'age' has open ends"):
        release.average("age")
    with pytest.raises(UsageError, match="'age' has open ends"):
        release.average("age", {"age": (20, 90)})
    assert 20 <= release.average("age", {"age": (20, 84)}).expected <= 84


def test_groups_beyond_a_tail_are_refused(release: Release):
    with pytest.raises(UsageError, match="cannot be told apart"):
        release.group_by("age", breaks={"age": [50, 95]})
    assert release.group_by("age", breaks={"age": [50, 90]}).num_rows == 3


# ----------------------------------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"snap": 0}, "above 0"),
        ({"snap": math.inf}, "finite"),
        ({"snap": True}, "number above 0"),
        ({"bottom": 5, "top": 5}, "less than top"),
        ({"bottom": 5, "top": dt.date(2020, 1, 1)}, "both"),
        ({"breaks": (3.0, 1.0)}, "lowest to highest"),
        ({"breaks": (1.0,), "top": 5}, "breaks have open ends"),
        ({"top": "old"}, "number, or a date"),
        ({"kind": "category", "snap": 5}, "snap needs kind = 'duration' or 'number'"),
        ({"kind": "number", "granularity": "month"}, "granularity needs kind"),
        ({"kind": "date", "granularity": "fortnight"}, "day, week, month"),
        ({"kind": "date", "top": 5}, "must be a date"),
        ({"role": "sensitive", "snap": 5}, "quasi-identifying"),
        ({"bins": 5, "snap": 5}, "sensitive"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        Column(**{"name": "c", "role": "quasi-identifying", **options})


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (["a", "b"], {"snaps": {"c": 5}}, "snap needs kind"),
        ([1, 2], {"snaps": {"c": 0.5}}, "0.5 is not one of"),
        ([1, 2], {"granularities": {"c": "month"}}, "granularity needs kind"),
        ([dt.date(2020, 1, 1)] * 2, {"tops": {"c": 5}}, "must be a date"),
    ],
)
def test_options_that_do_not_fit_the_data_name_the_column(
    values: list[object], options: dict[str, Any], message: str
):
    schema = Schema.of(quasi_identifying=["c"], **options)
    with pytest.raises(SchemaError, match="'c'") as refused:
        mottle.anonymize(pa.table({"c": values}), schema, KAnonymity(2))
    assert message in str(refused.value)


def test_methods_that_publish_exact_values_are_refused():
    schema = Schema.of(quasi_identifying=["age"], sensitive=["diagnosis"], snaps={"age": 5})
    with pytest.raises(UsageError, match="publishes quasi-identifiers as they are"):
        mottle.anonymize(
            people().select(["age", "diagnosis"]), schema, mottle.LDiversity(2), method="anatomy"
        )


def test_a_schema_file_and_the_command_line_say_the_same(tmp_path: Path):
    SCHEMA.write(tmp_path / "mottle.toml")
    assert Schema.read(tmp_path / "mottle.toml") == SCHEMA
    data = tmp_path / "people.csv"
    data.write_text(
        "age,born\n" + "".join(f"{20 + row},19{50 + row}-02-0{1 + row}\n" for row in range(8))
    )
    arguments = ["--qi", "age,born", "--snap", "age=10", "--top", "age=25"]
    arguments += ["--bottom", "born=1951-06-30", "--granularity", "born=year", "--k", "2"]
    result = CliRunner().invoke(
        app, ["anonymize", str(data), *arguments, "--seed", "1", "-o", str(tmp_path / "out")]
    )
    assert result.exit_code == 0, result.output
    texts = mottle.read_release(tmp_path / "out").to_text().to_pylist()
    assert {text["age"] for text in texts} <= {"20..24", "20+", "25+"}
    assert any(text["born"].startswith("..") for text in texts)


def test_decimal_steps_are_exact():
    values = pa.array([Decimal("0.10"), Decimal("0.19"), Decimal("0.20")], pa.decimal128(5, 2))
    lower, upper = Coarsening(snap=0.1).bins(values, "c")
    assert list(map(str, lower.to_pylist())) == ["0.10", "0.10", "0.20"]
    assert list(map(str, upper.to_pylist())) == ["0.19", "0.19", "0.29"]


# ---------------------------------------------------------------------------- times and durations


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32(), pa.decimal128(9, 5)])
def test_coordinates_on_a_grid_are_rectangles_of_whole_squares(kind: pa.DataType):
    random = np.random.default_rng(5)
    places = {"lat": 48 + random.normal(0, 0.1, 60), "lon": random.normal(0, 0.1, 60)}
    table = pa.table(
        {
            name: pa.array([round(x, 5) for x in xs.tolist()]).cast(kind, safe=False)
            if not pa.types.is_decimal(kind)
            else pa.array([Decimal(f"{x:.5f}") for x in xs.tolist()], kind)
            for name, xs in places.items()
        }
    )
    schema = Schema.of(quasi_identifying=["lat", "lon"], snaps={"lat": 0.01, "lon": 0.01})
    release = mottle.anonymize(table, schema, KAnonymity(3), method="nh", seed=1)
    links = release.links
    assert links is not None
    half = Fraction(1, 2 * 10**5)  # decimals and floats are within half of their last digit
    for name in places:
        cells = release.table.column(name).to_pylist()
        for record, original in enumerate(links.original_of_row.tolist()):
            value = Fraction(table.column(name)[original].as_py())
            low, high = Fraction(cells[record]["lo"]), Fraction(cells[record]["hi"])
            assert low <= value <= high
            assert abs(low * 100 - round(low * 100)) < 100 * half
            assert -100 * half <= round(high * 100) - high * 100 <= 200 * half
        assert 0.01 / 0.6 < float(release.certificate.ncp[name]) < 1
    texts = release.to_text().column("lat").to_pylist()
    pattern = r"47\.\d{5}|48\.\d{5}" if pa.types.is_decimal(kind) else r"4[78](\.\d\d?)?"
    ends = [end.removeprefix("<") for text in texts for end in text.split("..")]
    assert all(re.fullmatch(pattern, end) for end in ends), ends[:4]


def test_times_may_be_text_and_are_proposed():
    texts = ["8:15", "08:59:30", " 23:00", None]
    table = pa.table({"at": texts, "x": [1, 2, 3, 4]})
    schema = Schema.of(
        quasi_identifying=["at"],
        rest="insensitive",
        kinds={"at": "time"},
        granularities={"at": "minute"},
    )
    codes = encode(table, schema, Representation.RANGE)
    assert codes.domains[0].values.to_pylist() == ["08:15", "08:59", "23:00", None]
    assert codes.domains[0].positions[:3].tolist() == pytest.approx([0, 44 / 885, 1])
    with pytest.raises(mottle.DataError, match="'at' has 1 cells that are no times"):
        mottle.anonymize(pa.table({"at": ["25:00", "08:00"], "x": [1, 2]}), schema, KAnonymity(2))
    assert Kind.TIME.proposal("at", people()["at"]) is not None
    assert Kind.TIME.proposal("age", people()["age"]) is None


def test_durations_are_counted_in_whole_units():
    table = pa.table({"stay": pa.array([-1, 0, 3599, 3600, 90000], pa.duration("s"))})
    schema = Schema.of(quasi_identifying=["stay"], granularities={"stay": "hour"})
    codes = encode(table, schema, Representation.RANGE)
    assert codes.domains[0].values.to_pylist() == [-1, 0, 1, 25]
    assert codes.matrix[:, 0].tolist() == [0, 1, 1, 2, 3]
