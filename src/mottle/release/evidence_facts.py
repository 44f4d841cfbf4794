"""The parts of a certificate for whoever has to sign a release: risk, known records, limits."""

from __future__ import annotations

from mottle.release.facts import Facts
from mottle.schema.columns import Unit

__all__ = ["KnownRecordFacts", "LimitFacts", "RiskFacts", "RiskFigures"]


class RiskFigures(Facts):
    """How easily people, or rows, are found by somebody who knows their quasi-identifiers.

    Chances are those of a guess among all records that may be somebody's; where k counts people,
    all rows of a person count together.
    """

    unique: float  # share of people whom their quasi-identifiers single out
    prosecutor_highest: float  # of anybody who is known to be in the table
    prosecutor_mean: float | None = None  # over all people; None: not measured
    # Of somebody of whom it is not known whether she is in the table: not above this.
    journalist_at_most: float
    marketer: float | None = None  # expected share of records that are attributed rightly


class RiskFacts(Facts):
    """How easily people are found in the table and in its release.

    A function of quasi-identifiers, of whose rows they are, and of the graph; nothing about
    sensitive values, columns that are published as they are, or the true assignment.
    """

    counts: Unit  # what is counted: people, or rows
    # Rounded to three decimals. None: earlier versions did not measure it in chunks.
    before: RiskFigures | None = None
    after: RiskFigures  # along the edges of the graph: by whoever knows the algorithm as well


class KnownRecordFacts(Facts):
    """What somebody learns from one true record that he knows, his own for instance."""

    others: int | None = None  # how many other records it gives away at most; None: not bounded
    statement: str


class LimitFacts(Facts):
    """Something that was not examined or is not promised."""

    code: str  # the same in all versions and languages
    statement: str
