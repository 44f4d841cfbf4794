"""The role, kind and importance of each column; read from and written to mottle.toml."""

from __future__ import annotations

import json
import os
import re
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from mottle.errors import SchemaError, StorageError, UsageError, did_you_mean
from mottle.hierarchy.tree import Hierarchy
from mottle.kinds.base import Kind as Kind
from mottle.kinds.coarsening import OPTIONS as COARSENING_OPTIONS
from mottle.kinds.coarsening import Coarsening, as_limit
from mottle.kinds.item_set import SEPARATOR as SEPARATOR
from mottle.schema.external_release import (
    EXTERNAL_OPTIONS,
    CellNotation,
    ExternalRelease,
    known_word,
    unknown_option,
)
from mottle.schema.reading import ReadOptions
from mottle.utils.html import html_table
from mottle.utils.renamed import notice_renamed
from mottle.utils.untrusted.text import parse_toml, read_text

_OLD_IMPORTANCE = "weight"  # what the importance of a column was called

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
    ROW = "row"  # rows, each by itself: nothing is said about people who have several


# Roles that a column of sampling weights may have.
_OF_SURVEY_WEIGHTS = (Role.INSENSITIVE, Role.QUASI_IDENTIFYING, Role.IDENTIFYING)


class PerPerson(StrEnum):
    """What is done with several rows of a person."""

    AGGREGATE = "aggregate"  # they are made into one row; see `mottle.encoding.per_person`


class Representation(StrEnum):
    """How a generalized cell is published (NH10 §5.3)."""

    RANGE = "range"  # numbers, dates, ordered: range; hierarchy: node; category: set
    SET = "set"  # every column: the set of possible values; sets of items as with RANGE


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
        default=1.0, gt=0, allow_inf_nan=False, serialization_alias=_OLD_IMPORTANCE
    )
    order: tuple[str, ...] | None = None  # ordered: the values from lowest to highest
    hierarchy: Hierarchy | None = None
    hierarchy_file: Path | None = None  # where the hierarchy was read from
    separator: str | None = None  # set: the text between two items, where sets are text
    representation: Representation | None = None  # None: that of the run
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
        if not isinstance(entries, Mapping) or _OLD_IMPORTANCE not in entries:
            return entries
        if "importance" in entries:
            raise ValueError("importance and weight are the same option: give the importance only")
        _notice_importance()
        return {"importance" if key == _OLD_IMPORTANCE else key: entries[key] for key in entries}

    @field_validator("role", "representation", mode="before")
    @classmethod
    def _known_word(cls, value: object, info: Any) -> object:
        words = {"role": Role, "representation": Representation}[info.field_name]
        return parse_word(words, value) if isinstance(value, str) else value

    @field_validator("kind", mode="before")
    @classmethod
    def _known_kind(cls, value: object) -> object:
        return _find_word(value, list(Kind), "kind") if isinstance(value, str) else value

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
        for option in sorted({option for kind in Kind for option in kind.options}):
            if getattr(self, option) is not None:
                self._check_option(option)
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

    def _check_option(self, option: str) -> None:
        """Check that the kind accepts an option; set the kind it implies where none is stated."""
        if self.kind is None:
            implied = next(kind for kind in Kind if kind.implied_by == option)
            object.__setattr__(self, "kind", implied)
        elif option not in self.kind.options:
            takes = " or ".join(f"'{kind}'" for kind in Kind if option in kind.options)
            raise ValueError(f"{_article(option)} {option} needs kind = {takes}, not '{self.kind}'")

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


class Schema(BaseModel):
    """The columns of a table, each with a role.

    ``rest`` is the role of columns that are not listed; without it every column must be listed.
    ``unit`` is "row" when rows are to be protected although people may have several, and
    ``per_person`` is "aggregate" when one row is to be made of all rows of a person.
    ``survey_weight`` names the column that says how many people of the population a row stands for;
    it is published as it is unless the column is given another role. ``release`` describes how
    another tool wrote the release that is audited, ``reading`` how the table is read (the table
    ``[read]`` of mottle.toml).

    >>> schema = Schema.of(quasi_identifying=["age", "sex"], sensitive=["diagnosis"])
    >>> [column.name for column in schema.with_role(Role.QUASI_IDENTIFYING)]
    ['age', 'sex']
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    columns: tuple[Column, ...]
    rest: Role | None = None
    unit: Unit | None = None
    per_person: PerPerson | None = None
    survey_weight: str | None = None
    release: ExternalRelease | None = None
    reading: ReadOptions = ReadOptions()

    @field_validator("rest", "unit", "per_person", mode="before")
    @classmethod
    def _known_word(cls, value: object, info: Any) -> object:
        words: type[StrEnum] = {"rest": Role, "unit": Unit, "per_person": PerPerson}[
            info.field_name
        ]
        return parse_word(words, value) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _each_column_once(self) -> Schema:
        counts = Counter(column.name for column in self.columns)
        twice = sorted(name for name, count in counts.items() if count > 1)
        if twice:
            raise ValueError(f"column '{twice[0]}' is given a role twice")
        return self

    @model_validator(mode="after")
    def _one_person_column(self) -> Schema:
        named = [column.name for column in self.columns if column.role.names_person]
        if len(named) > 1:
            raise ValueError(
                f"columns '{named[0]}' and '{named[1]}' both say whose row it is; give one of them"
                " role = 'identifying'"
            )
        if self.rest is not None and (self.rest.names_person or self.rest.keyed):
            raise ValueError(f"rest cannot be '{self.rest}': name the column")
        if named and self.unit is Unit.ROW:
            raise ValueError(
                f"column '{named[0]}' says whose row it is, so unit = '{self.unit}' contradicts it"
            )
        if self.per_person is not None and not named:
            raise ValueError("per_person needs a column with role = 'person'")
        shifted = self.with_role(Role.SHIFTED)
        if shifted and not named:
            raise ValueError(
                f"column '{shifted[0].name}' is shifted by person, so a column with role = 'person'"
                " or 'pseudonym' is needed"
            )
        if len({column.shift for column in shifted}) > 1:
            raise ValueError(
                "columns are shifted by different days, so intervals would not be kept"
            )
        return self

    @model_validator(mode="after")
    def _survey_weight_has_a_role(self) -> Schema:
        if self.survey_weight is None:
            return self
        listed = {column.name: column for column in self.columns}
        found = listed.get(self.survey_weight)
        if found is None:
            weight = Column(name=self.survey_weight, role=Role.INSENSITIVE)
            object.__setattr__(self, "columns", (*self.columns, weight))
        elif found.role not in _OF_SURVEY_WEIGHTS:
            raise ValueError(
                f"column '{found.name}' is the survey weight, which cannot be {found.role}; make it"
                " insensitive (published as it is), quasi-identifying (generalized) or identifying"
                " (removed)"
            )
        return self

    def _repr_html_(self) -> str:
        """Return the columns as a table, for notebooks; without values of orders and groups."""
        rows = [
            (
                column.name,
                column.role,
                column.kind,
                None if column.importance == 1.0 else f"{column.importance:g}",
            )
            for column in self.columns
        ]
        if self.rest is not None:
            rows.append(("all others", self.rest, None, None))
        return html_table(("column", "role", "kind", "importance"), rows, "Schema")

    @property
    def person(self) -> str | None:
        """The column that says whose row it is, if there is one."""
        return next((column.name for column in self.columns if column.role.names_person), None)

    @property
    def removed(self) -> frozenset[str]:
        """The names of the columns that are left out of the release."""
        return frozenset(column.name for column in self.columns if column.role.removed)

    @classmethod
    def of(
        cls,
        *,
        quasi_identifying: Sequence[str],
        sensitive: Sequence[str] = (),
        identifying: Sequence[str] = (),
        insensitive: Sequence[str] = (),
        person: str | None = None,
        pseudonym: str | None = None,
        unit: Unit | str | None = None,
        per_person: PerPerson | str | None = None,
        survey_weight: str | None = None,
        rest: Role | str | None = None,
        shifts: Mapping[str, int] | None = None,
        kinds: Mapping[str, Kind | str] | None = None,
        importance: Mapping[str, float] | None = None,
        weights: Mapping[str, float] | None = None,
        orders: Mapping[str, Sequence[str]] | None = None,
        hierarchies: Mapping[str, Hierarchy | str | Path] | None = None,
        separators: Mapping[str, str] | None = None,
        breaks: Mapping[str, Sequence[float]] | None = None,
        bins: Mapping[str, int] | None = None,
        groups: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
        snaps: Mapping[str, float] | None = None,
        bottoms: Mapping[str, float | date | str] | None = None,
        tops: Mapping[str, float | date | str] | None = None,
        granularities: Mapping[str, str] | None = None,
    ) -> Schema:
        """Build a schema from lists of column names, and options by column name.

        Parameters
        ----------
        quasi_identifying : sequence of str
            Columns that an adversary may know; they are generalized.
        sensitive : sequence of str, optional
            Columns that an adversary wants to learn; they are published unchanged.
        identifying : sequence of str, optional
            Columns that name a person; they are removed.
        insensitive : sequence of str, optional
            Other columns that are published unchanged.
        person : str, optional
            The column that says whose row it is, where people have several rows. It is removed,
            and k is counted in people.
        pseudonym : str, optional
            The same, where everybody has one row: it is published as a pseudonym under the owner's
            key, which is not anonymous by itself.
        unit : {"person", "row"}, optional
            "row" if rows are to be protected, although an identifying column repeats; "person" if
            every row is another person's all the same.
        per_person : {"aggregate"}, optional
            "aggregate" to make one row of all rows of a person.
        survey_weight : str, optional
            The column of sampling weights: how many people of the population a row stands for. It
            is published as it is unless it is listed with another role.
        rest : Role or str, optional
            The role of all columns that are not listed. Without it, every column of the table has
            to be listed.
        shifts : mapping of str to int, optional
            Columns of dates that are published moved by at most so many days, all dates of a
            person by the same number of days under the owner's key.
        kinds : mapping of str to Kind or str, optional
            Kinds by column. The default is the kind that fits the type of the data.
        importance : mapping of str to float, optional
            How much the loss of a column counts. The default is 1.
        weights : mapping of str to float, optional
            The old name of ``importance``.
        orders : mapping of str to sequence of str, optional
            The values of ordered columns, from lowest to highest.
        hierarchies : mapping of str to Hierarchy, str or Path, optional
            Hierarchies, or the files that hold them. Quasi-identifiers are generalized by them; of
            a sensitive column they name the groups of similar values.
        separators : mapping of str to str, optional
            The text between two items of a set, where sets are text.
        breaks : mapping of str to sequence of float, optional
            Where bins of sensitive numbers begin, or those of quasi-identifying numbers, which are
            then published as whole bins.
        bins : mapping of str to int, optional
            Into how many quantile bins sensitive numbers are divided.
        groups : mapping of str to mapping of str to sequence of str, optional
            Groups of similar values of sensitive columns, by column and by the name of the group.
            A value in none is alone. `GroupCaps` bounds how much can be inferred about a group.
        snaps : mapping of str to float, optional
            Widths of the steps in which quasi-identifying numbers are published: with 5, cells are
            such as 20..29.
        bottoms : mapping of str to float or date, optional
            Quasi-identifying numbers or dates up to this one are published as one value: ``..10``.
        tops : mapping of str to float or date, optional
            Quasi-identifying numbers or dates from this one on are published as one value: ``90+``.
        granularities : mapping of str to str, optional
            Units in which quasi-identifiers are published: day, week, month, quarter, year or
            decade for dates, second, minute or hour for times, second, minute, hour or day for
            durations.

        Returns
        -------
        Schema
            The schema, with its columns in the order of the roles: identifying, person,
            quasi-identifying, sensitive, insensitive.

        Raises
        ------
        UsageError
            A text is given where a list of columns is expected.
        SchemaError
            A column has two roles, has options but no role, or has an invalid option.
        """
        details: dict[str, dict[str, Any]] = {}
        for role, names in (
            (Role.IDENTIFYING, identifying),
            (Role.PERSON, () if person is None else (person,)),
            (Role.PSEUDONYM, () if pseudonym is None else (pseudonym,)),
            (Role.QUASI_IDENTIFYING, quasi_identifying),
            (Role.SENSITIVE, sensitive),
            (Role.INSENSITIVE, insensitive),
            (Role.SHIFTED, tuple(shifts or ())),
        ):
            if isinstance(names, str):
                raise UsageError(f"The {role} columns must be a list, not a text.", "Write [NAME].")
            for name in names:
                if name in details:
                    raise SchemaError(f"Column '{name}' is given a role twice.", "Give it one.")
                details[name] = {"role": role}
        for option, values in (
            ("kind", kinds),
            ("importance", importance),
            (_OLD_IMPORTANCE, weights),
            ("order", orders),
            ("hierarchy", hierarchies),
            ("separator", separators),
            ("breaks", breaks),
            ("bins", bins),
            ("groups", groups),
            ("shift", shifts),
            ("snap", snaps),
            ("bottom", bottoms),
            ("top", tops),
            ("granularity", granularities),
        ):
            for name, value in (values or {}).items():
                if name not in details:
                    raise SchemaError(
                        f"Column '{name}' is given {_article(option)} {option} but no role.",
                        did_you_mean(name, details),
                    )
                details[name][option] = value
        content = {
            "columns": details,
            "rest": rest,
            "unit": unit,
            "per_person": per_person,
            "survey_weight": survey_weight,
        }
        return _validated("the schema", content, folder=Path())

    @classmethod
    def read(cls, path: str | Path) -> Schema:
        """Read a ``mottle.toml``.

        Parameters
        ----------
        path : str or Path
            The file. Hierarchy files are found relative to its folder.

        Returns
        -------
        Schema
            The schema.

        Raises
        ------
        StorageError
            The file cannot be read.
        SchemaError
            The file is not valid TOML, or an entry is unknown or invalid.
        """
        path = Path(path)
        try:
            content = parse_toml(read_text(path))
        except StorageError as error:
            raise StorageError(
                f"The schema cannot be read: {error.problem}", "'mottle inspect DATA' writes one."
            ) from None
        except ValueError as error:
            raise SchemaError(f"{path} is not valid TOML: {error}.") from None
        return _validated(str(path), content, folder=path.parent)

    def write(self, path: str | Path) -> None:
        """Write a ``mottle.toml`` that `read` reads back.

        Parameters
        ----------
        path : str or Path
            The file, which is replaced if it exists.

        Raises
        ------
        StorageError
            The file cannot be written.
        SchemaError
            A hierarchy was not read from a file, so that the schema cannot name one.
        """
        text = self.to_toml(folder=Path(path).parent)
        try:
            Path(path).write_text(text, encoding="utf-8")
        except OSError as error:
            raise StorageError(
                f"Cannot write the schema {path}: {error.strerror}.", "Check path and permissions."
            ) from error

    def to_toml(self, comments: Mapping[str, str] | None = None, folder: Path = Path()) -> str:
        """Return the schema as the text of a ``mottle.toml``.

        Parameters
        ----------
        comments : mapping of str to str, optional
            Comments by column, each written above its column.
        folder : Path, optional
            The folder for which the text is meant: hierarchy files are named relative to it.

        Returns
        -------
        str
            TOML, after a header that explains roles, kinds and options.

        Raises
        ------
        SchemaError
            A hierarchy was not read from a file, so that the text cannot name one.
        """
        lines = [_toml_header()]
        if self.rest is not None:
            lines.append(f"rest = {_quoted(self.rest)}  # the role of columns not listed\n")
        if self.unit is not None:
            lines.append(f"unit = {_quoted(self.unit)}  # what is protected, and what k counts\n")
        if self.per_person is not None:
            lines.append(f"per_person = {_quoted(self.per_person)}  # one row of all their rows\n")
        if self.survey_weight is not None:
            lines.append(f"survey_weight = {_quoted(self.survey_weight)}  # people per row\n")
        if self.release is not None:
            lines += self.release.to_toml()
        lines += self.reading.to_toml()
        for column in self.columns:
            comment = (comments or {}).get(column.name, "")
            lines += [f"# {line}" for line in comment.splitlines()]
            lines.append(f"[columns.{_key(column.name)}]")
            lines.append(f"role = {_quoted(column.role)}")
            if column.kind is not None:
                lines.append(f"kind = {_quoted(column.kind)}")
            if column.importance != 1.0:
                lines.append(f"importance = {column.importance!r}")
            if column.order is not None:
                lines.append(f"order = [{', '.join(_quoted(value) for value in column.order)}]")
            if column.hierarchy is not None:
                lines.append(f"hierarchy = {_quoted(_hierarchy_file(column, folder))}")
            if column.separator is not None:
                lines.append(f"separator = {_quoted(column.separator)}")
            if column.representation is not None:
                lines.append(f"representation = {_quoted(column.representation)}")
            if column.breaks is not None:
                lines.append(f"breaks = [{', '.join(map(repr, column.breaks))}]")
            if column.bins is not None:
                lines.append(f"bins = {column.bins}")
            if column.snap is not None:
                lines.append(f"snap = {column.snap!r}")
            for end in ("bottom", "top"):
                if (limit := getattr(column, end)) is not None:
                    lines.append(f"{end} = {limit if isinstance(limit, date) else repr(limit)}")
            if column.granularity is not None:
                lines.append(f"granularity = {_quoted(column.granularity)}")
            if column.groups is not None:
                lines += [
                    f"groups.{_key(name)} = [{', '.join(_quoted(value) for value in values)}]"
                    for name, values in column.groups
                ]
            if column.shift is not None:
                lines.append(f"shift = {column.shift}")
            if column.cells is not None:
                lines.append(f"cells = {_quoted(column.cells)}")
            lines.append("")
        return "\n".join(lines)

    def with_rest(self, rest: Role | str) -> Schema:
        """Return a copy with another role for columns that are not listed.

        Parameters
        ----------
        rest : Role or str
            The role.

        Returns
        -------
        Schema
            The copy.

        Raises
        ------
        SchemaError
            There is no such role.
        """
        return self._with(rest=rest)

    def with_unit(
        self, unit: Unit | str | None = None, per_person: PerPerson | str | None = None
    ) -> Schema:
        """Return a copy that states what one row is taken for.

        Parameters
        ----------
        unit : Unit or str, optional
            As for `of`; what the schema says already if it is left out.
        per_person : PerPerson or str, optional
            As for `of`; what the schema says already if it is left out.

        Returns
        -------
        Schema
            The copy.

        Raises
        ------
        SchemaError
            There is no such word, or it contradicts the column that says whose row it is.
        """
        return self._with(unit=unit or self.unit, per_person=per_person or self.per_person)

    def with_survey_weight(self, column: str | None) -> Schema:
        """Return a copy that names the column of sampling weights.

        Parameters
        ----------
        column : str or None
            The column; None for the one that the schema names already, if any.

        Returns
        -------
        Schema
            The copy.

        Raises
        ------
        SchemaError
            The column has a role that a survey weight cannot have.
        """
        return self._with(survey_weight=column or self.survey_weight)

    def without_keyed(self) -> Schema:
        """Return a copy that publishes nothing under the owner's key, for runs without one.

        Returns
        -------
        Schema
            The copy: pseudonyms only say whose row it is, and shifted dates are left out.
        """
        roles = {Role.PSEUDONYM: Role.PERSON, Role.SHIFTED: Role.IDENTIFYING}
        columns = tuple(
            column.model_copy(update={"role": roles[column.role], "shift": None})
            if column.role.keyed
            else column
            for column in self.columns
        )
        return self._with(columns=columns)

    def with_reading(self, reading: ReadOptions) -> Schema:
        """Return a copy that states how the table is read.

        Parameters
        ----------
        reading : ReadOptions
            The options, instead of those of the schema.

        Returns
        -------
        Schema
            The copy.
        """
        return self._with(reading=reading)

    def _with(self, **entries: object) -> Schema:
        try:
            return Schema.model_validate({**dict(self), **entries})
        except ValidationError as error:
            raise SchemaError(f"{_first_problem(error)}.") from None

    def with_role(self, role: Role) -> tuple[Column, ...]:
        """Return the columns that have a role.

        Parameters
        ----------
        role : Role
            The role.

        Returns
        -------
        tuple of Column
            In the order of the schema.
        """
        return tuple(column for column in self.columns if column.role is role)

    def covering(self, names: Sequence[str]) -> Schema:
        """Return the schema with one entry for each column of a table, in the table's order.

        Parameters
        ----------
        names : sequence of str
            The column names of the table.

        Returns
        -------
        Schema
            Columns that were not listed have the role ``rest``.

        Raises
        ------
        SchemaError
            The table lacks a listed column, a column has no role, or no column is
            quasi-identifying.
        """
        listed = {column.name: column for column in self.columns}
        present = set(names)
        for name in listed:
            if name not in present:
                raise SchemaError(f"The table has no column '{name}'.", _which_column(name, names))
        without_role = [name for name in names if name not in listed]
        if without_role and self.rest is None:
            raise SchemaError(
                f"Columns without a role: {', '.join(without_role)}.",
                "Give each a role, or say '--rest insensitive' (rest = \"insensitive\" in "
                "mottle.toml) to publish them unchanged.",
            )
        for name in without_role:
            assert self.rest is not None
            listed[name] = Column(name=name, role=self.rest)
        complete = Schema(
            columns=tuple(listed[name] for name in names),
            unit=self.unit,
            per_person=self.per_person,
            survey_weight=self.survey_weight,
            release=self.release,
            reading=self.reading,
        )
        if not complete.with_role(Role.QUASI_IDENTIFYING):
            raise SchemaError(
                "No column is quasi-identifying, so there is nothing to generalize.",
                "Name the columns an adversary may know, for instance '--qi age,sex,postcode'.",
            )
        return complete


def parse_word(words: type[Enumeration], value: str) -> Enumeration:
    """Return the member of an enumeration that a user means; ValueError suggests one.

    >>> parse_word(Role, "Sensitive")
    <Role.SENSITIVE: 'sensitive'>
    """
    return _find_word(value, list(words), words.__name__.lower())


def _find_word(value: str, words: Sequence[Word], noun: str) -> Word:
    """The word that a user means, or a ValueError that suggests one."""
    meant = value.strip().lower().replace("_", "-")
    for word in words:
        if word == meant:
            return word
    known = [str(word) for word in words]
    raise ValueError(
        f"'{value}' is not a valid {noun}. {did_you_mean(value, known)} ({', '.join(known)})"
    )


def _article(noun: str) -> str:
    return "an" if noun[0] in "aeiou" else "a"


def _notice_importance() -> None:
    notice_renamed(_OLD_IMPORTANCE, "importance", "A weight is that of a survey: survey_weight.")


def _which_column(name: str, names: Sequence[str]) -> str:
    """Suggest a column, or a delimiter when the whole header became one column."""
    if len(names) == 1:
        for delimiter, word in ((",", ","), (";", ";"), ("\t", "tab"), ("|", "|")):
            if delimiter in names[0]:
                return (
                    f"It has only one column, '{names[0]}'. If the delimiter is '{word}', say"
                    f" --delimiter '{word}'."
                )
    return did_you_mean(name, names)


def _validated(source: str, content: Mapping[str, Any], folder: Path) -> Schema:
    """Turn the content of a mottle.toml into a schema; SchemaError describes what is wrong."""
    columns = content.get("columns", {})
    if not isinstance(columns, Mapping) or not all(
        isinstance(c, Mapping) for c in columns.values()
    ):
        raise SchemaError(f"In {source}, columns are given as tables: [columns.NAME].")
    for key in content:
        if key not in _ENTRIES:
            raise SchemaError(f"In {source}: unknown entry '{key}'.", did_you_mean(key, _ENTRIES))
    validated = []
    for name, options in columns.items():
        for option in options:
            if option not in (*_OPTIONS, _OLD_IMPORTANCE):
                raise SchemaError(
                    f"In {source}, column '{name}': {option}: unknown option.",
                    did_you_mean(option, _OPTIONS),
                )
        try:
            validated.append(Column(name=name, **_with_hierarchy(options, folder)))
        except ValidationError as error:
            raise SchemaError(f"In {source}, column '{name}': {_first_problem(error)}.") from None
    external = content.get("release")
    if isinstance(external, Mapping) and (option := unknown_option(external)) is not None:
        raise SchemaError(
            f"In {source}, [release]: unknown option '{option}'.",
            did_you_mean(option, EXTERNAL_OPTIONS),
        )
    reading = ReadOptions.of_toml(content.get("read", {}), source)
    try:
        return Schema(
            columns=tuple(validated),
            rest=content.get("rest"),
            unit=content.get("unit"),
            per_person=content.get("per_person"),
            survey_weight=content.get("survey_weight"),
            release=external,
            reading=reading,
        )
    except ValidationError as error:
        raise SchemaError(f"In {source}: {_first_problem(error)}.") from None


_ENTRIES = ("columns", "rest", "unit", "per_person", "survey_weight", "release", "read")
_OPTIONS = tuple(field for field in Column.model_fields if field not in ("name", "hierarchy_file"))


def _with_hierarchy(options: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Read the hierarchy file an entry names."""
    options = dict(options)
    file = options.get("hierarchy")
    if isinstance(file, str | Path):
        options["hierarchy_file"] = folder / file
        options["hierarchy"] = Hierarchy.read(folder / file)
    return options


def _hierarchy_file(column: Column, folder: Path) -> str:
    """The path of a column's hierarchy file, relative to ``folder``."""
    if column.hierarchy_file is None:
        raise SchemaError(
            f"The hierarchy of column '{column.name}' was not read from a file, so the schema"
            " cannot name one.",
            "Write it with Hierarchy.write(FILE) and build the schema with that file.",
        )
    return Path(os.path.relpath(column.hierarchy_file, folder)).as_posix()


def _first_problem(error: ValidationError) -> str:
    """The first error that pydantic found, with its place."""
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ").rstrip(".")
    return f"{place}: {message}" if place else message


def _key(name: str) -> str:
    """A TOML key, quoted where needed."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def _quoted(text: str) -> str:
    """A TOML basic string."""
    return json.dumps(str(text), ensure_ascii=False).replace("\x7f", "\\u007f")


def _toml_header() -> str:
    """The explanation at the top of a mottle.toml, with all kinds and their options."""
    kinds = textwrap.wrap(
        ", ".join(kind.usage for kind in Kind), 92, break_long_words=False, break_on_hyphens=False
    )
    return _TOML_HEADER.format("\n#       ".join(kinds))


_TOML_HEADER = """\
# What each column is. mottle reads this file with --schema.
#
# role: identifying        removed from the release (names, numbers that name a person)
#       person             removed; says whose row it is, of people with several: k counts people
#       quasi-identifying  generalized (what an adversary may know: age, sex, postcode)
#       sensitive          published as it is (what an adversary would like to learn)
#       insensitive        published as it is
#       pseudonym          says whose row it is, one row each; published as a pseudonym (--key)
#       shifted            dates, published moved by up to shift = 30 days, a person's all alike
# kind: {}
# survey_weight = "COLUMN" above all columns: how many people of the population a row stands for
# snap = 5, breaks = [18, 65], bottom = 10, top = 90, granularity = "month": quasi-identifiers that
#       are published in steps, with open ends, by units of the calendar
# importance: how much the loss of a column counts (default 1)
# bins = 10 or breaks = [20000, 50000]: sensitive numbers are protected by bin
# groups.NAME = ["value", …] or hierarchy = "f.csv": similar sensitive values, which are protected
#       together by --group-cap COLUMN=0.5
# [read]: how the table is read, as by the options --missing, --delimiter, --quote, --encoding,
#       --decimal, --thousands, --date-format
"""
