"""One-dimensional orders of coded records and of item sets."""

from mottle.orderings.lexicographic import Packing, by_cardinality, lexicographic

__all__ = ["Packing", "by_cardinality", "lexicographic"]
