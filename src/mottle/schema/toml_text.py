"""The text of a mottle.toml."""

from __future__ import annotations

import json
import os
import re
import textwrap
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from mottle.errors import SchemaError
from mottle.kinds.base import Kind as Kind
from mottle.kinds.item_set import SEPARATOR as SEPARATOR
from mottle.schema.columns import Column
from mottle.schema.rules import Rule


def column_lines(column: Column, comment: str, folder: Path) -> list[str]:
    """Return the lines of one column, below its comment; files are named relative to a folder."""
    lines = [f"# {line}" for line in comment.splitlines()]
    lines.append(f"[columns.{toml_key(column.name)}]")
    lines.append(f"role = {quoted(column.role)}")
    if column.kind is not None:
        lines.append(f"kind = {quoted(column.kind)}")
    if column.importance != 1.0:
        lines.append(f"importance = {column.importance!r}")
    if column.order is not None:
        lines.append(f"order = [{', '.join(quoted(value) for value in column.order)}]")
    if column.hierarchy is not None:
        lines.append(f"hierarchy = {quoted(hierarchy_file(column, folder))}")
    if column.separator is not None:
        lines.append(f"separator = {quoted(column.separator)}")
    if column.node_holders is not None:
        lines.append(f"node_holders = {column.node_holders}")
    if column.representation is not None:
        lines.append(f"representation = {quoted(column.representation)}")
    if column.objective is not None:
        lines.append(f"objective = {quoted(column.objective)}")
    if column.breaks is not None:
        lines.append(f"breaks = [{', '.join(map(repr, column.breaks))}]")
    if column.bins is not None:
        lines.append(f"bins = {column.bins}")
    if column.snap is not None:
        lines.append(f"snap = {column.snap!r}")
    lines += [
        f"{end} = {limit if isinstance(limit, date) else repr(limit)}"
        for end in ("bottom", "top")
        if (limit := getattr(column, end)) is not None
    ]
    if column.granularity is not None:
        lines.append(f"granularity = {quoted(column.granularity)}")
    if column.groups is not None:
        lines += [
            f"groups.{toml_key(name)} = [{', '.join(quoted(value) for value in values)}]"
            for name, values in column.groups
        ]
    if column.shift is not None:
        lines.append(f"shift = {column.shift}")
    if column.cells is not None:
        lines.append(f"cells = {quoted(column.cells)}")
    lines.append("")
    return lines


def rule_lines(rules: Sequence[Rule]) -> list[str]:
    """Return the lines of the table ``[rules]``; none without rules."""
    if not rules:
        return []
    lines = ["[rules]  # what every row obeys; published with the release"]
    return [*lines, *(f"{toml_key(rule.name)} = {quoted(rule.text)}" for rule in rules), ""]


def hierarchy_file(column: Column, folder: Path) -> str:
    """The path of a column's hierarchy file, relative to ``folder``."""
    if column.hierarchy_file is None:
        raise SchemaError(
            f"The hierarchy of column '{column.name}' was not read from a file, so the schema"
            " cannot name one.",
            "Write it with Hierarchy.write(FILE) and build the schema with that file.",
        )
    return Path(os.path.relpath(column.hierarchy_file, folder)).as_posix()


def toml_key(name: str) -> str:
    """A TOML key, quoted where needed."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else quoted(name)


def quoted(text: str) -> str:
    """A TOML basic string."""
    return json.dumps(str(text), ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_header() -> str:
    """The explanation at the top of a mottle.toml, with all kinds and their options."""
    kinds = textwrap.wrap(
        ", ".join(kind.usage for kind in Kind), 92, break_long_words=False, break_on_hyphens=False
    )
    return _TOML_HEADER.format("\n#       ".join(kinds))


_TOML_HEADER = """\
# What each column is. mottle reads this file with --schema.
#
# role: identifying        removed from the release (names, numbers that name a person)
#       person             removed; says whose row it is, of people with several: k counts people
#       quasi-identifying  generalized (what an adversary may know: age, sex, postcode)
#       sensitive          published as it is (what an adversary would like to learn)
#       insensitive        published as it is
#       pseudonym          says whose row it is, one row each; published as a pseudonym (--key)
#       shifted            dates, published moved by up to shift = 30 days, a person's all alike
# kind: {}
# survey_weight = "COLUMN" above all columns: how many people of the population a row stands for
# snap = 5, breaks = [18, 65], bottom = 10, top = 90, granularity = "month": quasi-identifiers that
#       are published in steps, with open ends, by units of the calendar
# importance: how much the loss of a column counts (default 1)
# bins = 10 or breaks = [20000, 50000]: sensitive numbers are protected by bin
# groups.NAME = ["value", …] or hierarchy = "f.csv": similar sensitive values, which are protected
#       together by --group-cap COLUMN=0.5
# [read]: how the table is read, as by the options --missing, --delimiter, --quote, --encoding,
#       --decimal, --thousands, --date-format, --sheet, --header-row
# [context]: purpose = "…", recipients = ["…"], controls = ["…"], adversaries = ["…"],
#       reviewer = "…", review_by = 2027-01-31: stated by the owner and published as given;
#       questions = ["SELECT …"]: answered in the report
# [rules]: what every row obeys: children = "if age < 15 then occupation is 'none'"
"""
