"""Options that commands take by themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mottle.cli._option_groups import DATA, EFFORT, OUTPUT, SCALE
from mottle.errors import UsageError, did_you_mean

# Names of `mottle.schema.model.Objective`, the default first; loading it here would take time.
OBJECTIVES = ("reading", "ncp", "entropy")

Data = Annotated[
    str,
    typer.Argument(
        help="CSV, TSV, Parquet or Arrow file; or a database: postgresql://…, or an SQLite or"
        " DuckDB file, with --table or --query."
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(help="Encoding of a text file.", show_default="detected", rich_help_panel=DATA),
]
Seconds = Annotated[
    float | None,
    typer.Option(
        help="Seconds for improving the result.",
        show_default="until it gains little",
        rich_help_panel=EFFORT,
    ),
]
Objective = Annotated[
    str | None,
    typer.Option(
        help=f"What freeform and buckets keep low: {', '.join(OBJECTIVES)} (docs/measures.md).",
        show_default=OBJECTIVES[0],
        rich_help_panel=EFFORT,
    ),
]
Private = Annotated[
    Path | None,
    typer.Option(help="Also write the owner's secret link file here.", rich_help_panel=OUTPUT),
]
WithExamples = Annotated[
    bool,
    typer.Option(
        "--report-examples",
        help="Show ten rows before and after in the internal report.",
        rich_help_panel=OUTPUT,
    ),
]
Work = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Where the private folder for intermediate rows is made.",
        show_default="$MOTTLE_WORK, the user's cache or the temporary folder",
        rich_help_panel=SCALE,
    ),
]
SetData = Annotated[
    str,
    typer.Argument(
        help="Transaction file, one set per line, or a table (also of a database) with --column"
        " or --record."
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print the result as JSON.", rich_help_panel=OUTPUT)
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace existing files.", rich_help_panel=OUTPUT)
]
AnotherDraw = Annotated[
    bool,
    typer.Option(
        "--another-draw",
        help="With --overwrite: the earlier release was never published.",
        rich_help_panel=OUTPUT,
    ),
]

CHECKLISTS = ("iso27559", "wp216", "ema", "hipaa")  # of `mottle.schema.context`, which is costly
Checklist = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help=f"Checklists in the report, by commas: {', '.join(CHECKLISTS)}.",
        rich_help_panel=OUTPUT,
    ),
]


def checklist_names(given: str | None) -> tuple[str, ...]:
    """Return the checklists that are named; raise `UsageError` for one that does not exist."""
    names = [name.strip().lower() for name in (given or "").split(",") if name.strip()]
    for name in names:
        if name not in CHECKLISTS:
            raise UsageError(f"There is no checklist '{name}'.", did_you_mean(name, CHECKLISTS))
    return tuple(dict.fromkeys(names))
