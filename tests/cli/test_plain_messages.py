"""Messages that once misled people say what is wrong and what helps."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pyarrow as pa
import pytest
from command_line import mottle_command, said
from messages import SITUATIONS, Situation

import mottle
from mottle.cli import _jit_cache
from mottle.errors import UsageError


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.name)
def test_a_message_says_what_helps(
    situation: Situation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_jit_cache, "done_before", lambda: False)  # as on a new machine
    situation.prepare(tmp_path)
    result = mottle_command(*shlex.split(situation.command))
    text = re.sub(r"[│╭╮╰╯─]", "", said(result))
    assert result.exit_code == situation.exit_code, result.output
    assert all(words in text for words in situation.says), text
    assert not any(words in text for words in situation.never), text
    assert "Traceback" not in text


def test_a_number_in_place_of_a_guarantee_is_explained() -> None:
    table = pa.table({"age": [1, 2]})
    with pytest.raises(UsageError, match=r"Write for instance KAnonymity\(10\)") as caught:
        mottle.anonymize(table, mottle.Schema.of(quasi_identifying=["age"]), 5)  # type: ignore[arg-type]
    assert "A int" not in str(caught.value)


def test_terminal_and_report_count_the_same_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{20 + n % 7},{'ab'[n % 2]}\n" for n in range(30))
    Path("people.csv").write_text(f"age,sex\n{rows}", encoding="utf-8")
    result = mottle_command(
        *("anonymize", "people.csv", "--qi", "age,sex", "--k", "3", "--method", "nh", "-o", "out")
    )
    counted = re.search(r"checks \W*(\d+ of \d+) hold", said(result))
    assert counted is not None, result.output
    page = Path("out/report.html").read_text(encoding="utf-8")
    assert re.findall(r"(\d+ of \d+)\s*(?:</[a-z]+>\s*)*(?:<[^>]*>)*\s*checks hold", page) == [
        counted[1]
    ]
