"""The fuzzer's long profile: tables, sets, hostile files and kills, and how each run ended.

``make fuzz`` runs it whole. Parts are run by their number of cases, ``--tables 500 --kills 10``;
the results of several runs are added up with ``--add``. A failure is reproduced by the part, seed
and number that it is listed with: ``--reproduce tables:17:3``.
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

from _shared import RESULTS, ROOT, markdown_table, report

sys.path[:0] = [str(ROOT / "tests" / "fuzz"), str(ROOT / "tests" / "support")]

from parts import PARTS, Part  # noqa: E402 - tests/fuzz is no installed package
from tally import Tally  # noqa: E402

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
    if arguments.reproduce:
        part, seed, number = arguments.reproduce.split(":")
        _reproduce(PARTS[part], int(seed), int(number))
        return
    kept = KEPT if arguments.tally is None else arguments.tally.with_suffix(".json")
    tally = Tally.load(kept) if arguments.add and kept.exists() else Tally()
    counts = {name: getattr(arguments, name) for name in COUNTS}
    if all(count is None for count in counts.values()):
        counts = COUNTS
    for name, count in counts.items():
        if count:
            _run(PARTS[name], count, arguments.seed, tally, kept)
            tally.save(kept)
    _report(tally, arguments.tally)
    sys.exit(1 if tally.failures else 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, count in COUNTS.items():
        parser.add_argument(f"--{name}", type=int, help=f"number of cases; {count:,} by default")
    parser.add_argument("--seed", type=int, default=1, help="of the first batch of each part")
    parser.add_argument("--add", action="store_true", help="add to the kept results")
    parser.add_argument("--tally", type=Path, help="where to write the tally instead")
    parser.add_argument("--reproduce", metavar="PART:SEED:NUMBER", help="run one case again")
    return parser.parse_args()


def _run(part: Part, count: int, first: int, tally: Tally, kept: Path) -> None:
    """Run cases in batches, and go on after failures."""
    began, done = time.perf_counter(), 0
    with part.prepared() as run:
        for seed, number, case in _cases(part, count, first):
            kind = part.kind(case)
            folder = Path(tempfile.mkdtemp(prefix="mottle-fuzz-"))
            try:
                tally.add(part.name, kind, run(case, folder))
            except Exception as failure:
                where = f"{part.name}:{seed}:{number}"
                tally.fail(part.name, kind, where, _why(failure))
                print(f"{where}: {_why(failure)}", flush=True)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            done += 1
            if done % part.batch == 0 or done == count:
                failed = sum(failure["part"] == part.name for failure in tally.failures)
                seconds = time.perf_counter() - began
                progress = (
                    f"{part.name}: {done:,} of {count:,}, {failed} failures, {seconds:,.0f} s"
                )
                print(progress, flush=True)
                tally.save(kept)


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


def _reproduce(part: Part, seed: int, number: int) -> None:
    """Run one case again, keep its files and show everything."""
    case = list(part.cases(seed))[number]
    folder = Path(tempfile.mkdtemp(prefix="mottle-fuzz-"))
    print(f"{case}\nFiles: {folder}")
    with part.prepared() as run:
        print(run(case, folder))


def _report(tally: Tally, place: Path | None) -> None:
    sections = []
    for name in (part for part in PARTS if part in tally.ends):
        header, rows = tally.table(name)
        sections += [f"## {PARTS[name].title}", markdown_table(header, rows)]
    if tally.failures:
        failed = [[each["reproduce"], each["kind"], each["why"]] for each in tally.failures]
        rows = [[cell.replace("|", "\\|") for cell in row] for row in failed]
        sections += ["## Failures", markdown_table(["reproduce", "kind", "what"], rows)]
    else:
        sections += ["Every run ended with a valid result or a named error."]
    if place is None:
        report("fuzz", TITLE, sections)
    else:
        place.write_text("\n\n".join([f"# {TITLE}", *sections]) + "\n", "utf-8")


if __name__ == "__main__":
    main()
