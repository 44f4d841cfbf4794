"""A hospital whose patients come several times, every one of them invented."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mottle.datasets.population import population
from mottle.errors import UsageError

MOST_VISITS = 80
_FIRST_DAY = dt.date(2019, 1, 1)
_DAYS = 5 * 365
_DEPARTMENTS = ("surgery", "medicine", "cardiology", "psychiatry", "eyes", "neurology")
_WARDS = 40
_REGIONS = 60


def visits(people: int, seed: int = 0) -> pa.Table:
    """Draw the visits to a hospital: several rows for most patients, many for a few.

    Columns: ``patient``, ``age`` on the day of the visit, ``sex``, ``region`` (a postcode; about
    one visit in twenty is from another one), ``origin``, ``admitted`` (a date), ``department``,
    ``ward``, ``days`` in hospital, ``insurer`` and ``diagnosis``. More than half of the patients
    come once; the number of visits of the others has a long tail, up to 80. Sex, origin and insurer
    of a patient do not change; chronic patients come with the same diagnosis again.

    Parameters
    ----------
    people : int
        Number of patients.
    seed : int
        The same seed draws the same visits.

    Returns
    -------
    pyarrow.Table
        One row for each visit, by day of admission.

    Raises
    ------
    UsageError
        ``people`` or ``seed`` is negative.

    Examples
    --------
    >>> table = visits(1000, seed=7)
    >>> table.num_rows, len(set(table.column("patient").to_pylist()))
    (3225, 1000)
    >>> table.equals(visits(1000, seed=7))
    True
    """
    if people < 0:
        raise UsageError(f"{people} patients cannot be drawn.", "Give 0 or more.")
    patients = population(people, seed)
    random = np.random.default_rng([seed, 0x715175])
    times = np.minimum(np.ceil(random.pareto(1.3, people) * 1.1), MOST_VISITS).astype(np.int64)
    times = np.maximum(times, 1)
    whose = np.repeat(np.arange(people), times)
    rows = len(whose)
    day = random.integers(0, _DAYS, rows)
    order = np.argsort(day, kind="stable")
    whose, day = whose[order], day[order]
    home = random.integers(0, _REGIONS, people)
    away = random.random(rows) < 0.05
    region = np.where(away, random.integers(0, _REGIONS, rows), home[whose])
    age = patients.column("age").to_numpy()[whose] + day // 365
    chronic = random.random(people) < 0.4
    others = patients.column("diagnosis").take(pa.array(random.integers(0, max(people, 1), rows)))
    own = patients.column("diagnosis").take(pa.array(whose))
    same = pa.array(chronic[whose] & (random.random(rows) < 0.8))
    department = np.minimum(random.poisson(1.2, rows), len(_DEPARTMENTS) - 1)
    number = random.permutation(people)  # so that numbers say nothing about the order of patients
    return pa.table(
        {
            "patient": pa.array([f"P{each:07d}" for each in number[whose]], pa.string()),
            "age": pa.array(age, pa.int64()),
            "sex": patients.column("sex").take(pa.array(whose)),
            "region": pa.array([f"{10 + each // 6}{each % 6}0" for each in region], pa.string()),
            "origin": patients.column("origin").take(pa.array(whose)),
            "admitted": pa.array(
                [_FIRST_DAY + dt.timedelta(int(each)) for each in day], pa.date32()
            ),
            "department": pa.array([_DEPARTMENTS[each] for each in department], pa.string()),
            "ward": pa.array(
                [f"W{each:02d}" for each in random.integers(0, _WARDS, rows)], pa.string()
            ),
            "days": pa.array(random.geometric(0.25, rows), pa.int64()),
            "insurer": pa.array(
                [f"insurer {each}" for each in random.integers(1, 9, people)[whose]], pa.string()
            ),
            "diagnosis": _either(same, own, others),
        }
    )


def _either(first: pa.Array, own: pa.ChunkedArray, others: pa.ChunkedArray) -> pa.ChunkedArray:
    """Where ``first`` is true the value of ``own``, else that of ``others``."""
    return pc.if_else(first, own, others)
