"""How often pooled intervals hold the coefficients of regressions on the original."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
from _queries_coverage import DATA, ROWS, Data, released
from _shared import markdown_table
from sklearn.linear_model import LinearRegression

from mottle.evaluation import WorldsRegressor

REGRESSIONS: Mapping[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "adult_full": (
        ("hours-per-week", ("age", "sex", "race", "marital-status")),
        ("age", ("sex", "relationship", "workclass")),
        ("age", ("hours-per-week", "marital-status")),
    ),
    "census_acs": (
        ("salary_class", ("age", "gender", "marital_status", "race")),
        ("salary_class", ("age", "workclass")),
        ("age", ("gender", "marital_status", "workclass")),
    ),
    "census_acs_full": (
        ("income", ("age", "gender", "citizenship_status", "mobility_status")),
        ("travel_time_to_work", ("age", "gender", "means_of_transportation_to_work")),
        ("age", ("marital_status", "military_service", "gender")),
    ),
    "coil2000_full": (
        ("MKOOPKLA", ("MAANTHUI", "MGEMOMV", "MGODRK", "MRELGE", "MOPLHOOG", "MINKGEM")),
        ("MINKGEM", ("MAANTHUI", "MGEMOMV", "MRELGE", "MOPLHOOG")),
        ("MRELGE", ("MGEMOMV", "MGODRK", "MOPLHOOG", "MINKGEM", "MAANTHUI")),
    ),
}
REGRESSION_CASES = ("k = 5, freeform", "k = 10, freeform", "k = 10, nh", "ℓ = 3, buckets")
_LEAST_ROWS = 100  # records of a category whose coefficient is judged


def regressions_by_table(
    data: Sequence[Data] = DATA, cases: Sequence[str] = REGRESSION_CASES
) -> Iterator[list[str]]:
    """How often pooled 95 % intervals of coefficients hold those of the original."""
    rows = []
    every: list[tuple[bool, bool]] = []
    for one in data:
        for case in cases:
            found = list(_coefficients(one, case))
            every += found
            shares = [100 * np.mean([pair[place] for pair in found]) for place in (0, 1)]
            rows.append([one.name, case, str(len(found)), *(f"{share:.0f}" for share in shares)])
            print(" | ".join(rows[-1]), flush=True)
        held, before = (sum(pair[place] for pair in every) for place in (0, 1))
        yield [
            f"{ROWS:,} rows of each table, five worlds per release, three linear regressions each;"
            f" coefficients of numbers and of values of at least {_LEAST_ROWS} records.",
            f"Of {len(every)} coefficients, {held} ({100 * held / len(every):.0f} %) lie in their"
            f" pooled 95 % interval, {before} ({100 * before / len(every):.0f} %) without the"
            " factor that the release states.",
            markdown_table(
                ["table", "guarantee and method", "coefficients", "held, %", "without factor, %"],
                rows,
            ),
        ]


def _coefficients(data: Data, case: str) -> Iterator[tuple[bool, bool]]:
    """Whether each coefficient is held, and whether it would be without the factor."""
    table, release = released(data, case, 1)
    for target, features in REGRESSIONS[data.name]:
        model = WorldsRegressor(LinearRegression(), m=5, features=list(features), seed=1)
        pooled = model.fit(release, target).pooled_coefficients()
        truth = _least_squares(table, target, features, model)
        for name, one in pooled.items():
            if name not in truth:
                continue
            low, high = one.interval()
            reach = (high - low) / 2
            off = abs(one.estimate - truth[name])
            yield off <= reach, off <= reach / model.factor_


def _least_squares(
    table: pa.Table, target: str, features: Sequence[str], model: WorldsRegressor
) -> dict[str, float]:
    """The coefficients of the original, of numbers and of values that are not rare."""
    targets = np.asarray(table.column(target).to_numpy(zero_copy_only=False), np.float64)
    known = np.isfinite(targets)
    inputs = model.encode(table)[known]
    found = LinearRegression().fit(inputs, targets[known]).coef_
    names = model.coefficient_names_
    return {
        name: float(value)
        for name, value, column in zip(names, found, inputs.T, strict=True)
        if "=" not in name or column.sum() >= _LEAST_ROWS
    }
