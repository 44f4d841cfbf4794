"""The command ``mottle methods``."""

from __future__ import annotations

import json
from collections.abc import Mapping

from rich.table import Table

from mottle import methods
from mottle.cli._terminal import out
from mottle.cli.commands import Methods
from mottle.methods import DecidesBy, Method
from mottle.methods.sets import SetMethod
from mottle.methods.sets import registered as set_methods


def run(command: Methods) -> None:
    """List the methods for tables or for sets."""
    known: Mapping[str, Method | SetMethod] = (
        set_methods() if command.sets else methods.registered()
    )
    if command.as_json:
        described = [
            {
                "name": method.name,
                "title": method.title,
                "gives": _gives(method),
                "decides_by": str(method.decides_by),
                **({"mixed_decision": method.mixed_decision} if method.mixed_decision else {}),
                "paper": method.paper,
                "cost": method.cost,
            }
            for method in known.values()
        ]
        print(json.dumps(described, indent=2, ensure_ascii=False))
        return
    shown = Table("method", "what it does", "gives", "decides by", "paper", "cost")
    for method in known.values():
        gives = ", ".join(_gives(method))
        shown.add_row(
            method.name, method.title, gives, _decides_by(method), method.paper, method.cost
        )
    out.print(shown)
    out.print(
        "A method that decides by both keeps shares of sensitive values among a person's matches"
        " within their bounds; whoever knows it and replays its decisions may infer more.",
        highlight=False,
    )


def _decides_by(method: Method | SetMethod) -> str:
    return {
        DecidesBy.QUASI_IDENTIFIERS: "quasi-identifiers",
        DecidesBy.SEPARATELY: "each alone",
        DecidesBy.BOTH: "both",
    }[method.decides_by]


def _gives(method: Method | SetMethod) -> list[str]:
    return [guarantee.__name__ for guarantee in method.guarantees]
