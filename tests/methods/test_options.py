"""Options of methods: declared, checked, honoured and stated on the certificate."""

from __future__ import annotations

import pytest

import mottle
from mottle.errors import UsageError
from mottle.methods import MethodContext, registered
from mottle.methods.base import Method
from mottle.methods.sets import SetMethod
from mottle.methods.sets import registered as set_methods
from mottle.report.reproduce import command_of

SCHEMA = mottle.Schema.of(quasi_identifying=["age", "sex"], sensitive=["diagnosis"])
WITH_OPTIONS = [
    method for method in (*registered().values(), *set_methods().values()) if method.options
]


@pytest.fixture(scope="module")
def people():
    return mottle.datasets.population(300, seed=3).select(["age", "sex", "diagnosis"])


@pytest.mark.parametrize("method", WITH_OPTIONS, ids=lambda method: f"{method.paper} {method.name}")
def test_defaults_are_allowed_and_what_is_out_of_range_is_refused(method: Method | SetMethod):
    for option in method.options:
        assert MethodContext().option(option) == option.default
        assert method.check_options({option.name: str(option.default)}) == {
            option.name: option.default
        }
        for wrong in ("", "many", True, float("nan"), option.most + 1, None):
            with pytest.raises(UsageError, match=option.name):
                method.check_options({option.name: wrong})
    with pytest.raises(UsageError, match=method.options[0].name):
        method.check_options({f"{method.options[0].name}x": 1})


def test_an_option_changes_the_run_and_stands_on_its_certificate(people):
    runs = [
        mottle.anonymize(
            people, SCHEMA, mottle.KAnonymity(5), method="hilbert", options=options, seed=1
        )
        for options in ({"bits": 1}, {})
    ]
    coarse, usual = runs
    assert coarse.certificate.parameters.options == {"bits": 1}
    assert "options" not in usual.certificate.parameters.to_dict()
    assert coarse.gcp > usual.gcp
    assert "--set bits=1" in command_of(coarse.certificate)


def test_partitions_of_het_have_the_size_that_is_asked_for(people):
    numbers = [
        mottle.anonymize(
            people,
            SCHEMA,
            mottle.LDiversity(2),
            method="het-greedy-partitioned",
            options={"partition": size},
            seed=1,
        ).certificate.method.facts["partitions"]
        for size in (60, 300)
    ]
    assert numbers[0] > numbers[1] == 1


def test_a_key_with_another_option_draws_anew(people):
    first, again, other = (
        mottle.anonymize(
            people,
            SCHEMA,
            mottle.KAnonymity(5),
            method="idistance",
            options=options,
            key=bytes(32),
        )
        for options in ({"centres": 4}, {"centres": "4"}, {"rounds": 10})
    )
    assert first.table.equals(again.table)
    assert not first.table.equals(other.table)


def test_segments_of_sets_are_cut_within_the_bounds_that_are_given():
    baskets = mottle.datasets.baskets(200, seed=1)
    with pytest.raises(UsageError, match="'shortest' must not exceed 'longest'"):
        mottle.anonymize_sets(
            baskets, mottle.KAnonymity(3), method="gray-tsp-ring", options={"shortest": 400}
        )
    short, whole = (
        mottle.anonymize_sets(
            baskets,
            mottle.KAnonymity(3),
            method="gray-tsp-ring",
            options={"shortest": size, "longest": size + 10},
            seed=1,
        )
        for size in (10, 200)
    )
    assert whole.error_rate < short.error_rate
    assert short.certificate.parameters.options == {"shortest": 10, "longest": 20}
