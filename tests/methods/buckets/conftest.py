"""Cuts of the smallest tables, for enumerations."""

from __future__ import annotations

import pytest

from mottle.methods.buckets import buckets as module
from mottle.methods.buckets import margins, tree, waves
from mottle.methods.buckets.association import Association, WaveEvidence
from mottle.methods.buckets.tree import CutError


@pytest.fixture
def cuts(monkeypatch):
    """Return a function that lets the smallest tables have a wave and be cut.

    What depends on the same things is computed once.
    """
    fits, made = {}, {}
    fitted, cut = Association.fitted, module._cut

    def fitted_once(self, evidence, steps):
        arrays = (self.prior, self.effects, *(array for group in evidence for array in group))
        key = (steps, *(array.tobytes() for array in arrays))
        if key not in fits:
            fits[key] = fitted(self, evidence, steps)
        return fits[key]

    def cut_once(run, tier, first, others, wave):
        arrays = (
            tier.counts,
            run.demand.caps,
            run.demand.sensitive_codes,
            first,
            others,
            run.order,
        )
        published = (array for table in wave for array in (table.rows, table.shown))
        key = (tier.buckets, *(array.tobytes() for array in (*arrays, *published)))
        if key not in made:
            try:
                made[key] = cut(run, tier, first, others, wave)
            except CutError:
                made[key] = None
        if made[key] is None:
            raise CutError
        return made[key]

    monkeypatch.setattr(Association, "fitted", fitted_once)
    monkeypatch.setattr(module, "_cut", cut_once)
    monkeypatch.setattr(waves, "_FEWEST", 2)
    monkeypatch.setattr(waves, "_FEWEST_PER_BUCKET", 1)
    monkeypatch.setattr(tree, "_SMALLEST_BUCKET", 1)
    monkeypatch.setattr(tree, "_FEWEST_PSEUDO", 1)
    monkeypatch.setattr(margins, "_FEWEST", 1)
    # A wave of two people says too little to be believed; it is all the same, so that it matters.
    monkeypatch.setattr(WaveEvidence, "certainty", 1.0)

    def allow(share: float, risk: float) -> None:
        monkeypatch.setattr(waves, "_SMALLEST_SHARE", share)
        monkeypatch.setattr(waves, "_LARGEST_SHARE", share)
        monkeypatch.setattr(tree, "RISK", risk)
        monkeypatch.setattr(tree, "_SPENDING", 0.25)

    return allow
