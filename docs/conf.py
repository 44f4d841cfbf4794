"""Configuration of the documentation site: `make docs` builds it, without network.

The sources are the pages that are also read in the repository, where they lie, so the folder of
sources is that of the project and links between pages mean the same in both places. Pages that list
other pages (`LISTS`) stay plain Markdown: the site's navigation and `llms.txt` are made of their
list items.
"""

from __future__ import annotations

import importlib
import inspect
import re
import runpy
from pathlib import Path
from types import ModuleType
from typing import Any

import typer
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.domains.python import PyObject
from sphinx.util.docutils import SphinxDirective

import mottle
from mottle.cli.app import app as commands

ROOT = Path(__file__).resolve().parents[1]

project = "mottle"
author = "The mottle developers"
project_copyright = author
version = release = mottle.__version__

root_doc = "docs/index"
include_patterns = [
    "docs/*.md",
    "docs/api/*.rst",
    "benchmarks/results/*.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
]
exclude_patterns = [".*", "**/.*", "build", "dist", "src", "tests", "tools", "paper"]

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",  # every name links to its source, which is part of the site
]
viewcode_line_numbers = True
myst_heading_anchors = 4
autodoc_typehints = "none"  # the docstrings name the types, in fewer words
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
default_role = "code"
smartquotes_action = "qe"  # no dashes: options begin with two hyphens
add_module_names = False
toc_object_entries_show_parents = "hide"
suppress_warnings = ["misc.highlighting_failure"]  # shortened examples of JSON and TOML

html_theme = "pydata_sphinx_theme"
html_title = "mottle"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
html_theme_options: dict[str, Any] = {
    "navbar_align": "left",
    "navigation_with_keys": False,
    "show_toc_level": 1,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"docs/index": [], "docs/tutorial": []}

# Pages whose examples run in an empty folder, from first to last, and are offered as a program.
PROGRAMS = (
    "certificate",
    "coming-from",
    "over-time",
    "queries",
    "report",
    "risk",
    "sets",
    "tutorial",
)
BLOCK: re.Pattern[str] = runpy.run_path(str(ROOT / "tools" / "outputs.py"))["BLOCK"]

LISTS = ("index", "how-to", "reference", "explanation", "project")
FILE_LINK = re.compile(r"\[[\w/-]+\.md\]\(((?:\.\./)?[\w/-]+\.md(?:#[\w.-]+)?)\)")
LIST_ITEM = re.compile(
    r"^- \[(?P<title>[^\]]+)\]\((?P<page>[^)#]+)\): (?P<line>.+(?:\n  .+)*)", re.M
)


def list_pages(page: Path) -> list[tuple[str, Path, str]]:
    """Title, file and one line of each page that a page lists."""
    return [
        (found["title"], (page.parent / found["page"]).resolve(), " ".join(found["line"].split()))
        for found in LIST_ITEM.finditer(page.read_text("utf-8"))
    ]


def document_of(path: Path) -> str:
    """The name of a page among the site's documents."""
    return path.relative_to(ROOT).with_suffix("").as_posix()


def adapt_source(app: Sphinx, document: str, source: list[str]) -> None:
    """Add to a page what only the site has: navigation, links to the API, the list of results."""
    folder, _, name = document.rpartition("/")
    text = source[0].replace("](../benchmarks/results)", "](results.md)")
    if folder == "docs" and name in LISTS:
        listed = list_pages(ROOT / f"{document}.md")
        entries = [f"{title} </{document_of(path)}>" for title, path, _ in listed]
        text += "\n".join(["\n```{toctree}", ":hidden:", "", *entries, "```", ""])
    elif document == "docs/results":
        text += "\n```{toctree}\n:glob:\n\n/benchmarks/results/*\n```\n"
    elif document == "docs/api":
        text = link_names(text)
    elif folder == "docs" and name in PROGRAMS:
        link = f'<a href="../{program_of(name)}" download>{name}.py</a>'
        text += f"\n---\n\nThe examples of this page as one program: {link}\n"
    source[0] = FILE_LINK.sub(r"[](\1)", text)  # links that read as a file get the page's title


def program_of(page: str) -> str:
    """Where the site has the examples of a page."""
    return f"_examples/{page}.py"


def as_program(page: Path) -> str:
    """The examples of a page as one program, commands of the shell included."""
    blocks = list(BLOCK.finditer(page.read_text("utf-8")))
    lines = [f'"""The examples of docs/{page.name}; run it in an empty folder."""', ""]
    if any(found["kind"] == "bash" for found in blocks):
        lines += ["import subprocess", ""]
    for found in blocks:
        code = found["code"].rstrip()
        if found["kind"] == "bash":
            code = f"subprocess.run({code!r}, shell=True, check=True)"
        lines += [code, ""]
    return "\n".join(lines)


def link_names(page: str) -> str:
    """The page of public names, each of them linked to its documentation."""
    sections = re.split(r"^(?=## `)", page, flags=re.MULTILINE)
    linked = sections[:1]
    for section in sections[1:]:
        package = section.split("`")[1]
        module = importlib.import_module(package)
        for line in section.splitlines(keepends=True):
            match = re.match(r"\| `(\w+)` \|", line)
            if match and directive_for(module, match[1]):
                target = f"{home_of(module, match[1])}.{match[1]}"
                line = line.replace(match[0], f"| {{py:obj}}`{match[1]} <{target}>` |")
            linked.append(line)
    return "".join(linked)


def home_of(module: ModuleType, name: str) -> str:
    """The package under which a public name is documented: `mottle` itself where it is in both."""
    item = getattr(module, name)
    return "mottle" if getattr(mottle, name, None) is item else module.__name__


def directive_for(module: ModuleType, name: str) -> str | None:
    """The directive that documents a name of a module; none for modules and plain values."""
    item = getattr(module, name)
    if inspect.isclass(item):
        return "autoexception" if issubclass(item, BaseException) else "autoclass"
    return "autofunction" if inspect.isfunction(item) else None


ORDER = ("autofunction", "autoclass", "autoexception", "")


class PublicNames(SphinxDirective):
    """Document every name that a package lists as public, unless `mottle` has it too."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Parse one directive of autodoc for each name."""
        package = self.arguments[0]
        module = importlib.import_module(package)
        found = [(directive_for(module, name) or "", name) for name in module.__all__]
        lines: list[str] = []
        for directive, name in sorted(found, key=lambda each: (ORDER.index(each[0]), each[1])):
            if directive and home_of(module, name) == package:
                lines += [f".. {directive}:: {package}.{name}"]
                lines += ["   :members:", ""] if directive == "autoclass" else [""]
        return self.parse_text_to_nodes(StringList(lines, source=package))


class CommandOptions(SphinxDirective):
    """Document every command with its options, by the panels of ``--help``."""

    def run(self) -> list[nodes.Node]:
        """Make a section of each command."""
        group = typer.main.get_command(commands)
        found: list[nodes.Node] = []
        for name, command in group.commands.items():
            context = typer.Context(command, info_name=f"mottle {name}")
            section = nodes.section(ids=[f"mottle-{name}"], names=[f"mottle {name}"])
            section += nodes.title(text=f"mottle {name}")
            usage = command.get_usage(context).removeprefix("Usage: ")
            section += nodes.paragraph(text=inspect.cleandoc(command.help))
            section += nodes.literal_block(usage, usage, language="text")
            panels: dict[str, nodes.definition_list] = {}
            for parameter in command.params:
                record = parameter.get_help_record(context)
                if record is None or parameter.name == "help":
                    continue
                panel = getattr(parameter, "rich_help_panel", None) or "Arguments and options"
                term, words = record
                item = nodes.definition_list_item()
                item += nodes.term("", "", nodes.literal(text=term.removesuffix(" <str>")))
                item += nodes.definition("", nodes.paragraph(text=words))
                panels.setdefault(panel, nodes.definition_list(classes=["options"])).append(item)
            for panel, items in panels.items():
                section += nodes.rubric(text=panel)
                section += items
            found.append(section)
        return found


def draw_dashes(app: Sphinx, doctree: nodes.document, document: str) -> None:
    """Put a dash between a parameter and its description; `smartquotes_action` leaves them out."""
    for text in list(doctree.findall(nodes.Text)):
        if text == " -- ":
            text.parent.replace(text, nodes.Text(" – "))


def write_index(app: Sphinx, error: Exception | None) -> None:
    """Write what lies beside the pages.

    `llms.txt` has a line for each page, `llms-full.txt` the text of all of them, `_examples` the
    examples of some as programs, and `index.html` leads from the folder to the first page.
    """
    if error is not None or app.builder.format != "html":
        return
    out = Path(app.outdir)
    first, *lists = list_pages(ROOT / f"{root_doc}.md")
    summary = (ROOT / f"{root_doc}.md").read_text("utf-8").split("\n\n")[1]
    lines = ["# mottle", "", "> " + " ".join(summary.split()), "", "## Start", ""]
    lines.append(index_line(*first))
    for title, path, _ in lists:
        lines += ["", f"## {title}", ""]
        lines += [index_line(*item) for item in list_pages(path)]
    mend_sources(out)
    for name in PROGRAMS:
        path = out / program_of(name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(as_program(ROOT / "docs" / f"{name}.md"), encoding="utf-8")
    (out / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    pages = [first, *(item for _, path, _ in lists for item in list_pages(path))]
    texts = [path.read_text("utf-8") for _, path, _ in pages if path.suffix == ".md"]
    (out / "llms-full.txt").write_text("\n\n".join(texts), encoding="utf-8")
    (out / "index.html").write_text(
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><title>mottle</title>"
        f"<meta http-equiv='refresh' content='0; url={root_doc}.html'></head>"
        f"<body><a href='{root_doc}.html'>mottle</a></body></html>\n",
        encoding="utf-8",
    )


def mend_sources(out: Path) -> None:
    """Let pages of sources lead back to the page on which each name is documented.

    viewcode knows one package for all names of a module; some are documented under another one.
    """
    packages = sorted((path.stem for path in (ROOT / "docs" / "api").glob("mottle*.rst")), key=len)
    names = "|".join(map(re.escape, reversed(packages)))
    link = re.compile(rf"(?P<page>docs/api/(?P<home>{names})\.html#)(?:{names})\.")
    for path in (out / "_modules").rglob("*.html"):
        text = path.read_text("utf-8")
        path.write_text(link.sub(r"\g<page>\g<home>.", text), encoding="utf-8")


def index_line(title: str, path: Path, line: str) -> str:
    """A line of `llms.txt`."""
    return f"- [{title}]({document_of(path)}.html): {line}"


def setup(app: Sphinx) -> None:
    """Connect what is above."""
    for field in PyObject.doc_field_types:
        if field.name == "variable":
            field.label = "Attributes"  # as numpydoc calls them
    app.add_directive("public-names", PublicNames)
    app.add_directive("command-options", CommandOptions)
    app.connect("source-read", adapt_source)
    app.connect("doctree-resolved", draw_dashes)
    app.connect("build-finished", write_index)
