"""One way to run mottle's command line in a test, and to look at what it printed."""

from __future__ import annotations

import re

from typer.testing import CliRunner, Result

from mottle.cli.app import app


def mottle_command(*arguments: object) -> Result:
    """Run ``mottle`` with these arguments, in this process."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def said(result: Result) -> str:
    """Everything printed, line breaks of the terminal undone."""
    return re.sub(r"\s+", " ", result.output)


def refused(result: Result, exit_code: int, *words: str) -> None:
    """The command failed with this code, named what is wrong, and showed no traceback."""
    assert result.exit_code == exit_code, result.output
    for word in words:
        assert word in said(result)
    assert "Traceback" not in result.output
