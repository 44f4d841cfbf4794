"""No entry of a certificate says more than the release: enumeration of everything that is drawn.

The adversary of the proof sees the release, the sizes of tables and the facts about decisions. He
also reads the whole certificate here, risk, limits and words included, as the pipeline writes it for
every world, arrangement and draw: it must not tell apart what he could not tell apart without it.
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

AGES, SEXES = [20, 25, 31, 40, 44, 60, 66, 71], list("fmffmmfm")
EIGHT = coded(AGES, SEXES)
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
                    table = pa.table({"age": AGES, "sex": SEXES, "illness": world})
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
    ("values", "guarantee", "known_wave"),
    [
        ("aaabbbcc", LDiversity(2), {0: "a", 3: "b"}),
        ("aaaabbcc", BetaLikeness(1), {0: "a", 3: "b"}),
    ],
    ids=["l-diversity", "beta-likeness"],
)
def test_a_certificate_says_nothing_that_the_release_does_not(
    cuts, certified, values, guarantee, known_wave
) -> None:
    cuts(0.34, 7.0)
    enumerated = partial(enumerate_releases, buckets, EIGHT, values, guarantee, wave=known_wave)
    certificate = certified(guarantee)
    without = enumerated()
    entries: set[str] = set()

    def stated(*made) -> str:
        found = certificate(*made)
        entries.add(as_read(found))
        assert found.known_record.others == int(made[1].facts["known_records"])
        return as_read(found)

    read = enumerated(stated=stated)
    print(len(without.likelihood), len(entries), len(read.likelihood))
    assert {seen[:3]: chances for seen, chances in read.likelihood.items()} == without.likelihood
    assert len(read.likelihood) == len(without.likelihood), "a certificate tells releases apart"
    assert read.highest_over_cap(caps_of(values, guarantee)) <= 1
    assert len(entries) > 1, "certificates differ, so that they could tell something"

    def leaking(world: World, arranged: Arrangement, truth: np.ndarray) -> str:
        """A certificate with a figure of the true assignment: how many records are unchanged."""
        return str((truth == np.arange(len(truth))).sum())

    leaked = enumerated(stated=leaking)
    assert len(leaked.likelihood) > len(without.likelihood)
