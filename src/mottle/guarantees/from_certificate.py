"""Reads the guarantee that a certificate states back as an object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mottle.errors import DataError
from mottle.guarantees.base import Guarantee, combined, described_as


def parts_of(described: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the descriptions of the single guarantees that a guarantee consists of."""
    parts: Sequence[Mapping[str, Any]] = described.get("parts", [described])
    return parts


def guarantee_on(certificate: Mapping[str, Any]) -> tuple[Guarantee | None, tuple[str, ...]]:
    """Read the guarantee on a certificate.

    Parameters
    ----------
    certificate : mapping of str to object
        The certificate of a release.

    Returns
    -------
    guarantee : Guarantee or None
        None when the certificate states none that can be read back.
    notes : tuple of str
        What cannot be read back from the certificate.

    Raises
    ------
    DataError
        The description of the guarantee is damaged.

    Examples
    --------
    >>> from mottle.guarantees.k_anonymity import KAnonymity
    >>> guarantee_on({"guarantee": KAnonymity(3).describe()})
    (KAnonymity(k=3), ())
    """
    described = certificate.get("guarantee")
    if not described:
        return None, ()
    try:
        parts = [_part(each) for each in parts_of(described)]
    except (AttributeError, KeyError, TypeError):
        raise DataError("The certificate does not name a guarantee that mottle knows.") from None
    notes = tuple(dict.fromkeys(part for part in parts if isinstance(part, str)))
    return combined(part for part in parts if isinstance(part, Guarantee)), notes


def _part(described: Mapping[str, Any]) -> Guarantee | str:
    """Read one part, or return a note that says why it cannot be checked."""
    known = described_as(described["name"])
    if known is None:
        return f"The certificate promises {described['name']}, which this audit does not know."
    return known.from_description(described)
