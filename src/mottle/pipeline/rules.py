"""Checking the rules that an owner states, before they are published.

A rule is published only if all its columns are quasi-identifying and it holds in every row: then it
is a function of what the adversary of every guarantee knows (docs/guarantees.md, "Rules").
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from mottle.encoding.domain import Codes, Domain
from mottle.errors import DataError, SchemaError
from mottle.queries.cells.atoms import Values
from mottle.queries.worlds.rules import check_column, truth_of
from mottle.release.column import PublishedColumn
from mottle.schema.model import Schema
from mottle.schema.rules import check_columns

_BROKEN = "Rules do not hold: "
_REMEDY = (
    "Correct the rows or the rules, or leave these rules out: only a rule without exception is"
    " published."
)


def check_rules(schema: Schema, domains: Sequence[Domain]) -> None:
    """Raise unless every rule may be published and can be evaluated.

    Parameters
    ----------
    schema : Schema
        Covers all columns of the table.
    domains : sequence of Domain
        The values of the quasi-identifiers.

    Raises
    ------
    SchemaError
        A rule names a column that is not quasi-identifying, is made coarser or holds sets, or
        compares a column with values of another type.
    """
    check_columns(schema.rules, [column.name for column in schema.columns])
    roles = {column.name: column.role for column in schema.columns}
    coded = {domain.name: domain for domain in domains}
    for rule in schema.rules:
        for comparison in rule.comparisons:
            domain = coded.get(comparison.column)
            if domain is None:
                name, role = comparison.column, roles[comparison.column]
                raise SchemaError(
                    f"Rule '{rule.name}' names column '{name}', which is {role}, not"
                    " quasi-identifying: publishing the rule would say more about whose record is"
                    " whose than the guarantee allows.",
                    "Leave the rule out, or name quasi-identifying columns only.",
                )
            check_column(rule, PublishedColumn.of_domain(domain))
            truth_of(rule, comparison, _values(domain))


def check_rules_hold(schema: Schema, codes: Codes) -> None:
    """Raise unless every rule holds in every row.

    Parameters
    ----------
    schema : Schema
        Its rules have passed `check_rules`.
    codes : Codes
        The quasi-identifiers of some rows, or of all.

    Raises
    ------
    DataError
        A rule does not hold; the message says in how many rows, and no values.
    """
    places = {domain.name: place for place, domain in enumerate(codes.domains)}
    problems = []
    for rule in schema.rules:
        truths = []
        for comparison in rule.comparisons:
            place = places[comparison.column]
            domain = codes.domains[place]
            known, missing = truth_of(rule, comparison, _values(domain))
            truths.append(np.append(known, missing)[codes.matrix[:, place]])
        rows = int(np.count_nonzero(~rule.truth(truths)))
        if rows:
            problems.append(f"rule '{rule.name}' is broken by {rows:,} of {codes.records:,} rows")
    if problems:
        raise DataError(f"{_BROKEN}{'; '.join(problems)}.", _REMEDY)


def broken_rules_in(text: str) -> DataError | None:
    """Return the error of `check_rules_hold` that another process passed on as text, if any.

    >>> error = broken_rules_in("worker: Rules do not hold: rule 'r' is broken by 2 of 9 rows.")
    >>> error.problem
    "Rules do not hold: rule 'r' is broken by 2 of 9 rows."
    """
    found = re.search(rf"{_BROKEN}rule .*? rows\.", text)
    return None if found is None else DataError(found[0], _REMEDY)


def _values(domain: Domain) -> Values:
    """The values of a quasi-identifier by their codes, without the missing one."""
    described = PublishedColumn.of_domain(domain)
    known = domain.values if domain.missing < 0 else domain.values.slice(0, domain.missing)
    ordered = domain.hierarchy is None and described.order is not None
    return Values(domain.name, known, ordered, domain.hierarchy)
