"""The role, kind and options of one column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from mottle.errors import did_you_mean
from mottle.hierarchy.tree import Hierarchy
from mottle.kinds.base import Kind as Kind
from mottle.kinds.coarsening import OPTIONS as COARSENING_OPTIONS
from mottle.kinds.coarsening import Coarsening, as_limit
from mottle.kinds.item_set import SEPARATOR as SEPARATOR
from mottle.schema.external_release import (
    CellNotation,
    known_word,
)
from mottle.utils.renamed import notice_renamed

OLD_IMPORTANCE = "weight"  # what the importance of a column was called

Enumeration = TypeVar("Enumeration", bound=StrEnum)
Word = TypeVar("Word", bound=str)


class Role(StrEnum):
    """What an adversary may do with a column (ARX's four attribute types), and whose row it is."""

    IDENTIFYING = "identifying"  # names the person: removed
    PERSON = "person"  # says whose row it is, of people with several: removed
    QUASI_IDENTIFYING = "quasi-identifying"  # known to an adversary: generalized
    SENSITIVE = "sensitive"  # what an adversary wants to learn: published unchanged
    INSENSITIVE = "insensitive"  # none of these: published unchanged
    PSEUDONYM = "pseudonym"  # says whose row it is, one each: published as a keyed pseudonym
    SHIFTED = "shifted"  # insensitive dates: published moved by some days, the same for a person

    @property
    def removed(self) -> bool:
        """Whether columns of this role are left out of the release."""
        return self in (Role.IDENTIFYING, Role.PERSON)

    @property
    def keyed(self) -> bool:
        """Whether what is published of these columns follows from the owner's key."""
        return self in (Role.PSEUDONYM, Role.SHIFTED)

    @property
    def names_person(self) -> bool:
        """Whether a column of this role says whose row it is."""
        return self in (Role.PERSON, Role.PSEUDONYM)


class Unit(StrEnum):
    """What is protected, and what k counts."""

    PERSON = "person"  # people; without a person column, every row is taken for a person
    HOUSEHOLD = "household"  # households, or other groups: every row is another one
    ROW = "row"  # rows, each by itself: nothing is said about people who have several


# Roles that a column of sampling weights may have.
OF_SURVEY_WEIGHTS = (Role.INSENSITIVE, Role.QUASI_IDENTIFYING, Role.IDENTIFYING)


class PerPerson(StrEnum):
    """What is done with several rows of a person."""

    AGGREGATE = "aggregate"  # they are made into one row; see `mottle.encoding.per_person`


class Representation(StrEnum):
    """How a generalized cell is published (NH10 §5.3)."""

    RANGE = "range"  # numbers, dates, ordered: range; hierarchy: node; category: set
    SET = "set"  # every column: the set of possible values; sets of items as with RANGE


class Objective(StrEnum):
    """The loss that methods keep low where they have a choice (docs/measures.md).

    >>> Objective("ncp") is Objective.NCP, Objective.DEFAULT
    (True, <Objective.READING: 'reading'>)
    """

    READING = "reading"  # what readers who know frequencies lose: Brier score, width of ranges
    NCP = "ncp"  # the normalized certainty penalty of the papers, whose mean is GCP
    ENTROPY = "entropy"  # bits that sets and nodes leave open; width of ranges
    DEFAULT = READING


class Column(BaseModel):
    """One column of the table.

    >>> Column(name="age", role="quasi-identifying", kind="number").role
    <Role.QUASI_IDENTIFYING: 'quasi-identifying'>
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    name: str
    role: Role
    kind: Kind | None = None  # None: chosen by the type of the data
    # How much its loss counts. Owners' keys and link files know it by its old name.
    importance: float = Field(
        default=1.0, gt=0, allow_inf_nan=False, serialization_alias=OLD_IMPORTANCE
    )
    order: tuple[str, ...] | None = None  # ordered: the values from lowest to highest
    hierarchy: Hierarchy | None = None
    hierarchy_file: Path | None = None  # where the hierarchy was read from
    separator: str | None = None  # set: the text between two items, where sets are text
    # set: publish items as the lowest nodes of the hierarchy that so many records hold
    node_holders: int | None = Field(default=None, ge=1)
    representation: Representation | None = None  # None: that of the run
    objective: Objective | None = None  # None: that of the run
    breaks: tuple[float, ...] | None = None  # numbers: where a new bin begins
    bins: int | None = Field(default=None, ge=2)  # sensitive numbers: number of quantile bins
    # sensitive: groups of similar values, as (name, values); a value in none is alone
    groups: tuple[tuple[str, tuple[str, ...]], ...] | None = None
    shift: int | None = Field(default=None, ge=1, le=3660)  # shifted: the most days
    # quasi-identifiers that are made coarser: see `mottle.kinds.coarsening`
    snap: int | float | None = None  # numbers: the width of a bin
    bottom: int | float | date | None = None  # numbers and dates: the end of the lower tail
    top: int | float | date | None = None  # numbers and dates: where the upper tail begins
    granularity: str | None = None  # dates, times and durations: the unit
    # how another tool writes the column's cells; None: chosen by the kind
    cells: CellNotation | None = None

    @model_validator(mode="before")
    @classmethod
    def _renamed(cls, entries: object) -> object:
        """Accept the old name of the importance, with a notice."""
        if not isinstance(entries, Mapping) or OLD_IMPORTANCE not in entries:
            return entries
        if "importance" in entries:
            raise ValueError("importance and weight are the same option: give the importance only")
        notice_importance()
        return {"importance" if key == OLD_IMPORTANCE else key: entries[key] for key in entries}

    @field_validator("role", "representation", "objective", mode="before")
    @classmethod
    def _known_word(cls, value: object, info: Any) -> object:
        known = {"role": Role, "representation": Representation, "objective": Objective}
        words: type[StrEnum] = known[info.field_name]
        return parse_word(words, value) if isinstance(value, str) else value

    @field_validator("kind", mode="before")
    @classmethod
    def _known_kind(cls, value: object) -> object:
        return find_word(value, list(Kind), "kind") if isinstance(value, str) else value

    @field_validator("groups", mode="before")
    @classmethod
    def _named_groups(cls, value: object) -> object:
        return tuple(value.items()) if isinstance(value, Mapping) else value

    @field_validator("snap", mode="before")
    @classmethod
    def _number(cls, value: object) -> object:
        if value is not None and type(value) not in (int, float):
            raise ValueError("snap must be a number above 0")
        return value

    @field_validator("bottom", "top", mode="before")
    @classmethod
    def _number_or_date(cls, value: object, info: Any) -> object:
        limit = as_limit(value) if isinstance(value, str) else value
        if limit is not None and type(limit) not in (int, float, date):
            raise ValueError(f"{info.field_name} must be a number, or a date such as 1930-12-31")
        return limit

    @field_validator("cells", mode="before")
    @classmethod
    def _known_cells(cls, value: object) -> object:
        return known_word(CellNotation, value)

    @model_validator(mode="after")
    def _options_fit_kind(self) -> Column:
        for option in ("snap", "bottom", "top", "granularity"):
            if getattr(self, option) is not None and self.role is not Role.QUASI_IDENTIFYING:
                raise ValueError(f"{option} is for quasi-identifying columns, not {self.role} ones")
        options = sorted({option for kind in Kind for option in kind.options})
        self._check_kind([option for option in options if getattr(self, option) is not None])
        if self.kind is not None:
            self.kind.check_options(self)
        if self.coarsening is not None:
            self._check_coarsening(self.coarsening)
        elif self.breaks is not None or self.bins is not None:
            self._check_bins()
        if self.groups is not None:
            self._check_groups()
        if self.cells is not None:
            self._check_cells()
        if self.shift is not None and self.role is not Role.SHIFTED:
            raise ValueError(
                f"shift needs role = 'shifted', not '{self.role}': only dates that are published as"
                " they are can be shifted"
            )
        return self

    def _check_kind(self, options: Sequence[str]) -> None:
        """Check that the kind accepts some options; set the kind they imply if none is stated."""
        if self.kind is None and options:
            able = [kind for kind in Kind if set(options) <= set(kind.options)] or list(Kind)
            implied = [kind for kind in able if kind.implied_by in options]
            object.__setattr__(self, "kind", (implied or able)[0])
        for option in options:
            if self.kind is not None and option not in self.kind.options:
                takes = " or ".join(f"'{kind}'" for kind in Kind if option in kind.options)
                raise ValueError(
                    f"{article(option)} {option} needs kind = {takes}, not '{self.kind}'"
                )

    @property
    def coarsening(self) -> Coarsening | None:
        """The rule by which values of a quasi-identifier are made coarser; None without one.

        See `mottle.kinds.coarsening`.
        """
        if self.role is not Role.QUASI_IDENTIFYING:
            return None
        return Coarsening.of(**{option: getattr(self, option) for option in COARSENING_OPTIONS})

    def _check_coarsening(self, coarsening: Coarsening) -> None:
        if self.bins is not None:
            raise ValueError("bins are for sensitive columns; give snap or breaks")
        if self.kind is not None:
            self.kind.check_coarsening(coarsening)
        else:
            coarsening.check()

    def _check_cells(self) -> None:
        if self.role is not Role.QUASI_IDENTIFYING:
            raise ValueError(f"cells are for quasi-identifying columns, not {self.role} ones")
        if (self.cells is CellNotation.LABEL) != (self.hierarchy is not None):
            raise ValueError("cells = 'label' and a hierarchy go together")

    def _check_groups(self) -> None:
        if self.role is not Role.SENSITIVE:
            raise ValueError(f"groups are for sensitive columns, not {self.role} ones")
        if self.hierarchy is not None:
            raise ValueError("give groups or a hierarchy, not both")
        grouped = [value for _, values in self.groups or () for value in values]
        if len(set(grouped)) < len(grouped):
            raise ValueError("a value is in several groups, or twice in one")

    def _check_bins(self) -> None:
        if self.role is not Role.SENSITIVE:
            raise ValueError(
                f"bins and breaks are for sensitive columns, breaks also for quasi-identifying"
                f" ones, not for {self.role} ones"
            )
        if self.groups is not None or self.hierarchy is not None:
            raise ValueError("bins and breaks do not go together with groups or a hierarchy")
        if self.breaks is not None and self.bins is not None:
            raise ValueError("give bins or breaks, not both")
        ascending = self.breaks is None or all(low < high for low, high in pairwise(self.breaks))
        if self.breaks == () or not ascending:
            raise ValueError("the breaks must be numbers from lowest to highest")


def parse_word(words: type[Enumeration], value: str) -> Enumeration:
    """Return the member of an enumeration that a user means; ValueError suggests one.

    >>> parse_word(Role, "Sensitive")
    <Role.SENSITIVE: 'sensitive'>
    """
    return find_word(value, list(words), words.__name__.lower())


def find_word(value: str, words: Sequence[Word], noun: str) -> Word:
    """The word that a user means, or a ValueError that suggests one."""
    meant = value.strip().lower().replace("_", "-")
    for word in words:
        if word == meant:
            return word
    known = [str(word) for word in words]
    raise ValueError(
        f"'{value}' is not a valid {noun}. {did_you_mean(value, known)} ({', '.join(known)})"
    )


def article(noun: str) -> str:
    """Return "a" or "an"."""
    return "an" if noun[0] in "aeiou" else "a"


def notice_importance() -> None:
    """Say that the importance of a column is no longer called its weight."""
    notice_renamed(OLD_IMPORTANCE, "importance", "A weight is that of a survey: survey_weight.")
