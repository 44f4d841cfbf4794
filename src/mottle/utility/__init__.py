"""What a release is good for: questions, possible worlds, measures and tasks on it."""

from mottle.utility.condition import Condition, Where
from mottle.utility.estimate import Estimate, Estimates
from mottle.utility.ordering import Ordering, compare, tuple_is_better
from mottle.utility.query import Queries
from mottle.utility.workload import (
    QueryError,
    cube_divergence,
    prefix_counts,
    query_error,
    random_counts,
)
from mottle.utility.worlds import Pooled, combine

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
