"""Situations in which messages once misled people, and how to bring each about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import xlsxwriter


@dataclass(frozen=True)
class Situation:
    """A command that somebody types, and what its message has to say."""

    name: str
    before: str  # what was said
    prepare: Callable[[Path], None]  # write what the command needs
    command: str  # in that folder
    exit_code: int
    says: tuple[str, ...]
    never: tuple[str, ...] = ()


def _german(folder: Path) -> None:
    lines = ["name;alter;lohn;geburt"]
    lines += [
        f"p{n};{20 + n % 30};1.2{n % 10}5,5;{10 + n % 18}.0{1 + n % 9}.1980" for n in range(40)
    ]
    (folder / "personen.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _towns(folder: Path) -> None:
    (folder / "towns.csv").write_text("town,age\nBonn,31\nUlm,45\nKiel,52\n", encoding="utf-8")
    (folder / "places.csv").write_text("Bonn;West;*\nBonn;East;*\nUlm;West;*\n", encoding="utf-8")


def _workbooks(folder: Path) -> None:
    with xlsxwriter.Workbook(folder / "book.xlsx") as book:
        for name in ("Patients", "Wards"):
            book.add_worksheet(name).write_column(0, 0, [name.lower(), 1, 2])
    (folder / "old.xls").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512))


def _baskets(folder: Path) -> None:
    (folder / "baskets.dat").write_text("1 2 3\n2 3\n1\n4 5 6 7\n", encoding="utf-8")


_NUMBERS = "anonymize personen.csv --qi alter,lohn --id name --rest insensitive --k 3"
_DATES = "anonymize personen.csv --qi alter,geburt --id name --rest insensitive --k 3"
SITUATIONS = (
    Situation(
        "decimal commas",
        "advised --missing or category",
        _german,
        f"{_NUMBERS} --kind lohn=number -o out",
        4,
        ("'lohn'", "--decimal ','", "--thousands '.'", "mottle inspect"),
    ),
    Situation(
        "dates as dd.mm.yyyy",
        "advised --missing or category",
        _german,
        f"{_DATES} --kind geburt=date -o out",
        4,
        ("'geburt'", "--date-format dd.mm.yyyy", "mottle inspect"),
    ),
    Situation(
        "both, inspected",
        "advised --missing or category",
        _german,
        "inspect personen.csv",
        0,
        ("--decimal ,", "--thousands .", "--date-format dd.mm.yyyy"),
    ),
    Situation(
        "a hierarchy with an error",
        "did not name the values",
        _towns,
        "lint-hierarchy places.csv",
        4,
        ("places.csv:2", "'Bonn'"),
    ),
    Situation(
        "an Excel workbook",
        'was "binary data"',
        _workbooks,
        "inspect book.xlsx",
        2,
        ("2 sheets with cells: 'Patients', 'Wards'", "--sheet NAME"),
        ("binary",),
    ),
    Situation(
        "a damaged Excel workbook",
        'was "binary data"',
        _workbooks,
        "inspect old.xls",
        4,
        ("Excel",),
        ("binary",),
    ),
    Situation(
        "a basket file",
        "was inspected as a table",
        _baskets,
        "inspect baskets.dat",
        2,
        ("transaction file", "mottle anonymize-sets baskets.dat"),
    ),
    Situation(
        "--l 2.5",
        "raw text of a library",
        _towns,
        "anonymize towns.csv --qi age --sensitive town --l 2.5 -o out",
        2,
        ("--l", "whole number"),
        ("pydantic", "Input should"),
    ),
    Situation(
        "an error that needs no kernel",
        '"Compiling …" stood before it',
        _towns,
        "anonymize towns.csv --qi age --id town --k 20 -o out",
        3,
        ("k = 20 cannot be met", "largest feasible k is 3"),
        ("Compiling",),
    ),
)
