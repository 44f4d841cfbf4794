"""Orders of bands and scales."""

from __future__ import annotations

import random

import pytest

from mottle.inspection.orders import band_order, scale_order


@pytest.mark.parametrize(
    "ordered",
    [
        ("[0-10)", "[10-20)", "[20-30)", "[90-100)"),
        ("<18", "18-24", "25 - 64", "65+"),
        ("under 5", "5 to 9", "10 to 14", "15 and over"),
        ("unter 18", "18–29", "30–59", "60 und älter"),
        ("moins de 25", "25-49", "50 et plus"),
        ("[0-25)", "[75-100)", "[100-125)", ">200"),
        ("0", "1-4", "5-9", "10+"),
        ("< 20k", "20k-50k", "50k-100k", "100k+"),
        ("<1,000", "1,000-9,999", "10,000-99,999"),
    ],
)
def test_bands_are_ordered_by_what_they_say(ordered: tuple[str, ...]) -> None:
    shuffled = list(ordered)
    random.Random(1).shuffle(shuffled)
    assert band_order(shuffled) == tuple(ordered)


@pytest.mark.parametrize(
    "values",
    [
        ["a", "b", "c"],
        ["1", "2", "3", "4"],
        ["2020-01", "2020-02", "2021-03"],
        ["18-24", "25-34", "other"],
        ["<=50K", ">50K"],
        ["12 Main Street", "14 Main Street", "9 High Street"],
    ],
)
def test_other_values_are_no_bands(values: list[str]) -> None:
    assert band_order(values) is None


@pytest.mark.parametrize(
    "ordered",
    [
        ("strongly disagree", "Disagree", "neutral", "Agree", "Strongly agree"),
        ("Never", "Sometimes", "Always"),
        ("nie", "selten", "oft", "immer"),
        ("jamais", "parfois", "toujours"),
        ("muy malo", "malo", "bueno"),
        ("XS", "S", "M", "L"),
        ("Jan", "Feb", "Dec"),
    ],
)
def test_words_of_scales_are_ordered(ordered: tuple[str, ...]) -> None:
    assert scale_order(sorted(ordered)) == ordered


@pytest.mark.parametrize("values", [["m", "f"], ["low", "high"], ["none", "flu", "asthma"], []])
def test_other_words_are_no_scale(values: list[str]) -> None:
    assert scale_order(values) is None
