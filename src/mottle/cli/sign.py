"""The command ``mottle sign``: a signature over the files of a release."""

from __future__ import annotations

from mottle.cli._console import Console
from mottle.cli.commands import Sign
from mottle.io.signature import sign_release
from mottle.io.write_release import LIST, SIGNATURE


def run(command: Sign) -> None:
    """Sign the files of a release."""
    sign_release(command.release, command.ssh_key, overwrite=command.overwrite)
    Console().print(f"Wrote {LIST} and {SIGNATURE}.", highlight=False, soft_wrap=True)
