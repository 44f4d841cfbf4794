"""What is kept of releases and audits: their figures, and by what a release is known again."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from mottle.studio.jobs import Job
from mottle.utils.untrusted.text import parse_json, read_text


def certificate(folder: Path) -> dict[str, Any]:
    """The certificate of a release in a folder; empty if there is none."""
    path = folder / "certificate.json"
    try:
        content = parse_json(read_text(path)) if path.is_file() else {}
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def release_mark(folder: Path) -> str:
    """By which a release is recognized again: a checksum of its certificate without the context."""
    said = {name: entry for name, entry in certificate(folder).items() if name != "context"}
    return sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def figures(folder: Path, job: Job) -> dict[str, Any]:
    """What is kept of a finished run."""
    said = certificate(folder)
    audit = said.get("audit") or {}
    return {
        "state": job.belongs_to,
        "release": release_mark(folder),
        "guarantee": said["guarantee"]["short"],
        "rows": said["rows"],
        "loss": said["gcp"],
        "columns": said.get("ncp") or {},
        "held": bool(audit.get("passed")) and all(each["passed"] for each in said["checks"]),
        "seconds": round((job.ended or 0.0) - (job.began or 0.0), 1),
        "losses": job.losses,
    }


def audited(job: Job) -> dict[str, Any]:
    """What is kept of an audit: what each adversary achieved and what is allowed."""
    report = parse_json(job.output[job.output.index("{") :])
    return {
        "file": job.arguments[2],
        "passed": report["passed"],
        "findings": [
            {name: each.get(name) for name in ("adversary", "title", "measure", "achieved")}
            | {name: each.get(name) for name in ("allowed", "passed")}
            | {
                "why": str(
                    each["details"].get("not_played", each["details"].get("not_searched", ""))
                )
            }
            for each in report["findings"]
            if "does_not_apply" not in each["details"]
        ],
    }
