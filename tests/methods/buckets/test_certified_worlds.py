"""No entry of a certificate says more than the release: enumeration of everything that is drawn.

The adversary of the proof sees the release, the sizes of tables and the facts about decisions. He
also reads the whole certificate here, risk, limits and words included, as the pipeline writes it
for every world, arrangement and draw: it must not tell apart what he could
not tell apart without it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from bucket_worlds import World, caps_of, coded, enumerate_releases

import mottle
from mottle import BetaLikeness, Certificate, LDiversity, Schema
from mottle.guarantees.base import Guarantee
from mottle.methods import Arrangement
from mottle.methods.base import METHODS
from mottle.methods.buckets.buckets import buckets

AGES, SEXES = [20, 25, 40, 44, 60, 66], list("fmffmm")
SCHEMA = Schema.of(
    quasi_identifying=["age", "sex"], sensitive=["illness"], context={"purpose": "a test"}
)
NEW = ("risk", "known_record", "limits", "context", "method", "audit", "notes")


@pytest.fixture
def certified(monkeypatch) -> Callable[[Guarantee], Callable]:
    """Return a function: what the pipeline certifies of a world, an arrangement and a draw."""
    registered, made = METHODS["buckets"], {}

    def by(guarantee: Guarantee) -> Callable[[World, Arrangement, np.ndarray], Certificate]:
        def certificate(world: World, arranged: Arrangement, truth: np.ndarray) -> Certificate:
            graph = arranged.graph
            arrays = (graph.members, graph.starts, graph.degrees, graph.edges, truth)
            key = (world, *(array.tobytes() for array in arrays))
            if key not in made:
                fixed = replace(arranged, drawn_before=truth)
                with monkeypatch.context() as patch:
                    changed = replace(registered, arrange=lambda *_: fixed)
                    patch.setitem(METHODS._items, "buckets", changed)
                    known = {"age": AGES[: len(world)], "sex": SEXES[: len(world)]}
                    table = pa.table({**known, "illness": world})
                    release = mottle.anonymize(table, SCHEMA, guarantee, method="buckets", seed=1)
                made[key] = release.certificate
            return made[key]

        return certificate

    return by


def as_read(certificate: Certificate) -> str:
    """All of a certificate, apart from what is no figure."""
    content = certificate.to_dict()
    assert set(NEW) <= set(content)
    return repr({name: content[name] for name in content if name not in ("seconds", "sha256")})


@pytest.mark.parametrize(
    ("values", "guarantee", "wave"),
    [
        ("aabbc", LDiversity(2), None),
        ("aabbc", BetaLikeness(2), None),
        ("aaabbc", LDiversity(2), {0: "a", 3: "b"}),
    ],
    ids=["l-diversity", "beta-likeness", "cut"],
)
def test_a_certificate_says_nothing_that_the_release_does_not(
    cuts, certified, values, guarantee, wave
) -> None:
    if wave:
        cuts(0.5, 1e9)
    codes = coded(AGES[: len(values)], SEXES[: len(values)])
    enumerated = partial(enumerate_releases, buckets, codes, values, guarantee, wave=wave)
    certificate = certified(guarantee)

    def stated(world: World, arranged: Arrangement, truth: np.ndarray) -> str:
        found = certificate(world, arranged, truth)
        assert found.known_record.others == arranged.facts["known_records"]
        return as_read(found)

    def leaking(world: World, arranged: Arrangement, truth: np.ndarray) -> str:
        """A certificate with a figure of the true assignment: how many records are unchanged."""
        return str((truth == np.arange(len(truth))).sum())

    without = enumerated()
    assert len(without.likelihood) > 1
    read = enumerated(stated=stated)
    assert len(read.likelihood) == len(without.likelihood), "certificates tell releases apart"
    assert {seen[:3]: chances for seen, chances in read.likelihood.items()} == without.likelihood
    assert read.highest_over_cap(caps_of(values, guarantee)) <= 1
    assert len(enumerated(stated=leaking).likelihood) > len(without.likelihood)
