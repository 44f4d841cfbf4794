"""Queries on a release: estimates with bounds, SQL, and samples of possible worlds."""

from mottle.queries.conditions import Condition, Where
from mottle.queries.engine import Queries
from mottle.queries.estimate import Estimate, Estimates
from mottle.queries.sampling import Pooled, combine

__all__ = [
    "Condition",
    "Estimate",
    "Estimates",
    "Pooled",
    "Queries",
    "Where",
    "combine",
]
