"""``mottle verify`` and ``mottle sign``: what they find, and that a signature covers every file."""

from __future__ import annotations

import shutil
import stat
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from command_line import mottle_command, refused, said

import mottle
from mottle import KAnonymity, Schema


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


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs OpenSSH's client")
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
