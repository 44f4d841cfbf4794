"""Speed and memory of the pipeline: CENSUS by stage, the whole command, 5 million rows."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from _shared import markdown_table, report, require_data, run_measured, seconds_of_anonymizing

import mottle
from mottle.cli.demo_data import population_schema
from mottle.pipeline.progress import STAGES

CENSUS_QI = ["age", "gender", "education", "marital_status", "race", "workclass", "country"]
K = 10
MANY = 5_000_000


def census_schema() -> mottle.Schema:
    return mottle.Schema.of(
        quasi_identifying=CENSUS_QI, sensitive=["salary_class"], rest="insensitive"
    )


def by_stage(census: pa.Table) -> str:
    """Stage times on a tenth of the rows and on all of them: best of five, alternating."""
    runs: dict[int, list[dict[str, float]]] = {census.num_rows // 10: [], census.num_rows: []}
    for _ in range(5):
        for rows, measured in runs.items():
            release = mottle.anonymize(
                census.slice(0, rows), census_schema(), mottle.KAnonymity(K), method="nh", seed=1
            )
            seconds = release.certificate.seconds
            measured.append({**seconds, "anonymizing": seconds_of_anonymizing(release.certificate)})
    small, large = (
        {s: min(r[s] for r in m) for s in (*STAGES, "anonymizing")} for m in runs.values()
    )
    rows = [
        (stage, f"{small[stage]:.3f}", f"{large[stage]:.3f}", f"{large[stage] / small[stage]:.1f}")
        for stage in (*STAGES, "anonymizing")
    ]
    names = ("stage", *(f"{rows:,} rows, s" for rows in runs), "ratio")
    return markdown_table(names, rows)


def command(data: Path, output: Path, *options: str, method: str = "nh") -> list[str]:
    return [
        sys.executable,
        "-m",
        "mottle",
        "anonymize",
        str(data),
        "-o",
        str(output),
        "--k",
        str(K),
        "--overwrite",
        "--another-draw",
        "--method",
        method,
        *options,
    ]


def main() -> None:
    census_file = require_data("census_acs.parquet")
    options = ("--qi", ",".join(CENSUS_QI), "--sensitive", "salary_class", "--rest", "insensitive")
    with tempfile.TemporaryDirectory() as folder:
        temporary = Path(folder)
        census = mottle.read_table(census_file)
        few = census.slice(0, 1000)
        mottle.anonymize(few, census_schema(), mottle.KAnonymity(K), method="nh", seed=1)
        stages = by_stage(census)
        small = temporary / "small.parquet"
        pq.write_table(census.slice(0, 2000), small)
        run = command(small, temporary / "small", *options)
        cold = run_measured(run, NUMBA_CACHE_DIR=str(temporary / "kernels"))
        warm = run_measured(run, NUMBA_CACHE_DIR=str(temporary / "kernels"))
        run = command(small, temporary / "small", *options, method="freeform")
        cold_freeform = run_measured(run, NUMBA_CACHE_DIR=str(temporary / "freeform"))
        warm_freeform = run_measured(run, NUMBA_CACHE_DIR=str(temporary / "freeform"))
        whole = run_measured(command(census_file, temporary / "census", *options))
        many = temporary / "population.parquet"
        people = mottle.datasets.population(MANY, seed=1)
        pq.write_table(people, many)
        hierarchy = temporary / "origin.csv"
        mottle.Hierarchy.from_rows(mottle.datasets.origin_hierarchy()).write(hierarchy)
        population_schema(hierarchy).write(temporary / "mottle.toml")
        del people
        millions = run_measured(
            command(many, temporary / "many", "--schema", str(temporary / "mottle.toml"))
        )
    report(
        "foundation",
        f"The pipeline: nh, k = {K}",
        [
            f"CENSUS substitute, {census.num_rows:,} rows, 7 quasi-identifiers; kernels compiled,"
            " best of five. *anonymizing* is arrange + cover + assign + check (target: 2 s on all"
            " rows, ratio at most 12).",
            stages,
            "Whole commands, from start to the written files.",
            markdown_table(
                ("command", "seconds", "peak MB", "target"),
                [
                    (
                        "`mottle anonymize` CENSUS, all rows",
                        f"{whole.seconds:.1f}",
                        f"{whole.peak_megabytes:.0f}",
                        "12 s, 1,500 MB",
                    ),
                    (
                        "`mottle anonymize` 2,000 rows, kernels not compiled",
                        f"{cold.seconds:.1f}",
                        f"{cold.peak_megabytes:.0f}",
                        "",
                    ),
                    (
                        "`mottle anonymize` 2,000 rows, kernels compiled",
                        f"{warm.seconds:.1f}",
                        f"{warm.peak_megabytes:.0f}",
                        "",
                    ),
                    (
                        "first-run compile time, nh (difference)",
                        f"{cold.seconds - warm.seconds:.1f}",
                        "",
                        "about 20 s",
                    ),
                    (
                        "first-run compile time, freeform (difference)",
                        f"{cold_freeform.seconds - warm_freeform.seconds:.1f}",
                        "",
                        "about 20 s",
                    ),
                    (
                        f"`mottle anonymize` population, {MANY:,} rows",
                        f"{millions.seconds:.1f}",
                        f"{millions.peak_megabytes:.0f}",
                        "",
                    ),
                ],
            ),
        ],
    )


if __name__ == "__main__":
    main()
