"""What a certificate says about similar values."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from mottle import BetaLikeness, GroupCaps, KAnonymity, LDiversity, Schema, anonymize, inspect

VALUES = [f"{letter}{number}" for letter in "abcd" for number in range(8)]
GROUPS = {letter: [value for value in VALUES if value[0] == letter] for letter in "abcd"}


def people(values: list[str]) -> pa.Table:
    random = np.random.default_rng(1)
    drawn = random.permutation(np.resize(values, 200))
    return pa.table({"age": random.integers(20, 60, 200), "diagnosis": drawn})


def notes_of(guarantee, values=VALUES, **options) -> list[str]:
    schema = Schema.of(quasi_identifying=["age"], sensitive=["diagnosis"], **options)
    release = anonymize(people(values), schema, guarantee, effort=0, seed=1)
    return [note for note in release.certificate.notes if "Similar values" in note]


def test_many_values_without_groups_are_said_not_to_be_protected_together():
    (note,) = notes_of(LDiversity(3))
    assert "'diagnosis' has 32 different values" in note
    assert not any(value in note for value in VALUES)
    # a hierarchy or groups alone protect nothing
    assert len(notes_of(LDiversity(3), groups={"diagnosis": GROUPS})) == 1


@pytest.mark.parametrize(
    ("guarantee", "options"),
    [
        (LDiversity(3) & GroupCaps({"diagnosis": 0.5}), {"groups": {"diagnosis": GROUPS}}),
        (BetaLikeness(2), {}),
        (KAnonymity(3), {}),
    ],
)
def test_the_note_is_left_out_where_groups_are_bounded_or_nothing_is_said_of_values(
    guarantee, options
):
    assert notes_of(guarantee, **options) == []


def test_few_values_need_no_note():
    assert notes_of(LDiversity(3), VALUES[:20]) == []


def test_inspection_proposes_how_similar_values_are_protected():
    found = inspect(people(VALUES))
    assert "--group-cap diagnosis=0.5" in found.columns[1].advice
    assert "--group-cap diagnosis=0.5" in " ".join(found.to_toml().replace("# ", "").split())
    assert inspect(people(VALUES[:20])).columns[1].advice == ""
    salaries = pa.table({"age": [30] * 60, "salary": np.arange(60) // 2 * 1000.5})
    assert "bins = 10" in inspect(salaries).columns[1].advice
