"""What evidence costs: the price of groups of identical rows, and the length of printed reports.

``price`` needs ADULT; ``pages`` needs Chromium and generated tables only.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _shared import markdown_table, report, require_data

import mottle
from mottle import KAnonymity, LDiversity, Schema
from mottle.report import report_html

COLUMNS = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex"]
STRENGTHS = (5, 10, 20, 50)
ROWS = 6_000
CONTEXT = {"purpose": "A study", "recipients": "A university", "checklists": ["wp216"]}


def price() -> None:
    """GCP of `--classic` and of cells of their own, on the first rows of ADULT."""
    table = pq.read_table(require_data("adult_train.parquet"))
    table = table.select(COLUMNS).slice(0, ROWS)
    schema = Schema.of(quasi_identifying=COLUMNS)
    lines = []
    for k in STRENGTHS:
        release = mottle.anonymize(table, schema, KAnonymity(k), method="classic", effort=0)
        facts = release.certificate.method.facts
        gcp = release.certificate.loss
        own = gcp - facts["price"]
        lines.append(
            [
                k,
                release.certificate.method.used,
                f"{gcp:.4f}",
                f"{own:.4f}",
                f"{100 * facts['price']:+.2f}",
            ]
        )
    report(
        "evidence-price",
        "The price of groups of identical rows",
        [
            f"The first {len(table):,} rows of ADULT, {len(COLUMNS)} quasi-identifiers. GCP of the"
            " best homogeneous method (`--classic`), and of `freeform` before refinement on the"
            " same rows; the price in points as the certificate states it.",
            markdown_table(["k", "best method", "groups", "own cells", "price, points"], lines),
        ],
        "evidence.py price",
    )


def pages() -> None:
    """A4 pages of the reports of five releases, printed by Chromium."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("This benchmark needs Chromium, which is not installed.")
    releases: dict[str, Callable[[], mottle.Release | mottle.SetRelease]] = {
        "k alone, 5 generalized columns": _plain,
        "ℓ-diversity by buckets": _values,
        "people with visits": _visits,
        "sets of items": _sets,
        "48 columns, 20 of them generalized": _wide,
    }
    lines = []
    for name, make in releases.items():
        with tempfile.TemporaryDirectory() as folder:
            page, printed = Path(folder, "report.html"), Path(folder, "report.pdf")
            page.write_text(report_html(make()), encoding="utf-8")
            subprocess.run(
                [
                    *(chromium, "--headless", "--no-sandbox", "--disable-gpu"),
                    *(f"--user-data-dir={folder}/profile", "--no-pdf-header-footer"),
                    *(f"--print-to-pdf={printed}", page.as_uri()),
                ],
                check=True,
                capture_output=True,
            )
            count = len(re.findall(rb"/Type\s*/Page\b", printed.read_bytes()))
        lines.append([name, count])
    report(
        "evidence-pages",
        "Printed pages of reports",
        [
            "A4, as the style sheet prints them; the first page is the summary for whoever signs.",
            markdown_table(["release", "pages"], lines),
        ],
        "evidence.py pages",
    )


def _plain() -> mottle.Release:
    people = mottle.datasets.population(800, seed=1)
    known = ["age", "sex", "education", "marital_status", "occupation"]
    schema = Schema.of(quasi_identifying=known, rest="insensitive", context=CONTEXT)
    return mottle.anonymize(people, schema, KAnonymity(10), effort=0)


def _values() -> mottle.Release:
    people = mottle.datasets.population(1_500, seed=2)
    schema = Schema.of(
        quasi_identifying=["age", "sex", "education"], sensitive=["diagnosis"], context=CONTEXT
    )
    people = people.select(["age", "sex", "education", "diagnosis"])
    return mottle.anonymize(people, schema, KAnonymity(5) & LDiversity(2), effort=0)


def _visits() -> mottle.Release:
    visits = mottle.datasets.visits(300, seed=1)
    known = ["age", "sex", "region", "ward"]
    schema = Schema.of(quasi_identifying=known, person="patient", rest="insensitive")
    return mottle.anonymize(visits, schema, KAnonymity(5), effort=0)


def _sets() -> mottle.SetRelease:
    random = np.random.default_rng(1)
    items = ["milk", "tea", "rum", "bread", "salt", "oil", "rice", "eggs"]
    baskets = [{item for item in items if random.random() < 0.3} for _ in range(300)]
    return mottle.anonymize_sets(baskets, KAnonymity(5), context={"purpose": "A study"})


def _wide() -> mottle.Release:
    random = np.random.default_rng(2)
    table = pa.table(
        {f"question_{place:02d}": random.integers(0, 5 + place % 7, 600) for place in range(48)}
    )
    schema = Schema.of(quasi_identifying=table.column_names[:20], rest="insensitive")
    return mottle.anonymize(table, schema, KAnonymity(5), effort=0)


PARTS: dict[str, Callable[[], None]] = {"price": price, "pages": pages}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
