"""What is asked for beside the schema, as it stands in ``.studio/project.json``.

A folder may come from somebody else: an option that no screen sets, such as a seed or a key that
he knows, would change what the release is worth. Only what the screens write is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from mottle.errors import DataError
from mottle.guarantees.base import Guarantee, combined
from mottle.guarantees.beta_likeness import BetaLikeness
from mottle.guarantees.caps import Caps
from mottle.guarantees.k_anonymity import KAnonymity
from mottle.guarantees.known_records import KnownRecords
from mottle.guarantees.l_diversity import LDiversity
from mottle.studio.layout import KEY

SHARE = re.compile(r"0\.[0-9]{1,6}|1")  # a cap, as it is typed on the command line
OPTIONS = {  # that screens set, and what they write
    "k": re.compile(r"[0-9]{1,4300}"),
    "l": re.compile(r"[0-9]{1,4300}"),
    "beta": re.compile(r"[0-9]+(\.[0-9]+)?(e[+-]?[0-9]{1,3})?"),
    "known_records": re.compile(r"[0-9]{1,9}"),
    "cap_rest": SHARE,
    "seconds": re.compile(r"[0-9]{1,5}"),
    "key": re.compile(re.escape(KEY)),
}


@dataclass(frozen=True)
class Wishes:
    """What is asked for beside the schema: options of ``mottle anonymize``."""

    data: str | None = None  # path of the table
    address: str | None = None  # of the database that the table was read from
    table: str | None = None  # its name there
    options: Mapping[str, str | bool] = field(default_factory=dict)  # by name: "k": "10"
    caps: Mapping[str, str] = field(default_factory=dict)  # by sensitive value: "0.2"

    @classmethod
    def of(cls, content: object) -> Wishes:
        """Read them from JSON; entries that are not known or of another type are an error."""
        if isinstance(content, dict) and not set(content) - {each.name for each in fields(cls)}:
            made = cls(**content)
            if _is_sound(made):
                return made
        raise DataError("The project of the studio is damaged.", "Remove its folder .studio.")

    @property
    def guarantee(self) -> Guarantee | None:
        """What is promised; None if nothing is."""
        return guarantee_of(self.options, self.caps)


def _is_sound(wishes: Wishes) -> bool:
    """Whether wishes that were read from a file are such as the screens write."""
    options, caps = wishes.options, wishes.caps
    if not isinstance(options, dict) or not isinstance(caps, dict):
        return False
    texts = [*options.values(), *caps, *caps.values(), wishes.data or ""]
    texts += [wishes.address or "", wishes.table or ""]
    return (
        all(isinstance(text, str) for text in texts)
        and all(name in OPTIONS and OPTIONS[name].fullmatch(str(options[name])) for name in options)
        and all(can_be_capped(value) and SHARE.fullmatch(share) for value, share in caps.items())
    )


def can_be_capped(value: str) -> bool:
    """Whether a value can be named by ``--cap VALUE=SHARE``."""
    return bool(value) and value == value.strip() and "=" not in value and value.isprintable()


def guarantee_of(
    options: Mapping[str, str | bool], caps: Mapping[str, str] | None = None
) -> Guarantee | None:
    """The guarantee of some options and caps; None if they ask for none.

    Parameters
    ----------
    options : mapping of str to str
        Options of the command by name.
    caps : mapping of str to str, optional
        Caps of sensitive values.

    Returns
    -------
    Guarantee or None
        All that is asked for together.
    """
    made: list[Guarantee] = []
    if "k" in options:
        made.append(KAnonymity(int(options["k"])))
    if "l" in options:
        made.append(LDiversity(int(options["l"])))
    if "beta" in options:
        made.append(BetaLikeness(float(options["beta"])))
    if caps or "cap_rest" in options:
        shares = {value: float(share) for value, share in (caps or {}).items()}
        made.append(Caps(shares, default=float(options.get("cap_rest", 1))))
    if made and "known_records" in options:
        made.append(KnownRecords(int(options["known_records"])))
    return combined(made)
