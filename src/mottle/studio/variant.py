"""The process of a variant: a release that is measured by pinned questions and then removed."""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from mottle.errors import MottleError
from mottle.io.read_table import as_table
from mottle.pipeline.release import read_release
from mottle.schema.model import Schema
from mottle.studio.analysis import Analysis
from mottle.studio.layout import TOML, VARIANT

MEASURED = "\nerror of the questions: "  # before the last line of what is printed


def error_of(analysis: Analysis, questions: Sequence[str]) -> float | None:
    """The median error of the questions that can be answered; None if there is none.

    Parameters
    ----------
    analysis : Analysis
        A release and its original.
    questions : sequence of str
        SQL.

    Returns
    -------
    float or None
        As a share of the truth.
    """
    found = []
    for sql in questions:
        try:
            found.append(analysis.ask(sql).error)
        except MottleError:  # about a column that this release does not have
            continue
    known = [error for error in found if error is not None]
    return median(known) if known else None


def main(words: Sequence[str]) -> None:
    """Make the release of a command, and print how far answers are off."""
    questions, command = json.loads(words[0]), words[1:]
    sys.argv = ["mottle", *command]
    try:
        runpy.run_module("mottle.__main__")["run"]()
    except SystemExit as end:
        if end.code:
            raise
    if questions:
        table = as_table(command[1], Schema.read(TOML).reading)
        analysis = Analysis.of(read_release(Path(VARIANT)), table)
        print(MEASURED + json.dumps(error_of(analysis, questions)))


if __name__ == "__main__":
    main(sys.argv[1:])
