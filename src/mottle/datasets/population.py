"""A census-like population of any size, every person of it invented."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mottle.datasets import _population_tables as tables
from mottle.errors import UsageError
from mottle.typing import Float64Array, Int16Array

CHUNK = 1_000_000  # people drawn at once; each chunk has its own random stream

SCHEMA = pa.schema(
    {
        "person_id": pa.string(),
        "age": pa.int64(),
        "sex": pa.string(),
        "education": pa.string(),
        "marital_status": pa.string(),
        "origin": pa.string(),
        "workclass": pa.string(),
        "occupation": pa.string(),
        "income": pa.int64(),
        "diagnosis": pa.string(),
    }
)


def population(n: int, seed: int = 0) -> pa.Table:
    """Draw the people of a census-like population.

    Columns: ``person_id``, ``age`` (0–99), ``sex``, ``education`` (ordered as in
    ``mottle.datasets.EDUCATION``), ``marital_status``, ``origin`` (a country, see
    :func:`origin_hierarchy`), ``workclass``, ``occupation``, ``income`` (yearly, rounded to 100,
    about 1.5 % missing) and ``diagnosis``. People are independent of one another; the columns of
    one person are not: each is drawn given the ones that explain it.

    People come in chunks of a million. A whole chunk is the same in every larger population with
    the same seed; shorter prefixes are not: ``population(10)`` does not begin ``population(20)``.

    A million people take about 1.5 seconds and 135 MB.

    Parameters
    ----------
    n : int
        Number of people.
    seed : int
        The same seed draws the same people.

    Returns
    -------
    pyarrow.Table
        One row for each person.

    Raises
    ------
    UsageError
        ``n`` or ``seed`` is negative.

    Examples
    --------
    >>> table = population(1000, seed=7)
    >>> table.num_rows, table.column_names[:4]
    (1000, ['person_id', 'age', 'sex', 'education'])
    >>> table.equals(population(1000, seed=7))
    True
    """
    if n < 0:
        raise UsageError(f"A population of {n} people cannot be drawn.", "Give n as 0 or more.")
    if seed < 0:
        raise UsageError(f"The seed {seed} is negative.", "Give a seed of 0 or more.")
    chunks = [
        _people(first, min(CHUNK, n - first), _random(seed, first)) for first in range(0, n, CHUNK)
    ]
    return pa.Table.from_batches(chunks, schema=SCHEMA)


def origin_hierarchy() -> list[tuple[str, ...]]:
    """Return the hierarchy of the column ``origin`` of `population`.

    Returns
    -------
    list[tuple[str, ...]]
        One row (country, region, continent, "*") for each country. This is ARX's layout: joined
        by ``;`` the rows are a hierarchy file, and `mottle.Hierarchy.from_rows` reads them.

    Examples
    --------
    >>> origin_hierarchy()[0]
    ('Netherlands', 'Western Europe', 'Europe', '*')
    """
    return [
        (country, region.label, region.continent, "*")
        for region in tables.REGIONS
        for country in region.countries
    ]


def _random(seed: int, first: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(first // CHUNK,)))


def _people(first: int, count: int, random: np.random.Generator) -> pa.RecordBatch:
    """People number ``first`` to ``first + count``, each column drawn given earlier ones."""
    age, sex = np.divmod(_age_and_sex().draw(random, np.zeros(count, np.int16)), len(tables.SEX))
    origin = _origin().draw(random, age)
    education = _education().draw(random, age, sex, _region_of_country()[origin])
    marital_status = _marital_status().draw(random, age, sex)
    workclass = _workclass().draw(random, age, sex, education)
    occupation = _occupation().draw(random, _career_stage()[age], sex, education, workclass)
    diagnosis = _diagnosis().draw(random, age, sex)
    income = _income(random, age, sex, education, workclass, occupation)
    columns = {
        "person_id": _person_ids(first + 1 + random.permutation(count)),
        "age": pa.array(age.astype(np.int64)),
        "sex": _labelled(sex, tables.SEX),
        "education": _labelled(education, tables.EDUCATION),
        "marital_status": _labelled(marital_status, tables.MARITAL_STATUS),
        "origin": _labelled(origin, tables.COUNTRIES),
        "workclass": _labelled(workclass, [each.label for each in tables.WORKCLASSES]),
        "occupation": _labelled(
            occupation,
            [
                *(each.label for each in tables.OCCUPATIONS),
                tables.NOT_IN_WORK,
            ],
        ),
        "income": income,
        "diagnosis": _labelled(
            diagnosis,
            [*(each.label for each in tables.DIAGNOSES), tables.HEALTHY],
        ),
    }
    return pa.RecordBatch.from_pydict(columns, schema=SCHEMA)


def _person_ids(numbers: NDArray[np.int64]) -> pa.Array:
    digits = pc.utf8_lpad(pc.cast(pa.array(numbers), pa.string()), 7, "0")
    return pc.binary_join_element_wise("P", digits, "")


def _labelled(codes: Int16Array, labels: Sequence[str]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(codes, pa.array(labels)).dictionary_decode()


def _income(
    random: np.random.Generator,
    age: Int16Array,
    sex: Int16Array,
    education: Int16Array,
    workclass: Int16Array,
    occupation: Int16Array,
) -> pa.Array:
    """Lognormal around the median of people alike, rounded to 100; 0 for children; some unknown."""
    logarithm = _log_income()[workclass, occupation]
    logarithm += _by_age(tables.LOG_INCOME_BY_AGE)[age]
    logarithm += tables.LOG_INCOME_PER_LEVEL * (education - tables.MIDDLE_LEVEL)
    logarithm += tables.LOG_INCOME_OF_WOMEN * (sex == tables.SEX.index("female"))
    logarithm += _income_spread()[workclass] * random.standard_normal(len(age))
    income = np.minimum(np.exp(logarithm), tables.HIGHEST_INCOME)
    rounded = np.rint(income / 100).astype(np.int64) * 100
    rounded[age < tables.WORKING_AGE] = 0
    missing = np.array([each.income_missing for each in tables.WORKCLASSES])[workclass]
    return pa.array(rounded, mask=random.random(len(age)) < missing)


# ------------------------------------------------------------------ shares, given what explains


@dataclass(frozen=True)
class Conditional:
    """The shares of a column's values in each group of people, ready to draw from."""

    # entry g × values + v: g + the share of the values 0 to v in group g; never decreasing
    boundaries: Float64Array
    groups: tuple[int, ...]  # size of each explaining axis
    values: int

    @classmethod
    def of(cls, shares: Float64Array) -> Conditional:
        """Prepare relative shares whose explaining axes come first and whose values come last."""
        *groups, values = shares.shape
        cumulative = np.cumsum(shares.reshape(-1, values), axis=1)
        cumulative /= cumulative[:, -1:]
        boundaries = cumulative + np.arange(len(cumulative))[:, None]
        return cls(boundaries.ravel(), tuple(groups), values)

    def draw(self, random: np.random.Generator, *explaining: Int16Array) -> Int16Array:
        """Draw one value for each person, given the codes of what explains it."""
        group = np.ravel_multi_index(explaining, self.groups)
        # Single-precision draws are multiples of 2**-24, so that the sum in double precision is
        # exact and below group + 1: nobody gets a value of share 0 or of the next group.
        position = group + random.random(len(group), dtype=np.float32).astype(np.float64)
        found = np.searchsorted(self.boundaries, position, side="right")
        return (found - group * self.values).astype(np.int16)


def _by_age(known: Mapping[int, float]) -> Float64Array:
    """Interpolate linearly over all ages."""
    return np.interp(np.arange(tables.AGES), list(known), list(known.values()))


def _shares_by_age(known: Mapping[int, tuple[float, ...]]) -> Float64Array:
    """Interpolate each value's share linearly over all ages: float[age, value]."""
    columns = zip(*known.values(), strict=True)
    return np.stack([_by_age(dict(zip(known, each, strict=True))) for each in columns], axis=1)


@cache
def _age_and_sex() -> Conditional:
    """Drawn together, as age × 2 + sex."""
    female = _by_age(tables.FEMALE_BY_AGE)
    shares = _by_age(tables.PEOPLE_BY_AGE)[:, None] * np.stack([female, 1 - female], axis=1)
    return Conditional.of(shares.reshape(1, -1))


@cache
def _origin() -> Conditional:
    abroad = np.array([share for each in tables.REGIONS for share in each.countries.values()])
    home = _by_age(tables.HOME_BY_AGE)
    shares = np.outer(1 - home, abroad / abroad.sum())
    shares[:, tables.COUNTRIES.index(tables.HOME)] = home
    return Conditional.of(shares)


@cache
def _region_of_country() -> Int16Array:
    sizes = [len(each.countries) for each in tables.REGIONS]
    return np.repeat(np.arange(len(sizes), dtype=np.int16), sizes)


@cache
def _education() -> Conditional:
    """Given age, sex and region."""
    women = _by_age(tables.WOMENS_EDUCATION_TILT)
    by_sex = np.stack([women, np.zeros_like(women)], axis=1)
    by_region = np.array([each.education_tilt for each in tables.REGIONS])
    tilt = by_sex[:, :, None, None] + by_region[:, None]
    shares = _shares_by_age(tables.EDUCATION_BY_AGE)[:, None, None, :]
    return Conditional.of(shares * np.exp(tilt * np.arange(len(tables.EDUCATION))))


@cache
def _marital_status() -> Conditional:
    """Given age and sex."""
    women = _shares_by_age(tables.WOMENS_MARITAL_STATUS_BY_AGE)
    men = _shares_by_age(tables.MENS_MARITAL_STATUS_BY_AGE)
    return Conditional.of(np.stack([women, men], axis=1))


@cache
def _workclass() -> Conditional:
    """Given age, sex and education."""
    by_age = _shares_by_age(tables.WORKCLASS_BY_AGE)
    by_sex = np.array([[each.women, each.men] for each in tables.WORKCLASSES]).T
    by_education = np.array([each.by_education for each in tables.WORKCLASSES]).T
    return Conditional.of(by_age[:, None, None, :] * by_sex[:, None, :] * by_education)


@cache
def _career_stage() -> Int16Array:
    """The stage, an index of CAREER_AGES, that each age is in."""
    stages = np.searchsorted(tables.CAREER_AGES, np.arange(tables.AGES), side="right") - 1
    return stages.astype(np.int16)


@cache
def _occupation() -> Conditional:
    """Given career stage, sex, education and workclass."""
    jobs = tables.OCCUPATIONS
    level = np.arange(len(tables.EDUCATION))[:, None]
    distance = (level - np.array([job.typical for job in jobs])) / [job.spread for job in jobs]
    allowed = level >= np.array([job.lowest for job in jobs])
    by_education = np.where(allowed, np.exp(-(distance**2) / 2), 0)
    by_sex = np.array([[job.female, 1 - job.female] for job in jobs]).T
    by_stage = np.array(tables.CAREER_AGES)[:, None] >= np.array([job.from_age for job in jobs])
    shares = (
        by_stage[:, None, None, None, :]
        * by_sex[:, None, None, :]
        * by_education[:, None, :]
        * _occupations_of_workclasses()
    )
    nobody = shares.sum(axis=-1, keepdims=True) == 0
    return Conditional.of(np.concatenate([shares, nobody], axis=-1))


def _occupations_of_workclasses() -> Float64Array:
    """How many work in each occupation, float[workclass, occupation]; 0 where nobody works."""
    share = {
        "private employee": [job.private for job in tables.OCCUPATIONS],
        "public employee": [job.public for job in tables.OCCUPATIONS],
        "self-employed": [job.own for job in tables.OCCUPATIONS],
    }
    nothing = [0.0] * len(tables.OCCUPATIONS)
    return np.array([share.get(each.label, nothing) for each in tables.WORKCLASSES])


@cache
def _diagnosis() -> Conditional:
    """Given age and sex."""
    by_sex = np.array([[each.women, each.men] for each in tables.DIAGNOSES]).T
    by_age = np.stack([_by_age(each.by_age) for each in tables.DIAGNOSES], axis=1)
    ill = by_age[:, None, :] * by_sex
    healthy = np.maximum(1000 - ill.sum(axis=-1, keepdims=True), tables.FEWEST_HEALTHY)
    return Conditional.of(np.concatenate([ill, healthy], axis=-1))


@cache
def _log_income() -> Float64Array:
    """Logarithm of the median income, float[workclass, occupation or none]."""
    pay = [*(job.pay for job in tables.OCCUPATIONS), 0]
    allowance = np.array([each.allowance for each in tables.WORKCLASSES])
    medians: Float64Array = np.maximum.outer(allowance, pay).astype(np.float64)
    return np.log(np.maximum(medians, 1))


@cache
def _income_spread() -> Float64Array:
    labels = np.array([each.label for each in tables.WORKCLASSES])
    return np.where(
        labels == "self-employed",
        tables.LOG_INCOME_SPREAD_OF_SELF_EMPLOYED,
        tables.LOG_INCOME_SPREAD,
    )
