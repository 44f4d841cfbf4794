"""Releases over time and comparisons of methods, on the odd tables of `table_cases`."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
from checker import Folder, check_no_secrets, check_release
from hypothesis import strategies as st
from runs import VALID, Failure, command, judged, left_over
from table_cases import TableCase, known_methods, table_cases
from values import SECRET

WHO = "who is who"  # the column by which people are recognized
BROKEN = 6  # exit code of a broken audit


@dataclass(frozen=True)
class LaterCase:
    """A table that is published twice: some rows leave, others come, some change."""

    case: TableCase
    first: tuple[int, int]  # rows of the table in the first release
    second: tuple[int, int]
    options: tuple[str, ...]

    def at(self, rows: tuple[int, int]) -> TableCase:
        """The run on some of the rows."""
        table = self.case.table.slice(rows[0], rows[1] - rows[0])
        return replace(self.case, table=table)


@st.composite
def later_cases(draw: st.DrawFn) -> LaterCase:
    """Two releases of a table in memory; newcomers are none, few or many."""
    case = draw(table_cases(engines=()))
    rows = case.table.num_rows
    people = pa.array([f"{SECRET}{number:05d}" for number in range(rows)], pa.string())
    if WHO not in case.table.column_names:
        case = replace(
            case,
            table=case.table.append_column(WHO, people),
            roles={**case.roles, WHO: "identifying"},
        )
    case = replace(case, engine="memory", audit="basic", report=False)
    if draw(st.integers(0, 9)):  # what releases over time can do: one row a person, fixed bounds
        roles = {name: "identifying" if r == "person" else r for name, r in case.roles.items()}
        fixed = {"beta": None, "enhanced": False, "l": case.l if case.beta is None else 2}
        case = replace(case, roles=roles, top={}, method="auto", unsafe=False, **fixed)
    leaving = draw(st.integers(0, max(rows // 4, 1)))
    coming = draw(st.integers(0, max(rows // 2, 1)))
    options = draw(st.sampled_from([(), (), ("--least-newcomers", "3"), ("--leavers", "drop")]))
    return LaterCase(case, (0, max(rows - coming, 0)), (min(leaving, rows), rows), options)


def run_later(later: LaterCase, folder: Path) -> str:
    """Return how the second run ended, or the first one if it made no release."""
    first, second = later.at(later.first), later.at(later.second)
    places = [folder / "first", folder / "second"]
    for place in places:
        place.mkdir()
    commands = [case.write(place) for case, place in zip((first, second), places, strict=True)]
    result = _ended([*commands[0], "--same", WHO], first, places[0])
    if result != VALID:
        return f"first: {result}"
    check_release(places[0] / "out", places[0] / "links.parquet", first.original, first.asked())
    key = places[0] / "key"
    if key.exists():
        (places[1] / "key").write_bytes(key.read_bytes())
        (places[1] / "key").chmod(0o600)
    links = ["--previous", str(places[0] / "links.parquet")]
    result = _ended([*commands[1], *links, *later.options], second, places[1])
    if result != VALID:
        return result
    check_no_secrets(places[1] / "out", second.identifiers())
    if "drop" not in later.options:
        _check_kept(places[0] / "out", places[1] / "out", later.second[0])
    _check_together(later, places)
    return VALID


def _ended(arguments: list[str], case: TableCase, folder: Path) -> str:
    result = judged(command(*arguments), case.planted())
    if leftovers := left_over(folder):
        raise Failure(f"left after the run: {leftovers}")
    if result != VALID and ((folder / "out").exists() or (folder / "links.parquet").exists()):
        raise Failure("files are left after an error")
    return result


def _check_kept(first: Path, second: Path, leaving: int) -> None:
    """All records are in the second release again, cell by cell, but those of whole blocks left."""
    before, after = Folder.read(first), Folder.read(second)
    if before.texts[0] != after.texts[0]:
        raise Failure("the second release has other columns")
    missing = Counter(map(tuple, before.texts[1:])) - Counter(map(tuple, after.texts[1:]))
    if missing.total() > leaving:
        raise Failure("records of the first release are not in the second one")


def _check_together(later: LaterCase, places: list[Path]) -> None:
    """Whoever has both releases learns no more: the audit's own adversary finds nothing."""
    first, second = places
    source = f"people.{later.case.file}"
    ended = command(
        "audit", second / source, second / "out", "--private", second / "links.parquet",
        "--schema", second / "mottle.toml", "--earlier", first / "out",
        "--earlier-original", first / source, "--earlier-private", first / "links.parquet",
        "--same", WHO, "--adversary", "intersection",
    )  # fmt: skip
    if judged(ended, later.case.planted(), [BROKEN]) == f"exit code {BROKEN}":
        raise Failure(f"both releases together break the guarantee\n{ended.output}")


# ------------------------------------------------------------------------------------ comparisons


@dataclass(frozen=True)
class CompareCase:
    """A table on which methods are compared."""

    case: TableCase
    methods: tuple[str, ...]


@st.composite
def compare_cases(draw: st.DrawFn) -> CompareCase:
    """Any table, and one to three methods, most of which give the guarantee."""
    case = draw(table_cases(engines=()))
    case = replace(case, k=case.k or (None if case.l or case.beta else 2))
    about_values = case.l is not None or case.beta is not None
    fitting = [
        name
        for name, (by_k, by_l, _) in known_methods().items()
        if (by_l if about_values else by_k)
    ]
    chosen = st.lists(st.sampled_from(fitting), min_size=1, max_size=3, unique=True)
    return CompareCase(case, tuple(draw(chosen)))


def run_compare(compared: CompareCase, folder: Path) -> str:
    """Return how the command ended; its results quote no cell."""
    case, out = compared.case, folder / "compared"
    source, *_ = case.write(folder)[1:]
    known = {"--k": case.k, "--l": case.l, "--beta": case.beta}
    guarantee = [word for option, value in known.items() if value for word in (option, str(value))]
    ended = command(
        "compare", source, "--schema", folder / "mottle.toml", *guarantee,
        "--methods", ",".join(compared.methods), "--seconds", "0", "-o", out,
    )  # fmt: skip
    result = judged(ended, case.planted())
    if leftovers := left_over(folder):
        raise Failure(f"left after the run: {leftovers}")
    if result != VALID:
        if out.exists():
            raise Failure("files are left after an error")
        return result
    with open(out / "compare.csv", encoding="utf-8", newline="") as opened:
        rows = list(csv.DictReader(opened, strict=True))
    if not rows:
        raise Failure("compare.csv is empty")
    check_no_secrets(out, case.identifiers())
    return VALID
