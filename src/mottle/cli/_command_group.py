"""The group of all commands; each is made, and its module imported, when it is called."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, MutableMapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_from_info
from typer.models import CommandInfo

from mottle.utils.lazy import lazy_module
from mottle.utils.redaction import redacted

if TYPE_CHECKING:
    from mottle.cli import _errors, commands
else:
    _errors = lazy_module("mottle.cli._errors")
    commands = lazy_module("mottle.cli.commands")

_ARGUMENTS = "mottle.arguments"  # of the command line, in the context's notes
_Misuse: type[Exception] = typer.BadParameter.__mro__[1]  # the class of all usage errors
_INTERRUPTED = 130  # exit code
_HELP_OPTIONS = ["-h", "--help"]

# By the name of a command: its class in `mottle.cli.commands`, and a one-line summary.
COMMANDS: dict[str, tuple[str, str]] = {
    "anonymize": (
        "Anonymize",
        "Anonymize DATA and write release.parquet, release.csv, report.html and certificate.json.",
    ),
    "audit": (
        "Audit",
        "Attack RELEASE with knowledge of ORIGINAL; exit code 6 if the guarantee is broken.",
    ),
    "risk": (
        "Risk",
        "Measure how easily people are found in DATA and, with RELEASE, what is left of it.",
    ),
    "suggest": (
        "Suggest",
        "Find the strongest guarantee for DATA that loses no more than --max-loss.",
    ),
    "query": (
        "Query",
        "Query RELEASE in SQL: counts, sums and averages with bounds and a standard error.",
    ),
    "sample": (
        "Sample",
        "Draw ordinary tables that RELEASE allows: every cell becomes one of its values.",
    ),
    "export": (
        "Export",
        "Write RELEASE as an Excel workbook, an SPSS or a Stata file, or into a database.",
    ),
    "report": (
        "Report",
        "Write the report of a release again; with --original, the owner's internal one.",
    ),
    "verify": (
        "Verify",
        "Check the files of RELEASE and its signature; with ORIGINAL and links, every cell.",
    ),
    "explain": (
        "Explain",
        "Say why the cells of a row of RELEASE are wide; for the owner, with ORIGINAL and links.",
    ),
    "sign": ("Sign", "Sign the files of RELEASE with an SSH key."),
    "compare": (
        "Compare",
        "Run methods under every guarantee and write compare.csv and compare.html.",
    ),
    "evaluate": (
        "Evaluate",
        "Measure RELEASE against ORIGINAL: DM, CM, C_avg, entropy, KL, counts, Definition 3.",
    ),
    "draw-values": (
        "DrawValues",
        "Replace a column of DATA by Uniform or Zipf values, for experiments as in HET.",
    ),
    "inspect": (
        "Inspect",
        "Propose a role and a kind for every column and write a commented mottle.toml to edit.",
    ),
    "import": (
        "Import",
        "Make a folder of mottle from a project of ARX, a script of sdcMicro or files of Amnesia.",
    ),
    "methods": (
        "Methods",
        "List the methods: what each gives, its paper and its cost; with NAME, its options.",
    ),
    "warm": (
        "Warm",
        "Compile what methods need ahead of their first run, for images and fresh machines.",
    ),
    "hierarchy": (
        "Hierarchy",
        "Build a hierarchy FILE (new), draw it (show), edit it as text, lint it or convert it.",
    ),
    "lint-hierarchy": ("LintHierarchy", "The old name of 'hierarchy lint'."),
    "clean": (
        "Clean",
        "Show and remove what killed runs have left: intermediate rows and secrets.",
    ),
    "studio": (
        "Studio",
        "Open a page in the browser in which a table is anonymized, on this machine alone.",
    ),
    "demo": ("Demo", "Generate a population, anonymize it and show what happened."),
    "compare-sets": (
        "CompareSets",
        "Run methods for sets under every guarantee, k^m-anonymity too, and write compare.csv.",
    ),
    "anonymize-sets": (
        "AnonymizeSets",
        "Anonymize sets of items: baskets, diagnoses, places; write a release as for tables.",
    ),
}


class CommandGroup(TyperGroup):
    """All commands. Errors about arguments do not repeat the passwords in them."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _LazyCommands()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keep the arguments as they were typed, for reports."""
        ctx.meta[_ARGUMENTS] = tuple(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that the arguments name."""
        try:
            return super().invoke(ctx)
        except _Misuse as error:
            error.message = redacted(error.message)  # type: ignore[attr-defined]
            raise
        except KeyboardInterrupt:  # while modules were imported
            typer.echo("Interrupted: nothing was written.", err=True)
            raise typer.Exit(_INTERRUPTED) from None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """List the commands from `COMMANDS` without importing them, Rich, or anything else."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        options = [param.get_help_record(ctx) for param in self.get_params(ctx)]
        with formatter.section("Options"):
            formatter.write_dl([option for option in options if option is not None])
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])
        formatter.write_paragraph()
        formatter.write_text("mottle COMMAND --help shows the options of a command.")


class _LazyCommands(MutableMapping[str, Any]):
    """Commands by name, each made from its declaration when it is looked up."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            declared, summary = COMMANDS[name]
            self._made[name] = _made(name, getattr(commands, declared), summary)
        return self._made[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        del self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class _Command(TyperCommand):
    """A command whose option ``--help`` is listed among the others."""

    def get_help_option(self, ctx: Any) -> Any:
        """Return the option ``--help``."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.rich_help_panel, option.metavar = "Output", ""
        return option


def _made(name: str, declared: type[commands.Command], summary: str) -> Any:
    """Make the command of a declaration."""

    def call(context: typer.Context, **values: Any) -> Any:
        with _errors.reporting_errors():
            command = declared.from_values(values)
            return replace(command, typed=context.meta[_ARGUMENTS]).run()

    call.__signature__ = _signature(declared)  # type: ignore[attr-defined]
    call.__annotations__ = {}
    info = CommandInfo(
        name,
        cls=_Command,
        callback=call,
        help=summary,
        context_settings={"help_option_names": _HELP_OPTIONS},
    )
    return get_command_from_info(info, pretty_exceptions_short=True, rich_markup_mode="rich")


def _signature(declared: type[commands.Command]) -> inspect.Signature:
    context = inspect.Parameter(
        "context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context
    )
    return inspect.Signature([context, *declared.parameters()])
