"""The command ``mottle compare``: methods side by side on the user's own data."""

from __future__ import annotations

import json
from dataclasses import asdict

import pyarrow.csv
from rich import box
from rich.table import Table

from mottle.cli._console import Console, print_json
from mottle.cli._progress import steps_bar
from mottle.cli.commands import Compare
from mottle.cli.options.guarantees import words_of
from mottle.comparison.compare import Comparison, compare
from mottle.comparison.html import check_charts, comparison_html
from mottle.io.atomic_write import ensure_absent, staged
from mottle.utils.option_values import as_pairs

CSV, HTML = "compare.csv", "compare.html"
_HEADINGS = {
    "loss": "lost",
    "query_error": "query error",
    "accuracy": "accuracy",
    "linked": "linked",
    "guessed": "guessed",
    "seconds": "seconds",
}


def run(command: Compare) -> None:
    """Run methods under every guarantee and write compare.csv and compare.html."""
    check_charts()
    output = command.output
    ensure_absent(output, [CSV, HTML], overwrite=command.overwrite)
    with steps_bar("Reading the table", each=True) as on_progress:
        found = compare(
            command.source.read(command.data, command.columns.schema.reading),
            command.columns.schema,
            command.guarantees.guarantees,
            words_of(command.methods),
            target=command.target,
            seed=command.seed,
            effort=command.seconds,
            releases=as_pairs("--release-of", command.release_of, "TOOL=FILE"),
            on_progress=on_progress,
        )
        with staged(output, [CSV, HTML], overwrite=command.overwrite) as stage:
            pyarrow.csv.write_csv(found.to_arrow(), stage / CSV)
            (stage / HTML).write_text(comparison_html(found), encoding="utf-8")
    if command.as_json:
        lines = [asdict(line) for line in found.lines]
        print_json(json.dumps(lines, indent=2, ensure_ascii=False))
        return
    show_comparison(found, Console())
    Console().print(f"Wrote {output / CSV} and {output / HTML}.", highlight=False, soft_wrap=True)


def show_comparison(found: Comparison, out: Console) -> None:
    """Print a table of all results, and why some have no numbers."""
    held_out = "; the other quarter of the table was held out" if found.held_out else ""
    title = f"{found.rows:,} records{held_out}"
    shown = Table(title=title, title_justify="left", box=box.SIMPLE, padding=(0, 1), pad_edge=False)
    shown.add_column("method", no_wrap=True)
    shown.add_column("guarantee", no_wrap=True)
    for heading in _HEADINGS.values():
        shown.add_column(heading, justify="right", min_width=max(map(len, heading.split())))
    for line in found.lines:
        if not line.note:
            numbers = [_number(name, getattr(line, name)) for name in _HEADINGS]
            shown.add_row(line.method, line.guarantee, *numbers)
    out.print(shown)
    for line in found.lines:
        if line.note:
            text = f"{line.method}, {line.guarantee}: {line.note}"
            out.print(text, markup=False, highlight=False, soft_wrap=True)
    if found.target is not None:
        out.print(f"Accuracy: of predicting '{found.target}'.", markup=False, highlight=False)
    if found.commonest is not None:
        out.print(
            f"Guessed: {found.commonest:.1%} without any release, by the commonest value.",
            highlight=False,
        )


def _number(name: str, value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.1f}" if name == "seconds" else f"{value:.1%}"
