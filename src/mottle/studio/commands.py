"""What the drawer shows: the same work as a command, and in Python."""

from __future__ import annotations

import shlex

from mottle.studio.layout import LINKS, TOML, addressed
from mottle.studio.project import Project
from mottle.studio.wishes import Wishes


def shown_command(project: Project, output: str) -> str:
    """The command as it is typed in a terminal, in the project's folder."""
    words = ["mottle", *project.command(output, private=LINKS)]
    wishes = project.state.wishes
    if wishes.address is not None and wishes.table is not None:
        words[2:3] = [addressed(wishes.address), f"--table={wishes.table}"]
    return shlex.join(words)


def shown_python(project: Project, output: str) -> str:
    """The same in Python; it runs in the project's folder."""
    options = project.state.wishes.options
    guarantees = _python_guarantees(project.state.wishes)
    more = ""
    if "key" in options:
        more += f", key={str(options['key'])!r}"
    if "seconds" in options:
        more += f", effort={options['seconds']}"
    lines = ["import mottle", "", f'schema = mottle.Schema.read("{TOML}")']
    wishes, data = project.state.wishes, repr(project.data_word)
    if not guarantees or wishes.data is None:
        return "\n".join(lines)
    if wishes.address is not None:
        source = addressed(wishes.address)
        lines.append(f"table = mottle.read_database({source!r}, table={wishes.table!r})")
        data = "table"
    return "\n".join(
        [
            *lines,
            f"guarantee = {' & '.join(guarantees)}",
            f"release = mottle.anonymize({data}, schema, guarantee{more})",
            f"release.save({output!r}, private={LINKS!r})",
        ]
    )


def _python_guarantees(wishes: Wishes) -> list[str]:
    """What is promised, as it is written in Python."""
    options = wishes.options
    named = [("k", "KAnonymity"), ("l", "LDiversity"), ("beta", "BetaLikeness")]
    made = [f"mottle.{name}({options[option]})" for option, name in named if option in options]
    if wishes.caps or "cap_rest" in options:
        shares = {value: float(share) for value, share in wishes.caps.items()}
        made.append(f"mottle.Caps({shares!r}, default={options.get('cap_rest', 1)})")
    if made and "known_records" in options:
        made.append(f"mottle.KnownRecords({options['known_records']})")
    return made
