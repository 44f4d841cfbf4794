"""ARX's privacy models, by the text that a project states them in, and what keeps them here.

A bound on shares, as ℓ-diversity here is, implies several of ARX's models; each line below says
which, and docs/coming-from.md why. What is only implied by a much stronger promise is named, and
left to the owner to ask for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from mottle.io.projects.imported import Setting

__all__ = ["Criteria", "criteria_of"]

_NUMBER = r"([0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)"
_MOST = 1_000_000  # a larger k or ℓ is a mistake or an attack
_K = re.compile(rf"\(?{_NUMBER}\)?-anonymity")
_DISTINCT = re.compile(rf"distinct-{_NUMBER}-diversity.*")
_ENTROPY = re.compile(rf"(?:\w+-)?entropy-{_NUMBER}-diversity.*")
_RECURSIVE = re.compile(rf"recursive-\({_NUMBER},\s*{_NUMBER}\)-diversity.*")
_LIKENESS = re.compile(rf"(basic|enhanced)-{_NUMBER}-likeness.*")
_CLOSENESS = re.compile(rf"{_NUMBER}-closeness.*")
_DISCLOSURE = re.compile(rf"{_NUMBER}-disclosure.privacy.*")
_MAP = re.compile(rf"\(?{_NUMBER}\)?-map.*")
_RISK = re.compile(rf"\(?{_NUMBER}\)?-average-reidentification-risk.*")
_UNIQUE = re.compile(rf"\(?{_NUMBER}\)?-(sample|population)-uniqueness.*")
_OTHERS = {
    "presence": "what is promised does not depend on who else could be in the table",
    "differential": "for synthetic rows with differential privacy see 'mottle compare'",
    "profitability": "no adversary's costs and gains are assumed",
    "inclusion": "no research subset: give the rows that are to be released",
}


@dataclass
class Criteria:
    """What a project promises, and the options that promise as much."""

    k: int | None = None
    diversity: int | None = None
    beta: float | None = None
    enhanced: bool = False
    settings: list[Setting] = field(default_factory=list)

    @property
    def options(self) -> tuple[str, ...]:
        """The options of ``mottle anonymize``; empty if there are none."""
        words: list[str] = []
        if self.k is not None:
            words += ["--k", str(self.k)]
        if self.diversity is not None:
            words += ["--l", str(self.diversity)]
        elif self.beta is not None:
            words += ["--beta", f"{self.beta:g}", *(["--enhanced"] if self.enhanced else [])]
        return tuple(words)

    def _ask_k(self, k: float) -> str:
        self.k = max(self.k or 2, _whole(k))
        return f"--k {_whole(k)}"

    def _ask_diversity(self, least: float) -> str:
        self.diversity = max(self.diversity or 2, _whole(least))
        return f"--l {_whole(least)}"

    def add(self, text: str) -> None:
        """Take over one privacy model.

        Parameters
        ----------
        text : str
            As ARX writes it, for instance ``5-anonymity``.
        """
        stated = text.strip()
        lowered = stated.lower()
        kept, becomes = True, ""
        try:
            if found := _K.fullmatch(lowered):
                becomes = self._ask_k(float(found[1]))
            elif found := _DISTINCT.fullmatch(lowered):
                becomes = f"{self._ask_diversity(float(found[1]))}, which promises more: no value"
                becomes += " is inferred with more than that share"
            elif found := _ENTROPY.fullmatch(lowered):
                becomes = f"{self._ask_diversity(float(found[1]))}, which implies it"
            elif found := _RECURSIVE.fullmatch(lowered):
                c, least = float(found[1]), float(found[2])
                # 1/L < c (1 - (l - 1)/L) if and only if L > l - 1 + 1/c
                becomes = f"{self._ask_diversity(math.floor(least - 1 + 1 / c) + 1)}, which"
                becomes += " implies it"
            elif found := _LIKENESS.fullmatch(lowered):
                beta = float(found[2])
                self.beta = min(beta, beta if self.beta is None else self.beta)
                self.enhanced = self.enhanced or found[1] == "enhanced"
                becomes = f"--beta {beta:g}" + (" --enhanced" if found[1] == "enhanced" else "")
            elif found := _RISK.fullmatch(lowered):
                becomes = f"{self._ask_k(math.ceil(1 / float(found[1])))}, which implies it"
            elif found := _MAP.fullmatch(lowered):
                becomes = f"{self._ask_k(float(found[1]))}, which implies it: the people of the"
                becomes += " table are people of the population"
            elif _UNIQUE.fullmatch(lowered):
                becomes = f"{self._ask_k(2)} or more, which implies it: nobody is unique"
            else:
                kept, becomes = False, _no_counterpart(lowered)
        except (ValueError, ZeroDivisionError, OverflowError):
            kept, becomes = False, "its number cannot be used"
        self.settings.append(Setting(stated[:200], becomes, kept))


def criteria_of(texts: Sequence[str]) -> Criteria:
    """Translate the privacy models of a project.

    Parameters
    ----------
    texts : sequence of str
        As ARX writes them.

    Returns
    -------
    Criteria
        The options that promise as much, and what has no counterpart.

    Examples
    --------
    >>> criteria_of(["5-anonymity", "recursive-(4.0,3)-diversity for attribute 'x'"]).options
    ('--k', '5', '--l', '3')
    """
    found = Criteria()
    for text in texts:
        found.add(text)
    if found.diversity is not None and found.beta is not None:
        found.settings.append(
            Setting(
                "diversity and likeness at once",
                f"--l {found.diversity} is asked for, --beta {found.beta:g} is not: one of them"
                " at a time",
                kept=False,
            )
        )
    return found


def _whole(number: float) -> int:
    if not 1 <= number <= _MOST:
        raise ValueError("out of range")
    return math.ceil(number)


def _no_counterpart(text: str) -> str:
    if found := _CLOSENESS.fullmatch(text):
        return (
            f"none; --beta {float(found[1]):g} implies it (a bound on every value's growth bounds"
            " the distance), but promises much more"
        )
    if found := _DISCLOSURE.fullmatch(text):
        beta = 2 ** float(found[1]) - 1
        return f"none; --beta {beta:g} bounds how much likelier a value becomes, not unlikelier"
    return next((f"none; {why}" for word, why in _OTHERS.items() if word in text), "none")
