"""``mottle warm``: what it compiles for, and that the runs behind it are valid."""

from __future__ import annotations

from typer.testing import CliRunner

from mottle.cli import warm
from mottle.cli.app import app
from mottle.cli.commands.preparing import WARMED


def test_everything_that_can_be_asked_for_has_a_run() -> None:
    assert tuple(warm.RUNS) == WARMED


def test_methods_are_run_and_named() -> None:
    done = CliRunner().invoke(app, ["warm", "nh", "nh"])
    assert done.exit_code == 0, done.output
    assert "Compiled for nh in" in done.output


def test_unknown_name_is_refused_before_anything_runs() -> None:
    done = CliRunner().invoke(app, ["warm", "freform"])
    assert done.exit_code == 2
    assert "freeform" in done.output
