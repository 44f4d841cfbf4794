"""Options that several commands have, each said once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mottle.assignment import WALKS

# What is guaranteed; `cli_options.guarantee_from_options` puts them together.
Anonymity = Annotated[
    int | None, typer.Option("--k", "-k", help="Everybody hides among k records.")
]
Diversity = Annotated[
    int | None,
    typer.Option("--l", "-l", help="No sensitive value is believed with more than 1/l."),
]
Likeness = Annotated[
    float | None,
    typer.Option(help="Belief in a sensitive value grows by at most the factor 1 + beta."),
]
Enhanced = Annotated[
    bool, typer.Option("--enhanced", help="Enhanced beta-likeness: less for frequent values.")
]
Cap = Annotated[
    list[str] | None,
    typer.Option(help="VALUE=SHARE: highest belief in a sensitive value. Repeatable."),
]
CapRest = Annotated[
    float | None, typer.Option(help="Highest belief in all other sensitive values.")
]

# How a text file is read.
Delimiter = Annotated[
    str | None, typer.Option(help="Delimiter of a CSV file.", show_default="detected")
]
Quote = Annotated[str | None, typer.Option(help="Quote character.", show_default="detected")]
Encoding = Annotated[
    str | None, typer.Option(help="Encoding of a CSV file.", show_default="detected")
]
Missing = Annotated[list[str] | None, typer.Option(help="A word for a missing value. Repeatable.")]

# How it is done.
Seconds = Annotated[
    float | None,
    typer.Option(help="Seconds for improving the result.", show_default="while it pays"),
]
Walk = Annotated[str, typer.Option(help=f"How the true assignment is drawn: {', '.join(WALKS)}.")]
Seed = Annotated[int | None, typer.Option(help="Repeatable randomness, for experiments only.")]
UnsafeRandomization = Annotated[
    bool,
    typer.Option(
        "--unsafe-paper-randomization",
        help="Draw by the papers' walk although it leaks sensitive values; experiments only.",
    ),
]

# What happens to the result.
Private = Annotated[Path | None, typer.Option(help="Also write the owner's secret link file here.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace existing files.")]

# How sets are read from a file; see docs/sets.md.
ItemsColumn = Annotated[
    str | None,
    typer.Option("--column", help="Column of a table that holds lists or delimited text."),
]
Separator = Annotated[
    str | None,
    typer.Option(
        "--separator", help="What stands between two items of a text.", show_default="blanks"
    ),
]
Record = Annotated[
    str | None, typer.Option("--record", help="Of a table with one row per item: whose item it is.")
]
Item = Annotated[
    str | None, typer.Option("--item", help="Of a table with one row per item: the item.")
]
Label = Annotated[
    str | None, typer.Option("--sensitive-label", help="Column of the sensitive labels.")
]
