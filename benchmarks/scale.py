"""Tables larger than memory: time, memory and growth of streaming and Spark; kills; agreement.

    python benchmarks/scale.py [streaming|freeform|spark|agreement|kills|plan …] [--rows N]

Without a part, all of them are run: streaming (nh) and Spark up to 20 million rows, freeform at 5
million. ``--rows`` limits the size. The generated population is kept in the system's temporary
folder and is generated only once, a million people at a time.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from _scale_cluster import Chance, Stage, makespan
from _shared import RESULTS, by_ncp, markdown_table, report

import mottle
from mottle import Certificate
from mottle.pipeline import streaming as mottle_streaming
from mottle.pipeline.chunked.chunk import ChunkedPlan
from mottle.pipeline.spark import engine as mottle_spark
from mottle.pipeline.spark import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLACE = Path(tempfile.gettempdir()) / "mottle-scale"
QI = "age,sex,education,marital_status,origin,workclass,occupation"
K = 10
MEMORY = "4GB"
PAGE = os.sysconf("SC_PAGE_SIZE")
COLUMNS = ["--qi", QI, "--id", "person_id", "--rest", "insensitive"]
OPTIONS = [*COLUMNS, "--k", str(K)]


@dataclass(frozen=True)
class Run:
    """Time, memory and certificate of one run."""

    rows: int
    seconds: float
    peak: float  # GB of the whole process tree
    certificate: Certificate

    @property
    def cells(self) -> list[str]:
        rate = f"{self.rows / self.seconds:,.0f}"
        gcp = f"{self.certificate.gcp:.4f}"
        chunks = f"{self.certificate.engine.chunks:,}"
        return [f"{self.rows:,}", f"{self.seconds:,.0f}", rate, f"{self.peak:.2f}", chunks, gcp]


HEADER = ["rows", "seconds", "rows/s", "peak RSS, GB", "chunks", "GCP"]


def people(rows: int) -> Path:
    """A Parquet file of ``rows`` generated people, drawn a million at a time."""
    PLACE.mkdir(exist_ok=True)
    path = PLACE / f"people-{rows}.parquet"
    if path.exists():
        return path
    partial = path.with_suffix(".partial")
    with pq.ParquetWriter(partial, mottle.datasets.population(1).schema) as writer:
        for first in range(0, rows, 1_000_000):
            part = mottle.datasets.population(min(rows - first, 1_000_000), seed=first)
            place = part.schema.get_field_index("person_id")  # which begins anew with every part
            numbers = pa.array(range(first, first + part.num_rows)).cast(pa.string())
            writer.write_table(part.set_column(place, part.schema.field(place), numbers))
    partial.rename(path)
    return path


def tree_memory(root: int) -> float:
    """Resident bytes of a process and all its descendants."""
    children: dict[int, list[int]] = {}
    resident: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                status = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            children.setdefault(int(status[1]), []).append(int(entry.name))
            resident[int(entry.name)] = int(status[21]) * PAGE
    waiting, total = [root], 0
    while waiting:
        process = waiting.pop()
        total += resident.get(process, 0)
        waiting += children.get(process, [])
    return total


def measured(command: Sequence[str], rows: int, output: Path) -> Run:
    shutil.rmtree(output, ignore_errors=True)
    began = time.perf_counter()
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    peak = 0.0
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.2):
            peak = max(peak, tree_memory(process.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    code = process.wait()
    done.set()
    watcher.join()
    if code != 0:
        sys.exit(f"{' '.join(command)} failed")
    certificate = Certificate.from_json((output / "certificate.json").read_text())
    return Run(rows, time.perf_counter() - began, peak / 1e9, certificate)


def command(data: Path, output: Path, *options: str) -> list[str]:
    mottle_command = [sys.executable, "-m", "mottle", "anonymize", str(data), "-o", str(output)]
    return [*mottle_command, *OPTIONS, *options]


def sizes(largest: int, steps: Sequence[int]) -> list[int]:
    return [rows for rows in steps if rows <= largest] or [largest]


def streaming(largest: int) -> None:
    output = PLACE / "streamed"
    runs = [
        measured(command(people(rows), output, "--method", "nh", "--memory", MEMORY), rows, output)
        for rows in sizes(min(largest, 20_000_000), [500_000, 2_000_000, 20_000_000])
    ]
    stages = markdown_table(
        ["rows", *runs[0].certificate.seconds],
        [[f"{run.rows:,}", *run.certificate.seconds.values()] for run in runs],
    )
    growth = runs[-1].seconds / runs[0].seconds / (runs[-1].rows / runs[0].rows)
    report(
        "scale-streaming",
        f"Streaming: nh, k = {K}, 7 quasi-identifiers, --memory {MEMORY}",
        [
            markdown_table(HEADER, [run.cells for run in runs]),
            f"From the smallest to the largest size, time grows {growth:.2f} times as fast as the"
            " number of rows (1 is linear; program start is included).",
            "Seconds by stage:",
            stages,
        ],
        "scale.py streaming",
    )


def freeform(largest: int) -> None:
    output = PLACE / "streamed"
    runs = [
        measured(
            command(
                people(rows),
                output,
                *("--method", "freeform", "--objective", "ncp"),
                *("--seconds", "60", "--memory", MEMORY),
            ),
            rows,
            output,
        )
        for rows in sizes(min(largest, 5_000_000), [200_000, 1_000_000, 5_000_000])
    ]
    report(
        "scale-freeform",
        f"Streaming: freeform, k = {K}, at most 60 s of refinement per chunk, --memory {MEMORY}",
        [markdown_table(HEADER, [run.cells for run in runs])],
        "scale.py freeform",
    )


def spark(largest: int) -> None:
    output = PLACE / "by-spark"
    rows_tried = sizes(min(largest, 20_000_000), [500_000, 2_000_000, 20_000_000])
    lines = []
    for rows in rows_tried:
        data = people(rows)
        streamed = measured(
            command(data, output, "--method", "nh", "--memory", MEMORY), rows, output
        )
        by_spark = measured(
            command(data, output, "--method", "nh", "--engine", "spark", "--master", "local[2]"),
            rows,
            output,
        )
        lines += [["streaming", *streamed.cells], ["Spark, local[2]", *by_spark.cells]]
    report(
        "scale-spark",
        f"Spark compared with streaming: nh, k = {K}, 7 quasi-identifiers, two cores",
        [
            markdown_table(["engine", *HEADER], lines),
            "Peak memory of Spark includes its virtual machine and its Python workers.",
        ],
        "scale.py spark",
    )


@dataclass(frozen=True)
class AgreementCase:
    """A method and a guarantee for which all engines should have the same loss."""

    method: str
    guarantee: mottle.KAnonymity | mottle.LDiversity | mottle.BetaLikeness
    sensitive: str = ""
    bins: int = 0
    rows: int = 420_000
    secrets: int = 1  # runs of each engine, if the loss depends on chance

    @property
    def schema(self) -> mottle.Schema:
        return mottle.Schema.of(
            quasi_identifying=QI.split(","),
            identifying=["person_id"],
            sensitive=[self.sensitive] if self.sensitive else [],
            bins={self.sensitive: self.bins} if self.bins else {},
            rest="insensitive",
        )

    def __str__(self) -> str:
        of = f", {self.sensitive}" if self.sensitive else ""
        of += f" in {self.bins} bins" if self.bins else ""
        return f"{self.method}, {self.guarantee.describe()['short']}{of}"

    def audit(self, data: Path, output: Path) -> str:
        """The result of all adversaries that apply to a release."""
        original, release = mottle.read_table(data), mottle.read_release(output)
        covering = self.schema.covering(original.column_names)
        found = mottle.audit_release(original, release, schema=covering, guarantee=self.guarantee)
        return "passed" if found.passed else "FAILED"


AGREEMENT_CASES = [
    AgreementCase("nh", mottle.KAnonymity(K)),
    AgreementCase("freeform", mottle.KAnonymity(K)),
    AgreementCase("buckets", mottle.LDiversity(5), "income", 10, secrets=2),
    AgreementCase("buckets", mottle.LDiversity(2), "diagnosis", rows=210_000, secrets=3),
    AgreementCase("buckets", mottle.BetaLikeness(2), "income", 10, rows=105_000),
]


class Engines:
    """The three engines; streaming and Spark have to cut the table into thirds."""

    def __init__(self, session: SparkSession) -> None:
        self.session = session
        self.runs: dict[str, Callable[[AgreementCase, Path, Path], Certificate]] = {
            "memory": self.in_memory,
            "streaming": self.streamed,
            "Spark": self.on_spark,
        }

    def in_memory(self, agreeing: AgreementCase, data: Path, output: Path) -> Certificate:
        table = mottle.read_table(data)
        release = mottle.anonymize(
            table,
            agreeing.schema,
            agreeing.guarantee,
            method=agreeing.method,
            objective=by_ncp(agreeing.method),
            effort=0,
        )
        release.save(output, report=False)
        return release.certificate

    def streamed(self, agreeing: AgreementCase, data: Path, output: Path) -> Certificate:
        return mottle_streaming.anonymize(
            data,
            agreeing.schema,
            agreeing.guarantee,
            output,
            method=agreeing.method,
            objective=by_ncp(agreeing.method),
            effort=0,
            chunk_rows=-(-agreeing.rows // 3),
            report=False,
        ).certificate

    def on_spark(self, agreeing: AgreementCase, data: Path, output: Path) -> Certificate:
        staging = PLACE / "staging"
        frame = self.session.read.parquet(str(data))
        release = mottle_spark.anonymize(
            frame,
            agreeing.schema,
            agreeing.guarantee,
            method=agreeing.method,
            objective=by_ncp(agreeing.method),
            effort=0,
            chunk_rows=-(-agreeing.rows // 3),
            staging=staging,
        )
        release.save(output, report=False)
        shutil.rmtree(staging)
        return release.certificate


def agreement(largest: int) -> None:
    """The same people in memory, streamed and by Spark: GCP and audits side by side."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    header = ["method", "people", "runs"]
    lines = []
    with spark_session("local[2]") as session:
        engines = Engines(session).runs
        for agreeing in AGREEMENT_CASES:
            lines.append(
                agreement_line(replace(agreeing, rows=min(largest, agreeing.rows)), engines)
            )
            report(
                "scale-agreement",
                "The same people, three engines: GCP and audit",
                [
                    markdown_table(
                        [*header, *engines, "largest difference", "chunks", "audit"], lines
                    ),
                    "Not refined, since the time limit applies to each chunk. With several runs,"
                    " each with its own secret, GCP is their mean ± the largest deviation from it."
                    " Streaming and Spark use a third of the rows as the size of a chunk. The audit"
                    " runs all adversaries that apply, on the last run.",
                ],
                "scale.py agreement",
            )


def agreement_line(
    agreeing: AgreementCase, engines: dict[str, Callable[[AgreementCase, Path, Path], Certificate]]
) -> list[str]:
    data, output = people(agreeing.rows), PLACE / "agreeing"
    means, losses, chunks, verdicts = [], [], [], []
    for run in engines.values():
        found = []
        for _ in range(agreeing.secrets):
            shutil.rmtree(output, ignore_errors=True)
            certificate = run(agreeing, data, output)
            found.append(certificate.gcp)
        mean = sum(found) / len(found)
        means.append(mean)
        spread = max(abs(gcp / mean - 1) for gcp in found)
        losses.append(f"{mean:.5f}" + (f" ± {spread:.2%}" if len(found) > 1 else ""))
        chunks.append(str(1 if certificate.engine is None else certificate.engine.chunks))
        verdicts.append(agreeing.audit(data, output))
    worst = max(abs(mean / means[0] - 1) for mean in means)
    numbers = [f"{agreeing.rows:,}", str(agreeing.secrets)]
    said = [f"{worst:.2%}", " / ".join(chunks), " / ".join(verdicts)]
    return [str(agreeing), *numbers, *losses, *said]


def kills(largest: int) -> None:
    """Kill ten times with signal 9 at random points; the same command completes the release."""
    rows = min(largest, 1_000_000)
    data, output = people(rows), PLACE / "killed"
    shutil.rmtree(output, ignore_errors=True)
    chance = random.Random(1)
    run = command(data, output, "--method", "nh", "--memory", "1GB")
    began = time.perf_counter()
    subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
    usual = time.perf_counter() - began
    shutil.rmtree(output)
    killed = []
    while len(killed) < 10 and not (output / "certificate.json").exists():
        process = subprocess.Popen(run, stdout=subprocess.DEVNULL)
        wait = chance.uniform(0.1, 0.6) * usual
        try:
            process.wait(wait)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            killed.append(wait)
    began = time.perf_counter()
    if not (output / "certificate.json").exists():
        subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
    release = mottle.read_release(output)
    left = sorted(path.name for path in output.iterdir())
    report(
        "scale-kills",
        f"{rows:,} rows, killed with signal 9 at random points",
        [
            f"An uninterrupted run took {usual:.0f} s. Killed {len(killed)} times, after"
            f" {', '.join(f'{wait:.0f}' for wait in killed)} s; the last run then took"
            f" {time.perf_counter() - began:.0f} s.",
            f"Rows in the release: {release.table.num_rows:,}. Files: {', '.join(left)}.",
        ],
        "scale.py kills",
    )


def plan(largest: int) -> None:
    """Extrapolate to ten billion rows from the rates that `streaming` and `spark` measured."""
    many, machines, cores = 10**10, 20, 16
    rates = {"Spark": rate("scale-spark", "Spark"), "streaming": rate("scale-streaming", "")}
    staged = staged_bytes(min(largest, 200_000))
    chunks = many // mottle_spark.ROWS_PER_CHUNK
    core_hours = many / rates["Spark"] / 3600
    shuffled = {"order": "keys and tie-breaks", "coded": "coded rows", "release": "release"}
    lines = [
        ["rows per second and core, Spark", "`scale-spark.md`", f"{rates['Spark']:,.0f}"],
        ["core-hours", "10¹⁰ / r / 3600", f"{core_hours:,.0f}"],
        [
            f"{machines} machines of {cores} cores",
            f"÷ {machines * cores}",
            f"{core_hours / machines / cores:.2f} h, if no machine waits for another",
        ],
        [f"chunks of {mottle_spark.ROWS_PER_CHUNK:,} rows", "", f"{chunks:,}"],
        *[
            [f"shuffled: {what}", f"10¹⁰ · {staged[name]:.0f} bytes", terabytes(staged[name])]
            for name, what in shuffled.items()
        ],
        ["written to staging, compressed", " + ".join(staged), terabytes(sum(staged.values()))],
        [
            "one machine of two cores, streaming",
            f"10¹⁰ / (2 · {rates['streaming']:,.0f})",
            f"{many / rates['streaming'] / 2 / 3600:,.0f} h",
        ],
    ]
    seconds = chunk_seconds(min(largest, CHUNKS_MEASURED * mottle_spark.ROWS_PER_CHUNK))
    report(
        "scale-plan",
        "Ten billion rows, extrapolated from measurements",
        [
            markdown_table(["quantity", "arithmetic", "result"], lines),
            "Bytes are those of the Parquet files of a run on generated people. Rates are those of"
            " two cores, divided by two; they were not measured on twenty machines.",
            f"What stragglers, skew and failures cost, simulated: {machines} machines of {cores}"
            f" cores, {DRAWS} draws of each case. The core-hours are divided among five stages,"
            f" each of which waits for the one before: half are those of {chunks:,} chunks, an"
            f" eighth each those of four stages of {chunks // 5:,} tasks. The spread of chunks is"
            f" that of {len(seconds)} measured ones, in processor seconds"
            f" {', '.join(f'{one:.2f}' for one in seconds)}. Any attempt varies by a lognormal"
            " factor (σ = 0.3); stragglers are 1 % of the attempts, which take longer by a Pareto"
            " factor (shape 1.5, from 2 to 50); skew multiplies tasks by a lognormal factor"
            " (σ = 0.5); a machine fails once in 20 hours or once in one hour, its tasks of the"
            " stage are done again, and it is back after ten minutes. Speculation copies tasks as"
            " Spark does by default (three times the median, after 90 % of the tasks).",
            markdown_table(
                ["case", "speculation", "median h", "95 % h", "longest h", "median ÷ ideal"],
                simulated(core_hours, machines, cores, chunks, seconds),
            ),
        ],
        "scale.py plan",
    )


CHUNKS_MEASURED, DRAWS = 5, 20
CASES = {
    "every attempt varies": Chance(spread=0.3),
    "stragglers": Chance(spread=0.3, stragglers=0.01),
    "stragglers, skew": Chance(spread=0.3, stragglers=0.01, skew=0.5),
    "stragglers, skew, a failure in 20 h": Chance(0.3, 0.01, skew=0.5, failures=0.05),
    "stragglers, skew, a failure in 1 h": Chance(0.3, 0.01, skew=0.5, failures=1.0),
}


def simulated(
    core_hours: float, machines: int, cores: int, chunks: int, seconds: Sequence[float]
) -> list[list[str]]:
    """How long the plan takes in every case, without speculation and with it."""
    work = core_hours * 3600
    moving = [Stage(chunks // 5, work / 8, [1.0])] * 2
    stages = [*moving, Stage(chunks, work / 2, seconds), *moving]
    ideal = core_hours / machines / cores
    lines = []
    for case, chance in CASES.items():
        for speculation in (False, True):
            drawn = replace(chance, speculation=speculation)
            hours = sorted(
                makespan(stages, machines, cores, drawn, seed) / 3600 for seed in range(DRAWS)
            )
            median, high = statistics.median(hours), hours[int(0.95 * DRAWS) - 1]
            figures = (f"{median:.2f}", f"{high:.2f}", f"{hours[-1]:.2f}", f"{median / ideal:.2f}")
            lines.append([case, "yes" if speculation else "no", *figures])
    return lines


def chunk_seconds(rows: int) -> list[float]:
    """Processor seconds of the chunks of a run with one thread, in chunks as large as Spark's."""
    taken = []
    anonymize = ChunkedPlan.anonymize

    def timed(plan: ChunkedPlan, *arguments: Any) -> Any:
        began = time.process_time()
        try:
            return anonymize(plan, *arguments)
        finally:
            taken.append(time.process_time() - began)

    output = PLACE / "chunks"
    shutil.rmtree(output, ignore_errors=True)
    os.environ["MOTTLE_THREADS"] = "1"
    ChunkedPlan.anonymize = timed  # type: ignore[method-assign]
    try:
        columns = {"quasi_identifying": QI.split(","), "identifying": ["person_id"]}
        schema = mottle.Schema.of(**columns, rest="insensitive")
        size = mottle_spark.ROWS_PER_CHUNK
        mottle_streaming.anonymize(
            *(people(rows), schema, mottle.KAnonymity(K), output),
            method="nh",
            chunk_rows=size,
            report=False,
        )
    finally:
        ChunkedPlan.anonymize = anonymize  # type: ignore[method-assign]
        del os.environ["MOTTLE_THREADS"]
        shutil.rmtree(output, ignore_errors=True)
    return taken


def rate(name: str, engine: str) -> float:
    """Rows per second and core at the largest size in a results file."""
    path = RESULTS / f"{name}.md"
    if not path.exists():
        sys.exit(f"{path} does not exist; run that part first.")
    table = path.read_text().split("\n\n")[2].splitlines()
    column = [cell.strip() for cell in table[0].split("|")].index("rows/s")
    last = [line for line in table[2:] if engine in line][-1]
    return float(last.split("|")[column].replace(",", "")) / 2


def staged_bytes(rows: int) -> dict[str, float]:
    """Bytes per row that each stage of a run on Spark writes."""
    folder = PLACE / "staging"
    shutil.rmtree(folder, ignore_errors=True)
    columns = {"quasi_identifying": QI.split(","), "identifying": ["person_id"]}
    schema = mottle.Schema.of(**columns, rest="insensitive")
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    with spark_session("local[2]") as running:
        frame = running.read.parquet(str(people(rows)))
        mottle_spark.anonymize(frame, schema, mottle.KAnonymity(K), staging=folder, method="nh")
    (run,) = folder.iterdir()
    sizes = {
        stage.name: sum(path.stat().st_size for path in stage.glob("*.parquet")) / rows
        for stage in sorted(run.iterdir())
    }
    shutil.rmtree(folder)
    return sizes


def terabytes(per_row: float) -> str:
    return f"{per_row / 100:.2f} TB"


PARTS: dict[str, Callable[[int], None]] = {
    "streaming": streaming,
    "freeform": freeform,
    "spark": spark,
    "agreement": agreement,
    "kills": kills,
    "plan": plan,
}

if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("parts", nargs="*", metavar="PART")
    arguments.add_argument("--rows", type=int, default=20_000_000)
    given = arguments.parse_args()
    for name in given.parts or PARTS:
        PARTS[name](given.rows)
