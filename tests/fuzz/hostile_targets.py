"""What is damaged, and the commands that read it."""

from __future__ import annotations

from dataclasses import dataclass

from foreign_files import SPREADSHEETS, STATISTICS

WORDS = ["--qi", "age,place,born", "--sensitive", "ill", "--id", "name", "--k", "2"]
COUNT = "SELECT count(*) FROM release"

# By target: the file that is damaged, and the commands that read it. {} is the case's folder.
RELEASE = {
    "query": ["query", "{}/out", COUNT],
    "query csv": ["query", "{}/out/release.csv", COUNT],
    "query plain": ["query", "{}/out", COUNT, "--plain"],
    "sample": ["sample", "{}/out", "-o", "{}/samples", "-m", "1"],
    "report": ["report", "{}/out", "-o", "{}/again.html"],
    "report there": ["report", "{}/out", "--overwrite"],
    "internal report": [
        "report", "{}/out", "--original", "{}/people.parquet", "--private", "{}/links.parquet",
        "-o", "{}/internal.html",
    ],
    "audit": ["audit", "{}/people.parquet", "{}/out", "--private", "{}/links.parquet"],
    "verify": ["verify", "{}/out"],
    "verify cells": [
        "verify", "{}/out", "--original", "{}/people.parquet", "--private", "{}/links.parquet",
    ],
    "clean": ["clean", "{}/out", "--yes", "--work", "{}/work"],
    "export": ["export", "{}/out", "-o", "{}/exported.xlsx"],
    "export statistics": ["export", "{}/out", "-o", "{}/exported.sav"],
    "risk": ["risk", "{}/people.parquet", "{}/out"],
    "evaluate": ["evaluate", "{}/people.parquet", "{}/out"],
    "overwrite": [
        "anonymize", "{}/people.parquet", *WORDS, "-o", "{}/out", "--overwrite", "--another-draw",
    ],
    "as input": ["inspect", "{}/out/release.parquet", "-o", "{}/proposed.toml"],
}  # fmt: skip
SETS = {
    name: arguments
    for name, arguments in {
        **RELEASE,
        "audit": ["audit", "{}/baskets.dat", "{}/out", "--private", "{}/links.parquet"],
        "verify cells": [
            *("verify", "{}/out", "--original", "{}/baskets.dat"),
            *("--private", "{}/links.parquet"),
        ],
    }.items()
    if name not in ("internal report", "overwrite", "risk", "evaluate")
}
TO = ["-o", "{}/new", "--private", "{}/new-links.parquet"]


def _table(path: str) -> dict[str, list[str]]:
    words = [word.upper() if word[0] != "-" else word for word in WORDS]
    words = words if path.endswith(".por") else WORDS  # whose names are in capitals
    return {
        "anonymize": ["anonymize", path, *words, *TO],
        "in chunks": ["anonymize", path, *words, *TO, "--memory", "2GB", "--work", "{}/work"],
        "inspect": ["inspect", path, "-o", "{}/proposed.toml"],
        "audit": ["audit", path, "{}/out", "--private", "{}/links.parquet"],
    }


def _database(path: str) -> dict[str, list[str]]:
    table = ["--table", "people"]
    return {
        "anonymize": ["anonymize", path, *table, *WORDS, *TO],
        "inspect": ["inspect", path, *table, "-o", "{}/proposed.toml"],
        "write": [
            "anonymize", "{}/people.parquet", *WORDS, "--to", path, "--to-table", "released",
        ],
    }  # fmt: skip


LINKS = {
    "audit": RELEASE["audit"],
    "verify": RELEASE["verify cells"],
    "internal report": RELEASE["internal report"],
    "previous": [
        "anonymize", "{}/people.parquet", "--schema", "{}/mottle.toml", "--k", "2", *TO,
        "--same", "name", "--previous", "{}/links.parquet",
    ],
}  # fmt: skip
SCHEMA = {
    "anonymize": ["anonymize", "{}/people.parquet", "--schema", "{}/mottle.toml", "--k", "2", *TO],
    "audit": ["audit", "{}/people.parquet", "{}/out", "--schema", "{}/mottle.toml"],
}
TREE = {
    "anonymize": SCHEMA["anonymize"],
    "lint": ["hierarchy", "lint", "{}/place.csv"],
    "lint data": [
        "hierarchy", "lint", "{}/place.csv", "--data", "{}/people.parquet", "--column", "place",
    ],
    "show": ["hierarchy", "show", "{}/place.csv"],
    "convert": ["hierarchy", "convert", "{}/place.csv", "-o", "{}/place.txt"],
}  # fmt: skip
BASKETS = {
    "anonymize-sets": ["anonymize-sets", "{}/baskets.dat", "--k", "2", *TO],
    "audit": SETS["audit"],
}
JOIN = "SELECT count(*) FROM release JOIN codes ON release.place = codes.place WHERE region = 'x'"
CODES = {
    "join": ["query", "{}/out", JOIN, "--with", "codes={}/codes.csv"],
    "group": [
        "query", "{}/out", "--with", "codes={}/codes.csv",
        "SELECT region, count(*) FROM release JOIN codes ON release.place = codes.place"
        " GROUP BY region",
    ],
    "join plain": ["query", "{}/out", JOIN, "--with", "codes={}/codes.csv", "--plain"],
}  # fmt: skip
KEY = {"anonymize": ["anonymize", "{}/people.parquet", *WORDS, *TO, "--key", "{}/key"]}


def _project(tool: str, file: str) -> dict[str, list[str]]:
    return {
        "import": ["import", tool, f"{{}}/{file}", "-o", "{}/imported"],
        "import json": ["import", tool, f"{{}}/{file}", "-o", "{}/imported", "--json"],
    }


@dataclass(frozen=True)
class Target:
    """A file that is damaged."""

    base: str  # the folder of the material in which it lies
    file: str
    commands: dict[str, list[str]]
    ways: tuple[str, ...] = ("bytes", "bytes", "place")


_JSON = ("json", "json", "json", "bytes", "place")
_PARQUET = ("bytes", "metadata", "metadata", "cells", "cells", "place")
_TEXT = ("bytes", "text", "text", "place")
_ARCHIVE = ("archive", "archive", "archive", "bytes", "fields", "format", "place")
_BINARY = ("fields", "fields", "fields", "bytes", "bytes", "format", "place")
TARGETS = {
    "certificate": Target("table", "out/certificate.json", RELEASE, _JSON),
    "release.parquet": Target("table", "out/release.parquet", RELEASE, _PARQUET),
    "release.csv": Target("table", "out/release.csv", RELEASE, _TEXT),
    "two tables": Target("anatomy", "out/sensitive.parquet", RELEASE, _PARQUET),
    "two tables' certificate": Target("anatomy", "out/certificate.json", RELEASE, _JSON),
    "certificate of sets": Target("sets", "out/certificate.json", SETS, _JSON),
    "release of sets": Target("sets", "out/release.parquet", SETS, _PARQUET),
    "links": Target("table", "links.parquet", LINKS, _PARQUET),
    "Parquet": Target("table", "people.parquet", _table("{}/people.parquet")),
    "Arrow": Target("table", "people.arrow", _table("{}/people.arrow"), ("bytes",)),
    "CSV": Target("table", "people.csv", _table("{}/people.csv"), _TEXT),
    "SQLite": Target("table", "people.sqlite", _database("{}/people.sqlite")),
    "DuckDB": Target("table", "people.duckdb", _database("{}/people.duckdb")),
    "schema": Target("table", "mottle.toml", SCHEMA, _TEXT),
    "hierarchy": Target("table", "place.csv", TREE, _TEXT),
    "baskets": Target("sets", "baskets.dat", BASKETS, ("bytes", "text", "place")),
    "key": Target("table", "key", KEY),
    "code list": Target("table", "codes.csv", CODES, _TEXT),
    "ARX project": Target("projects", "project.deid", _project("arx", "project.deid"), _ARCHIVE),
    "Amnesia hierarchy": Target("projects", "place.txt", _project("amnesia", "place.txt"), _TEXT),
    "Amnesia rules": Target("projects", "rules.txt", _project("amnesia", "rules.txt"), _TEXT),
    "sdcMicro script": Target("projects", "script.R", _project("sdcmicro", "script.R"), _TEXT),
    **{
        suffix: Target(
            "foreign",
            f"people.{suffix}",
            _table(f"{{}}/people.{suffix}"),
            _ARCHIVE if suffix in ("xlsx", "ods") else _BINARY,
        )
        for suffix in (*SPREADSHEETS, *STATISTICS)
    },
}
