"""Text, JSON and TOML of others: limits, and errors that quote nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mottle.errors import StorageError
from mottle.utils.untrusted.text import parse_json, parse_toml, read_bytes, read_text

MARKER = "s3cret"


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        "[" * 60 + "]" * 60,
        "1" * 101,
        "1" * 5000,
        "-" + "9" * 200,
        "1e999",
        "NaN",
        "[Infinity]",
        '"\\ud800"',
        '{"\\udfff": 1}',
        f'["{MARKER}"',
        b"\xff\xfe\x00",
        b'"\xe9"',
        "",
    ],
)
def test_json_beyond_the_limits_is_refused_by_one_kind_of_error(text: str | bytes) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - any message, but no other type
        parse_json(text)
    assert MARKER not in str(caught.value)


def test_json_within_the_limits_is_read() -> None:
    text = '{"k": [1, -2.5, null, true, "é\\u0000"], "large": ' + "9" * 100 + "}"
    assert parse_json(text)["large"] == int("9" * 100)
    assert parse_json("[" * 50 + "]" * 50)


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 100_000,
        "a = " + "{b=" * 5000 + "1" + "}" * 5000,
        "a." * 200 + "b = 1",
        "a = " + "9" * 5000,
        "a = " + "9" * 150,
        "a = 1\na = 2",
        "[[a]]\n[a]",
        f"a = {MARKER}",
    ],
)
def test_toml_beyond_the_limits_is_refused_by_one_kind_of_error(text: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - any message, but no other type
        parse_toml(text)
    assert MARKER not in str(caught.value)


def test_file_is_not_read_beyond_its_limit(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * 1001)
    assert len(read_bytes(tmp_path / "large", 1001)) == 1001
    with pytest.raises(ValueError, match="larger than"):
        read_bytes(tmp_path / "large", 1000)


def test_path_with_a_nul_character_is_a_storage_error() -> None:
    with pytest.raises(StorageError, match="NUL"):
        read_bytes("a\0b")


def test_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StorageError, match="not a file"):
        read_bytes(tmp_path / "pipe")


def test_text_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"caf\xe9")
    with pytest.raises(ValueError, match="UTF-8"):
        read_text(tmp_path / "text")


def test_large_texts_are_parsed_only_with_memory_for_what_they_may_hold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listed = "[" + "{}," * 400_000 + "1]"
    assert len(parse_json(listed)) == 400_001
    monkeypatch.setattr("mottle.utils.untrusted.text.available_memory", lambda: 20_000_000)
    for parse in (parse_json, parse_toml):
        with pytest.raises(ValueError, match="may take more memory than is available"):
            parse(listed)
