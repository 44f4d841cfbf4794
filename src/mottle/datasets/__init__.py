"""Generated data for the demo, the documentation, the benchmarks and the tests."""

from mottle.datasets.people import EDUCATION
from mottle.datasets.population import origin_hierarchy, population

__all__ = ["EDUCATION", "origin_hierarchy", "population"]
