"""The command ``mottle studio``."""

from __future__ import annotations

from mottle.cli._terminal import out
from mottle.cli.commands import Studio
from mottle.utils.lazy import lazy_module
from mottle.utils.optional import load_optional

_WANTED = "mottle[studio]"


def run(command: Studio) -> None:
    """Serve the studio until it is quit."""
    for package in ("starlette", "uvicorn"):
        load_optional(package, package, _WANTED)

    def say(url: str) -> None:
        out.print("The studio runs on this machine only. Ctrl-C or its button ends it.")
        out.print(f"Open it once, by: {url}", markup=False, highlight=False, soft_wrap=True)

    lazy_module("mottle.studio.server").serve(
        command.place,
        port=command.port,
        idle=command.idle,
        say=say,
        browser=not command.no_browser,
    )
    out.print("The studio has ended.")
