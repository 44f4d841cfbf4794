"""Draws of Hypothesis that follow from the seed alone.

Hypothesis mixes constants of all modules that happen to be imported into what it draws, so that a
seed gives other cases in another process. With this backend it does not.
"""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, HypothesisProvider

BACKEND = "mottle-fixed"

# Hypothesis has no setting for this. Another version may not have the method that is replaced.
assert callable(HypothesisProvider._maybe_draw_constant)


class FixedProvider(HypothesisProvider):
    """Hypothesis' own provider without constants of imported modules."""

    def _maybe_draw_constant(self, *_: Any, **__: Any) -> None:
        return None


AVAILABLE_PROVIDERS[BACKEND] = f"{__name__}.{FixedProvider.__name__}"


def fixed(examples: int, *, shrink: bool = False) -> settings:
    """Settings under which the cases follow from the seed: the same on every machine."""
    return settings(
        max_examples=examples,
        database=None,
        deadline=None,
        backend=BACKEND,
        phases=[Phase.generate, Phase.shrink] if shrink else [Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
