"""Measure the risk of a table before and after it is anonymized."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from mottle.errors import DataError, SchemaError, UsageError, did_you_mean
from mottle.io.original import check_original
from mottle.io.read_set_release import load_any_release
from mottle.io.read_table import as_table
from mottle.release.data import ReleaseData
from mottle.release.per_person import original_of
from mottle.release.set_release import SetReleaseData
from mottle.release.survey_weight import survey_weights
from mottle.risk.individual import household_risk, individual_risk
from mottle.risk.keys import Keys, population_counts
from mottle.risk.population import PopulationUniques, correct_matches, population_uniques
from mottle.risk.released import ReleasedRisk, population_inside
from mottle.risk.report import RiskFigure, RiskReport, SinglingValue
from mottle.risk.special_uniques import SpecialUniques, special_uniques
from mottle.schema.model import Role, Schema
from mottle.typing import Float64Array, Int64Array
from mottle.utils.dependence import coded
from mottle.utils.steps import Announced, Step

__all__ = ["measure_risk"]

THRESHOLD = 0.09
_SHOWN_VALUES = 10
_STEPS = {
    "combinations": "Looking for rare rows",
    "release": "Who fits which record",
    "individual": "Individual risks",
    "population": "Uniques of the population",
    "k-map": "Asking the population",
}
_FAR = 1.5  # ratio of two estimates from which on a note says so


def measure_risk(
    data: object,
    schema: Schema | str | Path | None = None,
    *,
    release: ReleaseData | str | Path | None = None,
    population: object = None,
    population_size: float | None = None,
    household: str | None = None,
    threshold: float = THRESHOLD,
    largest: int = 3,
    on_progress: Callable[[Step], None] | None = None,
) -> RiskReport:
    """Measure how easily people are found in a table, and what is left of it in a release.

    Parameters
    ----------
    data : table or path
        The table, as for `mottle.anonymize`.
    schema : Schema or path-like, optional
        Names the quasi-identifiers and the survey weight. Without it, the release does.
    release : Release or path-like, optional
        A release that was made from the table.
    population : table or path, optional
        A table of the population with the same quasi-identifiers, for k-map.
    population_size : float, optional
        The number of people of whom the rows are a simple random sample, where no column of weights
        says it.
    household : str, optional
        The column that says which rows are one household's.
    threshold : float
        The risk above which rows are counted.
    largest : int
        The most columns of combinations that are searched for minimal sample uniques.
    on_progress : callable, optional
        Called with every `Step`.

    Returns
    -------
    RiskReport
        The measures, for the owner of the data.

    Raises
    ------
    UsageError
        An option is wrong, or neither a schema nor a release names the quasi-identifiers.
    SchemaError
        The table lacks a column.
    DataError
        The release was not made from the table, or weights are not numbers of people.

    Examples
    --------
    >>> import mottle
    >>> people = mottle.datasets.population(300, seed=1)
    >>> schema = Schema.of(quasi_identifying=["age", "sex", "education"], rest="insensitive")
    >>> found = mottle.measure_risk(people, schema, population_size=30_000)
    >>> found.figure("sample_uniques").before > 50, found.sampling_fraction
    (True, 0.01)
    """
    _check(threshold, largest, population_size)
    if isinstance(schema, str | os.PathLike):
        schema = Schema.read(schema)
    released = (
        load_any_release(Path(release)) if isinstance(release, str | os.PathLike) else release
    )
    if isinstance(released, SetReleaseData):
        raise UsageError(
            "Risks are measured on tables, and this is a release of sets.",
            "mottle audit attacks releases of sets.",
        )
    if released is not None and not isinstance(released, ReleaseData):
        raise UsageError(
            f"A {type(released).__name__} is not a release.",
            "Give a Release, its folder or one of its files.",
        )
    reading = None if schema is None else schema.reading
    table = as_table(data, reading or (None if released is None else released.reading))
    if table.num_rows == 0:
        raise DataError("The table has no rows.", "Give a table with rows.")
    if released is not None:
        table, schema = original_of(table, released.certified, schema)
        check_original(table, released)
    names, weight = _roles(table, schema, released)
    for name in [*names, *([household] if household else []), *([weight] if weight else [])]:
        if name not in table.column_names:
            raise SchemaError(
                f"The table has no column '{name}'.", did_you_mean(name, table.column_names)
            )
    if weight is not None and population_size is not None:
        raise UsageError(
            f"The weights '{weight}' say how large the population is, so a size contradicts them.",
            "Leave one of them out.",
        )
    people = None if population is None else as_table(population, reading)
    given = _weights(table, weight, population_size)
    weighted = given is not None
    wanted = (True, released is not None, weighted, weighted, people is not None)
    steps = Announced(
        on_progress, [name for name, asked in zip(_STEPS, wanted, strict=True) if asked]
    )
    steps.begin("combinations", _STEPS["combinations"])
    keys = Keys.of(table, names)
    measured = _Measured(
        table=table,
        keys=keys,
        weights=None if given is None else np.maximum(given, 1.0),
        stated_weights=given,
        household=None if household is None else _household(table, household),
        release=released,
        population=people,
        threshold=threshold,
        special=special_uniques(keys.codes, names, largest),
        steps=steps,
    )
    return measured.report(largest)


def _check(threshold: float, largest: int, population_size: float | None) -> None:
    if not 0 < threshold < 1:
        raise UsageError("The threshold is a probability between 0 and 1.", "0.09 is common.")
    if largest < 1:
        raise UsageError("Combinations have at least one column.", "3 is the default.")
    if population_size is not None and not population_size >= 1:
        raise UsageError("The population has at least one person.", "Give their number.")


def _roles(
    table: pa.Table, schema: Schema | None, release: ReleaseData | None
) -> tuple[list[str], str | None]:
    """The quasi-identifiers and the survey weight, by the release or else by the schema."""
    certified = None if release is None else release.certified
    weight = None if schema is None else schema.survey_weight
    weight = weight or (None if certified is None else certified.survey_weight)
    if release is not None:
        columns = [one.name for one in release.columns if one.role is Role.QUASI_IDENTIFYING]
    elif schema is not None:
        complete = (schema if schema.rest else schema.with_rest(Role.INSENSITIVE)).covering(
            table.column_names
        )
        columns = [column.name for column in complete.with_role(Role.QUASI_IDENTIFYING)]
    else:
        raise UsageError(
            "No quasi-identifiers (columns that an adversary may know) are named.",
            "Give a schema, or a release.",
        )
    return columns, weight


def _weights(table: pa.Table, name: str | None, size: float | None) -> Float64Array | None:
    """How many people each row stands for."""
    if name is not None:
        return survey_weights(table.column(name), name)
    return None if size is None else np.full(table.num_rows, size / table.num_rows)


def _household(table: pa.Table, name: str) -> Int64Array:
    found = coded(table.column(name))
    if found is None:
        raise DataError(
            f"Column '{name}' holds {table.column(name).type} values, which name no household.",
            "Name the column that says which rows are one household's.",
        )
    return found.codes


@dataclass(frozen=True)
class _Measured:
    """A table, its release and its population, prepared for all measures."""

    table: pa.Table
    keys: Keys
    weights: Float64Array | None  # [rows]: people that each row stands for, itself at least
    stated_weights: Float64Array | None  # [rows]: the same as the table says it
    household: Int64Array | None  # [rows]: number of the household
    release: ReleaseData | None
    population: pa.Table | None
    threshold: float
    special: SpecialUniques
    steps: Announced

    @cached_property
    def released(self) -> ReleasedRisk | None:
        if self.release is None:
            return None
        self.steps.begin("release", _STEPS["release"])
        return ReleasedRisk.of(self.table, self.release)

    @cached_property
    def matches(self) -> Int64Array | None:
        """[rows]: published records that may be theirs."""
        return None if self.released is None else self.released.matches

    @cached_property
    def individual(self) -> Float64Array | None:
        """[rows]: individual risk in the table."""
        if self.weights is None:
            return None
        self.steps.begin("individual", _STEPS["individual"])
        keys = self.keys
        sums = np.asarray(np.bincount(keys.group_of, self.weights), np.float64)
        return individual_risk(keys.frequencies, sums[keys.group_of])

    @cached_property
    def uniques(self) -> PopulationUniques:
        """Estimates of the rows that are unique in the population."""
        assert self.weights is not None
        self.steps.begin("population", _STEPS["population"])
        return population_uniques(self.keys, self.weights)

    def report(self, largest: int) -> RiskReport:
        figures = [
            *self._sample(),
            *self._population(),
            *self._k_map(),
            RiskFigure(
                "special_uniques",
                f"singled out by at most {self.special.largest} columns",
                self.special.rows,
                known_as="SUDA",
            ),
        ]
        return RiskReport(
            rows=self.table.num_rows,
            quasi_identifiers=self.keys.names,
            figures=tuple(figures),
            population=None if self.weights is None else float(self.weights.sum()),
            threshold=self.threshold,
            special_sizes=self.special.by_size,
            contributions=self.special.contributions,
            singling_values=tuple(self._singling_values()),
            notes=tuple(self._notes(largest)),
            individual=self.individual,
            scores=self.special.scores,
        )

    def _sample(self) -> Iterator[RiskFigure]:
        """What is found by whoever knows that a person is in the table."""
        before, after = self.keys.frequencies, self.matches

        def count(below: int) -> tuple[float, float | None]:
            own = int(np.count_nonzero(before < below))
            return own, None if after is None else int(np.count_nonzero(after < below))

        yield RiskFigure(
            "sample_uniques",
            "nobody is alike",
            *count(2),
            known_as="sample uniques",
        )
        for k in (2, 3, 5):
            yield RiskFigure(
                f"violating_{k}",
                f"fewer than {k} are alike",
                *count(k),
                known_as=f"violating {k}-anonymity",
            )
        yield RiskFigure(
            "k",
            "fewest that are alike",
            int(before.min()),
            None if after is None else int(after.min()),
            "k",
        )
        some = None if after is None else np.maximum(after, 1)
        yield RiskFigure(
            "prosecutor_highest",
            "highest risk of somebody known to be in it",
            float(1 / before.min()),
            None if some is None else float(1 / some.min()),
            "prosecutor risk",
        )
        yield RiskFigure(
            "prosecutor_mean",
            "mean risk of those known to be in it",
            float((1 / before).mean()),
            None if some is None else float((1 / some).mean()),
            "marketer risk",
        )
        certified = None if self.release is None else self.release.certified
        if certified is not None and certified.degree.min:
            unit = certified.unit
            share = None if unit is None else unit.largest_share
            yield RiskFigure(
                "bound_by_graph",
                "guaranteed: no risk is above",
                None,
                1 / certified.degree.min if share is None else share,
                "1/k",
            )

    def _population(self) -> Iterator[RiskFigure]:
        """What is found by whoever does not know who is in the table."""
        if self.weights is None or self.individual is None:
            return
        before = self.individual
        after = None if self.released is None else self.released.individual(self.weights)
        yield RiskFigure(
            "individual_highest",
            "highest individual risk",
            float(before.max()),
            None if after is None else float(after.max()),
            "individual risk",
        )
        yield RiskFigure(
            "individual_mean",
            "mean individual risk",
            float(before.mean()),
            None if after is None else float(after.mean()),
            "global risk",
        )
        yield RiskFigure(
            "expected_reidentifications",
            "sum of individual risks",
            float(before.sum()),
            None if after is None else float(after.sum()),
            "expected re-identifications",
        )
        yield RiskFigure(
            "above_threshold",
            f"individual risk above {self.threshold:g}",
            int(np.count_nonzero(before > self.threshold)),
            None if after is None else int(np.count_nonzero(after > self.threshold)),
            "rows at risk",
        )
        if self.household is not None:
            together = household_risk(before, self.household)
            later = None if after is None else household_risk(after, self.household)
            yield RiskFigure(
                "household_mean",
                "mean risk of a household",
                float(together.mean()),
                None if later is None else float(later.mean()),
                "hierarchical risk",
            )
            yield RiskFigure(
                "household_reidentifications",
                "expected rows of identified households",
                float(together.sum()),
                None if later is None else float(later.sum()),
                "hierarchical expected re-identifications",
            )
        found = self.uniques
        yield RiskFigure(
            "population_uniques",
            "expected uniques of the population (Skinner, Shlomo)",
            found.log_linear,
            known_as="population uniqueness",
        )
        for name, words in (
            ("pitman", "by Pitman's model (Hoshino)"),
            ("zayatz", "by class sizes (Zayatz)"),
            ("by_weights", "by weights alone (Benedetti, Franconi)"),
        ):
            yield RiskFigure(f"population_uniques_{name}", f"  {words}", getattr(found, name))
        yield RiskFigure(
            "right_links",
            "expected right links of sample uniques (Skinner, Shlomo)",
            found.right_links,
            known_as="τ₂",
        )
        fraction = min(len(before) / float(self.weights.sum()), 1.0)
        yield RiskFigure(
            "dis",
            "chance that a unique match is right",
            correct_matches(self.keys.sizes, fraction),
            known_as="DIS",
        )

    def _k_map(self) -> Iterator[RiskFigure]:
        """What is found by whoever has the table of the population."""
        if self.population is None:
            return
        self.steps.begin("k-map", _STEPS["k-map"])
        before, _ = population_counts(self.table, self.population, self.keys.names)
        known = before[before > 0]
        after = None
        if self.release is not None:
            inside = population_inside(self.population, self.release)
            after = inside[inside > 0]
            empty = int(np.count_nonzero(inside == 0))

        def least(counts: Int64Array | None) -> float | None:
            return None if counts is None or not len(counts) else int(counts.min())

        yield RiskFigure(
            "k_map",
            "fewest of the population that fit",
            least(known),
            least(after),
            "k-map",
        )
        yield RiskFigure(
            "true_population_uniques",
            "one person of the population fits",
            int(np.count_nonzero(known == 1)),
            None if after is None else int(np.count_nonzero(after == 1)),
            "population uniques",
        )
        yield RiskFigure(
            "journalist_mean",
            "mean risk, 1 / who fits",
            float((1 / known).mean()) if len(known) else None,
            float((1 / after).mean()) if after is not None and len(after) else None,
            "journalist risk",
        )
        yield RiskFigure(
            "not_in_population",
            "nobody of the population fits; not counted above",
            int(np.count_nonzero(before == 0)),
            None if self.release is None else empty,
        )

    def _singling_values(self) -> Iterator[SinglingValue]:
        """The values whose rows have the highest scores, on average, with their column in it."""
        found = []
        for name, codes in zip(self.keys.names, self.keys.codes, strict=True):
            counts = np.bincount(codes)
            means = np.bincount(codes, self.special.by_column[name]) / np.maximum(counts, 1)
            for code in np.argsort(-means, kind="stable")[:_SHOWN_VALUES]:
                row = int(np.argmax(codes == code))
                text = str(self.table.column(name)[row].as_py())
                found.append(SinglingValue(name, text, int(counts[code]), float(means[code])))
        best = sorted(found, key=lambda each: -each.score)[:_SHOWN_VALUES]
        yield from (each for each in best if each.score > 0)

    def _notes(self, largest: int) -> Iterator[str]:
        if self.special.largest < min(largest, len(self.keys.names)):
            yield (
                f"Combinations of more than {self.special.largest} columns were not searched: there"
                " are too many for so many rows."
            )
        if self.stated_weights is not None:
            below = int(np.count_nonzero(self.stated_weights < 1))
            if below:
                yield (
                    f"{below:,} rows have a weight below 1, or none; they are taken to stand for"
                    " themselves."
                )
            if self.stated_weights.mean() <= 1.000001:
                yield (
                    "The weights add up to no more people than there are rows. Weights that were"
                    " scaled to a mean of 1 have to be scaled back to numbers of people."
                )
        if self.weights is not None and self.individual is not None:
            unique = self.keys.frequencies == 1
            if self.uniques.right_links > _FAR * float(self.individual[unique].sum()):
                yield (
                    "Individual risks follow from weights alone, which say little about rows that"
                    " are rare; the log-linear model expects more right links (τ₂)."
                )
        if self.population is not None and self.population.num_rows < self.table.num_rows:
            yield "The population has fewer rows than the table."
        certified = None if self.release is None else self.release.certified
        if certified is not None and certified.unit is not None and certified.unit.largest_share:
            yield (
                "Figures other than the bound by the graph are about rows: several rows of a person"
                " count as several people."
            )
