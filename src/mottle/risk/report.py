"""What `measure_risk` found: figures before and after, by the names that are known for them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from mottle.errors import UsageError, did_you_mean
from mottle.typing import Float64Array

__all__ = ["RiskFigure", "RiskReport", "SinglingValue"]


@dataclass(frozen=True)
class RiskFigure:
    """One measure of the table and, where there is one, of its release."""

    name: str
    title: str  # in plain words
    before: float | None
    after: float | None = None
    known_as: str = ""  # what other tools call it

    @property
    def is_count(self) -> bool:
        """Whether it counts rows, people or records; otherwise it is a probability or a share."""
        return self.name in COUNTS

    @property
    def before_text(self) -> str:
        """The measure of the table, as text."""
        return self._text(self.before)

    @property
    def after_text(self) -> str:
        """The measure of the release, as text."""
        return self._text(self.after)

    def _text(self, value: float | None) -> str:
        if value is None:
            return "–"
        if self.is_count:
            return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"
        return f"{value:.2%}" if value >= 0.0001 or value == 0 else f"{value:.1e}"


@dataclass(frozen=True)
class SinglingValue:
    """A value of the table whose rows are easily singled out."""

    column: str
    value: str  # a cell of the table
    rows: int  # that have it
    score: float  # mean of the parts of their SUDA scores that the column is in


# Figures that are numbers of rows or people, expected ones included.
COUNTS = frozenset(
    {
        "k",
        "sample_uniques",
        "violating_2",
        "violating_3",
        "violating_5",
        "expected_reidentifications",
        "above_threshold",
        "household_reidentifications",
        "population_uniques",
        "population_uniques_by_weights",
        "right_links",
        "population_uniques_zayatz",
        "population_uniques_pitman",
        "k_map",
        "true_population_uniques",
        "not_in_population",
        "special_uniques",
    }
)


@dataclass(frozen=True, repr=False)
class RiskReport:
    """The risk of a table, and what is left of it in a release; for the owner of the data.

    Attributes
    ----------
    rows : int
        Rows of the table.
    quasi_identifiers : tuple of str
        The columns by which people are looked up.
    figures : tuple of RiskFigure
        The measures.
    population : float or None
        People of the population: the sum of the weights, or as stated.
    threshold : float
        The risk above which rows are counted.
    special_sizes : mapping of int to int
        Minimal sample uniques by their number of columns.
    contributions : mapping of str to float
        By column: the share of all SUDA scores that combinations with it make.
    singling_values : tuple of SinglingValue
        The values that single rows out most. They are cells of the table.
    notes : tuple of str
        What a reader has to know.
    individual : float64 array of shape (rows,) or None
        The individual risk of every row; None without weights.
    scores : float64 array of shape (rows,)
        The SUDA score of every row.
    """

    rows: int
    quasi_identifiers: tuple[str, ...]
    figures: tuple[RiskFigure, ...]
    population: float | None = None
    threshold: float = 0.09
    special_sizes: Mapping[int, int] = field(default_factory=dict)
    contributions: Mapping[str, float] = field(default_factory=dict)
    singling_values: tuple[SinglingValue, ...] = ()
    notes: tuple[str, ...] = ()
    individual: Float64Array | None = field(default=None, compare=False)
    scores: Float64Array | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        return f"RiskReport({self.rows:,} rows, {len(self.figures)} figures)"

    @property
    def sampling_fraction(self) -> float | None:
        """The share of the population that the table is; None where the population is unknown."""
        return None if not self.population else min(self.rows / self.population, 1.0)

    def figure(self, name: str) -> RiskFigure:
        """Return one measure.

        Parameters
        ----------
        name : str
            Its name, such as "sample_uniques" or "individual_mean".

        Returns
        -------
        RiskFigure
            The measure.

        Raises
        ------
        UsageError
            It was not measured.
        """
        found = {figure.name: figure for figure in self.figures}
        if name not in found:
            raise UsageError(f"There is no figure '{name}'.", did_you_mean(name, found))
        return found[name]

    def to_dict(self, *, values: bool = False) -> dict[str, Any]:
        """Return the report as types of JSON.

        Parameters
        ----------
        values : bool
            Whether to include the values that single rows out, which are cells of the table.

        Returns
        -------
        dict
            Everything but the risks of single rows.
        """
        return {
            "rows": self.rows,
            "quasi_identifiers": list(self.quasi_identifiers),
            "population": self.population,
            "sampling_fraction": self.sampling_fraction,
            "threshold": self.threshold,
            "figures": {
                each.name: {"title": each.title, "before": each.before, "after": each.after}
                for each in self.figures
            },
            "special_uniques_by_size": {str(key): n for key, n in self.special_sizes.items()},
            "contributions": dict(self.contributions),
            **(
                {"singling_values": [asdict(each) for each in self.singling_values]}
                if values
                else {}
            ),
            "notes": list(self.notes),
        }

    def to_json(self, *, values: bool = False) -> str:
        """Return the report as JSON.

        Parameters
        ----------
        values : bool
            As for `to_dict`.

        Returns
        -------
        str
            Indented JSON.
        """
        return json.dumps(self.to_dict(values=values), indent=2, ensure_ascii=False)
