"""Generated diagnoses: repeatable, by age and sex, several at once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import mottle
from mottle.datasets._population_tables import DIAGNOSES
from mottle.errors import UsageError

PEOPLE = mottle.datasets.population(4000, seed=1)
PATIENTS = mottle.datasets.with_diagnoses(PEOPLE, seed=1)
SETS = PATIENTS.column("diagnoses").to_pylist()


def test_the_same_seed_gives_the_same_diagnoses():
    assert PATIENTS.equals(mottle.datasets.with_diagnoses(PEOPLE, seed=1))
    assert not PATIENTS.equals(mottle.datasets.with_diagnoses(PEOPLE, seed=2))
    assert PATIENTS.drop(["diagnoses"]).equals(PEOPLE)


def test_sets_hold_known_diagnoses_once_and_some_are_empty_or_missing():
    known = {each.label for each in DIAGNOSES}
    assert all(set(items) <= known and len(set(items)) == len(items) for items in SETS if items)
    assert 0.002 < SETS.count(None) / len(SETS) < 0.03
    assert 0.1 < SETS.count([]) / len(SETS) < 0.6
    assert len({tuple(items) for items in SETS if items}) > 300


def test_the_old_have_more_and_sexes_differ():
    ages = PATIENTS.column("age").to_numpy()
    held = np.array([len(items or ()) for items in SETS])
    assert held[ages > 65].mean() > 1.5 * held[ages < 40].mean()
    sexes = PATIENTS.column("sex").to_pylist()
    prostate = {
        sex for sex, items in zip(sexes, SETS, strict=True) if "prostate disease" in (items or ())
    }
    assert prostate == {"male"}


def test_what_is_lacking_is_named():
    with pytest.raises(UsageError, match="age and sex"):
        mottle.datasets.with_diagnoses(pa.table({"age": [1]}))
    with pytest.raises(UsageError, match="-1"):
        mottle.datasets.with_diagnoses(PEOPLE, seed=-1)
