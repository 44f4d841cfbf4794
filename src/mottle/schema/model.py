"""The role, kind and importance of each column; read from and written to mottle.toml."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from mottle.errors import SchemaError, StorageError, UsageError, did_you_mean
from mottle.hierarchy.tree import Hierarchy
from mottle.kinds.base import Kind as Kind
from mottle.kinds.item_set import SEPARATOR as SEPARATOR
from mottle.schema.columns import OF_SURVEY_WEIGHTS, OLD_IMPORTANCE, article
from mottle.schema.columns import Column as Column
from mottle.schema.columns import Objective as Objective
from mottle.schema.columns import PerPerson as PerPerson
from mottle.schema.columns import Representation as Representation
from mottle.schema.columns import Role as Role
from mottle.schema.columns import Unit as Unit
from mottle.schema.columns import parse_word as parse_word
from mottle.schema.context import Context as Context
from mottle.schema.external_release import (
    EXTERNAL_OPTIONS,
    ExternalRelease,
    unknown_option,
)
from mottle.schema.reading import ReadOptions
from mottle.schema.rules import MOST_RULES, Rule, check_columns, rules_of_toml
from mottle.schema.toml_text import column_lines, quoted, rule_lines, toml_header
from mottle.utils.html import html_table
from mottle.utils.untrusted.text import parse_toml, read_text


class Schema(BaseModel):
    """The columns of a table, each with a role.

    ``rest`` is the role of columns that are not listed; without it every column must be listed.
    ``unit`` is "row" when rows are to be protected although people may have several, and
    ``per_person`` is "aggregate" when one row is to be made of all rows of a person.
    ``survey_weight`` names the column that says how many people of the population a row stands for;
    it is published as it is unless the column is given another role. ``release`` describes how
    another tool wrote the release that is audited, ``reading`` how the table is read (the table
    ``[read]`` of mottle.toml), ``rules`` what every row obeys (the table ``[rules]``), ``context``
    what the owner states about a release (the table ``[context]``).

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
    rules: tuple[Rule, ...] = Field(default=(), max_length=MOST_RULES)
    context: Context | None = None

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
        if named and self.unit in (Unit.ROW, Unit.HOUSEHOLD):
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
        elif found.role not in OF_SURVEY_WEIGHTS:
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
        node_holders: Mapping[str, int] | None = None,
        breaks: Mapping[str, Sequence[float]] | None = None,
        bins: Mapping[str, int] | None = None,
        groups: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
        snaps: Mapping[str, float] | None = None,
        bottoms: Mapping[str, float | date | str] | None = None,
        tops: Mapping[str, float | date | str] | None = None,
        granularities: Mapping[str, str] | None = None,
        rules: Mapping[str, str] | None = None,
        context: Context | Mapping[str, object] | None = None,
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
        unit : {"person", "household", "row"}, optional
            "row" if rows are to be protected, although an identifying column repeats; "person" if
            every row is another person's all the same; "household" if every row is another
            household.
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
            Hierarchies, or the files that hold them. Quasi-identifiers are generalized by them;
            items of sets are published as their nodes where that loses less; of a sensitive
            column they name the groups of similar values.
        separators : mapping of str to str, optional
            The text between two items of a set, where sets are text.
        node_holders : mapping of str to int, optional
            Publish the items of sets as the lowest nodes of their hierarchy that so many records
            hold, instead of trying out which lose least.
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
        rules : mapping of str to str, optional
            By name: what every row obeys, such as "if age < 15 then occupation is 'none'"
            (docs/guide.md). Rules about quasi-identifiers are published, and sampled tables obey
            them.
        context : Context or mapping of str to object, optional
            What the owner states about a release, which is published as it is given: ``purpose``,
            ``recipients``, ``controls``, ``adversaries``, ``reviewer``, ``review_by``,
            ``questions``, ``checklists``.

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
            (OLD_IMPORTANCE, weights),
            ("order", orders),
            ("hierarchy", hierarchies),
            ("separator", separators),
            ("node_holders", node_holders),
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
                        f"Column '{name}' is given {article(option)} {option} but no role.",
                        did_you_mean(name, details),
                    )
                details[name][option] = value
        content = {
            "columns": details,
            "rest": rest,
            "unit": unit,
            "per_person": per_person,
            "survey_weight": survey_weight,
            "rules": rules or {},
            "context": context,
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
        lines = [toml_header()]
        if self.rest is not None:
            lines.append(f"rest = {quoted(self.rest)}  # the role of columns not listed\n")
        if self.unit is not None:
            lines.append(f"unit = {quoted(self.unit)}  # what is protected, and what k counts\n")
        if self.per_person is not None:
            lines.append(f"per_person = {quoted(self.per_person)}  # one row of all their rows\n")
        if self.survey_weight is not None:
            lines.append(f"survey_weight = {quoted(self.survey_weight)}  # people per row\n")
        if self.release is not None:
            lines += self.release.to_toml()
        lines += self.reading.to_toml()
        lines += rule_lines(self.rules)
        lines += [] if self.context is None else self.context.to_toml()
        for column in self.columns:
            lines += column_lines(column, (comments or {}).get(column.name, ""), folder)
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

    def with_context(self, context: Context | None) -> Schema:
        """Return a copy that states something else about releases.

        Parameters
        ----------
        context : Context or None
            What the owner states; None for nothing.

        Returns
        -------
        Schema
            The copy.
        """
        return self._with(context=context)

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
            rules=self.rules,
            context=self.context,
        )
        check_columns(self.rules, names)
        if not complete.with_role(Role.QUASI_IDENTIFYING):
            raise SchemaError(
                "No column is quasi-identifying, so there is nothing to generalize.",
                "Name the columns an adversary may know, for instance '--qi age,sex,postcode'.",
            )
        return complete


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
            if option not in (*_OPTIONS, OLD_IMPORTANCE):
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
    rules = rules_of_toml(content.get("rules", {}), source)
    context = Context.of_toml(content.get("context"), source)
    try:
        return Schema(
            columns=tuple(validated),
            rest=content.get("rest"),
            unit=content.get("unit"),
            per_person=content.get("per_person"),
            survey_weight=content.get("survey_weight"),
            release=external,
            reading=reading,
            rules=rules,
            context=context,
        )
    except ValidationError as error:
        raise SchemaError(f"In {source}: {_first_problem(error)}.") from None


_ENTRIES = (
    *("columns", "rest", "unit", "per_person", "survey_weight", "release"),
    *("read", "rules", "context"),
)
_OPTIONS = tuple(field for field in Column.model_fields if field not in ("name", "hierarchy_file"))


def _with_hierarchy(options: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Read the hierarchy file an entry names."""
    options = dict(options)
    file = options.get("hierarchy")
    if isinstance(file, str | Path):
        options["hierarchy_file"] = folder / file
        options["hierarchy"] = Hierarchy.read(folder / file)
    return options


def _first_problem(error: ValidationError) -> str:
    """The first error that pydantic found, with its place."""
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ").rstrip(".")
    return f"{place}: {message}" if place else message
