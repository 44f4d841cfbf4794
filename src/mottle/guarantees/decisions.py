"""What data the decisions of a method depend on, and what a guarantee is worth therefore."""

from __future__ import annotations

from enum import StrEnum

from mottle.guarantees.capability import Capability


class DecidesBy(StrEnum):
    """The data that a method's decisions depend on when sensitive values are capped.

    The proofs of docs/guarantees.md bound beliefs for the first two. For the last, only shares
    among a person's matches are bounded: whoever knows the algorithm can ask in which worlds it
    would have decided in the same way (the minimality attack).
    """

    QUASI_IDENTIFIERS = "quasi-identifiers alone"
    SEPARATELY = "quasi-identifiers or sensitive values, never both"
    BOTH = "quasi-identifiers and sensitive values together"


# Against whom bounds on sensitive values are proved (docs/guarantees.md), as the subject of a
# sentence; and for readers who have not read the proof, after what is known about a person.
ADVERSARY = (
    "anyone who knows the quasi-identifiers of everyone in the table, how often each sensitive"
    " value occurs in it, and the algorithm, and to whom all ways of giving these values to people"
    " are equally likely beforehand,"
)
NO_TENDENCY = "but not which values such people tend to have"

REPLAYED = (
    "The method decided by quasi-identifiers and sensitive values together, so this does not bound"
    " what somebody infers who knows the algorithm and replays its decisions (minimality attack)."
)

_VALUES = Capability.CAPS | Capability.GROUP_CAPS | Capability.BLOCK_CONDITION


def check_declared(
    name: str, offers: Capability, decides_by: DecidesBy, mixed_decision: str
) -> None:
    """Raise `ValueError` unless the declaration of a method is complete and possible.

    Parameters
    ----------
    name : str
        The name of the method.
    offers : Capability
        What it offers to guarantees.
    decides_by : DecidesBy
        What its decisions depend on.
    mixed_decision : str
        The decision that depends on both; empty if there is none.
    """
    if (decides_by is DecidesBy.BOTH) != bool(mixed_decision):
        raise ValueError(f"Method '{name}' must name its mixed decision exactly if it has one.")
    if bool(offers & _VALUES) == (decides_by is DecidesBy.QUASI_IDENTIFIERS):
        raise ValueError(f"Method '{name}' must declare by what it keeps caps, if it keeps any.")


def in_words(decides_by: DecidesBy, mixed_decision: str | None = None) -> str:
    """Say for readers of a certificate what the decisions of a method depended on.

    Parameters
    ----------
    decides_by : DecidesBy
        What they depended on.
    mixed_decision : str, optional
        The decision that depended on both, if one did.

    Returns
    -------
    str
        One or two sentences.

    Examples
    --------
    >>> in_words(DecidesBy.QUASI_IDENTIFIERS)[:54]
    'Which originals a record may stand for was decided by '
    """
    what = "Which originals a record may stand for was decided by"
    match decides_by:
        case DecidesBy.QUASI_IDENTIFIERS:
            how = "quasi-identifiers alone; sensitive values took no part in it."
        case DecidesBy.SEPARATELY:
            how = (
                "steps of which each looked at quasi-identifiers or at sensitive values, and none"
                " at both of the records it decided about."
            )
        case DecidesBy.BOTH:
            how = (
                f"quasi-identifiers and sensitive values together: {mixed_decision}. Whoever knows"
                " the algorithm and replays its decisions may infer more than the shares stated."
            )
    return f"{what} {how} Which of them is the true one was drawn at random."
