"""``mottle verify`` and ``mottle sign``: what they find, and that a signature covers every file."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from command_line import mottle_command, refused, said

import mottle
from mottle import KAnonymity, Schema
from mottle.verification import verify_release


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a table, its release and the private links."""
    people = mottle.datasets.population(80, seed=1).select(["age", "sex", "diagnosis"])
    schema = Schema.of(quasi_identifying=["age", "sex"], sensitive=["diagnosis"])
    release = mottle.anonymize(people, schema, KAnonymity(4), method="nh", seed=1)
    release.save(tmp_path / "released", private=tmp_path / "links.parquet")
    pq.write_table(people, tmp_path / "people.parquet")
    return tmp_path


def test_every_cell_is_checked_and_the_evidence_is_for_the_owner_alone(place):
    released, evidence = place / "released", place / "evidence"
    given = ("--original", place / "people.parquet", "--private", place / "links.parquet")
    assert "2 files" in said(mottle_command("verify", released))
    shown = said(mottle_command("verify", released, *given, "--export", evidence))
    assert "Everything that was checked holds." in shown
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in evidence.iterdir()}
    assert {modes[name] for name in ("original.csv", "links.csv", "columns.json")} == {0o600}
    assert "verify_release.py" in modes
    inside = mottle_command("verify", released, *given, "--export", released / "x")
    refused(inside, 2, "for the owner only")
    refused(mottle_command("verify", released, *given[:2]), 2, "--original and --private go")
    other = mottle.datasets.population(80, seed=2).select(["age", "sex", "diagnosis"])
    pq.write_table(other, place / "people.parquet")
    refused(mottle_command("verify", released, *given), 4, "fingerprint")


def test_a_signature_covers_every_file_and_names_who_signed(place):
    released, key = place / "released", place / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    refused(mottle_command("verify", released, "--signers", key), 5, "not signed")
    said(mottle_command("sign", released, "--ssh-key", key))
    assert "key SHA256:" in said(mottle_command("verify", released))
    signers = place / "signers"
    signers.write_text(f"owner@example.org {(place / 'key.pub').read_text()}")
    assert "owner@example.org" in said(mottle_command("verify", released, "--signers", signers))
    other = ("--signers", signers, "--signer", "somebody@example.org")
    refused(mottle_command("verify", released, *other), 4, "not by somebody")
    signers.write_text("")
    refused(mottle_command("verify", released, "--signers", signers), 4, "anybody")
    report = released / "report.html"
    kept = report.read_bytes()
    report.write_bytes(kept + b" ")
    refused(mottle_command("verify", released), 4, "not those that were signed")
    report.write_bytes(kept)
    (released / "files.sha256.sig").write_text("no signature")
    refused(mottle_command("verify", released), 4, "not valid")
    people = mottle.datasets.population(80, seed=1).select(["age", "sex"])
    again = mottle.anonymize(people, Schema.of(quasi_identifying=["age", "sex"]), KAnonymity(2))
    again.save(released, overwrite=True)
    assert not (released / "files.sha256.sig").exists()  # a new release is not signed


def test_a_received_folder_is_not_waited_for_and_does_not_control_the_terminal(place):
    """A certificate may name a pipe, or leave out what it should state; a list may be no text."""
    released = place / "released"
    kept = json.loads((released / "certificate.json").read_text("utf-8"))

    def certify(sums):
        text = json.dumps({**kept, "sha256": sums})
        (released / "certificate.json").write_text(text, "utf-8")
        checked = subprocess.run(
            [sys.executable, verify_release.__file__, released], capture_output=True, text=True
        )
        assert checked.returncode == 1
        return checked.stdout + mottle_command("verify", released).output

    os.mkfifo(released / "pipe")
    (released / "zeros").symlink_to("/dev/zero")
    (released / "a\x1b[2Jb").write_text("x", "utf-8")
    for name in ("pipe", "zeros", "a\x1b[2Jb", "[/x]"):
        assert "\x1b" not in certify({**kept["sha256"], name: "0" * 64})
    assert "no checksum of a file" in certify({"release.parquet": "0" * 64})
    certify(kept["sha256"] | {"release.csv": "0" * 64})
    (released / "certificate.json").write_text(json.dumps(kept), "utf-8")
    (released / "files.sha256").write_bytes(b"\xff\xfe")
    (released / "files.sha256.sig").write_bytes(b"\xff\xfe")
    refused(mottle_command("verify", released), 4, "not those that were signed")


def test_files_of_others_are_compared_without_a_traceback(place):
    """The rows of release.csv need not be those of release.parquet, nor be a table."""
    released = place / "released"
    given = ("--original", place / "people.parquet", "--private", place / "links.parquet")
    kept = json.loads((released / "certificate.json").read_text("utf-8"))
    for content in (
        b"",
        b"\xff",
        b'"',
        b"age\n1,2\n",
        b"age,sex,diagnosis\n" + b"{..|1..2..3},x,y\n" * 80,
    ):
        (released / "release.csv").write_bytes(content)
        sums = kept["sha256"] | {"release.csv": hashlib.sha256(content).hexdigest()}
        text = json.dumps({**kept, "sha256": sums})
        (released / "certificate.json").write_text(text, "utf-8")
        ended = mottle_command("verify", released, *given)
        assert ended.exit_code in (4, 6), ended.output
    assert not list((place / "work").rglob("*"))  # rows of the original
