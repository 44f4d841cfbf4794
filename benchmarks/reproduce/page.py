"""docs/reproduction.md, made of the kept points alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks._shared import ROOT, markdown_table
from benchmarks.reproduce.charts import svg_of
from benchmarks.reproduce.figure import Figure, Found, Panel, Verdict, X
from benchmarks.reproduce.store import Store, fingerprint, key_of

PAGE = ROOT / "docs" / "reproduction.md"
IMAGES = ROOT / "docs" / "images" / "reproduction"
PAPERS = ("FAST07", "NH10", "HET", "SET12")
WORDS = {True: "holds", False: "does not hold", None: "not decided yet"}

INTRODUCTION = """\
# Reproduction of the papers' figures

Made by `make reproduce`, that is `python -m benchmarks.reproduce`; do not edit. Every figure of
the evaluations of FAST07, NH10, HET and SET12 ([the papers](papers.md)) is here: the paper's
setting, what differs in ours, a chart in the paper's layout, the numbers, the paper's claims in
our words, and whether they hold in our data. HKA15 has no figure. Only NH10 prints its numbers;
they stand in brackets after ours, and as dashed lines in the charts. Where a claim does not
hold, an experiment shows why; the experiments stand after the figures of their paper.

Loss is GCP. Seconds are processor seconds of arranging and drawing, of all threads together, on
another machine and in another language than the paper's: only their growth and order can be
compared, and other work on the machine does not count. CENSUS is a substitute
of 295,243 rows with the same attributes; the original has 500,000."""


def write_page(
    figures: Sequence[Figure], store: Store, page: Path = PAGE, images: Path = IMAGES
) -> None:
    """Write the page and the charts of all figures."""
    images.mkdir(parents=True, exist_ok=True)
    drawn = set()
    for figure in figures:
        svg = svg_of(store.found(figure))
        if svg is not None:
            path = images / f"{figure.slug}.svg"
            path.write_text(svg, encoding="utf-8")
            drawn.add(path.name)
    for path in images.glob("*.svg"):
        if path.name not in drawn:
            path.unlink()
    page.write_text(page_of(figures, store), encoding="utf-8")


def page_of(figures: Sequence[Figure], store: Store) -> str:
    """The page as Markdown."""
    found = {figure.id: store.found(figure) for figure in figures}
    sections = [INTRODUCTION, _overview(figures, store, found)]
    for paper in PAPERS:
        own = [figure for figure in figures if figure.id.startswith(f"{paper}-")]
        sections.append(f"## {paper}")
        sections += [_section(found[f.id], figures) for f in own if not f.is_experiment]
        experiments = [figure for figure in own if figure.is_experiment]
        if experiments:
            sections.append(f"## {paper}: experiments")
            sections += [_section(found[figure.id], figures) for figure in experiments]
    return "\n\n".join(sections) + "\n"


def _overview(figures: Sequence[Figure], store: Store, found: dict[str, Found]) -> str:
    rows = []
    for figure in figures:
        verdicts = [claim.decide(found[figure.id]).holds for claim in figure.claims]
        counts = [verdicts.count(each) for each in (True, False, None)]
        rows.append(
            (
                f"[{figure.name}](#{anchor(figure)})",
                figure.title if not figure.is_experiment else figure.explains,
                _progress(found[figure.id]),
                *(count or "–" for count in counts),
            )
        )
    header = ("figure", "what", "points", "claims that hold", "that do not", "undecided")
    return "\n\n".join(
        [
            "## Overview",
            "Points: measured of all.",
            markdown_table(header, rows),
            _age(figures, store),
        ]
    )


def _progress(found: Found) -> str:
    known = sum(
        (point.group, point.series, point.x) in found.outcomes for point in found.figure.points
    )
    return "not run yet" if not known else f"{known} of {len(found.figure.points)}"


def _age(figures: Sequence[Figure], store: Store) -> str:
    jobs = {key_of(point.job): point.job for figure in figures for point in figure.points}
    outcomes = [outcome for job in jobs.values() if (outcome := store.outcome(job)) is not None]
    older = sum(outcome.code != fingerprint() for outcome in outcomes)
    if not outcomes:
        return "No point has been run yet."
    if not older:
        return "All points were made with the present sources."
    return (
        f"{older:,} of {len(outcomes):,} points were made with earlier sources of the methods and"
        " measures; the option --renew of the command makes them anew."
    )


def anchor(figure: Figure) -> str:
    """The link target of a figure's heading, as Markdown renderers make it."""
    kept = "".join(c for c in figure.name.lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")


def _linked(text: str, figures: Sequence[Figure]) -> str:
    """Names of figures in a text as links to their sections."""
    for figure in figures:
        shown = f"experiment: {figure.title}" if figure.is_experiment else figure.name
        text = re.sub(rf"\b{figure.id}\b(?!-)", f"[{shown}](#{anchor(figure)})", text)
    return text


def _section(found: Found, figures: Sequence[Figure]) -> str:
    figure = found.figure
    parts = [f"### {figure.name}"]
    if figure.is_experiment:
        parts.append(f"*Question.* {figure.explains} *Setting.* {figure.ours}")
    else:
        parts.append(
            f"{figure.title}. *In the paper:* {figure.paper} *Here:*"
            f" {_linked(figure.ours, figures)}"
        )
    if not found.outcomes:
        parts.append("Not run yet.")
    else:
        if any(outcome.numbers for outcome in found.outcomes.values()):
            parts.append(f"![{figure.name}](images/reproduction/{figure.slug}.svg)")
        parts += [_numbers(found, panel) for panel in figure.panels]
        parts += _notes(found)
    claims = [
        _claim(claim.says, claim.decide(found), _linked(claim.why, figures))
        for claim in figure.claims
    ]
    if claims:
        parts.append("\n".join(claims))
    return "\n\n".join(part for part in parts if part)


def _claim(says: str, verdict: Verdict, why: str) -> str:
    text = f"- {says} **{WORDS[verdict.holds].capitalize()}**"
    if verdict.holds is not None or verdict.measured != "not run yet":
        text += f" ({verdict.measured})"
    text += "."
    return f"{text} {why}" if verdict.holds is False and why else text


def _numbers(found: Found, panel: Panel) -> str:
    """A table with a row for every x and a column for every series."""
    figure = found.figure
    own = [point for point in figure.points if point.group == panel.group]
    series = list(dict.fromkeys(point.series for point in own))
    xs = list(dict.fromkeys(point.x for point in own))
    xs += [x for g, s, x in figure.printed if g == panel.group and s in series and x not in xs]
    if all(isinstance(x, int | float) for x in xs):
        xs = sorted(set(xs), key=float)
    rows = [(_x(x), *(_cell(found, panel, name, x) for name in series)) for x in dict.fromkeys(xs)]
    heading = f"{panel.title}: {panel.y_title}" if panel.title else panel.y_title
    return f"{heading}.\n\n" + markdown_table((panel.x_title or figure.x_title, *series), rows)


def _x(x: X) -> str:
    return x if isinstance(x, str) else f"{x:,}" if isinstance(x, int) else f"{x:g}"


def _cell(found: Found, panel: Panel, series: str, x: X) -> str:
    value = found.value(series, x, panel.measure, panel.group)
    printed = found.figure.printed.get((panel.group, series, x), {}).get(panel.measure)
    text = "–" if value is None else _number(value)
    return text if printed is None else f"{text} ({_number(printed)})"


def _number(value: float) -> str:
    if value == 0 or 0.001 <= abs(value) < 10_000:
        return f"{value:.4g}"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.2e}"


def _notes(found: Found) -> list[str]:
    """Why points have no number, once for each reason."""
    reasons: dict[str, list[str]] = {}
    for point in found.figure.points:
        place = (point.group, point.series, point.x)
        outcome = found.outcomes.get(place)
        if outcome is None:
            reasons.setdefault("not run yet", []).append(_place(point.group, point.series, point.x))
        elif outcome.numbers is None:
            reasons.setdefault(outcome.note, []).append(_place(point.group, point.series, point.x))
    return [
        f"No number: {_listed(places)}: {reason.rstrip('.')}." for reason, places in reasons.items()
    ]


def _listed(places: Sequence[str]) -> str:
    shown = ", ".join(places[:6])
    return shown if len(places) <= 6 else f"{shown} and {len(places) - 6} more"


def _place(group: str, series: str, x: X) -> str:
    return " ".join(part for part in (group, series, f"at {_x(x)}") if part)
