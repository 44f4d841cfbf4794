"""The certificate of a release: one frozen, versioned model, read by attribute everywhere.

It says what kind of release a folder holds, what is promised, how the release was made, what was
measured and checked, and the checksums of the files. It holds no cell value other than those that
the owner wrote into rules. The JSON Schema of its file, ``certificate.json``, ships with the
package as ``certificate.schema.json``.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Any, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from mottle.errors import DataError
from mottle.guarantees.decisions import DecidesBy, in_words
from mottle.release.evidence_facts import KnownRecordFacts, LimitFacts, RiskFacts
from mottle.release.facts import Facts, OpenFacts, as_json
from mottle.release.unit_words import about
from mottle.schema.context import Context
from mottle.schema.model import Role, Unit
from mottle.schema.rules import MOST_RULES, Rule
from mottle.utils.untrusted.text import parse_json

__all__ = [
    "AUDITS",
    "FORMAT",
    "OWNER_KEY",
    "AuditSummary",
    "CalibrationFacts",
    "Certificate",
    "Check",
    "ColumnFacts",
    "Degrees",
    "EngineFacts",
    "FindingFacts",
    "GuaranteeClaim",
    "HistoryFacts",
    "KnownRecordFacts",
    "LimitFacts",
    "Measured",
    "MethodFacts",
    "ReleaseKind",
    "RiskFacts",
    "RunParameters",
    "SensitiveFacts",
    "SensitiveTable",
    "UnchangedColumns",
    "UnitFacts",
    "certificate_schema",
]

AUDITS = ("basic", "full")  # from the run's own measurements, or by playing all adversaries
OWNER_KEY = "owner's key"  # a source of randomness
FORMAT = 2  # of certificate.json; files that do not state a format have format 1


class ReleaseKind(StrEnum):
    """The kinds of release that a folder can hold."""

    TABLE = "table"  # one table with generalized cells
    TWO_TABLES = "two tables"  # exact quasi-identifiers in groups, sensitive values by group
    SETS = "sets"  # sets of items, with or without labels


class GuaranteeClaim(OpenFacts):
    """A guarantee as a statement, with its parameters (k, l, beta …) as further entries."""

    name: str
    short: str
    statement: str
    parts: tuple[GuaranteeClaim, ...] | None = None  # the guarantees of a combination

    @property
    def each(self) -> tuple[GuaranteeClaim, ...]:
        """The single guarantees of a combination, or this one alone."""
        return self.parts or (self,)


class MethodFacts(OpenFacts):
    """The method that made a release, and what it states about its own decisions."""

    name: str
    title: str
    paper: str
    picked: str | None = None  # the method that 'auto' chose
    decides_by: str | None = None  # the data on which its decisions depend
    mixed_decision: str | None = None  # the decision that depends on sensitive values as well
    decisions: str | None = None  # the same in words

    @property
    def used(self) -> str:
        """The method that arranged the records."""
        return self.picked or self.name

    @property
    def decided_by_both(self) -> bool:
        """Whether decisions depended on quasi-identifiers and sensitive values together."""
        return self.decides_by == DecidesBy.BOTH

    def with_decisions(self, decides_by: str, mixed_decision: str | None) -> Self:
        """Return a copy that states what the decisions depended on.

        Parameters
        ----------
        decides_by : str
            The data; if the method described it in more detail, its own words stay.
        mixed_decision : str or None
            The decision that depended on sensitive values as well, if there was one.

        Returns
        -------
        MethodFacts
            The changed copy.
        """
        mixed = {} if mixed_decision is None else {"mixed_decision": mixed_decision}
        return self.model_copy(
            update={
                "decides_by": self.decides_by or decides_by,
                **mixed,
                "decisions": in_words(DecidesBy(decides_by), mixed_decision),
            }
        )


class RunParameters(Facts):
    """Options of the run that a reader needs to know."""

    representation: str | None = None  # None for sets
    draw: str  # how the true assignment was drawn
    # Where the random numbers came from: "operating system", "owner's key" or "seed".
    randomness: str | None = None
    effort: float | None = None  # time limit in seconds; None: until improving no longer paid
    least_total: int | None = None  # fewest records of a published total; None: no totals
    # Options of the method that differ from its defaults, by name.
    options: dict[str, int | float | str] = Field(default_factory=dict)


class ObjectiveFacts(Facts):
    """The loss that the method kept low, and its mean over all records."""

    name: str  # "reading", "ncp" or "entropy"; columns may name another one
    loss: float  # 0 where all cells are exact, about 1 where they say no more than the totals


class EngineFacts(Facts):
    """The engine that processed a table in chunks."""

    name: str
    version: str | None = None
    memory: int | None = None  # bytes
    rows_per_chunk: int
    chunks: int


class ColumnFacts(Facts):
    """A column of the input or of the release; nothing about its values."""

    name: str
    role: Role
    kind: str | None = None
    form: str | None = None
    separator: str | None = None
    coarsening: Mapping[str, Any] | None = None  # the rule by which values were made coarser
    importance: float | None = None  # how much its loss counts
    objective: str | None = None  # the loss that was kept low in it; None: that of the run
    type: str | None = None
    # Sets with a hierarchy of items: how many nodes stand for several items.
    nodes: int | None = None
    # Of such a column of a table: what of its loss is that of the nodes, whatever the cells are.
    node_loss: float | None = None
    shift: int | None = None  # dates: the most days by which they are moved

    @model_validator(mode="before")
    @classmethod
    def _of_earlier_versions(cls, content: object) -> object:
        """Read the importance by the name that earlier versions gave it."""
        if not isinstance(content, Mapping) or "weight" not in content:
            return content
        return {"importance" if key == "weight" else key: content[key] for key in content}


class SensitiveFacts(Facts):
    """Counts about sensitive values, or groups of similar ones, that are protected by a cap."""

    columns: tuple[str, ...]
    values: int  # different values, or groups
    largest_share: float
    binned: str | None = None
    # Groups: their levels, 1 is right above the values; empty for a value and all others.
    levels: tuple[int, ...] | None = None
    alone: int | None = None  # groups: how many hold one value only
    cap: float | None = None  # groups: the highest share that one may have among anybody's matches


class UnchangedColumns(Facts):
    """How many rows the columns that are published as they are single out, as the release shows."""

    rows: int  # that were examined
    singles_out: Mapping[str, float]  # by column: share of rows whose value no other row has
    together: float | None = None  # the same for all of them together, if there are several


class HistoryFacts(Facts):
    """How a release continues earlier ones; it follows from who was in the tables when."""

    release: int  # its number; earlier ones are 1 .. release - 1
    rule: str  # when a block that lost people is still published: "keep" or "drop"
    least_newcomers: int  # fewer than these wait for a later release
    kept: int  # records that were published before
    new: int  # records that are published for the first time
    left: int  # of the kept ones, records of people who are no longer in the table
    waiting: int  # people of the table who are too few to be published yet
    withheld: int  # people of the table whose block is no longer published


class UnitFacts(Facts):
    """What one row is taken for: what is protected, and what k counts."""

    protects: Unit  # people, households, or rows
    statement: str
    column: str | None = None  # that says whose row it is; None: every row is taken for a person
    people: int | None = None  # number of people, by that column
    most_rows: int | None = None  # rows of the person who has most
    largest_share: float | None = None  # of one person among the preimages of a record, at most
    per_person: str | None = None  # "aggregate": one row was made of all rows of a person
    original_rows: int | None = None  # before that


class SensitiveTable(Facts):
    """The second table of a release of two tables: sensitive values by group."""

    rows: int
    columns: tuple[ColumnFacts, ...]


class Degrees(Facts):
    """The number of originals that published records may stand for."""

    min: int
    max: int
    records: tuple[tuple[int, int], ...] = ()  # (degree, number of records that have it)


class CalibrationFacts(Facts):
    """How far answers about quasi-identifiers are off, compared with the error that cells suggest.

    A function of published cells and of quasi-identifiers; nothing about sensitive values or links.
    Entry i of a list is for answers that depend on i + 1 quasi-identifiers.
    """

    records: int  # of the release on which the questions were asked
    questions: int  # that were asked per number of quasi-identifiers, at most
    # (a, b): a count with standard error s by cells has the error √((a·s)² + (b·s²)²), times the
    # root mean square of the factors of all pairs of its columns if there are several.
    counts: tuple[tuple[float, float], ...]
    pair_factors: Mapping[str, Mapping[str, float]] = {}
    column_factors: Mapping[str, float] = {}  # instead of pairs, in releases before there were any
    sums: tuple[float, ...]  # factors, times those of pairs
    averages: tuple[float, ...]  # factors, times those of pairs
    coefficients: float | None = None  # factor for regressions on sampled worlds; None: not known
    columns: Mapping[str, float]  # median relative error of counts with a condition on it


class Measured(OpenFacts):
    """The measurements of a check; checks add entries of their own."""

    blocks: int | None = None
    capped_values: int | None = None
    individuals: int | None = None
    highest_share_of_cap: float | None = None


class Check(Facts):
    """One of the invariants, checked before anything was written."""

    invariant: int
    name: str
    passed: bool
    measured: Measured


class FindingFacts(Facts):
    """The result of one adversary of the audit."""

    adversary: str
    title: str
    assumes: str
    measure: str
    achieved: int | float | None
    allowed: int | float | None
    passed: bool | None
    details: Mapping[str, Any]

    @field_validator("details", mode="before")
    @classmethod
    def _json_types(cls, content: object) -> object:
        return as_json(content)


class OwnerVerdict(Facts):
    """The adversaries judged by the true assignment: whether the guarantee held against all."""

    adversaries: tuple[str, ...]
    passed: bool


class AuditSummary(Facts):
    """The audit, from the run's own measurements (basic) or by all adversaries (full)."""

    level: str
    passed: bool
    findings: tuple[FindingFacts, ...]  # what follows from release, quasi-identifiers and graph
    owner: OwnerVerdict | None = None  # of all other findings; None: there are none
    seconds: Mapping[str, float] | None = None  # by adversary, on certificates of earlier versions


class Certificate(Facts):
    """The certificate of a release.

    >>> sorted(Certificate.model_fields)[:4]
    ['audit', 'calibration', 'checks', 'columns']
    """

    format: int = FORMAT
    kind: ReleaseKind
    mottle: str  # version of the package that made the release
    date: dt.date | None = None  # day of the run; None on certificates of format 1
    guarantee: GuaranteeClaim
    method: MethodFacts
    parameters: RunParameters
    engine: EngineFacts | None = None  # None: in memory
    rows: int
    unit: UnitFacts | None = None  # what one row is taken for; None: not stated (earlier versions)
    items: int | None = None  # sets: different items
    columns: tuple[ColumnFacts, ...]
    survey_weight: str | None = None  # the column of sampling weights, if there is one
    # What the quasi-identifiers of every row obey, as the owner stated it and the run checked.
    rules: tuple[Rule, ...] = Field(default=(), max_length=MOST_RULES)
    sensitive: tuple[SensitiveFacts, ...] = ()
    unchanged: UnchangedColumns | None = None  # None: no such columns, or not measured
    history: HistoryFacts | None = None  # None: not a release over time
    sensitive_table: SensitiveTable | None = None
    gcp: float | None = None  # tables: global certainty penalty
    ncp: Mapping[str, float] = Field(default_factory=dict)  # tables: by column
    objective: ObjectiveFacts | None = None  # None: NCP alone, or the method follows none
    error_rate: float | None = None  # sets: misreported items per item held, mean over records
    flipped: float | None = None  # sets: the same over all records together
    degree: Degrees
    calibration: CalibrationFacts | None = None  # None: not measured
    seed: int | None = None
    checks: tuple[Check, ...]
    audit: AuditSummary | None = None
    # How easily people are found, before and after; None on certificates of earlier versions.
    risk: RiskFacts | None = None
    known_record: KnownRecordFacts | None = None  # what one known true record gives away
    limits: tuple[LimitFacts, ...] = ()  # what was not examined, and what is not promised
    context: Context | None = None  # as the owner stated it; None: nothing was stated
    notes: tuple[str, ...] = ()
    # What stands before texts of the CSV files that begin like formulas; None: nothing does.
    formula_guard: str | None = None
    sha256: Mapping[str, str] = Field(default_factory=dict)  # of the files, by name
    seconds: Mapping[str, float] = Field(default_factory=dict)  # by stage

    @property
    def worded(self) -> Callable[[str], str]:
        """What says of rows or households, if those are protected, what a sentence says of people.

        On certificates of earlier versions, which name no unit, sentences stay as they are.
        """
        return about(None if self.unit is None else self.unit.protects)

    @property
    def loss(self) -> float:
        """GCP of a table, error rate of sets."""
        return float((self.error_rate if self.kind is ReleaseKind.SETS else self.gcp) or 0.0)

    def with_changes(self, **changes: Any) -> Self:
        """Return a copy with some entries replaced.

        Parameters
        ----------
        **changes : object
            The new entries, by name.

        Returns
        -------
        Certificate
            The changed copy; this object does not change.
        """
        return self.model_copy(update=changes)

    def with_calibration(self, calibration: CalibrationFacts | None) -> Self:
        """Return a copy that states how far answers are off.

        Parameters
        ----------
        calibration : CalibrationFacts or None
            What was measured; None: nothing, and this certificate is returned.

        Returns
        -------
        Certificate
            The changed copy.
        """
        return self if calibration is None else self.with_changes(calibration=calibration)

    def to_json(self) -> str:
        """Return the text of ``certificate.json``.

        Returns
        -------
        str
            Indented JSON that ends with a line break.
        """
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str, source: str = "The certificate") -> Certificate:
        """Read a certificate of this or an earlier format.

        Parameters
        ----------
        text : str
            The content of a ``certificate.json``.
        source : str, optional
            How messages name it.

        Returns
        -------
        Certificate
            The certificate in the current format.

        Raises
        ------
        DataError
            The text is not JSON, is not a certificate, or has a later format.
        """
        try:
            content = parse_json(text)
        except ValueError as error:
            reason = "" if isinstance(error, json.JSONDecodeError) else f": {error}"
            raise DataError(f"{source} is not valid JSON{reason}.") from None
        return cls.from_dict(content, source)

    @classmethod
    def from_dict(cls, content: object, source: str = "The certificate") -> Certificate:
        """Read a certificate from the content of its file; see `from_json`.

        Parameters
        ----------
        content : object
            The parsed JSON.
        source : str, optional
            How messages name it.

        Returns
        -------
        Certificate
            The certificate in the current format.

        Raises
        ------
        DataError
            The content is not a certificate or has a later format.
        """
        if not isinstance(content, dict):
            raise DataError(f"{source} is not a certificate written by mottle.")
        written = content.get("format", 1)
        if isinstance(written, int) and written > FORMAT:
            raise DataError(
                f"{source} has format {written}; this version of mottle reads up to {FORMAT}.",
                "Use a newer version of mottle.",
            )
        try:
            return cls.model_validate(_upgraded(content) if written == 1 else content)
        except ValidationError as error:
            place = ".".join(str(part) for part in error.errors(include_url=False)[0]["loc"])
            raise DataError(
                f"{source} is not a certificate written by mottle: entry '{place}' is missing or"
                " has another type."
            ) from None


def _upgraded(content: Mapping[str, Any]) -> dict[str, Any]:
    """Add to a certificate of format 1 the kind of release, which that format did not state."""
    if "error_rate" in content:
        kind = ReleaseKind.SETS
    else:
        kind = ReleaseKind.TWO_TABLES if "sensitive_table" in content else ReleaseKind.TABLE
    return {**content, "format": FORMAT, "kind": kind}


@cache
def certificate_schema() -> dict[str, Any]:
    """Return the JSON Schema of ``certificate.json`` that ships with the package.

    Returns
    -------
    dict
        A schema of draft 2020-12.
    """
    text = resources.files("mottle.release").joinpath("certificate.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema
