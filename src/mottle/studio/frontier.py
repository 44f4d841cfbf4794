"""What promises would cost: previews on a sample by quick methods, in a process of their own.

The process prints one JSON object. Nothing is written: the sample, its releases and the comparison
with the original exist in memory alone, and the figures are for the owner.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from mottle.encoding.people import People
from mottle.errors import MottleError
from mottle.guarantees.k_anonymity import KAnonymity
from mottle.io.read_table import as_table
from mottle.pipeline.anonymize import anonymize
from mottle.schema.model import Schema
from mottle.studio.analysis import Analysis
from mottle.studio.variant import error_of
from mottle.utils.progress_lines import tell_progress

LADDER = (2, 3, 5, 8, 11, 15, 20, 30, 50)
SAMPLE = 5000  # rows
QUICK = "nh"
OTHERS = {  # methods whose loss is drawn beside a run
    "mondrian": "Mondrian",
    "classic": "the best groups of identical rows",
    "global": "global recoding",
}
_SEED = 1


def frontier(
    table: pa.Table, schema: Schema, steps: Sequence[int], questions: Sequence[str]
) -> Any:
    """Measure what some values of k would cost.

    Parameters
    ----------
    table : pyarrow.Table
        The original.
    schema : Schema
        The role of every column.
    steps : sequence of int
        Values of k.
    questions : sequence of str
        Pinned questions, whose error is measured as well.

    Returns
    -------
    dict
        The rows of the sample and of the table; for every feasible k its loss and the median error
        of the questions; and by other methods the loss of every k.
    """
    part = sample(table, schema)
    points: list[dict[str, float | None]] = []
    others: dict[str, dict[str, float | None]] = {name: {} for name in OTHERS}
    quick = QUICK if schema.person is None else "auto"
    for place, k in enumerate(steps):
        tell_progress("preview", f"k = {k} is tried on a sample …", place / len(steps), None)
        try:
            made = anonymize(part, schema, KAnonymity(k), method=quick, effort=0, seed=_SEED)
        except MottleError:  # not feasible for so few rows
            continue
        error = error_of(Analysis.of(made, part), questions)
        points.append({"k": k, "loss": made.certificate.gcp, "error": error})
        for name, losses in others.items():
            try:
                found = anonymize(part, schema, KAnonymity(k), method=name, effort=0, seed=_SEED)
            except MottleError:  # such as several rows of one person
                continue
            losses[str(k)] = found.certificate.gcp
    return {"rows": part.num_rows, "of": table.num_rows, "points": points, "others": others}


def sample(table: pa.Table, schema: Schema) -> pa.Table:
    """Draw rows, or all rows of some people."""
    if table.num_rows <= SAMPLE:
        return table
    random = np.random.default_rng(_SEED)
    if schema.person is None:
        rows = random.choice(table.num_rows, SAMPLE, replace=False)
    else:
        codes = People.of(table, schema.person).codes
        of_person = np.bincount(codes)
        drawn = random.permutation(len(of_person))
        chosen = drawn[np.cumsum(of_person[drawn]) <= SAMPLE]
        rows = np.flatnonzero(np.isin(codes, chosen))
    return table.take(pa.array(np.sort(rows)))


def main(words: Sequence[str]) -> None:
    """Measure a table and print the result; the words are its path, the schema's and the rest."""
    data, path, rest = words
    asked = json.loads(rest)
    schema = Schema.read(path)
    table = as_table(data, schema.reading)
    schema = schema.covering(table.column_names)
    print(json.dumps(frontier(table, schema, asked["steps"], asked["questions"])))


if __name__ == "__main__":
    main(sys.argv[1:])
