"""Generalization hierarchies: the tree, its file formats, its validation, and how to build one."""

from mottle.hierarchy.builders import (
    from_cooccurrence,
    from_dates,
    from_frequency,
    from_intervals,
    from_mapping,
    from_prefixes,
    from_quantiles,
    from_standard,
)

__all__ = [
    "from_cooccurrence",
    "from_dates",
    "from_frequency",
    "from_intervals",
    "from_mapping",
    "from_prefixes",
    "from_quantiles",
    "from_standard",
]
