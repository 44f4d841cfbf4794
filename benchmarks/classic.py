"""Classic measures compared with the PyPI package pycanon, and where pycanon is wrong."""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
from _rivals import prepare_environment
from _shared import ROOT, markdown_table, report

from mottle.audit.adversaries.classic import Classic, measure_classes

HEADER = ["table", "measure", "pycanon", "mottle", "why they differ"]


@dataclass(frozen=True)
class Case:
    title: str
    columns: list[str]
    rows: list[list[object]]
    quasi_identifying: list[str] = field(default_factory=lambda: ["zip", "age"])
    sensitive: str = "ill"
    index: list[int] | None = None  # of the data frame; the table is the same
    categories: dict[str, list[str]] = field(default_factory=dict)

    @property
    def table(self) -> pa.Table:
        cells = list(zip(*self.rows, strict=True))
        used = {*self.quasi_identifying, self.sensitive}
        places = [self.columns.index(name) for name in dict.fromkeys(self.columns) if name in used]
        return pa.table({self.columns[place]: list(cells[place]) for place in places})


NAMES = ["zip", "age", "ill", "pay"]
ROWS: list[list[object]] = [
    ["1*", 30, "flu", 1],
    ["1*", 30, "cold", 2],
    ["1*", 30, "gout", 3],
    ["2*", 40, "flu", 1],
    ["2*", 40, "flu", 1],
    ["2*", 40, "cold", 4],
]
THREE = [[str(group), 0, ill, 1] for group in (1, 2) for ill in ("a", "b", "c")]
SKEWED = [["1*", 0, "a", 1]] * 5 + [["1*", 0, "b", 1]] * 2 + [["1*", 0, "c", 1]]
FREQUENT = [["1*", 0, "a", 1]] * 4 + [["2*", 0, "a", 1]] * 2 + [["2*", 0, "b", 1]] * 2

CASES = [
    Case("six rows", NAMES, ROWS),
    Case("six rows, a number as sensitive value", NAMES, ROWS, sensitive="pay"),
    Case("a quasi-identifier named twice", NAMES, ROWS, quasi_identifying=["zip", "age", "zip"]),
    Case("rows numbered from 10", NAMES, ROWS, index=list(range(10, 16))),
    Case("rows of a shuffled data frame", NAMES, FREQUENT, index=[0, 4, 2, 6, 1, 5, 3, 7]),
    Case("a missing quasi-identifier", NAMES, [*ROWS, [None, 50, "flu", 1]], ["zip"]),
    Case("a missing sensitive value", NAMES, [["1*", 30, None, 1], *ROWS[1:]]),
    Case(
        "a missing sensitive number",
        NAMES,
        [["1*", 30, "flu", None], *ROWS[1:]],
        sensitive="pay",
    ),
    Case(
        "a category that does not occur",
        NAMES,
        ROWS,
        ["zip"],
        categories={"zip": ["1*", "2*", "3*"]},
    ),
    Case("two columns of one name", [*NAMES, "ill"], [[*row, row[2]] for row in ROWS]),
    Case("a constant number", NAMES, [[*row[:3], 7] for row in ROWS], sensitive="pay"),
    Case("three equally frequent values", NAMES, THREE),
    Case("counts 5, 2, 1 in one class", NAMES, SKEWED),
    Case("a class of one frequent value", NAMES, FREQUENT),
]

WHY = {
    "rows numbered from 10": "index labels are used as positions",
    "rows of a shuffled data frame": "index labels are used as positions, without an error",
    "a missing quasi-identifier": "rows with a missing quasi-identifier are dropped",
    "a missing sensitive value": "missing values cannot be compared with text",
    "a missing sensitive number": "a missing value equals no value, not even itself",
    "a category that does not occur": "a category without rows counts as a class",
    "two columns of one name": "both columns are selected at once",
    "a constant number": "division by the number of values minus one",
    "three equally frequent values": "2.9999… is truncated to 2",
}
WHY_BY_MEASURE = {
    "recursive c": "the smallest count of a class is used as the largest; the bound is rounded",
    "enhanced beta": "the largest gain of any value is compared with the largest -ln φ of any",
}


def ours(case: Case) -> dict[str, float]:
    """Our numbers, by pycanon's definitions where these differ: ℓ whole, δ of present values."""
    found: Classic = measure_classes(case.table, case.quasi_identifying, [case.sensitive])
    (spread,) = found.sensitive
    return {
        "k": found.k,
        "alpha": spread.alpha,
        "distinct l": spread.distinct_l,
        "entropy l": np.floor(spread.entropy_l + 1e-9),
        "recursive c": spread.recursive_c,
        "t": spread.t,
        "beta": spread.beta,
        "enhanced beta": spread.enhanced_beta,
        "delta": spread.delta_of_present_values,
    }


def theirs() -> list[dict[str, float | str | None]]:
    python = prepare_environment()
    script = ROOT / "benchmarks" / "rivals" / "classic.py"
    with tempfile.TemporaryDirectory() as folder:
        cases, output = Path(folder, "cases.json"), Path(folder, "results.json")
        cases.write_text(json.dumps([vars(case) for case in CASES]))
        subprocess.run([str(python), str(script), str(cases), str(output)], check=True)
        return json.loads(output.read_text())


def shown(value: float | str | None) -> str:
    if value is None:
        return "none"
    return value if isinstance(value, str) else f"{value:.4g}"


def main() -> None:
    rows, agreeing = [], 0
    for case, rival in zip(CASES, theirs(), strict=True):
        for measure, value in ours(case).items():
            other = rival[measure]
            if isinstance(other, float) and np.isclose(other, value):
                agreeing += 1
                continue
            reason = WHY.get(case.title, WHY_BY_MEASURE.get(measure))
            if isinstance(other, float):
                reason = WHY_BY_MEASURE.get(measure, reason)
            rows.append([case.title, measure, shown(other), shown(value), reason])
    report(
        "classic",
        "Classic measures compared with pycanon 1.3.5",
        [
            "pycanon gives entropy ℓ as a whole number and δ over the values that occur in a class;"
            " so does mottle here. (By definition δ is infinite if a class lacks a value.)"
            f" {agreeing} of {agreeing + len(rows)} numbers agree; these do not:",
            markdown_table(HEADER, rows),
        ],
    )


if __name__ == "__main__":
    main()
