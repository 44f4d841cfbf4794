"""One-dimensional orders of coded records."""

from mottle.orders.lexicographic import by_cardinality, lexicographic

__all__ = ["by_cardinality", "lexicographic"]
