"""Reports errors of commands: what is wrong and what to do, and the exit code of the error."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.logging import RichHandler

from mottle.cli._console import Console
from mottle.errors import MottleError
from mottle.utils.redaction import redacted

INTERRUPTED, NO_MEMORY = 130, 71


def _without_passwords(record: logging.LogRecord) -> bool:
    """Remove passwords from a message of the log, which may be that of a driver."""
    record.msg, record.args = redacted(record.getMessage()), ()
    return True


@contextmanager
def reporting_errors() -> Iterator[None]:
    """Print errors as what is wrong and what to do, and exit with their code."""
    err = Console(stderr=True)
    handler = RichHandler(console=err, show_time=False, show_path=False, markup=False)
    handler.addFilter(_without_passwords)
    logging.basicConfig(level=logging.WARNING, handlers=[handler], format="%(message)s")
    try:
        yield
    except MottleError as error:
        err.print("Error:", style="bold red", end=" ")
        for line in filter(None, (error.problem, error.remedy)):
            err.print(redacted(line), markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(error.exit_code) from None
    except MemoryError:
        err.print("Error: There is not enough memory. Nothing was written.")
        err.print("Work in chunks with --memory, or on a machine with more memory.")
        raise typer.Exit(NO_MEMORY) from None
    except KeyboardInterrupt:
        err.print("Interrupted: nothing was written.")
        raise typer.Exit(INTERRUPTED) from None
