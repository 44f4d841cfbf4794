"""What inspect says about a table besides its proposals; and what one row is taken for."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from mottle import Role, inspect
from mottle.inspection import Inspection
from mottle.schema.model import Unit

ROWS = 200
RANDOM = np.random.default_rng(7)


def numbers(low: int, high: int) -> list[int]:
    return [int(number) for number in RANDOM.integers(low, high, ROWS)]


def inspected(**columns: object) -> Inspection:
    return inspect(pa.table(columns))


def test_rows_that_occur_twice_are_counted() -> None:
    table = pa.table({"a": list(range(30)), "b": list(range(30))})
    found = inspect(pa.concat_tables([table, table.slice(0, 3)]))
    assert found.duplicates == 3
    assert any(note.startswith("3 rows are equal") for note in found.notes)


def test_spellings_of_quasi_identifiers_are_shown_and_of_others_counted() -> None:
    found = inspected(sex=["m", "M", "w", "W "] * 50, diagnosis=["Flu", "flu", "none", "hiv"] * 50)
    notes = " ".join(found.notes)
    assert "'M'/'m'" in notes
    assert "Column 'diagnosis': 1 value differs" in notes
    assert "lu'" not in notes


@pytest.mark.parametrize(("value", "noticed"), [(999, True), (-1, False), (120, False)])
def test_numbers_that_may_be_missing_values_are_noticed(value: int, noticed: bool) -> None:
    found = inspected(age=[*numbers(0, 100)[:-3], value, value, value])
    assert any("far from all other" in note for note in found.notes) is noticed


def test_several_numbers_for_missing_values_are_noticed_among_fractions() -> None:
    found = inspected(bmi=[*(20 + number / 7 for number in range(97)), 997.0, 998.0, 999.0])
    assert any("997, 998, 999 are far from all other values" in note for note in found.notes)


def test_columns_that_say_the_same_are_noticed() -> None:
    codes = numbers(0, 5)
    found = inspected(code=codes, label=[f"name {code}" for code in codes], other=numbers(0, 5))
    same = [note for note in found.notes if "say the same" in note]
    assert same == ["Columns 'code' and 'label' say the same in other words: drop one of them."]


def test_dates_that_are_text_are_noticed() -> None:
    found = inspected(day=[f"{1 + i % 28}.5.2020" for i in range(ROWS)])
    assert any("dates as text" in note for note in found.notes)


def test_every_row_is_a_person_where_identifiers_say_so() -> None:
    weights = RANDOM.integers(10_000, 10_150, ROWS).tolist()
    assert inspected(fnlwgt=weights, age=numbers(0, 90)).unit is Unit.PERSON
    names = [f"Anna {number}" for number in numbers(0, 60)]
    found = inspected(person_id=list(range(ROWS)), name=names, age=numbers(0, 90))
    assert found.unit is Unit.PERSON
    assert found.schema().unit is Unit.PERSON


def test_it_is_asked_what_a_row_is_where_names_repeat() -> None:
    found = inspected(name=[f"Anna {number}" for number in numbers(0, 60)], age=numbers(0, 90))
    assert found.unit is None
    assert any("Column 'name' repeats" in note for note in found.notes)
    assert found.columns[0].role is Role.IDENTIFYING


def test_nothing_is_asked_where_a_column_says_whose_row_it_is() -> None:
    found = inspected(patient=numbers(0, 60), name=[f"x{number}" for number in numbers(0, 50)])
    assert (found.unit, found.columns[0].role) == (None, Role.PERSON)
    assert not any("repeats" in note for note in found.notes)


def test_proposal_is_read_back_as_a_schema(tmp_path) -> None:
    found = inspected(
        band=["<10", "10-19", "20+", "?"] * 50, age=numbers(0, 90), code_id=numbers(1, 9)
    )
    path = tmp_path / "mottle.toml"
    path.write_text(found.to_toml(), encoding="utf-8")
    assert type(found.schema()).read(path) == found.schema()
    assert found.schema().columns[0].order == ("<10", "10-19", "20+")
    assert found.schema().reading.missing == ("?",)
