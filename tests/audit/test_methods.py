"""Every method against the adversaries that judge its draw: only Anatomy is broken, by linkage."""

from __future__ import annotations

import pytest

import mottle
from mottle import KAnonymity, LDiversity, Schema, anonymize, methods

SCHEMA = Schema.of(
    quasi_identifying=["age", "sex", "origin"], sensitive=["diagnosis"], rest="insensitive"
)
ADVERSARIES = ["linkage", "assignments", "sensitive", "algorithm", "association", "order", "links"]
ALIKE = ("het-sortgreedy", "het-hungarian")  # as het-greedy but for the rule of matching
METHODS = [
    name
    for name, method in methods.registered().items()
    if method.dummies is None and not name.startswith(ALIKE)
]


@pytest.mark.parametrize("name", METHODS)
def test_only_exact_quasi_identifiers_are_broken(crowd, name):
    table = crowd.slice(0, 200)
    method = methods.get(name)
    guarantee = LDiversity(3) if LDiversity in method.guarantees else KAnonymity(4)
    release = anonymize(table, SCHEMA, guarantee, method=name, effort=0, seed=1)
    report = mottle.audit_release(table, release, adversaries=ADVERSARIES)
    broken = {finding.adversary for finding in report.failed}
    assert broken == ({"linkage", "assignments"} if method.exact else set())
