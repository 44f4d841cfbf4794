"""FAST07: one-dimensional partitioning along Hilbert and iDistance orders."""
