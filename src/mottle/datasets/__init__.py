"""Generated data for the demo, the documentation, the benchmarks and the tests."""

from mottle.datasets._population_tables import EDUCATION
from mottle.datasets.baskets import baskets
from mottle.datasets.diagnoses import with_diagnoses
from mottle.datasets.population import origin_hierarchy, population
from mottle.datasets.sensitive_values import with_sensitive_values
from mottle.datasets.visits import visits

__all__ = [
    "EDUCATION",
    "baskets",
    "origin_hierarchy",
    "population",
    "visits",
    "with_diagnoses",
    "with_sensitive_values",
]
