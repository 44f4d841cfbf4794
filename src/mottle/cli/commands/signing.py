"""Commands about the files of a release: sign them, and verify them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from mottle.cli._option_groups import DATA, OUTPUT
from mottle.cli.commands.base import Command
from mottle.cli.options.data import OptionalSetOptions, SourceOptions
from mottle.cli.options.single import Overwrite
from mottle.errors import UsageError

Folder = Annotated[Path, typer.Argument(help="The folder of the release.")]


@dataclass(frozen=True, kw_only=True)
class Sign(Command):
    """The command ``mottle sign``."""

    module: ClassVar[str] = "mottle.cli.sign"

    release: Folder
    ssh_key: Annotated[
        Path,
        typer.Option(
            help="The owner's SSH key; the public one if an agent holds the private one.",
            rich_help_panel=DATA,
        ),
    ]
    overwrite: Overwrite = False


@dataclass(frozen=True, kw_only=True)
class Verify(Command):
    """The command ``mottle verify``."""

    module: ClassVar[str] = "mottle.cli.verify"

    release: Folder
    original: Annotated[
        str | None,
        typer.Option(
            help="The table or sets the release was made from: file or database.",
            rich_help_panel=DATA,
        ),
    ] = None
    source: SourceOptions
    sets: OptionalSetOptions
    private: Annotated[
        Path | None, typer.Option(help="The owner's secret link file.", rich_help_panel=DATA)
    ] = None
    signers: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Allowed signers, as ssh-keygen takes them: the release has to be signed by one.",
            rich_help_panel=DATA,
        ),
    ] = None
    signer: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Who of them has to have signed.", rich_help_panel=DATA),
    ] = None
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Write verify_release.py, which needs Python alone; with ORIGINAL and links, also"
            " what it reads. For the owner and an auditor, not for publication.",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    overwrite: Overwrite = False

    def check(self) -> None:
        """Raise `UsageError` if the options are wrong."""
        super().check()
        if (self.original is None) != (self.private is None):
            raise UsageError(
                "--original and --private go together: cells are checked along the links.",
                "Give both, or neither to check the files only.",
            )
        if self.signer is not None and self.signers is None:
            raise UsageError("--signer needs --signers.", "Name the file of allowed signers.")
