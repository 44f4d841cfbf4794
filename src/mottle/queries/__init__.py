"""What a release is good for: questions, possible worlds, measures and tasks on it."""

from mottle.evaluation.release_order import Ordering, compare, tuple_is_better
from mottle.evaluation.workloads import (
    QueryError,
    cube_divergence,
    prefix_counts,
    query_error,
    random_counts,
)
from mottle.queries.conditions import Condition, Where
from mottle.queries.engine import Queries
from mottle.queries.estimate import Estimate, Estimates
from mottle.queries.sampling import Pooled, combine

__all__ = [
    "Condition",
    "Estimate",
    "Estimates",
    "Ordering",
    "Pooled",
    "Queries",
    "QueryError",
    "Where",
    "combine",
    "compare",
    "cube_divergence",
    "prefix_counts",
    "query_error",
    "random_counts",
    "tuple_is_better",
]
