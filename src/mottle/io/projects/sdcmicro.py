"""Scripts that use sdcMicro: arguments of ``createSdcObj`` and of what follows, read literally."""

from __future__ import annotations

import math
from collections.abc import Mapping
from os import PathLike
from pathlib import Path

from mottle.errors import DataError
from mottle.io.projects.imported import Imported, ImportedColumn, Setting
from mottle.io.projects.r_text import Call, Literal, Script, parse_script
from mottle.io.text.encodings import decode
from mottle.schema.model import Kind, Role
from mottle.utils.untrusted.text import read_bytes

__all__ = ["read_sdcmicro"]

_CREATE = "createSdcObj"
_POSITIONS = (
    "dat",
    "keyVars",
    "numVars",
    "pramVars",
    "ghostVars",
    "weightVar",
    "hhId",
    "strataVar",
)
# By argument: the role, the kind, and in words what becomes of it.
_ROLES: dict[str, tuple[Role, Kind | None, str]] = {
    "keyVars": (Role.QUASI_IDENTIFYING, None, "quasi-identifying"),
    "numVars": (Role.QUASI_IDENTIFYING, Kind.NUMBER, "quasi-identifying, published as ranges"),
    "pramVars": (Role.QUASI_IDENTIFYING, None, "quasi-identifying; nothing is exchanged at random"),
    "ghostVars": (Role.QUASI_IDENTIFYING, None, "quasi-identifying, as the variables they follow"),
    "sensibleVar": (Role.SENSITIVE, None, "sensitive"),
    "hhId": (Role.PERSON, None, "person: k counts households, and the column is removed"),
    "weightVar": (
        Role.INSENSITIVE,
        None,
        "survey_weight, insensitive: published as it is; weights may single out",
    ),
    "strataVar": (Role.INSENSITIVE, None, "insensitive; the table is not anonymized by stratum"),
    "excludeVars": (Role.IDENTIFYING, None, "identifying: removed"),
}
_READERS = (
    *("read.csv", "read.csv2", "read.table", "read.delim", "read_csv", "read_csv2", "fread"),
    *("read_sav", "read_spss", "read_dta", "read_stata", "read_sas", "read_xpt"),
    *("read_excel", "read_xlsx", "read_parquet", "read_feather"),
)
_LEAST = {"kAnon": "k", "localSuppression": "k", "kAnon_violations": "k"}
_WITHOUT = {
    "microaggregation": "none; numbers are published as ranges",
    "mafast": "none; numbers are published as ranges",
    "addNoise": "none; no value is falsified",
    "rankSwap": "none; no value is exchanged",
    "swappNum": "none; no value is exchanged",
    "recordSwap": "none; no value is exchanged",
    "pram": "none; no value is falsified",
    "shuffle": "none; no value is falsified",
    "dataGen": "none; no rows are made up",
    "globalRecode": "not carried over: give the column breaks = [18, 65] or a hierarchy",
    "groupAndRename": "not carried over: give the column a hierarchy",
    "topBotCoding": "not carried over: give the column top = 90 or bottom = 10",
    "localSupp": "none; nothing is suppressed",
}
_MOST = 1_000_000


def read_sdcmicro(path: str | PathLike[str]) -> Imported:
    """Read what a script says about a table.

    Parameters
    ----------
    path : str or path-like
        An R script with a call of ``createSdcObj``.

    Returns
    -------
    Imported
        The columns and, if the script states one, k.

    Raises
    ------
    StorageError
        The file cannot be read.
    DataError
        It has no such call, or names of columns in it are not literal.
    """
    name = Path(path).name
    try:
        script = parse_script(decode(Path(path), read_bytes(path), None))
    except ValueError as error:
        raise DataError(f"{name} cannot be used: {error}.", "Give an R script.") from None
    calls = list(script.of(_CREATE))
    if not calls:
        raise DataError(
            f"{name} has no call of {_CREATE}(…).",
            "Give the R script in which the sdcMicro object is made; an .rds or .RData file cannot"
            " be read.",
        )
    settings: list[Setting] = []
    columns = _columns(calls[-1], name, settings)
    if len(calls) > 1:
        settings.append(Setting(f"{len(calls)} calls of {_CREATE}", "the last one", kept=True))
    k = _least(script, settings)
    for call in script.of(*_WITHOUT):
        entry = Setting(f"{call.function}(…)", _WITHOUT[call.function], kept=False)
        settings += [] if entry in settings else [entry]
    settings.append(
        Setting(
            "variables that are not named: published unchanged",
            'give each a role in mottle.toml, or rest = "insensitive" to do the same',
            kept=False,
        )
    )
    if k is None:
        settings.append(Setting("no kAnon(…, k = …)", "choose --k yourself; 10 is proposed", False))
    return Imported(
        "sdcMicro",
        tuple(columns.values()),
        tuple(settings),
        ("--k", str(k or 10)),
        survey_weight=_weight(calls[-1], name, columns),
        data=_data(script, calls[-1]),
    )


def _columns(call: Call, name: str, settings: list[Setting]) -> dict[str, ImportedColumn]:
    given = dict(zip(_POSITIONS, call.positional, strict=False)) | call.named
    columns: dict[str, ImportedColumn] = {}
    for argument, (role, kind, becomes) in _ROLES.items():
        if argument not in given:
            continue
        for column in _names(given[argument], argument, name):
            if column in columns:
                kept = columns[column].role
                settings.append(Setting(f"{argument}: {column}", f"{kept}, as above", kept=True))
                continue
            columns[column] = ImportedColumn(column, role, kind)
            settings.append(Setting(f"{argument}: {column}", becomes, kept=True))
    settings += [
        Setting(f"{argument} of {_CREATE}", "none", kept=False)
        for argument in sorted(set(given) - set(_ROLES) - {"dat"})
    ]
    if not any(column.role is Role.QUASI_IDENTIFYING for column in columns.values()):
        raise DataError(
            f"{_CREATE}(…) in {name} has no keyVars.", "Name the categorical key variables."
        )
    people = [column.name for column in columns.values() if column.role is Role.PERSON]
    if len(people) > 1:
        raise DataError(f"hhId in {name} names several columns.", "Name one.")
    return columns


def _weight(call: Call, name: str, columns: Mapping[str, ImportedColumn]) -> str | None:
    """The column of sampling weights, unless it is something else as well."""
    given = dict(zip(_POSITIONS, call.positional, strict=False)) | call.named
    names = _names(given["weightVar"], "weightVar", name) if "weightVar" in given else []
    if len(names) != 1 or columns[names[0]].role is not Role.INSENSITIVE:
        return None
    return names[0]


def _names(value: Literal | None, argument: str, name: str) -> list[str]:
    """The names of columns in an argument."""
    if value is None or not all(isinstance(each, str) for each in value):
        raise DataError(
            f"{argument} of {_CREATE}(…) in {name} is not a list of names.",
            f'Write {argument} = c("age", "sex"): nothing in the script is evaluated, and columns'
            " are not known by number.",
        )
    return [str(each) for each in value if each]


def _least(script: Script, settings: list[Setting]) -> int | None:
    """The largest k that the script asks for."""
    found = None
    for call in script.of(*_LEAST):
        value = call.named.get(_LEAST[call.function])
        if value and isinstance(value[0], float) and 2 <= value[0] <= _MOST:
            k = math.ceil(value[0])
            found = max(k, found or k)
            settings.append(Setting(f"{call.function}(…, k = {k})", f"--k {k}", kept=True))
    return found


def _data(script: Script, created: Call) -> str | None:
    """The file that the table is read from, if the script says so literally."""
    for call in script.of(*_READERS):
        texts = [value for value in (*call.positional, call.named.get("file")) if value]
        if call.variable is not None and call.variable == created.first and texts:
            return str(texts[0][0])
    return None
