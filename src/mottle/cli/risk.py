"""The command ``mottle risk``: how easily people are found, before and after."""

from __future__ import annotations

from rich.table import Table

from mottle.cli._console import Console, print_json
from mottle.cli._progress import steps_bar
from mottle.cli.commands import Risk
from mottle.risk import RiskReport, measure_risk


def run(command: Risk) -> None:
    """Measure the risk of a table and of its release, and print it."""
    schema = command.columns.schema if command.columns.given else None
    with steps_bar("Reading the table") as on_progress:
        report = measure_risk(
            command.source.read(command.data, None if schema is None else schema.reading),
            schema,
            release=command.release,
            population=command.population,
            population_size=command.population_size,
            household=command.household,
            threshold=command.threshold,
            largest=command.largest,
            on_progress=on_progress,
        )
    if command.as_json:
        print_json(report.to_json(values=command.show_values))
    else:
        title = command.source.title(command.data)
        show_risk(report, Console(), title, values=command.show_values)


def show_risk(report: RiskReport, out: Console, title: str, *, values: bool) -> None:
    """Print the figures, what every column contributes, and notes."""
    released = any(figure.after is not None for figure in report.figures)
    sampled = ""
    if report.population is not None:
        sampled = f", a sample of {report.population:,.0f} people ({report.sampling_fraction:.3g})"
    shown = Table(title=f"{title}: {report.rows:,} rows{sampled}", title_justify="left")
    shown.add_column("known as")
    shown.add_column("what it is")
    shown.add_column("before", justify="right")
    if released:
        shown.add_column("after", justify="right")
    for figure in report.figures:
        cells = [figure.before_text, figure.after_text]
        shown.add_row(figure.known_as, figure.title, *cells[: 1 + released])
    out.print(shown)
    alike = "Alike are rows with the same quasi-identifiers"
    if released:
        alike += "; after, the published records that may be a person's"
    out.print(f"{alike}.", highlight=False)
    columns = Table(title="Which columns single rows out (SUDA)", title_justify="left")
    columns.add_column("column")
    columns.add_column("share of all scores", justify="right")
    for name, share in sorted(report.contributions.items(), key=lambda each: -each[1]):
        columns.add_row(name, f"{share:.1%}")
    out.print(columns)
    sizes = ", ".join(f"{number:,} of {size}" for size, number in report.special_sizes.items())
    out.print(f"Minimal sample uniques by number of columns: {sizes}.", highlight=False)
    if values:
        singling = Table(title="Values that single out (keep them secret)", title_justify="left")
        for heading in ("column", "value", "rows", "mean score"):
            singling.add_column(heading, justify="right" if heading == "rows" else "left")
        for each in report.singling_values:
            singling.add_row(each.column, each.value, f"{each.rows:,}", f"{each.score:.3g}")
        out.print(singling)
    for note in report.notes:
        out.print(f"Note: {note}", markup=False, highlight=False, soft_wrap=True)
