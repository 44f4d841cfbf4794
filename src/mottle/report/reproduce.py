"""How a release was made, from what it says itself: the command and its mottle.toml."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mottle.assignment import WALKS
from mottle.encoding.domain import Form
from mottle.evaluation.release_rows import ReleaseRows
from mottle.guarantees.base import described_as
from mottle.guarantees.from_certificate import parts_of
from mottle.release.column import PublishedColumn
from mottle.release.data import Release
from mottle.schema.model import Column, Kind, Representation, Role, Schema


def command_of(certificate: Mapping[str, Any]) -> str:
    """The command that made a release of this certificate, DATA standing for its table."""
    parameters = certificate["parameters"]
    words = ["mottle", "anonymize", "DATA", "--schema", "mottle.toml"]
    words += _guarantee_and_method(certificate)
    if parameters.get("representation", "range") != "range":
        words += ["--representation", parameters["representation"]]
    words += _run_options(certificate)
    if parameters.get("least_total", 0) is None and parameters.get("draw") != "apart":
        words.append("--no-totals")
    if certificate.get("audit", {}).get("level") == "full":
        words += ["--audit", "full"]
    words += _engine_options(certificate.get("engine", {}))
    return shlex.join([*words, "-o", "released"])


def command_of_sets(certificate: Mapping[str, Any]) -> str:
    """The same for a release of sets, DATA standing for their file."""
    words = ["mottle", "anonymize-sets", "DATA", *_guarantee_and_method(certificate)]
    labels = [column["name"] for column in certificate["columns"][1:]]
    words += [word for label in labels for word in ("--sensitive-label", label)]
    return shlex.join([*words, *_run_options(certificate), "-o", "released"])


def _guarantee_and_method(certificate: Mapping[str, Any]) -> Iterator[str]:
    for part in parts_of(certificate["guarantee"]):
        kind = described_as(part["name"])
        yield from () if kind is None else kind.command(part)
    yield from ("--method", certificate["method"]["name"])


def _run_options(certificate: Mapping[str, Any]) -> Iterator[str]:
    parameters = certificate["parameters"]
    if parameters.get("draw") in WALKS and parameters["draw"] != "closed":
        yield from ("--walk", parameters["draw"])
    if parameters.get("effort") is not None:
        yield from ("--seconds", f"{parameters['effort']:g}")
    if certificate.get("seed") is not None:
        yield from ("--seed", str(certificate["seed"]))


def _engine_options(engine: Mapping[str, Any]) -> Iterator[str]:
    if engine.get("name") == "streaming":
        yield from ("--memory", f"{engine['memory'] / 1e9:g}GB")
    elif engine.get("name") == "spark":
        yield from ("--engine", "spark")


def schema_of(release: Release | ReleaseRows) -> Schema:
    """The roles and kinds of all columns, as the release and its certificate have them."""
    published = {column.name: column for column in release.columns}
    apart = release.sensitive
    whole = release.certificate.get("parameters", {}).get("representation")
    binned = {
        name: entry["binned"]
        for entry in release.certificate.get("sensitive", [])
        for name in entry["columns"]
        if len(entry["columns"]) == 1 and "binned" in entry
    }
    columns = []
    for facts in release.certificate["columns"]:
        name = facts["name"]
        if apart is not None and name == apart.column_names[0]:
            continue  # the groups' numbers, which the table never had
        details = _details(published[name], whole) if name in published else {}
        if name in binned:
            details |= _bins(str(binned[name]))
        columns.append(
            Column(name=name, role=facts["role"], weight=facts.get("weight", 1.0), **details)
        )
    return Schema(columns=tuple(columns))


def _details(column: PublishedColumn, whole: str | None) -> dict[str, Any]:
    """What has to be said of a generalized column beyond its role."""
    if column.role is not Role.QUASI_IDENTIFYING:
        return {}
    details: dict[str, Any] = {"kind": column.kind}
    if column.kind is Kind.HIERARCHY and column.hierarchy is None:
        details["kind"] = Kind.CATEGORY  # which in sets is the same
    if column.kind is Kind.SET:
        return details | {"separator": column.separator}
    if column.kind is Kind.ORDERED:
        details["order"] = column.order
    if column.hierarchy is not None:
        details |= {
            "hierarchy": column.hierarchy,
            "hierarchy_file": Path(f"{column.name}.csv".replace("/", "-")),
        }
    is_ordinary = column.kind is Kind.CATEGORY or whole == "set"
    if column.form is Form.SET and not is_ordinary:
        details["representation"] = Representation.SET
    return details


def _bins(described: str) -> dict[str, Any]:
    """Bins from the words of the certificate.

    >>> _bins("3 bins with breaks 20000, 50000"), _bins("10 quantile bins")
    ({'breaks': (20000.0, 50000.0)}, {'bins': 10})
    """
    number, _, rest = described.partition(" ")
    _, _, breaks = rest.partition("breaks ")
    return {"breaks": tuple(map(float, breaks.split(", ")))} if breaks else {"bins": int(number)}
