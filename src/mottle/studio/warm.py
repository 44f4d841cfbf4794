"""What a waiting process runs: a small release, which loads the kernels that a run needs."""

from __future__ import annotations

from mottle.datasets import population
from mottle.guarantees.k_anonymity import KAnonymity
from mottle.pipeline.anonymize import anonymize
from mottle.schema.model import Schema

_ROWS = 200


def warm_up() -> None:
    """Make a release of generated people, in memory."""
    people = population(_ROWS, seed=1).select(["age", "sex", "diagnosis"])
    schema = Schema.of(quasi_identifying=["age", "sex"], sensitive=["diagnosis"])
    anonymize(people, schema, KAnonymity(5))


if __name__ == "__main__":
    warm_up()
