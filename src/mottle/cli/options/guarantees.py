"""Options for what a release promises; made from the registered guarantees."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import typer

from mottle.cli._option_groups import GUARANTEE, OptionGroup, as_option, parameter
from mottle.errors import UsageError
from mottle.guarantees.base import Guarantee, combined, registered
from mottle.guarantees.k_anonymity import KAnonymity


@dataclass(frozen=True, kw_only=True)
class GuaranteeOptions(OptionGroup):
    """What the release has to guarantee: the options that the guarantees declare."""

    panel: ClassVar[str] = GUARANTEE
    required: ClassVar[bool] = True

    values: Mapping[str, Any] = field(default_factory=dict)  # by the name of the option

    @classmethod
    def parameters(cls) -> Iterator[inspect.Parameter]:
        """Yield the options of all guarantees."""
        for kind in registered():
            for option in kind.options:
                flags = [option.flag, *([option.short] if option.short else [])]
                info = as_option(option.type, *flags, text=option.help, panel=cls.panel)
                info.metavar = option.metavar or info.metavar
                is_flag = option.type is bool
                typed = bool if is_flag else option.type | None
                yield parameter(option.name, typed, info, False if is_flag else None)

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Keep the values of the guarantees' options."""
        names = [option.name for kind in registered() for option in kind.options]
        return cls(values={name: values[name] for name in names})

    @cached_property
    def guarantee(self) -> Guarantee | None:
        """All requested guarantees, combined; None when there are none."""
        made = [kind.from_options(self.values) for kind in registered()]
        return combined(each for each in made if each is not None)

    @property
    def needed(self) -> Guarantee:
        """The guarantee of a command that needs one."""
        if self.guarantee is None:
            raise UsageError(
                "No guarantee is given.",
                "Write for instance --k 10, --l 3 or --beta 2; they can be combined.",
            )
        return self.guarantee

    def check(self) -> None:
        """Raise `UsageError` if the guarantee is wrong or missing; say which k a risk gives."""
        _ = self.needed if self.required else self.guarantee
        risk = self.values.get("max_risk")
        if risk is not None:
            typer.echo(KAnonymity.of_risk(risk).of_risk_in_words(risk), err=True)


@dataclass(frozen=True, kw_only=True)
class BudgetedGuaranteeOptions(GuaranteeOptions):
    """What the release has to guarantee, or how much it may lose: then k is chosen."""

    max_loss: float | None = None

    @classmethod
    def parameters(cls) -> Iterator[inspect.Parameter]:
        """Yield the options of all guarantees, and the loss budget."""
        yield from super().parameters()
        text = "Instead of k: the highest loss, such as 0.05; k is the strongest within it."
        info = as_option(float, "--max-loss", text=text, panel=cls.panel)
        yield parameter("max_loss", float | None, info, None)

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Keep the values of the guarantees' options, and the loss budget."""
        made = super().from_values(values)
        return replace(made, max_loss=values["max_loss"])

    def check(self) -> None:
        """Raise `UsageError` if the guarantee is wrong or missing, or not k with a budget."""
        if self.max_loss is None:
            super().check()
            return
        if not 0 < self.max_loss < 1:
            raise UsageError(
                "--max-loss must be a share above 0 and below 1.", "For instance 0.05: 5 %."
            )
        if isinstance(self.guarantee, KAnonymity):
            raise UsageError(
                "--max-loss chooses k, so that k cannot be given as well.", "Give one of them."
            )
        if self.guarantee is not None:
            raise UsageError(
                "--max-loss chooses k only. What a guarantee on sensitive values loses depends on"
                " quasi-identifiers and sensitive values together, so that a strength chosen by it"
                " would say something about both.",
                "Run 'mottle suggest' for advice, decide, and give the guarantee itself.",
            )


@dataclass(frozen=True, kw_only=True)
class OptionalGuaranteeOptions(GuaranteeOptions):
    """The guarantee to check instead of the one that the certificate states."""

    required: ClassVar[bool] = False


@dataclass(frozen=True, kw_only=True)
class GuaranteeSeriesOptions(OptionGroup):
    """Guarantees of several strengths: a list of values for the parameter of each."""

    panel: ClassVar[str] = GUARANTEE

    values: Mapping[str, str] = field(default_factory=dict)  # by the name of the option

    @classmethod
    def parameters(cls) -> Iterator[inspect.Parameter]:
        """Yield the options of the guarantees that have one parameter."""
        for kind in registered():
            if kind.symbol:
                option = kind.options[0]
                flags = [option.flag, *([option.short] if option.short else [])]
                example = "5,10,20" if option.type is int else "1,2,4"
                text = f"Values of {option.name}, each a guarantee of its own: {example}."
                info = as_option(str, *flags, text=text, panel=cls.panel)
                info.metavar = "NUMBERS"
                yield parameter(option.name, str, info, "")

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Keep the lists of values."""
        names = [kind.options[0].name for kind in registered() if kind.symbol]
        return cls(values={name: values[name] for name in names})

    @cached_property
    def guarantees(self) -> list[Guarantee]:
        """A guarantee for every value of a parameter."""
        found: list[Guarantee] = []
        for kind in registered():
            if kind.symbol:
                option = kind.options[0]
                others = {other.name: None for other in kind.options}
                for value in _numbers(option.flag, self.values[option.name], option.type):
                    made = kind.from_options({**others, option.name: value})
                    found += [] if made is None else [made]
        if not found:
            raise UsageError(
                "No guarantee is given under which methods are compared.",
                "Write for instance --k 5,10,20, or --beta 1,2,4.",
            )
        return found

    def check(self) -> None:
        """Raise `UsageError` if the guarantees are wrong or missing."""
        _ = self.guarantees


def words_of(text: str) -> list[str]:
    """Split a comma-separated list into its words, each once."""
    return list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def _numbers(option: str, text: str, kind: type[int] | type[float]) -> Iterator[float]:
    for word in words_of(text):
        try:
            yield kind(word)
        except ValueError:
            numbers = "whole numbers" if kind is int else "numbers"
            raise UsageError(
                f"The value '{text}' of {option} is not valid.",
                f"Write {numbers} separated by commas.",
            ) from None
