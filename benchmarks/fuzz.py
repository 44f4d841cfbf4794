"""The fuzzer's long profile: tables, sets, hostile files and kills, and how each run ended.

``make fuzz`` runs it whole. Parts are run by their number of cases, ``--tables 500 --kills 10``,
also in processes beside each other: what a part has found replaces what was kept of it, or with
``--add`` goes on after it with further batches. ``fuzz.md`` is written from what is kept of all
parts, anew with ``--report``. A failure is reproduced by the part, seed and number that it is
listed with, ``--reproduce tables:17:3``, and how it ended then is kept as well.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

from _shared import RESULTS, ROOT, code_version, markdown_table, report

sys.path[:0] = [str(ROOT / "tests" / "fuzz"), str(ROOT / "tests" / "support")]

from parts import PARTS, Part  # noqa: E402 - tests/fuzz is no installed package
from tally import Failed, Tally, changing, load  # noqa: E402

COUNTS = {
    "tables": 10_000,
    "sets": 2_000,
    "hostile": 1_000,
    "kills": 300,
    "later": 500,
    "compare": 200,
}
KEPT = RESULTS / "fuzz.json"
TITLE = "Fuzzed input, damaged folders and killed runs"


def main() -> None:
    arguments = _arguments()
    kept = KEPT if arguments.tally is None else arguments.tally.with_suffix(".json")
    if arguments.reproduce:
        _reproduce(arguments.reproduce, kept)
    counts = {name: getattr(arguments, name) for name in COUNTS}
    if not any((*counts.values(), arguments.reproduce, arguments.report)):
        counts = COUNTS
    for name, count in counts.items():
        if count:
            _run(PARTS[name], count, arguments, kept)
    _report(load(kept), arguments.tally)
    failures = [one for part in load(kept).values() for one in part.failures if not one.again]
    sys.exit(1 if failures else 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, count in COUNTS.items():
        parser.add_argument(f"--{name}", type=int, help=f"number of cases; {count:,} by default")
    parser.add_argument("--seed", type=int, help="of the first batch; 1, or with --add the next")
    parser.add_argument("--add", action="store_true", help="go on after the kept batches")
    parser.add_argument("--tally", type=Path, help="where to keep and write the tally instead")
    parser.add_argument("--reproduce", metavar="PART:SEED:NUMBER", help="run one case again")
    parser.add_argument("--report", action="store_true", help="write the tally as it is kept")
    return parser.parse_args()


def _run(part: Part, count: int, arguments: argparse.Namespace, kept: Path) -> None:
    """Run cases in batches, and go on after failures."""
    began, done = time.perf_counter(), 0
    tally = load(kept).get(part.name, Tally()) if arguments.add else Tally()
    first = tally.next_seed if arguments.seed is None else arguments.seed
    tally.begin(code_version(), first)
    with part.prepared() as run:
        for seed, number, case in _cases(part, count, first):
            kind = part.kind(case)
            folder = Path(tempfile.mkdtemp(prefix="mottle-fuzz-"))
            try:
                tally.add(seed, kind, run(case, folder))
            except Exception as failure:
                where = f"{part.name}:{seed}:{number}"
                tally.fail(seed, kind, where, _why(failure))
                print(f"{where}: {_why(failure)}", flush=True)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            done += 1
            if done % part.batch == 0 or done == count:
                seconds = time.perf_counter() - began
                failed = f"{len(tally.failures)} failures"
                print(f"{part.name}: {done:,} of {count:,}, {failed}, {seconds:,.0f} s", flush=True)
                with changing(kept) as parts:
                    parts[part.name] = tally


def _cases(part: Part, count: int, first: int) -> Iterator[tuple[int, int, object]]:
    """Cases with their batch's seed and their number in it."""
    for batch in range((count + part.batch - 1) // part.batch):
        seed = first + batch
        for number, case in enumerate(part.cases(seed)):
            if batch * part.batch + number < count:
                yield seed, number, case


def _why(failure: Exception) -> str:
    """What failed in one line, with the place for errors of the fuzzer or its checker."""
    lines = str(failure).strip().splitlines() or [""]
    if type(failure).__name__ in ("Failure", "Wrong"):
        return lines[0][:300]
    place = traceback.extract_tb(failure.__traceback__)[-1]
    return (
        f"{type(failure).__name__}: {lines[0][:200]} ({Path(place.filename).name}:{place.lineno})"
    )


def _reproduce(where: str, kept: Path) -> None:
    """Run one case again, keep its files, show everything and note how it ended."""
    name, seed, number = where.split(":")
    part = PARTS[name]
    case = list(part.cases(int(seed)))[int(number)]
    folder = Path(tempfile.mkdtemp(prefix="mottle-fuzz-"))
    print(f"{case}\nFiles: {folder}", flush=True)
    with part.prepared() as run:
        ended = run(case, folder)
    print(ended)
    with changing(kept) as parts:
        for failed in parts.get(name, Tally()).failures:
            if failed.reproduce == where:
                failed.again = f"{ended} ({code_version()})"


def _report(parts: dict[str, Tally], place: Path | None) -> None:
    found = [(name, parts[name]) for name in PARTS if name in parts]
    rows = []
    for name, part in PARTS.items():
        tally = parts.get(name, Tally())
        rows.append([part.title, f"{tally.cases:,}", f"{COUNTS[name]:,}", _versions(tally) or "–"])
    sections = [markdown_table(["part", "cases", "asked for", "over the versions"], rows)]
    for name, tally in found:
        header, rows = tally.table(name)
        sections += [f"## {PARTS[name].title}", markdown_table(header, rows)]
    failures = [failed for _, tally in found for failed in tally.failures]
    if failures:
        rows = [_failure(one) for one in failures]
        told = ["reproduce", "kind", "what", "version", "the same case later"]
        sections += ["## Failures", markdown_table(told, rows)]
        sections += ["Every other run ended with a valid result or a named error."]
    else:
        sections += ["Every run ended with a valid result or a named error."]
    if place is None:
        report("fuzz", TITLE, sections)
    else:
        place.write_text("\n\n".join([f"# {TITLE}", *sections]) + "\n", "utf-8")


def _versions(tally: Tally) -> str:
    counts: dict[str, int] = {}
    for run in tally.runs:
        counts[run.version] = counts.get(run.version, 0) + run.cases
    return ", ".join(f"{version}: {cases:,}" for version, cases in counts.items() if cases)


def _failure(failed: Failed) -> list[str]:
    cells = [failed.reproduce, failed.kind, failed.why, failed.version, failed.again or "–"]
    return [cell.replace("|", "\\|") for cell in cells]


if __name__ == "__main__":
    main()
