"""Runs with an owner's key: the same command gives the same release, and nothing gives the key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mottle
from mottle import BetaLikeness, Caps, DataError, KAnonymity, LDiversity, Schema, UsageError
from mottle.guarantees.base import Guarantee
from mottle.pipeline import streaming
from mottle.pipeline.owner import OwnedTable
from mottle.pipeline.settings import Settings

KEY = bytes(range(32))
NAMES = ["person_id", "age", "sex", "education", "income", "diagnosis"]
SCHEMA = Schema.of(
    quasi_identifying=["age", "sex", "education"],
    identifying=["person_id"],
    sensitive=["diagnosis"],
    rest="insensitive",
)
# A guarantee and an option each; the defaults improve their results until it gains little.
RUNS: list[tuple[Guarantee, dict[str, Any]]] = [
    (KAnonymity(5), {}),
    (LDiversity(2), {}),
    (KAnonymity(5), {"method": "nh"}),
    (LDiversity(2), {"method": "mondrian"}),
    (LDiversity(2), {"method": "anatomy"}),
]


@pytest.fixture(scope="module")
def people() -> pa.Table:
    return mottle.datasets.population(600, seed=4).select(NAMES)


def released(table: pa.Table, guarantee: Guarantee, **options: Any) -> pa.Table:
    return mottle.anonymize(table, SCHEMA, guarantee, **options).table


@pytest.mark.parametrize(("guarantee", "options"), RUNS)
def test_same_key_table_and_options_give_the_same_files(
    people: pa.Table, tmp_path: Path, guarantee: Guarantee, options: dict[str, Any]
) -> None:
    for name in ("one", "two"):
        release = mottle.anonymize(people, SCHEMA, guarantee, key=tmp_path / "key", **options)
        release.save(tmp_path / name, report=False)
    for file in (tmp_path / "one").iterdir():
        if file.name != "certificate.json":
            assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()


def test_anything_that_decides_the_release_changes_the_draw(people: pa.Table) -> None:
    guarantee = KAnonymity(5)
    options: dict[str, Any] = {"method": "nh", "key": KEY}
    before = released(people, guarantee, **options)
    assert released(people, guarantee, **options).equals(before)
    assert not released(people, guarantee, **options | {"key": bytes(32)}).equals(before)
    last = people.slice(599)
    changed = pa.concat_tables(
        [people.slice(0, 599), last.set_column(4, "income", pa.array([1], people[4].type))]
    )
    others = [
        released(changed, guarantee, **options),
        released(people, KAnonymity(6), **options),
        released(people, guarantee, **options, walk="backtracking"),
        released(people, guarantee, **options, totals=False),
    ]
    for other in others:  # another order of the rows, not only another cell
        assert other["income"].slice(0, 50) != before["income"].slice(0, 50)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (KAnonymity(5) & LDiversity(2), LDiversity(2) & KAnonymity(5)),
        (KAnonymity(5) & KAnonymity(5), KAnonymity(5)),
        (Caps({"a": 0.5, "b": 1}, 0.9), Caps({"b": 1.0, "a": 0.5}, 0.9)),
        (Caps({}, 1), Caps({}, 1.0)),
    ],
)
def test_how_a_guarantee_is_written_does_not_change_the_draw(
    one: Guarantee, other: Guarantee, people: pa.Table
) -> None:
    owned = OwnedTable.of(KEY, SCHEMA.covering(NAMES), [people])
    secrets = [
        owned.secret(SCHEMA.covering(NAMES), each, Settings.of(), {}).key for each in (one, other)
    ]
    assert secrets[0] == secrets[1]


def test_other_guarantees_draw_otherwise(people: pa.Table) -> None:
    owned = OwnedTable.of(KEY, SCHEMA.covering(NAMES), [people])
    given = [
        KAnonymity(5),
        KAnonymity(6),
        LDiversity(5),
        KAnonymity(5) & LDiversity(2),
        Caps({"a": 0.5}),
        Caps({"a": 0.5}, 0.9),
        Caps({"b": 0.5}),
        BetaLikeness(2),
        BetaLikeness(2, enhanced=True),
    ]
    assert len({owned.secret(None, each, Settings.of(), {}).key for each in given}) == len(given)


def test_identifying_columns_do_not_count(people: pa.Table) -> None:
    other = people.set_column(0, "person_id", pa.array([f"p{row}" for row in range(600)]))
    without = people.drop_columns(["person_id"])
    schema = Schema.of(
        quasi_identifying=["age", "sex", "education"], sensitive=["diagnosis"], rest="insensitive"
    )
    before = released(people, KAnonymity(5), key=KEY)
    assert released(other, KAnonymity(5), key=KEY).equals(before)
    assert mottle.anonymize(without, schema, KAnonymity(5), key=KEY).table.equals(before)


def test_sets_have_the_same_release_again(tmp_path: Path) -> None:
    baskets = [{f"i{(row * 7 + item) % 11}" for item in range(row % 4)} for row in range(60)]
    one, two = (mottle.anonymize_sets(baskets, KAnonymity(3), key=KEY) for _ in range(2))
    assert one.table.equals(two.table)
    assert one.certificate.parameters.randomness == "owner's key"
    assert not mottle.anonymize_sets(baskets[1:], KAnonymity(3), key=KEY).table.equals(one.table)
    assert not mottle.anonymize_sets(baskets, KAnonymity(3), key=bytes(32)).table.equals(one.table)


def test_streaming_has_the_same_release_again_whatever_row_groups_the_file_has(
    people: pa.Table, tmp_path: Path
) -> None:
    releases = []
    for number, rows in enumerate((600, 70)):
        file = tmp_path / f"people{number}.parquet"
        pq.write_table(people, file, row_group_size=rows)
        releases.append(
            streaming.anonymize(
                file,
                SCHEMA,
                LDiversity(2),
                tmp_path / f"out{number}",
                key=KEY,
                chunk_rows=200,
                private=tmp_path / f"links{number}",
                report=False,
            )
        )
    one, two = (tmp_path / f"out{number}" for number in (0, 1))
    assert (one / "release.parquet").read_bytes() == (two / "release.parquet").read_bytes()
    report = mottle.audit_release(people, one, private=tmp_path / "links0", adversaries=["links"])
    assert report.passed
    with pytest.raises(DataError, match="fingerprint"):
        mottle.audit_release(
            people.take(pa.array(range(599, -1, -1))), one, private=tmp_path / "links0"
        )


def test_interrupted_attempt_with_another_key_is_not_resumed(
    people: pa.Table, tmp_path: Path
) -> None:
    file = tmp_path / "people.parquet"
    pq.write_table(people, file)
    run: dict[str, Any] = {"chunk_rows": 150, "report": False, "method": "nh"}

    def interrupt(progress: mottle.Progress) -> None:
        if progress.stage == "chunks" and (progress.share or 0) > 0.3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        streaming.anonymize(
            file, SCHEMA, KAnonymity(5), tmp_path / "out", key=KEY, progress=interrupt, **run
        )
    streaming.anonymize(file, SCHEMA, KAnonymity(5), tmp_path / "out", key=bytes(32), **run)
    streaming.anonymize(file, SCHEMA, KAnonymity(5), tmp_path / "fresh", key=bytes(32), **run)
    one, two = (tmp_path / name / "release.parquet" for name in ("out", "fresh"))
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize("in_chunks", [False, True])
def test_neither_the_key_nor_the_fingerprint_is_in_the_release(
    people: pa.Table, tmp_path: Path, in_chunks: bool
) -> None:
    links = tmp_path / "links"
    if in_chunks:
        file = tmp_path / "people.parquet"
        pq.write_table(people, file)
        streaming.anonymize(
            file, SCHEMA, KAnonymity(5), tmp_path / "out", key=KEY, private=links, method="nh"
        )
    else:
        release = mottle.anonymize(people, SCHEMA, KAnonymity(5), key=KEY)
        release.save(tmp_path / "out", private=links)
        assert KEY.hex() not in repr(release.links)
    metadata = pq.read_metadata(links).metadata[b"mottle.fingerprint"]
    fingerprint = mottle.utils.table_digest.Fingerprint.from_json(metadata)
    for secret in (KEY, fingerprint.key, fingerprint.value):
        for file in (tmp_path / "out").iterdir():
            content = file.read_bytes()
            assert secret not in content
            assert secret.hex().encode() not in content
    assert KEY.hex().encode() not in metadata


def test_key_excludes_seeds_and_clocks(people: pa.Table) -> None:
    with pytest.raises(UsageError, match="--key and --seed"):
        mottle.anonymize(people, SCHEMA, KAnonymity(5), key=KEY, seed=1)
    with pytest.raises(UsageError, match="--seconds"):
        mottle.anonymize(people, SCHEMA, KAnonymity(5), key=KEY, effort=3)
    release = mottle.anonymize(people, SCHEMA, KAnonymity(5), key=KEY, effort=0)
    assert release.certificate.seed is None
    assert release.certificate.parameters.randomness == "owner's key"


def test_ctrl_c_ends_a_run_with_a_key(people: pa.Table) -> None:
    def interrupt(progress: mottle.Progress) -> None:
        if progress.gcp is not None:
            raise KeyboardInterrupt

    kept = mottle.anonymize(people, SCHEMA, KAnonymity(5), seed=1, progress=once(interrupt))
    assert any("interrupted" in note for note in kept.certificate.notes)
    with pytest.raises(KeyboardInterrupt):
        mottle.anonymize(people, SCHEMA, KAnonymity(5), key=KEY, progress=once(interrupt))


def once(action):
    """Run an action until it raises, then never again."""
    done = []

    def run(progress: mottle.Progress) -> None:
        if not done:
            try:
                action(progress)
            except BaseException:
                done.append(True)
                raise

    return run


# --------------------------------------------------------------------------- another draw


@pytest.fixture
def folder(people: pa.Table, tmp_path: Path) -> Path:
    """A folder with a release that may have been published."""
    mottle.anonymize(people, SCHEMA, KAnonymity(5), key=KEY).save(tmp_path / "out", report=False)
    return tmp_path / "out"


def test_release_is_not_replaced_by_another_draw(people: pa.Table, folder: Path) -> None:
    before = (folder / "release.csv").read_bytes()
    for other in (
        mottle.anonymize(people, SCHEMA, KAnonymity(5)),
        mottle.anonymize(people, SCHEMA, KAnonymity(5), seed=1),
        mottle.anonymize(people.slice(30), SCHEMA, KAnonymity(5), key=KEY),
    ):
        with pytest.raises(UsageError, match="--another-draw"):
            other.save(folder, overwrite=True)
        assert (folder / "release.csv").read_bytes() == before
    other.save(folder, overwrite=True, another_draw=True)
    assert (folder / "release.csv").read_bytes() != before


def test_same_release_is_written_again(people: pa.Table, folder: Path) -> None:
    before = (folder / "release.csv").read_bytes()
    again = mottle.anonymize(people, SCHEMA, KAnonymity(5), key=KEY)
    again.save(folder, overwrite=True)
    assert (folder / "release.csv").read_bytes() == before
    assert (folder / "report.html").exists()


def test_damaged_certificate_protects_a_release_as_well(people: pa.Table, folder: Path) -> None:
    (folder / "certificate.json").write_bytes(b"\xff{")
    with pytest.raises(UsageError, match="--another-draw"):
        mottle.anonymize(people, SCHEMA, KAnonymity(5), seed=1).save(folder, overwrite=True)


def test_release_with_a_seed_may_be_replaced(people: pa.Table, tmp_path: Path) -> None:
    mottle.anonymize(people, SCHEMA, KAnonymity(5), seed=1).save(tmp_path / "out", report=False)
    mottle.anonymize(people, SCHEMA, KAnonymity(5)).save(tmp_path / "out", overwrite=True)


@pytest.mark.parametrize("key", [None, bytes(32)], ids=["without key", "with key"])
def test_streaming_does_not_replace_a_release_by_another_draw(
    people: pa.Table, folder: Path, tmp_path: Path, key: bytes | None
) -> None:
    file = tmp_path / "people.parquet"
    pq.write_table(people, file)
    before = (folder / "release.csv").read_bytes()
    run: dict[str, Any] = {"method": "nh", "report": False, "overwrite": True, "key": key}
    with pytest.raises(UsageError, match="--another-draw"):
        streaming.anonymize(file, SCHEMA, KAnonymity(5), folder, **run)
    assert (folder / "release.csv").read_bytes() == before
    assert sorted(path.name for path in folder.iterdir()) == [
        "certificate.json",
        "release.csv",
        "release.parquet",
    ]
    streaming.anonymize(file, SCHEMA, KAnonymity(5), folder, another_draw=True, **run)
    assert (folder / "release.csv").read_bytes() != before
    if key is not None:
        streaming.anonymize(file, SCHEMA, KAnonymity(5), folder, **run)  # the same again
