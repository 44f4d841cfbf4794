"""The command ``mottle compare``: methods side by side on the user's own data."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import pyarrow.csv
import typer
from rich import box
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from mottle.cli._options import AsJson, Delimiter, Encoding, Missing, Overwrite, Quote
from mottle.cli._schema_options import schema_from_options
from mottle.comparison.compare import PRIVBAYES, Comparison, compare
from mottle.errors import UsageError
from mottle.guarantees.base import Guarantee
from mottle.guarantees.beta_likeness import BetaLikeness
from mottle.guarantees.k_anonymity import KAnonymity
from mottle.guarantees.l_diversity import LDiversity
from mottle.io.atomic_write import ensure_absent, staged
from mottle.io.read_table import read_table

CSV, HTML = "compare.csv", "compare.html"
USUAL = "freeform,hilbert,mondrian"
_HEADINGS = {
    "loss": "lost",
    "query_error": "query error",
    "accuracy": "accuracy",
    "linked": "linked",
    "guessed": "guessed",
    "seconds": "seconds",
}


def compare_command(
    data: Annotated[Path, typer.Argument(help="CSV, TSV, Parquet or Arrow file.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the results.")],
    methods: Annotated[
        str,
        typer.Option(help=f"Methods to compare: a,b,c. See 'mottle methods'; also {PRIVBAYES}."),
    ] = USUAL,
    k: Annotated[str, typer.Option("--k", "-k", help="Values of k: 5,10,20.")] = "",
    l_: Annotated[str, typer.Option("--l", "-l", help="Values of l: 2,3.")] = "",
    beta: Annotated[str, typer.Option(help="Values of beta: 1,2,4.")] = "",
    schema: Annotated[Path | None, typer.Option(help="mottle.toml with the columns.")] = None,
    qi: Annotated[list[str] | None, typer.Option(help="Quasi-identifiers: a,b,c.")] = None,
    sensitive: Annotated[list[str] | None, typer.Option(help="Sensitive columns: a,b.")] = None,
    id_: Annotated[list[str] | None, typer.Option("--id", help="Identifying columns: a,b.")] = None,
    insensitive: Annotated[list[str] | None, typer.Option(help="Insensitive columns: a,b.")] = None,
    rest: Annotated[str | None, typer.Option(help="Role of all columns not named.")] = None,
    target: Annotated[
        str | None,
        typer.Option(help="Column that models predict.", show_default="a sensitive one"),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(help="Seconds for improving each result.", show_default="while it pays"),
    ] = None,
    seed: Annotated[int, typer.Option(help="For the split, the questions and the runs.")] = 0,
    overwrite: Overwrite = False,
    delimiter: Delimiter = None,
    quote: Quote = None,
    encoding: Encoding = None,
    missing: Missing = None,
    as_json: AsJson = False,
) -> None:
    """Run METHODS under every guarantee and write compare.csv and compare.html."""
    from mottle.comparison.html import comparison_html

    named = {"--qi": qi, "--sensitive": sensitive, "--id": id_, "--insensitive": insensitive}
    details: dict[str, list[str] | None] = {f"--{name}": None for name in _DETAILS}
    columns = schema_from_options(schema, named | details, rest)
    guarantees = _guarantees(k, l_, beta)
    ensure_absent(output, [CSV, HTML], overwrite=overwrite)
    table = read_table(
        data, delimiter=delimiter, quote=quote, encoding=encoding, missing=missing or ()
    )
    err = Console(stderr=True)
    spinner = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*spinner, console=err, transient=True, disable=not err.is_terminal) as bar:
        shown = bar.add_task("prepare")
        found = compare(
            table,
            columns,
            guarantees,
            _words(methods),
            target=target,
            seed=seed,
            effort=seconds,
            on_progress=lambda what: bar.update(shown, description=what),
        )
        bar.update(shown, description="draw")
        with staged(output, [CSV, HTML], overwrite=overwrite) as stage:
            pyarrow.csv.write_csv(found.to_arrow(), stage / CSV)
            (stage / HTML).write_text(comparison_html(found), encoding="utf-8")
    if as_json:
        lines = [asdict(line) for line in found.lines]
        print(json.dumps(lines, indent=2, ensure_ascii=False))
        return
    show_comparison(found, Console())
    Console().print(f"Wrote {output / CSV} and {output / HTML}.", highlight=False, soft_wrap=True)


_DETAILS = ("kind", "weight", "order", "hierarchy", "separator", "breaks", "bins")


def show_comparison(found: Comparison, out: Console) -> None:
    """A table of all lines for people, and why some have no numbers."""
    title = f"{found.rows:,} records; the other quarter of the table was held out"
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


def _guarantees(k: str, l: str, beta: str) -> list[Guarantee]:  # noqa: E741 - the papers' name
    """Every value asked for is a guarantee of its own."""
    found: list[Guarantee] = [KAnonymity(int(value)) for value in _numbers("--k", k, whole=True)]
    found += [LDiversity(int(value)) for value in _numbers("--l", l, whole=True)]
    found += [BetaLikeness(value) for value in _numbers("--beta", beta, whole=False)]
    if not found:
        raise UsageError(
            "Under which guarantees are methods to be compared?",
            "Say for instance --k 5,10,20, or --beta 1,2,4.",
        )
    return found


def _words(text: str) -> list[str]:
    return list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def _numbers(option: str, text: str, *, whole: bool) -> Iterable[float]:
    for word in _words(text):
        try:
            yield int(word) if whole else float(word)
        except ValueError:
            kind = "whole numbers" if whole else "numbers"
            raise UsageError(
                f"{option} {text} cannot be read.", f"Write {kind} with commas between them."
            ) from None
