"""Certificates for tests that need a release of their own making."""

from __future__ import annotations

from typing import Any

from mottle.release.certificate import Certificate


def certificate(**changes: Any) -> Certificate:
    """A complete certificate of a table, with some entries replaced."""
    claim = mottle_claim()
    method = {"name": "test", "title": "made by a test", "paper": "none"}
    content: dict[str, Any] = {
        "format": 2,
        "kind": "table",
        "mottle": "0",
        "guarantee": claim,
        "method": method,
        "parameters": {"draw": ""},
        "rows": 0,
        "columns": [],
        "degree": {"min": 0, "max": 0},
        "checks": [],
    }
    return Certificate.from_dict({**content, **changes})


def mottle_claim() -> dict[str, Any]:
    return {"name": "k-anonymity", "short": "k = 2", "statement": "A test.", "k": 2}
