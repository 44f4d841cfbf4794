"""The command ``mottle evaluate``: the papers' measures of a release, for its owner."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

from rich.table import Table

from mottle.cli._console import Console, print_json
from mottle.cli._progress import steps_bar
from mottle.cli.commands import Evaluate
from mottle.cli.options.guarantees import words_of
from mottle.evaluation.measures import Evaluation, evaluate
from mottle.io.link_file import LinkFile
from mottle.io.link_history import links_of_file
from mottle.io.original import check_original
from mottle.io.read_release import load_release
from mottle.release.data import ReleaseData
from mottle.release.per_person import original_of

_WORDS = {
    "gcp": "GCP, mean width of cells",
    "discernibility": "DM, discernibility",
    "average_class_size": "C_avg, average class size by k",
    "entropy": "entropy that is left, as a share",
    "classification": "CM, share of wrong classes",
    "query_error": "median relative error of random counts",
    "prefix_error": "median relative error of prefix counts",
    "divergence": "KL divergence of the cube",
    "ordering": "by Definition 3, than --against",
    "better": "tuples that are better",
    "worse": "tuples that are worse",
}


def run(command: Evaluate) -> None:
    """Measure a release against its original."""
    with steps_bar("Reading release and original") as on_progress:
        release = _with_links(command.release, command.private)
        remembered = None if command.private is None else LinkFile(command.private).reading
        typed = command.source.options
        reading = typed if remembered is None else typed.over(remembered)
        table = command.source.read(command.original, reading)
        original, _ = original_of(table, release.certified)
        check_original(
            original, release, None if release.links is None else release.links.fingerprint
        )
        found = evaluate(
            original,
            release,
            label=command.label,
            other=None
            if command.against is None
            else _with_links(command.against, command.against_private),
            conditions=command.conditions,
            selectivity=command.selectivity,
            number=command.number,
            prefix=command.prefix,
            singles=words_of(command.singles),
            level=command.level,
            fit=command.fit,
            seed=command.seed,
            on_progress=on_progress,
        )
    if command.as_json:
        print_json(json.dumps(asdict(found), indent=2))
    else:
        show(found, Console())


def _with_links(folder: Path, private: Path | None) -> ReleaseData:
    """Read a release and the owner's links, if a file is named."""
    release = load_release(folder)
    return release if private is None else replace(release, links=links_of_file(private))


def show(found: Evaluation, out: Console) -> None:
    """Print the measures that there are."""
    shown = Table("measure", "value")
    for name, words in _WORDS.items():
        value = getattr(found, name)
        if value is not None:
            shown.add_row(words, f"{value:,.6g}" if isinstance(value, float) else str(value))
    out.print(shown)
