"""What the owner states is checked, written back, published as given, and changes nothing else."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest

import mottle
from mottle import KAnonymity, Schema, SchemaError
from mottle.schema.context import Context

TEXT = """\
[context]
purpose = "Study of <b>stays</b>"
recipients = ["University of Exampleton"]
controls = "Contract of 3 May"
adversaries = ["a neighbour, who knows the age"]
review_by = 2027-11-30
checklists = ["wp216"]

[columns.age]
role = "quasi-identifying"
"""


def test_it_is_read_written_and_published_as_given(tmp_path: Path) -> None:
    (tmp_path / "mottle.toml").write_text(TEXT)
    schema = Schema.read(tmp_path / "mottle.toml")
    assert schema.context is not None
    assert schema.context.controls == ("Contract of 3 May",)
    schema.write(tmp_path / "again.toml")
    assert Schema.read(tmp_path / "again.toml").context == schema.context
    assert Context.read(tmp_path / "again.toml") == schema.context
    table = pa.table({"age": list(range(20))})
    release = mottle.anonymize(table, schema, KAnonymity(3), seed=1)
    plain = mottle.anonymize(table, schema.with_context(None), KAnonymity(3), seed=1)
    assert release.table.equals(plain.table)
    assert "context" not in plain.certificate.to_dict()
    certificate = release.save(tmp_path / "out")
    assert certificate.to_dict()["context"]["review_by"] == "2027-11-30"
    assert mottle.read_release(tmp_path / "out").certificate.context == schema.context
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Study of &lt;b&gt;stays&lt;/b&gt;" in page
    assert "30 November 2027" in page
    assert "a neighbour, who knows the age" in page
    assert "Opinion 05/2014" in page


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"purpos": "x"}, "unknown entry 'purpos'"),
        ({"purpose": "  "}, "purpose: is empty"),
        ({"purpose": "\u202etxt"}, r"purpose: has a character that cannot be shown, U\+202E"),
        ({"reviewer": "B.\x1b[31m Beta"}, r"U\+001B"),
        ({"review_by": 0}, "review_by: is not a day"),
        ({"review_by": "1700006400"}, "review_by: is not a day"),
        ({"recipients": ["a", 3]}, "recipients"),
        ({"review_by": "next year"}, "review_by"),
        ({"checklists": ["iso"]}, "there is no such checklist"),
        ({"purpose": "secret" * 1000}, "purpose"),
        ("text", "context must be a table"),
    ],
)
def test_what_is_wrong_is_named_and_not_quoted(content: object, message: str) -> None:
    with pytest.raises(SchemaError, match=message) as caught:
        Context.of_toml(content, "mottle.toml")
    assert "secret" not in str(caught.value)


def test_spaces_and_joiners_of_word_processors_are_read_and_written_back(tmp_path: Path) -> None:
    texts = ("10\u00a0000 people\u2009a\tyear", "Daten\u00adschutz", "\u0645\u06cc\u200c\u062e")
    stated = Context.of_toml({"controls": texts}, "mottle.toml")
    assert stated is not None
    (tmp_path / "context.toml").write_text("\n".join(stated.to_toml()), encoding="utf-8")
    read = Context.read(tmp_path / "context.toml")
    assert read is not None
    assert read.controls == texts


def test_of_sets_and_of_python() -> None:
    day = dt.date(2027, 1, 31)
    release = mottle.anonymize_sets(
        [{"a"}, {"b"}, {"a", "b"}, set()], KAnonymity(2), seed=1, context={"review_by": day}
    )
    assert release.certificate.context == Context(review_by=day)
    assert Schema.of(quasi_identifying=["a"], context=Context(purpose="x")).context.purpose == "x"
