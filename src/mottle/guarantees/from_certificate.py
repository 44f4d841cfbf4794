"""The guarantee a certificate speaks of, as an object again."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import and_
from typing import Any

from mottle.errors import DataError
from mottle.guarantees.base import Guarantee
from mottle.guarantees.beta_likeness import BetaLikeness
from mottle.guarantees.k_anonymity import KAnonymity
from mottle.guarantees.l_diversity import LDiversity

_CAPS = (
    "The certificate does not say which sensitive values have caps of their own: give them again"
    " (--cap, --cap-rest) to have them judged."
)


def guarantee_on(certificate: Mapping[str, Any]) -> tuple[Guarantee | None, tuple[str, ...]]:
    """The guarantee on a certificate, None when there is none, and what cannot be read off it.

    >>> guarantee_on({"guarantee": KAnonymity(3).describe()})
    (KAnonymity(k=3), ())
    """
    described = certificate.get("guarantee")
    if not described:
        return None, ()
    try:
        parts = [_part(each) for each in described.get("parts", [described])]
    except (AttributeError, KeyError, TypeError):
        raise DataError("The certificate does not name a guarantee that mottle knows.") from None
    known = [part for part in parts if isinstance(part, Guarantee)]
    notes = tuple(dict.fromkeys(part for part in parts if isinstance(part, str)))
    return (reduce(and_, known) if known else None), notes


def _part(described: Mapping[str, Any]) -> Guarantee | str:
    """One part, or a note on why it cannot be judged."""
    match described["name"]:
        case "k-anonymity":
            return KAnonymity(described["k"])
        case "ℓ-diversity":
            return LDiversity(described["l"])
        case "β-likeness" | "enhanced β-likeness":
            return BetaLikeness(described["beta"], described["enhanced"])
        case "caps":
            return _CAPS
        case other:
            return f"The certificate promises {other}, which this audit does not know."
