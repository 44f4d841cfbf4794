"""Every kept result has the columns that its command writes now.

The headings of a script's tables are read from its source: texts and module constants exactly,
what is only known at run time as any text; of a command with a part, those of the function of that
name and of all that it calls, or of the part's own file. A result whose columns no table of its
script has was made by an earlier script.
"""

from __future__ import annotations

import ast
import re

import pytest
from paths import ROOT

BENCHMARKS = ROOT / "benchmarks"
RESULTS = sorted((BENCHMARKS / "results").glob("*.md"))
ANYTHING = "[^|]*"  # a column whose heading is known at run time only
COMMAND = re.compile(r"^`python benchmarks/(\w+\.py) ?(\w*)[^`]*`", re.MULTILINE)
HEADING = re.compile(r"^\|(.*)\|\n\|(?:---\|)+$", re.MULTILINE)


# Headings that were reworded after a result was made, with the same meaning; by result, as it is
# written there and as its script writes it now. A result that is made anew needs none.
REWORDED = {
    "fast07-times": {"question": "measure", "asked": "target"},
    "foundation": {"bar": "target"},
    "freeform-adult": {"while it pays": "default", "bar": "measure", "asked": "target"},
    "freeform-bars": {"bar": "measure", "asked": "target"},
    "freeform-census": {"bar": "measure", "asked": "target"},
    "queries-bounds": {"questions": "queries"},
    "queries-matches": {"questions": "queries", "answered": "estimated"},
    "sets-scale": {"in all": "total"},
}


class _Script:
    """The tables that a script writes, function by function."""

    def __init__(self, source: str) -> None:
        tree = ast.parse(source)
        self.constants = _assigned(tree.body)
        self.functions = {
            node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)
        }
        self.tree = tree

    def headings(self, part: str = "") -> list[str]:
        """Patterns of the headings of all tables, or of those that one function leads to."""
        found = self._headings_from(part) if part in self.functions else []
        return found or self._tables(self.tree, self.constants)

    def _headings_from(self, part: str) -> list[str]:
        pending, reached = [part], {part}
        patterns = []
        while pending:
            function = self.functions[pending.pop()]
            known = self.constants | _assigned(function.body)
            patterns += self._tables(function, known)
            named = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
            further = (named & set(self.functions)) - reached
            reached |= further
            pending += further
        return patterns

    def _tables(self, tree: ast.AST, known: dict[str, ast.expr]) -> list[str]:
        return [
            rf"\|{_columns(node.args[0], known)}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "markdown_table"
        ]


def _assigned(body: list[ast.stmt]) -> dict[str, ast.expr]:
    """Names that are assigned once, and what to them."""
    found: dict[str, list[ast.expr]] = {}
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        found.setdefault(target.id, []).append(node.value)
    return {name: values[0] for name, values in found.items() if len(values) == 1}


def _columns(node: ast.expr, known: dict[str, ast.expr]) -> str:
    """A pattern for columns, each followed by a bar."""
    if isinstance(node, ast.Name) and node.id in known:
        others = {name: value for name, value in known.items() if name != node.id}
        return _columns(known[node.id], others)
    if isinstance(node, ast.Tuple | ast.List):
        return "".join(
            _columns(each.value, known)
            if isinstance(each, ast.Starred)
            else rf" {_text(each, known)} \|"
            for each in node.elts
        )
    if isinstance(node, ast.GeneratorExp | ast.ListComp):
        return rf"(?: {_text(node.elt, known)} \|)*"
    if isinstance(node, ast.Dict) and None not in node.keys:
        return "".join(rf" {_text(key, known)} \|" for key in node.keys if key is not None)
    return rf"(?: {ANYTHING} \|)*"


def _text(node: ast.expr, known: dict[str, ast.expr]) -> str:
    if isinstance(node, ast.Name) and node.id in known:
        others = {name: value for name, value in known.items() if name != node.id}
        return _text(known[node.id], others)
    if isinstance(node, ast.Constant):
        return re.escape(str(node.value))
    if isinstance(node, ast.JoinedStr):
        return "".join(
            re.escape(str(part.value)) if isinstance(part, ast.Constant) else ANYTHING
            for part in node.values
        )
    return ANYTHING


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_columns_are_those_that_the_command_writes(path) -> None:
    text = path.read_text("utf-8")
    command = COMMAND.search(text)
    assert command, f"{path.name} does not say which command wrote it"
    script = BENCHMARKS / command[1]
    assert script.exists(), f"{path.name} was written by {command[1]}, which is gone"
    module = BENCHMARKS / f"_{script.stem}_{command[2]}.py"  # of a part with a file of its own
    source = (module if module.exists() else script).read_text("utf-8")
    patterns = _Script(source).headings(command[2])
    for columns in HEADING.findall(text):
        heading = f"|{columns}|"
        for before, now in REWORDED.get(path.stem, {}).items():
            heading = heading.replace(f"| {before} |", f"| {now} |")
        assert any(re.fullmatch(pattern, heading) for pattern in patterns), (
            f"{path.name}: no table of {command[1]} has the columns {heading}; run it anew"
        )


def test_rewordings_are_needed() -> None:
    for stem, words in REWORDED.items():
        text = (BENCHMARKS / "results" / f"{stem}.md").read_text("utf-8")
        headings = "|".join(HEADING.findall(text))
        unused = [word for word in words if f"| {word} |" not in f"|{headings}|"]
        assert not unused, f"{stem} no longer has {unused}: take it off the list"


def test_a_changed_column_is_noticed() -> None:
    source = 'NAMES = ("a", "b")\nmarkdown_table(("x", *NAMES, f"{n} rows", *found), [])\n'
    (pattern,) = _Script(source).headings()
    assert re.fullmatch(pattern, "| x | a | b | 10 rows | more | and more |")
    assert not re.fullmatch(pattern, "| x | a | c | 10 rows |")
    assert not re.fullmatch(pattern, "| x | a | b |")
    (changed,) = _Script(source.replace('"b"', '"b", "new"')).headings()
    assert not re.fullmatch(changed, "| x | a | b | 10 rows |")


def test_tables_of_other_parts_do_not_count() -> None:
    source = """
def tours():
    show(markdown_table(("data", "seconds"), []))

def errors():
    show(markdown_table(("data", "error"), []))

def show(table):
    markdown_table(("shown",), [])
"""
    script = _Script(source)
    assert len(script.headings()) == 3
    of_tours = script.headings("tours")
    assert [each.replace("\\|", "").split() for each in of_tours] == [
        ["data", "seconds"],
        ["shown"],
    ]
