"""What a release is good for: measures and tasks on what was published."""

from mottle.utility.ordering import Ordering, compare, tuple_is_better

__all__ = ["Ordering", "compare", "tuple_is_better"]
