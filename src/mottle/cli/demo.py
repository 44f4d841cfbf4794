"""The command ``mottle demo``."""

from __future__ import annotations

import time

from rich import box
from rich.table import Table

from mottle.cli._console import print_json
from mottle.cli._progress import progress_bar
from mottle.cli._sources import Target
from mottle.cli._terminal import out, print_command, show_result
from mottle.cli.commands import Demo
from mottle.cli.demo_data import prepare
from mottle.guarantees.k_anonymity import KAnonymity
from mottle.pipeline.anonymize import anonymize
from mottle.pipeline.progress import Progress
from mottle.schema.model import Role


def run(command: Demo) -> None:
    """Generate a population, anonymize it and show what happened."""
    output, k = command.output, command.k
    guarantee = KAnonymity(k)
    began = time.perf_counter()
    with progress_bar() as on_progress:
        demo = prepare(output, command.rows)
        release = anonymize(demo.table, demo.schema, guarantee, progress=on_progress)
        known = [column for column in demo.schema.columns if column.role is Role.QUASI_IDENTIFYING]
        alone = demo.schema.model_copy(update={"columns": tuple(known)})  # warns of no others again
        generalized = demo.table.select([column.name for column in known])
        homogeneous = anonymize(generalized, alone, guarantee, method="hp", progress=on_progress)
        on_progress(Progress("write", release.gcp))
        certificate = release.save(demo.release, overwrite=True, another_draw=True)
    if command.as_json:
        print_json(certificate.to_json())
        return
    for title, table in (
        ("Original (generated people)", demo.table),
        ("Release (other records, in random order)", release.to_text()),
    ):
        shown = Table(*_SHOWN, title=title, title_justify="left", box=box.SIMPLE)
        for row in table.select(_SHOWN).slice(0, 6).to_pylist():
            shown.add_row(*("" if value is None else str(value) for value in row.values()))
        out.print(shown)
    show_result(certificate, Target(demo.release, "", ""), None, time.perf_counter() - began)
    assert release.gcp is not None
    assert homogeneous.gcp is not None
    out.print(
        f"Groups of identical ranges (NH10's HP) would lose {homogeneous.gcp:.2%} instead of"
        f" {release.gcp:.2%}."
    )
    out.print(f"The input and its schema are in {output} as well. The same run as a command:")
    print_command(f"mottle anonymize {demo.data} --schema {demo.schema_file} --k {k} -o released")


_SHOWN = ["age", "sex", "origin", "workclass", "diagnosis"]
