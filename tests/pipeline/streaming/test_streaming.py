"""Streaming publishes what memory publishes: the same cells' types, guarantee, audit and loss."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import mottle
from mottle import BetaLikeness, Caps, KAnonymity, KnownRecords, LDiversity, Schema, UsageError
from mottle.errors import DataError, GuaranteeError, StorageError
from mottle.evaluation.workloads import cube_divergence
from mottle.guarantees.base import Guarantee
from mottle.methods.buckets.tree import CutError, Knowledge, Summary
from mottle.pipeline import streaming
from mottle.release.certificate import Certificate
from mottle.schema.reading import ReadOptions

ROWS = 3000
QI = ["age", "sex", "education", "marital_status", "workclass"]
CAPS = Caps({"none": 0.8}, default=0.34)
APART = 0.02  # by which engines may differ in GCP


def described(release: mottle.Release) -> list[object]:
    """Columns and types, and how often values occur."""
    return [*release.table.schema, *release.columns]


@pytest.fixture(scope="module")
def population() -> tuple[pa.Table, Schema]:
    table = mottle.datasets.population(ROWS, seed=3).drop_columns(["origin", "occupation"])
    schema = Schema.of(
        quasi_identifying=QI,
        identifying=["person_id"],
        sensitive=["diagnosis"],
        insensitive=["income"],
    )
    return table, schema


@pytest.fixture(scope="module")
def file(population: tuple[pa.Table, Schema], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "people.parquet"
    pq.write_table(population[0], path, row_group_size=700)
    return path


@pytest.mark.parametrize(
    ("method", "guarantee", "chunk_rows"),
    [("nh", KAnonymity(5), 800), ("freeform", KAnonymity(5), 1500)],
)
def test_same_audit_and_nearly_the_same_loss_as_in_memory(
    population: tuple[pa.Table, Schema],
    file: Path,
    tmp_path: Path,
    method: str,
    guarantee: Guarantee,
    chunk_rows: int,
) -> None:
    table, schema = population
    run = {"method": method, "seed": 1}
    certificate = streaming.anonymize(
        file, schema, guarantee, tmp_path / "out", chunk_rows=chunk_rows, **run
    ).certificate
    memory = mottle.anonymize(table, schema, guarantee, **run)
    assert memory.gcp is not None
    assert certificate.engine.chunks > 1
    assert abs(certificate.gcp / memory.gcp - 1) < APART
    memory.save(tmp_path / "memory")
    expected = mottle.read_release(tmp_path / "memory")
    release = mottle.read_release(tmp_path / "out")
    assert described(release) == described(expected)
    assert [check.passed for check in certificate.checks] == [True] * 5
    report = mottle.audit_release(table, release, schema=schema, guarantee=guarantee)
    assert report.passed
    for name in ("diagnosis", "income"):
        assert Counter(release.table.column(name).to_pylist()) == Counter(
            table.column(name).to_pylist()
        )
    assert set(certificate.to_dict()) == {*memory.certificate.to_dict(), "engine"}


@pytest.mark.parametrize(
    ("sensitive", "guarantee", "chunk_rows", "tiers", "apart"),
    [
        ("income", LDiversity(3) & KnownRecords(9999), 5000, 1, 0.03),  # many blocks
        ("income", LDiversity(5), 6000, 1, 0.03),  # hardly any cut is safe
        ("income", BetaLikeness(2), 13_000, 2, 0.08),  # each tier has few blocks, cut by chance
        ("diagnosis", CAPS, 4000, 1, 0.08),  # blocks differ much in what they lose
    ],
)
def test_buckets_lose_in_chunks_what_they_lose_in_memory(
    tmp_path: Path,
    sensitive: str,
    guarantee: Guarantee,
    chunk_rows: int,
    tiers: int,
    apart: float,
) -> None:
    """On average, up to ``apart``.

    Lots differ, and chunks go on with the tree by themselves, so that other blocks are cut. Runs
    in memory with other seeds differ by as much.
    """
    table = mottle.datasets.population(16_000, seed=3).select([*QI, sensitive])
    pq.write_table(table, tmp_path / "people.parquet")
    bins = {"income": 10} if sensitive == "income" else {}
    schema = Schema.of(quasi_identifying=QI, sensitive=[sensitive], bins=bins)
    streamed, held = [], []
    for seed in (1, 2):  # chance alone moves single runs by some percent
        run = {"method": "buckets", "effort": 0, "seed": seed}
        certificate = streaming.anonymize(
            tmp_path / "people.parquet",
            schema,
            guarantee,
            tmp_path / "out",
            chunk_rows=chunk_rows,
            overwrite=True,
            **run,
        ).certificate
        memory = mottle.anonymize(table, schema, guarantee, **run)
        assert certificate.engine.chunks >= 16_000 // chunk_rows + tiers  # also the first waves
        assert len(certificate.method.tiers) == tiers
        assert certificate.method.wave > 0
        for fact in ("tiers", "wave"):
            assert getattr(certificate.method, fact) == getattr(memory.certificate.method, fact)
        streamed.append(certificate.gcp)
        held.append(memory.gcp)
    assert abs(sum(streamed) / sum(held) - 1) < apart, (streamed, held)
    release = mottle.read_release(tmp_path / "out")
    report = mottle.audit_release(table, release, schema=schema, guarantee=guarantee)
    assert report.passed
    assert Counter(release.table.column(sensitive).to_pylist()) == Counter(
        table.column(sensitive).to_pylist()
    )


def test_a_cut_that_fails_ends_the_run_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it fails in the top of the tree or in a chunk, after others were published."""
    table = mottle.datasets.population(6000, seed=3).select([*QI, "diagnosis"])
    pq.write_table(table, tmp_path / "people.parquet")
    schema = Schema.of(quasi_identifying=QI, sensitive=["diagnosis"])
    honest = Knowledge.check

    def failing_for(sizes: range) -> None:
        def check(self: Knowledge, node: Summary) -> None:
            honest(self, node)
            if node.size in sizes:
                raise CutError

        monkeypatch.setattr(Knowledge, "check", check)

    for sizes in (range(2000, 5000), range(100, 400)):
        failing_for(sizes)
        with pytest.raises(CutError):
            streaming.anonymize(
                tmp_path / "people.parquet",
                schema,
                CAPS,
                tmp_path / "out",
                chunk_rows=3000,
                effort=0,
                seed=1,
            )
        assert [path for path in tmp_path.rglob("*") if path.suffix != ".parquet"] == []


def test_blocks_may_be_much_larger_than_chunks(
    population: tuple[pa.Table, Schema], file: Path, tmp_path: Path
) -> None:
    table, schema = population
    certificate = streaming.anonymize(
        file, schema, LDiversity(2), tmp_path / "out", chunk_rows=50, effort=0
    ).certificate
    assert certificate.engine.chunks >= ROWS // 50
    assert certificate.method.wave == 0  # the table is one block, dealt to chunks by lot
    release = mottle.read_release(tmp_path / "out")
    assert mottle.audit_release(table, release, schema=schema, guarantee=LDiversity(2)).passed


def test_every_kind_of_column_comes_out_as_in_memory(
    people: tuple[pa.Table, Schema], tmp_path: Path
) -> None:
    table, schema = people
    table = table.append_column("when", pa.array(range(40), pa.timestamp("ns", "UTC")))
    table = table.append_column("wide", pa.array(range(40)).cast(pa.decimal128(38, 2)))
    table = table.append_column("nothing", pa.nulls(40))
    table = table.append_column("long", pa.array(range(40), pa.duration("us")))
    schema = schema.with_rest("insensitive")
    with pa.ipc.new_file(tmp_path / "people.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=7)
    streaming.anonymize(
        tmp_path / "people.arrow", schema, KAnonymity(4), tmp_path / "out", chunk_rows=12
    )
    memory = mottle.anonymize(table, schema, KAnonymity(4))
    memory.save(tmp_path / "memory")
    release = mottle.read_release(tmp_path / "out")
    expected = mottle.read_release(tmp_path / "memory")
    assert described(release) == described(expected)
    for name in ("diagnosis", "note", "when", "wide", "long"):
        assert sorted(map(str, release.table.column(name).to_pylist())) == sorted(
            map(str, table.column(name).to_pylist())
        )
    assert mottle.audit_release(table, release, schema=schema, guarantee=KAnonymity(4)).passed
    text = mottle.read_release(tmp_path / "out" / "release.csv")
    assert text.table.equals(release.table)


def test_names_that_arrow_reads_as_paths_or_adds_itself(tmp_path: Path) -> None:
    table = pa.table({".a": ["x", "y", "x", "y"] * 5, "count_all": list(range(20))})
    pq.write_table(table, tmp_path / "odd.parquet")
    schema = Schema.of(quasi_identifying=table.column_names)
    streaming.anonymize(
        tmp_path / "odd.parquet", schema, KAnonymity(3), tmp_path / "out", chunk_rows=9
    )
    release = mottle.read_release(tmp_path / "out")
    assert (tmp_path / "out" / "report.html").exists()
    found = release.query('SELECT ".a", count(*) FROM release GROUP BY ".a" ORDER BY ".a" DESC')
    assert found.column(".a").to_pylist() == ["y", "x"]
    assert cube_divergence(table, release, [".a"], "count_all", 1) >= 0


def test_ordered_categories_of_the_data_stay_ordered(tmp_path: Path) -> None:
    sizes = pa.DictionaryArray.from_arrays([0, 1, 2, 1] * 5, ["S", "M", "L"], ordered=True)
    table = pa.table({"size": sizes, "kept": sizes})
    pq.write_table(table, tmp_path / "sizes.parquet")
    schema = Schema.of(quasi_identifying=["size"], insensitive=["kept"])
    streaming.anonymize(
        tmp_path / "sizes.parquet", schema, KAnonymity(3), tmp_path / "out", chunk_rows=9
    )
    columns = {column.name: column for column in mottle.read_release(tmp_path / "out").columns}
    assert columns["size"].order == columns["kept"].order == ("S", "M", "L")


def test_numbers_in_bins_are_capped_by_bin_as_in_memory(
    population: tuple[pa.Table, Schema], file: Path, tmp_path: Path
) -> None:
    schema = Schema.of(
        quasi_identifying=QI, sensitive=["income"], bins={"income": 6}, rest="insensitive"
    )
    guarantee = LDiversity(3)
    certificate = streaming.anonymize(
        file, schema, guarantee, tmp_path / "out", chunk_rows=1500, effort=0
    ).certificate
    memory = mottle.anonymize(population[0], schema, guarantee, effort=0)
    assert certificate.sensitive == memory.certificate.sensitive
    release = mottle.read_release(tmp_path / "out")
    assert mottle.audit_release(population[0], release, schema=schema, guarantee=guarantee).passed


def test_several_sensitive_columns_are_capped_jointly_and_each(
    population: tuple[pa.Table, Schema], tmp_path: Path
) -> None:
    table = population[0]
    pq.write_table(table, tmp_path / "people.parquet")
    schema = Schema.of(
        quasi_identifying=["age", "sex", "education"],
        sensitive=["diagnosis", "marital_status"],
        rest="insensitive",
    )
    certificate = streaming.anonymize(
        tmp_path / "people.parquet", schema, LDiversity(2), tmp_path / "out", effort=0
    ).certificate
    memory = mottle.anonymize(table, schema, LDiversity(2), effort=0)
    assert certificate.sensitive == memory.certificate.sensitive
    assert certificate.checks[3].measured.highest_share_of_cap <= 1


def test_text_files_get_the_types_they_would_get_in_memory(
    population: tuple[pa.Table, Schema], tmp_path: Path
) -> None:
    table = population[0].append_column("code", pa.array([f"{row:05}" for row in range(ROWS)]))
    path = tmp_path / "people.csv"
    pa.csv.write_csv(table, path)
    schema = population[1].with_rest("insensitive")
    streaming.anonymize(
        path,
        schema,
        KAnonymity(5),
        tmp_path / "out",
        method="nh",
        chunk_rows=1000,
        text=ReadOptions(missing=["none"]),
    )
    original = mottle.read_table(path, missing=["none"])
    memory = mottle.anonymize(original, schema, KAnonymity(5), method="nh")
    memory.save(tmp_path / "memory")
    expected = mottle.read_release(tmp_path / "memory")
    release = mottle.read_release(tmp_path / "out")
    assert described(release) == described(expected)
    assert release.table.column("diagnosis").null_count == original.column("diagnosis").null_count


def test_readers_that_can_be_read_once_are_copied(
    population: tuple[pa.Table, Schema], tmp_path: Path
) -> None:
    table, schema = population
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=500))
    certificate = streaming.anonymize(
        reader, schema, KAnonymity(5), tmp_path / "out", method="nh", source="people of a database"
    ).certificate
    assert certificate.rows == ROWS
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "certificate.json",
        "release.csv",
        "release.parquet",
        "report.html",
    ]


def test_a_seed_repeats_the_release(
    population: tuple[pa.Table, Schema], file: Path, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        streaming.anonymize(
            file, population[1], KAnonymity(5), tmp_path / name, method="nh", chunk_rows=800, seed=7
        )
    one, two = (mottle.read_release(tmp_path / name).table for name in ("one", "two"))
    assert one.equals(two)
    certificate = Certificate.from_json((tmp_path / "one" / "certificate.json").read_text())
    assert certificate.seed == 7
    assert any("seed" in note for note in certificate.notes)


def test_an_order_of_rows_by_file_is_not_to_be_seen(
    population: tuple[pa.Table, Schema], tmp_path: Path
) -> None:
    numbered = pa.table({"age": [30 + row % 2 for row in range(400)], "row": range(400)})
    pq.write_table(numbered, tmp_path / "rows.parquet")
    schema = Schema.of(quasi_identifying=["age"], insensitive=["row"])
    streaming.anonymize(
        tmp_path / "rows.parquet", schema, KAnonymity(5), tmp_path / "out", chunk_rows=100, seed=1
    )
    rows = mottle.read_release(tmp_path / "out").table.column("row").to_pylist()
    assert sorted(rows) == list(range(400))
    rising = sum(low < high for low, high in pairwise(rows))
    assert 150 < rising < 250  # half of them, give or take five standard deviations


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"method": "mondrian"}, UsageError, "whole table in memory"),
        ({"method": "nope"}, UsageError, "nope"),
        ({"memory": "plenty"}, UsageError, "--memory 4GB"),
        ({"memory": "100MB"}, UsageError, "at least 1GB"),
        ({"walk": "crooked"}, UsageError, "walk"),
    ],
)
def test_what_chunks_cannot_do_is_refused(
    population: tuple[pa.Table, Schema],
    file: Path,
    tmp_path: Path,
    options: dict[str, str],
    error: type[Exception],
    words: str,
) -> None:
    with pytest.raises(error, match=words):
        streaming.anonymize(file, population[1], KAnonymity(5), tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_errors_leave_nothing_behind(
    population: tuple[pa.Table, Schema], file: Path, tmp_path: Path
) -> None:
    schema = population[1]
    with pytest.raises(GuaranteeError, match="largest feasible"):
        streaming.anonymize(file, schema, LDiversity(4), tmp_path / "out")
    with pytest.raises(StorageError, match="does not exist"):
        streaming.anonymize(tmp_path / "none.csv", schema, KAnonymity(5), tmp_path / "out")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match="damaged"):
        streaming.anonymize(tmp_path / "bad.parquet", schema, KAnonymity(5), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_earlier_release_is_replaced_only_when_asked(
    population: tuple[pa.Table, Schema], file: Path, tmp_path: Path
) -> None:
    run = {"method": "nh", "chunk_rows": 1000}
    streaming.anonymize(file, population[1], KAnonymity(5), tmp_path / "out", **run)
    with pytest.raises(StorageError, match="--overwrite"):
        streaming.anonymize(file, population[1], KAnonymity(7), tmp_path / "out", **run)
    run |= {"overwrite": True, "another_draw": True}
    streaming.anonymize(file, population[1], KAnonymity(7), tmp_path / "out", **run)
    assert mottle.read_release(tmp_path / "out").certificate.degree.min == 7


def test_decimals_that_parquet_lacks_are_streamed(tmp_path: Path) -> None:
    """Hundreds as decimals with a negative scale: the copy of an Arrow file is Parquet."""
    hundreds = pa.array([Decimal(100 * row) for row in range(12)], pa.decimal128(5, -2))
    table = pa.table({"pay": hundreds, "level": hundreds.dictionary_encode()})
    with pa.ipc.new_file(tmp_path / "people.arrow", table.schema) as writer:
        writer.write_table(table)
    mottle.anonymize_stream(
        tmp_path / "people.arrow",
        Schema.of(quasi_identifying=["pay", "level"]),
        KAnonymity(2),
        output=tmp_path / "out",
        memory="2GB",
        method="nh",
    )
    cells = mottle.read_release(tmp_path / "out").table.column("pay").to_pylist()
    assert min(cell["lo"] for cell in cells) == 0
    assert max(cell["hi"] for cell in cells) == 1100
