"""Lines of progress for programs that run mottle."""

from __future__ import annotations

import json
import os

import pytest

from mottle.utils.progress_lines import PROGRESS_FD, is_asked, tell_progress


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch):
    reading, writing = os.pipe()
    monkeypatch.setenv(PROGRESS_FD, str(writing))

    def read() -> list[dict]:
        return [json.loads(line) for line in os.read(reading, 1 << 16).splitlines()]

    yield read
    os.close(reading)
    os.close(writing)


def test_a_line_says_what_is_done_and_what_columns_lose(lines):
    assert is_asked()
    tell_progress("write", "Writing", None, None)
    tell_progress("arrange", "Improving", 0.5, 0.1, {"2": 0.2, "1": 0.0})
    plain, told = lines()
    assert plain == {"stage": "write", "words": "Writing", "share": None, "loss": None}
    assert (told["loss"], list(told["columns"].items())) == (0.1, [("2", 0.2), ("1", 0.0)])


def test_a_line_stays_short_whatever_columns_are_called(lines):
    tell_progress("arrange", "Improving", 0.5, 0.1, {"x" * 40_000: 0.2})
    assert lines() == [{"stage": "arrange", "words": "Improving", "share": 0.5, "loss": 0.1}]


def test_nothing_is_written_where_nobody_asks(monkeypatch):
    monkeypatch.setenv(PROGRESS_FD, "")
    assert not is_asked()
    tell_progress("arrange", "Improving", 0.5, 0.1)
