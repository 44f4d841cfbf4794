"""Measures of a release's utility: query workloads, learning tasks, comparison of releases."""

from mottle.evaluation.measures import Evaluation, evaluate
from mottle.evaluation.release_order import Ordering, compare, tuple_is_better
from mottle.evaluation.workloads import (
    QueryError,
    cube_divergence,
    prefix_counts,
    query_error,
    random_counts,
)

__all__ = [
    "Evaluation",
    "Ordering",
    "QueryError",
    "compare",
    "cube_divergence",
    "evaluate",
    "prefix_counts",
    "query_error",
    "random_counts",
    "tuple_is_better",
]
