"""Values of command-line options that are written NAME=VALUE."""

from __future__ import annotations

from collections.abc import Sequence

from mottle.errors import UsageError


def check_key(key: object, seed: object, seconds: float | None) -> None:
    """Raise `UsageError` for options that an owner's key cannot be combined with."""
    if key is None:
        return
    if seed is not None:
        raise UsageError(
            "--key and --seed exclude each other: a seed can be guessed, a key cannot.",
            "Leave --seed out, or --key for an experiment.",
        )
    if seconds:
        raise UsageError(
            "--seconds stops by the clock, so that a run with --key could not be repeated.",
            "Leave --seconds out (improvement then stops when a pass gains less than 0.1 %), or"
            " write --seconds 0 for none.",
        )


def as_names(values: Sequence[str] | None) -> list[str]:
    """Column names from repeated, comma-separated options.

    >>> as_names(["age, sex", "origin"])
    ['age', 'sex', 'origin']
    """
    return [name.strip() for value in values or [] for name in value.split(",") if name.strip()]


def as_pairs(
    option: str, values: Sequence[str] | None, form: str = "COLUMN=VALUE"
) -> dict[str, str]:
    """Options of the form NAME=VALUE as a dictionary.

    >>> as_pairs("--kind", ["age=number", "sex=category"])
    {'age': 'number', 'sex': 'category'}
    """
    pairs = {}
    for value in values or []:
        name, equals, setting = value.partition("=")
        if not equals or not name or not setting:
            raise UsageError(f"{option} {value} cannot be read.", f"Write {option} {form}.")
        pairs[name.strip()] = setting
    return pairs


def as_whole(option: str, name: str, value: str) -> int:
    """The whole number that ``name`` is set to."""
    if not value.isdecimal():
        raise UsageError(f"{option} {name}={value}: the value must be a whole number.")
    return int(value)


def as_number(option: str, name: str, value: str) -> float:
    """The number that ``name`` is set to."""
    try:
        return float(value)
    except ValueError:
        raise UsageError(f"{option} {name}={value}: the value must be a number.") from None
