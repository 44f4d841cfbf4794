"""What a guarantee requires of a method, and what a method offers."""

from __future__ import annotations

from enum import Flag, auto


class Capability(Flag):
    """A kind of condition that a method can keep; flags are combined with ``|``.

    Guarantees state what they require and methods what they offer, so that neither names the
    other: every method that offers what a new guarantee requires can give it without a change.

    >>> Capability.EQUAL_CAPS in Capability.CAPS
    True
    >>> Capability.K_ANONYMITY in Capability.CAPS
    False
    """

    # Every individual has at least k matches.
    K_ANONYMITY = auto()
    # One cap for all sensitive values: what ℓ-diversity requires.
    EQUAL_CAPS = auto()
    # Caps that grow with the share of the value in the table: what β-likeness requires.
    SHARE_CAPS = auto()
    # Any cap for any value: what `Caps` requires.
    OWN_CAPS = auto()
    # Caps for groups of similar values, in addition to those of values: what `GroupCaps` requires.
    GROUP_CAPS = auto()
    # A bound on how many others one known record gives away.
    KNOWN_RECORDS = auto()
    # A predicate on the sensitive values of an individual's matches, such as t-closeness. No
    # method offers it.
    BLOCK_CONDITION = auto()
    # At most a k-th part of every record's preimages is one person's, of people with several rows.
    PEOPLE = auto()
    # The default for a guarantee that does not state what it requires; no method offers it.
    UNDECLARED = auto()

    # Any caps on sensitive values.
    CAPS = EQUAL_CAPS | SHARE_CAPS | OWN_CAPS
