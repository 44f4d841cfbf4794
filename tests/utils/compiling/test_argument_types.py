"""Types of arguments survive being written as JSON."""

from __future__ import annotations

import json
from typing import Any

import numba
import numpy as np
import pytest

from mottle.graph.model import Graph
from mottle.utils.compiling.argument_types import described, type_of

types: Any = numba.types
GRAPH = Graph.rings(np.arange(3), np.array([0, 3]), np.array([2]))
FROZEN = np.zeros((2, 2), np.bool_).T
FROZEN.flags.writeable = False


@pytest.mark.parametrize(
    "kind",
    [
        *(numba.typeof(value) for value in (1, 2.5, True, None, np.uint8(3), (1, 2), (1, 2.5))),
        *(numba.typeof(value) for value in (GRAPH, FROZEN, np.zeros(4)[::2], ((1, 2), None))),
        *(types.literal(4), types.Omitted(None), types.Omitted(2)),
    ],
    ids=str,
)
def test_the_type_that_is_made_again_is_the_same(kind: Any) -> None:
    assert type_of(json.loads(json.dumps(described(kind)))) == kind


def test_a_type_that_has_no_description_is_refused() -> None:
    with pytest.raises(TypeError, match="UnicodeType"):
        described(types.unicode_type)
