"""``mottle anonymize --previous`` and ``mottle audit --earlier`` as their users meet them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from command_line import mottle_command, refused, said

import mottle

COLUMNS = ("--qi", "age,sex", "--id", "person_id", "--rest", "insensitive", "--k", "4")
OPTIONS = (*COLUMNS, "--method", "nh", "--seed", "1")


@pytest.fixture
def tables(tmp_path: Path) -> tuple[Path, Path]:
    """Two tables, and in the current folder the first release with its links."""
    people = mottle.datasets.population(160, seed=1)
    people = people.select(["person_id", "age", "sex", "income"])
    paths = tmp_path / "one.parquet", tmp_path / "two.parquet"
    for path, rows in zip(paths, (people.slice(0, 120), people.slice(10, 150)), strict=True):
        pq.write_table(rows, path)
    done = mottle_command(
        "anonymize",
        paths[0],
        *OPTIONS,
        "-o",
        tmp_path / "out",
        "--same",
        "person_id",
        "--private",
        tmp_path / "links",
    )
    assert done.exit_code == 0, done.output
    return paths


def continued(
    tables: tuple[Path, Path], *words: object, out: str = "new", links: str = "new-links"
) -> Any:
    folder = tables[0].parent
    return mottle_command(
        "anonymize",
        tables[1],
        *OPTIONS,
        "-o",
        folder / out,
        "--previous",
        folder / "links",
        "--private",
        folder / links,
        *words,
    )


def test_a_release_is_continued_and_audited(tables, tmp_path: Path) -> None:
    done = continued(tables)
    assert done.exit_code == 0, done.output
    assert "This is release 2" in said(done)
    audited = mottle_command(
        "audit",
        tables[1],
        tmp_path / "new",
        "--private",
        tmp_path / "new-links",
        "--earlier",
        tmp_path / "out",
        "--earlier-original",
        tables[0],
        "--earlier-private",
        tmp_path / "links",
        "--adversary",
        "intersection",
    )
    assert audited.exit_code == 0, audited.output
    assert "along edges" in said(audited)


def test_another_draw_is_broken_by_the_audit(tables, tmp_path: Path) -> None:
    again = ("anonymize", tables[1], *COLUMNS, "--seed", "7", "-o", tmp_path / "again")
    assert mottle_command(*again).exit_code == 0
    audited = mottle_command(
        "audit",
        tables[1],
        tmp_path / "again",
        "--earlier",
        tmp_path / "out",
        "--earlier-original",
        tables[0],
        "--same",
        "person_id",
        "--adversary",
        "intersection",
    )
    assert audited.exit_code == 6, audited.output


def test_only_the_release_that_is_continued_is_replaced(tables, tmp_path: Path) -> None:
    people = pq.read_table(tables[0])
    schema = mottle.Schema.of(
        quasi_identifying=["age", "sex"], identifying=["person_id"], rest="insensitive"
    )
    release = mottle.anonymize(people, schema, mottle.KAnonymity(4), method="nh", same="person_id")
    release.save(tmp_path / "real", private=tmp_path / "real-links", report=False)
    other = mottle.anonymize(people, schema, mottle.KAnonymity(4), method="nh")
    other.save(tmp_path / "other", report=False)
    words = ("anonymize", tables[1], *COLUMNS, "--method", "nh", "--overwrite", "--previous")
    words = (*words, tmp_path / "real-links", "--private", tmp_path / "next-links", "-o")
    refused(mottle_command(*words, tmp_path / "other"), 2, "another release")
    done = mottle_command(*words, tmp_path / "real")
    assert done.exit_code == 0, done.output


def test_internal_report_and_report_use_the_rows_that_are_described(tables, tmp_path: Path) -> None:
    done = continued(tables, "--internal-report", tmp_path / "internal.html")
    assert done.exit_code == 0, done.output
    words = ("report", tmp_path / "new", "--original", tables[1], "-o", tmp_path / "later.html")
    refused(mottle_command(*words), 2, "--private")
    assert mottle_command(*words, "--private", tmp_path / "new-links").exit_code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--leavers", "forget"), "--leavers does not know 'forget'"),
        (("--changed", "hide"), "--changed does not know 'hide'"),
        (("--memory", "1GB"), "--previous needs the whole table in memory"),
    ],
)
def test_wrong_options_are_refused(tables, words: tuple[str, ...], message: str) -> None:
    refused(continued(tables, *words), 2, message)


def test_links_are_never_lost(tables, tmp_path: Path) -> None:
    refused(continued(tables, "--overwrite", links="links"), 2, "holds the links of the earlier")
    words = ("anonymize", tables[0], *OPTIONS, "-o", tmp_path / "third")
    refused(mottle_command(*words, "--same", "person_id"), 2, "--private")
    refused(mottle_command(*words, "--leavers", "drop"), 2, "--previous")


def test_tables_and_links_belong_to_as_many_releases(tables, tmp_path: Path) -> None:
    words = ("audit", tables[0], tmp_path / "out")
    refused(mottle_command(*words, "--same", "person_id"), 2, "--earlier")
    once = (*words, "--earlier", tmp_path / "out")
    twice = ("--earlier-original", tables[0], "--earlier-original", tables[1])
    refused(mottle_command(*once, *twice), 2, "--earlier-original is given 2 times")


def test_a_release_is_continued_once(tables, tmp_path: Path) -> None:
    options = (*COLUMNS, "--method", "nh")
    first = ("--same", "person_id", "--private", tmp_path / "own-links", "-o", tmp_path / "own")
    assert mottle_command("anonymize", tables[0], *options, *first).exit_code == 0

    def again(name: str, *words: str) -> Any:
        private = ("--private", tmp_path / f"{name}-links", "-o", tmp_path / name)
        previous = ("--previous", tmp_path / "own-links")
        return mottle_command("anonymize", tables[1], *options, *previous, *private, *words)

    assert again("two").exit_code == 0
    refused(again("fork"), 2, "was continued by another release before")
    assert again("fork", "--another-draw").exit_code == 0
