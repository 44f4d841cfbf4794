"""One-dimensional orders of coded records."""

from mottle.orders.lexicographic import Packing, by_cardinality, lexicographic

__all__ = ["Packing", "by_cardinality", "lexicographic"]
