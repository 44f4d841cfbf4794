"""Measures of a release's utility: query workloads, learning tasks, comparison of releases."""

from typing import TYPE_CHECKING

from mottle.evaluation.measures import Evaluation, evaluate
from mottle.evaluation.release_order import Ordering, compare, tuple_is_better
from mottle.evaluation.workloads import (
    QueryError,
    cube_divergence,
    prefix_counts,
    query_error,
    random_counts,
)
from mottle.utils.lazy import lazy_attributes

if TYPE_CHECKING:
    from mottle.evaluation.worlds_models import WorldsClassifier, WorldsRegressor
else:  # these need scikit-learn, which takes a second to import
    __getattr__, __dir__ = lazy_attributes(
        __name__,
        {
            name: f"mottle.evaluation.worlds_models:{name}"
            for name in ("WorldsClassifier", "WorldsRegressor")
        },
    )

__all__ = [
    "Evaluation",
    "Ordering",
    "QueryError",
    "WorldsClassifier",
    "WorldsRegressor",
    "compare",
    "cube_divergence",
    "evaluate",
    "prefix_counts",
    "query_error",
    "random_counts",
    "tuple_is_better",
]
