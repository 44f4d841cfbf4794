"""Orders for refinement where some columns hold sets: similar records lie together."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import mottle
from mottle.encoding.encode import encode
from mottle.graph.model import is_order
from mottle.kernels.scales import scales
from mottle.methods._refinement_orders import refinement_orders
from mottle.methods.refinement import mean_loss
from mottle.schema.model import Representation, Schema

PEOPLE = mottle.datasets.population(1200, seed=2).select(["age", "sex", "marital_status"])
PATIENTS = mottle.datasets.with_diagnoses(PEOPLE, seed=2)


def test_neighbours_lose_less_than_strangers_in_every_pass():
    names = PATIENTS.column_names
    codes = encode(PATIENTS, Schema.of(quasi_identifying=names), Representation.RANGE)
    orders = refinement_orders(codes, codes.matrix)
    random = np.random.default_rng(1)
    originals = random.permutation(1200).astype(np.int32)
    seen = []
    for number in range(4):
        order = orders(originals, number, random)
        assert is_order(order)
        seen.append(order.tolist())
        losses = []
        for rows in (originals[order], originals):
            boxes = rows.reshape(-1, 8).astype(np.int32)
            losses.append(mean_loss(scales(codes, 8), codes.matrix, boxes))
        assert losses[0] < 0.8 * losses[1]
    assert len({tuple(order) for order in seen}) == 4


def test_all_forms_and_missing_values_have_a_place():
    places = mottle.hierarchy.tree.Hierarchy.from_rows(
        [("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*")], name="place"
    )
    table = pa.table(
        {
            "number": [1.5, None, 2.5, 2.5] * 50,
            "place": ["a", "b", "c", "a"] * 50,
            "kind": ["k", "l", None, "k"] * 50,
            "items": [["p"], [], None, ["p", "q"]] * 50,
            "nothing": pa.array([None] * 200, pa.list_(pa.string())),
        }
    )
    schema = Schema.of(quasi_identifying=table.column_names, hierarchies={"place": places})
    codes = encode(table, schema, Representation.RANGE)
    orders = refinement_orders(codes, codes.matrix)
    order = orders(np.arange(200, dtype=np.int32), 0, np.random.default_rng(1))
    assert is_order(order)


def test_tables_without_sets_keep_their_orders():
    names = ["age", "sex"]
    codes = encode(PEOPLE.select(names), Schema.of(quasi_identifying=names), Representation.RANGE)
    orders = refinement_orders(codes, codes.matrix)
    first, again = (
        orders(np.arange(1200, dtype=np.int32), 0, np.random.default_rng(3)) for _ in range(2)
    )
    assert np.array_equal(first, again)
    assert is_order(first)
