"""Guarantees require capabilities and describe themselves; no method names a guarantee."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest

from mottle import (
    BetaLikeness,
    Caps,
    EntropyLDiversity,
    GroupCaps,
    Guarantee,
    KAnonymity,
    KnownRecords,
    LDiversity,
    MaxDrop,
    RecursiveDiversity,
    Schema,
    UsageError,
    anonymize,
    methods,
)
from mottle.encoding.sensitive import encode_sensitive
from mottle.guarantees.base import described_as, registered
from mottle.guarantees.capability import Capability
from mottle.guarantees.from_certificate import guarantee_on
from mottle.methods.sets import registered as set_methods

EVERY = [
    KAnonymity(3),
    LDiversity(2),
    BetaLikeness(2.0),
    BetaLikeness(1.5, enhanced=True),
    GroupCaps({"illness": 0.5, "illness:2": 0.7}),
    EntropyLDiversity(3),
    RecursiveDiversity(1.5, 3),
]


@dataclass(frozen=True)
class HalfAgain(Guarantee):
    """A cap per value that no method has heard of: half as much again as the value's share."""

    name: ClassVar[str] = "half again"
    requires: ClassVar[Capability] = Capability.OWN_CAPS

    def caps(self, values):
        return np.minimum(1.5 * values.counts / values.rows, 1.0)

    def describe(self):
        return {"name": self.name, "short": "1.5", "statement": ""}


def test_the_package_registers_its_guarantees_from_weak_to_strong_requirements() -> None:
    assert registered() == (
        KAnonymity,
        EntropyLDiversity,
        LDiversity,
        BetaLikeness,
        Caps,
        RecursiveDiversity,
        MaxDrop,
        GroupCaps,
        KnownRecords,
    )


def test_a_new_guarantee_is_given_by_every_method_that_keeps_caps() -> None:
    able = [name for name, method in methods.registered().items() if method.gives(HalfAgain())]
    assert able == [n for n, method in methods.registered().items() if Caps in method.guarantees]
    assert {"auto", "buckets", "mondrian", "burel"} <= set(able)
    assert "nh" not in able


def test_a_new_guarantee_is_kept_without_a_change_to_any_method() -> None:
    words = ["a", "b", "c", "d"] * 6
    table = pa.table({"age": list(range(24)), "illness": words})
    schema = Schema.of(quasi_identifying=["age"], sensitive=["illness"])
    release = anonymize(table, schema, HalfAgain(), method="buckets", seed=1)
    (check,) = [each for each in release.certificate.checks if each.name == "within caps"]
    assert check.passed
    assert check.measured.capped_values == 4


@pytest.mark.parametrize("requires", [Capability.BLOCK_CONDITION, Capability.UNDECLARED])
def test_no_method_offers_what_none_can_keep(requires: Capability) -> None:
    for method in [*methods.registered().values(), *set_methods().values()]:
        assert not method.offers & requires


@dataclass(frozen=True)
class Different(Guarantee):
    """A condition that is no cap per value: two different values among everybody's matches."""

    name: ClassVar[str] = "different"
    requires: ClassVar[Capability] = Capability.BLOCK_CONDITION

    def condition(self, sensitive):
        return _are_different

    def describe(self):
        return {"name": self.name, "short": "2", "statement": ""}


def _are_different(counts) -> bool:
    return int((counts > 0).sum()) >= 2


def test_a_condition_reaches_the_demand_alone_and_combined() -> None:
    table = pa.table({"illness": ["a", "b", "a", "b"]})
    values = encode_sensitive(table, Schema.of(quasi_identifying=[], sensitive=["illness"]))
    assert LDiversity(2).demand(4, values).condition is None
    assert Different().demand(4, values).condition is _are_different
    both = (Different() & LDiversity(2)).demand(4, values)
    assert both.condition is not None
    assert both.condition(np.array([1, 1]))
    assert not both.condition(np.array([2, 0]))
    assert not Different().met_by(Capability.K_ANONYMITY | Capability.CAPS)


def test_keeping_caps_includes_the_least_degree_unless_records_are_exact() -> None:
    both = KAnonymity(5) & LDiversity(3)
    assert both.met_by(Capability.EQUAL_CAPS)
    assert not both.met_by(Capability.EQUAL_CAPS, exact=True)
    assert not both.met_by(Capability.K_ANONYMITY)
    assert not KAnonymity(5).met_by(Capability.EQUAL_CAPS)


@pytest.mark.parametrize("guarantee", [*EVERY, KAnonymity(2) & LDiversity(3)])
def test_a_guarantee_is_read_back_from_its_description(guarantee: Guarantee) -> None:
    assert guarantee_on({"guarantee": guarantee.describe()}) == (guarantee, ())


@pytest.mark.parametrize(
    ("guarantee", "option"), [(Caps({"HIV": 0.1}), "--cap"), (MaxDrop({"HIV": 0.1}), "--max-drop")]
)
def test_values_are_not_on_a_certificate_and_the_note_says_so(guarantee, option) -> None:
    described = guarantee.describe()
    assert "HIV" not in str(described)
    found, (note,) = guarantee_on({"guarantee": described})
    assert found is None
    assert option in note


@pytest.mark.parametrize(
    ("guarantee", "words"),
    [
        (KAnonymity(3), ["--k", "3"]),
        (LDiversity(2), ["--l", "2"]),
        (EntropyLDiversity(4), ["--entropy-l", "4"]),
        (RecursiveDiversity(0.5, 2), ["--recursive", "0.5,2"]),
        (BetaLikeness(1.5), ["--beta", "1.5"]),
        (BetaLikeness(2, enhanced=True), ["--beta", "2", "--enhanced"]),
        (Caps({"HIV": 0.1}, 0.5), ["--cap", "VALUE=SHARE", "--cap-rest", "0.5"]),
        (Caps({}, 0.5), ["--cap-rest", "0.5"]),
        (MaxDrop({"HIV": 0.5}), ["--max-drop", "VALUE=PART"]),
        (
            GroupCaps({"a": 0.5, "b:2": 0.25}),
            ["--group-cap", "a=0.5", "--group-cap", "b:2=0.25"],
        ),
    ],
)
def test_a_description_is_written_as_a_command(guarantee: Guarantee, words: list[str]) -> None:
    described = guarantee.describe()
    kind = described_as(described["name"])
    assert kind is type(guarantee)
    assert kind.command(described) == words
    assert kind.plain_text(described, "everything")


def test_every_option_belongs_to_one_guarantee() -> None:
    flags = [option.flag for kind in registered() for option in kind.options]
    by_value = ["--entropy-l", "--l", "--beta", "--enhanced", "--cap", "--cap-rest", "--recursive"]
    assert flags == ["--k", "--max-risk", *by_value, "--max-drop", "--group-cap", "--known-records"]


def test_options_that_ask_for_nothing_make_no_guarantee() -> None:
    nothing = {option.name: None for kind in registered() for option in kind.options}
    assert [kind.from_options(nothing) for kind in registered()] == [None] * 9
    with pytest.raises(UsageError, match="--enhanced belongs to --beta"):
        BetaLikeness.from_options({"beta": None, "enhanced": True})
    caps = Caps.from_options({"cap": ["HIV=0.1"], "cap_rest": None})
    assert caps == Caps({"HIV": 0.1})
