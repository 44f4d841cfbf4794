"""Methods are found by name, say what they give, and cannot take each other's name."""

from __future__ import annotations

import pytest

from mottle import BetaLikeness, Guarantee, KAnonymity, LDiversity, UsageError, methods
from mottle.guarantees.capability import Capability
from mottle.methods.base import register


class Unheard(Guarantee):
    """A guarantee that no method gives."""

    def describe(self):
        return {"name": "unheard"}


@pytest.mark.parametrize("name", ["nh", "hp"])
def test_published_methods_are_registered(name: str):
    method = methods.get(name)
    assert method.name == name
    assert method.paper == "NH10"
    assert KAnonymity in method.guarantees


def test_every_method_describes_itself():
    for name, method in methods.registered().items():
        assert name == method.name
        assert method.title.strip()
        assert method.paper.strip()
        assert method.cost.strip()
        assert method.guarantees


def test_misspelt_method_is_suggested():
    with pytest.raises(UsageError, match=r"no method 'nhh'\. Did you mean 'nh'"):
        methods.get("nhh")


def test_hopeless_method_lists_what_there_is():
    with pytest.raises(UsageError, match=r"Known: .*freeform"):
        methods.get("quantum")


def test_method_refuses_a_guarantee_it_does_not_give():
    with pytest.raises(UsageError, match=r"'nh' does not give unheard.*none yet"):
        methods.get("nh").check_gives(Unheard())
    methods.get("nh").check_gives(KAnonymity(2))


def test_name_cannot_be_registered_twice():
    add = register("nh", title="", paper="", offers=Capability.K_ANONYMITY, cost="")
    with pytest.raises(ValueError, match="registered twice"):
        add(lambda codes, guarantee, effort: None)  # type: ignore[arg-type, return-value]
    assert methods.get("nh").paper == "NH10"


def test_registry_cannot_be_changed_through_its_listing():
    methods.registered().clear()
    assert "nh" in methods.registered()


@pytest.mark.parametrize(
    ("guarantee", "able"),
    [
        (KAnonymity(2), {"nh", "freeform"}),
        (LDiversity(2), {"buckets"}),  # nh gives it in memory only
        (BetaLikeness(1), {"buckets"}),
        (KAnonymity(2) & LDiversity(2), {"buckets"}),
    ],
)
def test_methods_that_work_in_chunks_say_for_which_guarantees(guarantee: Guarantee, able: set[str]):
    found = {name for name, each in methods.registered().items() if each.gives_in_chunks(guarantee)}
    assert found == able
    assert all(methods.get(name).gives(guarantee) for name in found)


def test_nothing_in_chunks_that_a_method_does_not_give_in_memory():
    for method in methods.registered().values():
        if method.chunking is not None:
            assert method.chunking.bytes_per_edge > 0
            assert method.chunking.offers in method.offers
