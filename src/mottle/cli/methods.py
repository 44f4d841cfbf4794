"""The command ``mottle methods``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mottle import methods
from mottle.cli._console import print_json
from mottle.cli._terminal import out
from mottle.cli.commands import Methods
from mottle.methods import DecidesBy, Method
from mottle.methods.sets import SetMethod
from mottle.methods.sets.base import METHODS as SET_METHODS
from mottle.schema.model import Objective

_BY_BOTH = (
    "A method that decides by both together keeps shares of sensitive values among a person's"
    " matches within their bounds; whoever knows it and replays its decisions may infer more."
)


def run(command: Methods) -> None:
    """List the methods for tables or for sets, or show one of them."""
    known: Mapping[str, Method | SetMethod] = (
        dict(SET_METHODS) if command.sets else methods.registered()
    )
    if command.name is not None:
        method: Method | SetMethod = (
            SET_METHODS.get_named(command.name) if command.sets else methods.get(command.name)
        )
        if command.as_json:
            print_json(json.dumps(_described(method), indent=2, ensure_ascii=False))
        else:
            _show(method)
        return
    if command.as_json:
        print(
            json.dumps([_described(each) for each in known.values()], indent=2, ensure_ascii=False)
        )
        return
    for method in known.values():
        _list(method)
    out.print(_BY_BOTH, highlight=False)
    out.print("'mottle methods NAME' shows the options of a method.", highlight=False)


def _list(method: Method | SetMethod) -> None:
    """One method among others: what it does, and below it the rest, as wide as the terminal."""
    out.print(Text(method.name, style="bold"))
    facts = [
        f"Options: {', '.join(_flags(method))}" if method.guarantees else "No guarantee",
        f"decides by {_decides_by(method)}",
        f"paper: {method.paper}",
    ]
    for line in (f"{method.title}.", f"{'; '.join(facts)}.", f"Cost: {method.cost}."):
        out.print(Padding(Text(line[0].upper() + line[1:]), (0, 0, 0, 2)))
    out.print()


def _flags(method: Method | SetMethod) -> list[str]:
    """The options that ask for what the method gives."""
    return [option.flag for kind in method.guarantees for option in kind.options[:1]]


def _described(method: Method | SetMethod) -> dict[str, Any]:
    """A method as JSON."""
    return {
        "name": method.name,
        "title": method.title,
        "gives": _gives(method),
        "decides_by": str(method.decides_by),
        **({"mixed_decision": method.mixed_decision} if method.mixed_decision else {}),
        **({"unsafe": True} if method.unsafe else {}),
        "paper": method.paper,
        "cost": method.cost,
        **({"objectives": _objectives(method)} if _objectives(method) else {}),
        "options": [
            {
                "name": option.name,
                "default": option.default,
                "allowed": option.allowed,
                "help": option.help,
            }
            for option in method.options
        ],
    }


def _show(method: Method | SetMethod) -> None:
    """One method for people."""
    for line in (
        f"{method.name}: {method.title}",
        f"Gives: {', '.join(_gives(method)) or 'nothing'}. Paper: {method.paper}. {method.cost}.",
        f"Decides by {method.decides_by}"
        + (f": {method.mixed_decision}." if method.mixed_decision else "."),
    ):
        out.print(line, highlight=False)
    if method.unsafe:
        out.print(
            "Unsafe: it follows its paper and does not keep the guarantee; it runs only with"
            " --unsafe-paper-randomization.",
            highlight=False,
        )
    if _objectives(method):
        out.print(f"Keeps low what --objective names: {', '.join(_objectives(method))}.")
    if not method.options:
        out.print("It has no options.")
        return
    shown = Table("--set", "default", "allowed", "what it is")
    for option in method.options:
        shown.add_row(option.name, str(option.default), option.allowed, option.help)
    out.print(shown)


def _objectives(method: Method | SetMethod) -> list[str]:
    """The objectives that a method can follow, the default first."""
    follows = isinstance(method, Method) and method.follows_objective
    return [str(objective) for objective in Objective] if follows else []


def _decides_by(method: Method | SetMethod) -> str:
    return {
        DecidesBy.QUASI_IDENTIFIERS: "quasi-identifiers",
        DecidesBy.SEPARATELY: "quasi-identifiers and sensitive values, each alone",
        DecidesBy.BOTH: "both together",
    }[method.decides_by]


def _gives(method: Method | SetMethod) -> list[str]:
    return [guarantee.__name__ for guarantee in method.guarantees]
