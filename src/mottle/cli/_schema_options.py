"""Column options of the command line: lists of names and COLUMN=VALUE pairs, as a schema."""

from __future__ import annotations

from functools import reduce
from operator import and_
from pathlib import Path

from mottle.errors import UsageError
from mottle.guarantees.base import Guarantee
from mottle.guarantees.beta_likeness import BetaLikeness
from mottle.guarantees.caps import Caps
from mottle.guarantees.k_anonymity import KAnonymity
from mottle.guarantees.l_diversity import LDiversity
from mottle.schema.model import Schema


def schema_from_options(
    file: Path | None, options: dict[str, list[str] | None], rest: str | None
) -> Schema:
    """The schema from a file, or from lists of columns and COLUMN=VALUE options."""
    given = [name for name, values in options.items() if values]
    if file is not None:
        if given:
            raise UsageError(
                f"{given[0]} and --schema cannot be combined.", f"Put the column into {file}."
            )
        schema = Schema.read(file)
        return schema if rest is None else schema.with_rest(rest)
    if not options["--qi"]:
        raise UsageError(
            "Which columns may an adversary know?",
            "Name them with --qi a,b,c, or give --schema FILE ('mottle inspect DATA' writes one).",
        )
    return Schema.of(
        quasi_identifying=_names(options["--qi"]),
        sensitive=_names(options["--sensitive"]),
        identifying=_names(options["--id"]),
        insensitive=_names(options["--insensitive"]),
        rest=rest,
        kinds=_pairs("--kind", options["--kind"]),
        weights={
            name: _number("--weight", name, value)
            for name, value in _pairs("--weight", options["--weight"]).items()
        },
        orders={
            name: value.split(",") for name, value in _pairs("--order", options["--order"]).items()
        },
        hierarchies={**_pairs("--hierarchy", options["--hierarchy"])},
        separators={
            name: "\t" if value == "\\t" else value
            for name, value in _pairs("--separator", options["--separator"]).items()
        },
        breaks={
            name: [_number("--breaks", name, part) for part in value.split(",")]
            for name, value in _pairs("--breaks", options["--breaks"]).items()
        },
        bins={
            name: _whole("--bins", name, value)
            for name, value in _pairs("--bins", options["--bins"]).items()
        },
    )


def guarantee_from_options(
    k: int | None,
    l: int | None,  # noqa: E741 - the papers' name
    beta: float | None,
    enhanced: bool,
    caps: list[str] | None,
    cap_rest: float | None,
) -> Guarantee:
    """All guarantees asked for, together."""
    asked: list[Guarantee] = []
    if k is not None:
        asked.append(KAnonymity(k))
    if l is not None:
        asked.append(LDiversity(l))
    if beta is not None:
        asked.append(BetaLikeness(beta, enhanced))
    elif enhanced:
        raise UsageError("--enhanced belongs to --beta.", "Say for instance --beta 2 --enhanced.")
    if caps or cap_rest is not None:
        shares = {
            value: _number("--cap", value, share)
            for value, share in _pairs("--cap", caps, "VALUE=SHARE").items()
        }
        asked.append(Caps(shares, default=1.0 if cap_rest is None else cap_rest))
    if not asked:
        raise UsageError(
            "What has the release to guarantee?",
            "Say for instance --k 10, --l 3 or --beta 2; they can be combined.",
        )
    return reduce(and_, asked)


def _names(values: list[str] | None) -> list[str]:
    """Column names from repeated, comma-separated options."""
    return [name.strip() for value in values or [] for name in value.split(",") if name.strip()]


def _pairs(option: str, values: list[str] | None, form: str = "COLUMN=VALUE") -> dict[str, str]:
    """COLUMN=VALUE options as a dictionary."""
    pairs = {}
    for value in values or []:
        name, equals, setting = value.partition("=")
        if not equals or not name or not setting:
            raise UsageError(f"{option} {value} cannot be read.", f"Write {option} {form}.")
        pairs[name.strip()] = setting
    return pairs


def _whole(option: str, name: str, value: str) -> int:
    if not value.isdecimal():
        raise UsageError(f"{option} {name}={value}: the value must be a whole number.")
    return int(value)


def _number(option: str, name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise UsageError(f"{option} {name}={value}: the value must be a number.") from None
