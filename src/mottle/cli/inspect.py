"""The command ``mottle inspect``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from rich import box
from rich.table import Table

from mottle.cli._console import Console, print_json
from mottle.cli._terminal import out, print_command
from mottle.cli.commands import Inspect
from mottle.inspection import MAY_BE_KNOWN, Inspection, inspect
from mottle.io.atomic_write import ensure_absent, staged
from mottle.io.databases import is_database
from mottle.schema.model import Role

_NAME_WIDTH = 21
_ROLES = {
    Role.IDENTIFYING: "identifying, removed",
    Role.PERSON: "person, removed; k counts people by it",
    Role.QUASI_IDENTIFYING: "quasi-identifying, generalized",
    Role.SENSITIVE: "sensitive, published as it is",
    Role.INSENSITIVE: "insensitive, published as it is",
    Role.PSEUDONYM: "pseudonym, published under the owner's key",
    Role.SHIFTED: "shifted, dates moved by some days",
}


def run(command: Inspect) -> None:
    """Propose a role and a kind for every column and write a commented mottle.toml to edit."""
    output, source = command.output, command.source
    ensure_absent(output.parent, [output.name], overwrite=command.overwrite)
    from_database = is_database(command.data)
    if from_database or source.table is not None or source.query is not None:
        found = inspect(source.read(command.data), source.options)
    else:
        found = inspect(command.data, source.options)
    with staged(output.parent, [output.name], overwrite=command.overwrite) as stage:
        (stage / output.name).write_text(found.to_toml(), encoding="utf-8")
    if command.as_json:
        facts = {**found.to_dict(), "schema": str(output)}
        print_json(json.dumps(facts, indent=2, ensure_ascii=False))
        return
    show_inspection(found, out, source.title(command.data))
    out.print(f"Wrote {output}. Check every role, then:", highlight=False)
    arguments = source.arguments(command.data)
    print_command(f"mottle anonymize {arguments} --schema {output} --k 10 -o released")


def show_inspection(found: Inspection, console: Console, title: str) -> None:
    """Print the proposals with their reasons, and what adversaries could do; in 80 columns."""
    console.print(_columns(found, f"{title}: {found.rows:,} rows"))
    if read := found.reading.words():
        _say(console, f"\nRead with: {' '.join(read)}")
    _say(console, "")
    for text in _reasons(found):
        _say(console, text)
    _say(console, "")
    console.print(_known(found))
    _say(
        console,
        f"All {len(found.quasi_identifiers)} quasi-identifiers together single out"
        f" {found.unique_share:.1%} of the rows; {found.below_five_share:.1%} share theirs with"
        " fewer than four others.",
    )
    for column in found.columns:
        if column.advice:
            _say(console, column.advice)
    if found.rules:
        _say(
            console,
            f"{len(found.rules)} rules hold in every row; the file proposes them in comments below"
            " the columns.",
        )
    for note in found.notes:
        _say(console, f"Note: {note}")
    for warning in found.warnings:
        _say(console, f"Warning: {warning}")


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False)


def _columns(found: Inspection, title: str) -> Table:
    """Facts and proposals, a line per column; long names are wrapped."""
    shown = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    shown.add_column("column", no_wrap=True)
    for heading in ("distinct", "missing", "unique"):
        shown.add_column(heading, justify="right", no_wrap=True)
    shown.add_column("role", no_wrap=True)
    shown.add_column("kind", no_wrap=True)
    for column in found.columns:
        shown.add_row(
            _wrapped(column.name),
            f"{column.distinct:,}",
            f"{column.nulls:,}",
            f"{column.unique_share:.1%}",
            str(column.role),
            str(column.kind or "") if column.role is Role.QUASI_IDENTIFYING else "",
        )
    return shown


def _wrapped(name: str) -> str:
    """A name in lines that fit, broken after punctuation where that is possible.

    >>> _wrapped("time_of_arrival_at_work_hour_and_minute")
    'time_of_arrival_at_\\nwork_hour_and_minute'
    """
    lines = [""]
    for part in re.findall(r"[^_\W]+[_\W]*|[_\W]+", name):
        if lines[-1] and len(lines[-1]) + len(part) > _NAME_WIDTH:
            lines.append("")
        lines[-1] += part
    return "\n".join(
        line[at : at + _NAME_WIDTH] for line in lines for at in range(0, len(line), _NAME_WIDTH)
    )


def _reasons(found: Inspection) -> Iterator[str]:
    """Why columns have their roles and kinds; columns with the same reason together."""
    for role, heading in _ROLES.items():
        reasons: dict[str, list[str]] = {}
        for column in found.columns:
            if column.role is role:
                text = column.why + (f" (HIPAA: {column.hipaa})" if column.hipaa else "")
                reasons.setdefault(text, []).append(column.name)
        usual = reasons.pop(MAY_BE_KNOWN, [])
        for reason, names in reasons.items():
            yield f"{', '.join(names)}: {heading}, because {reason}."
        if usual:
            more = " more" if reasons else ""
            yield f"{len(usual)}{more} columns: {heading}, because {MAY_BE_KNOWN}."
    kinds: dict[str, list[str]] = {}
    for column in found.columns:
        if column.why_kind and column.role is Role.QUASI_IDENTIFYING:
            kinds.setdefault(f"kind {column.kind}, because {column.why_kind}", []).append(
                column.name
            )
    for text, names in kinds.items():
        yield f"{', '.join(names)}: {text}."


def _known(found: Inspection) -> Table:
    """How many rows are singled out by one, two, three … quasi-identifiers."""
    title = "Rows that are singled out when an adversary knows"
    shown = Table(title=title, title_justify="left", box=box.SIMPLE, padding=(0, 1), pad_edge=False)
    shown.add_column("columns", justify="right")
    shown.add_column("on average", justify="right")
    shown.add_column("at worst")
    for known in (one for one in found.known if one.worst):
        worst = "\n".join(f"{share:.1%}  {', '.join(names)}" for names, share in known.worst)
        shown.add_row(str(known.columns), f"{known.average:.1%}", worst)
    return shown
