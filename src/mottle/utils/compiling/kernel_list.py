"""Which kernels a run compiles, in which order, and how long each takes: kernels.json.

`tools/kernels.py` records the list from runs of the command line. It only makes first runs faster:
a kernel that is missing from it is compiled when it is called, and one that no longer exists is
passed over.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mottle.utils.compiling.argument_types import described, type_of
from mottle.utils.lazy import lazy_module

__all__ = ["CompileList", "Item", "key_of"]

FILE = Path(__file__).with_name("kernels.json")


@dataclass(frozen=True)
class Item:
    """A kernel for arguments of certain types."""

    kernel: str  # module:function
    arguments: Any  # descriptions of their types
    calls: tuple[int, ...]  # numbers of the items that it calls
    seconds: float  # of compiling, without what it calls
    path: float  # seconds from its beginning until all is compiled that calls it

    @property
    def key(self) -> str:
        """What tells it from all others."""
        return f"{self.kernel}{json.dumps(self.arguments)}"

    def dispatcher(self) -> Any:
        """Import the kernel."""
        module, _, name = self.kernel.partition(":")
        return getattr(lazy_module(module), name)

    def compile(self) -> None:
        """Compile it into the cache, or load it from there."""
        self.dispatcher().compile(tuple(map(type_of, self.arguments)))


def key_of(function: Any, arguments: Iterable[Any]) -> str | None:
    """Return the key of a kernel for types of arguments; None if they cannot be in the list."""
    try:
        types = [described(kind) for kind in arguments]
        return f"{function.__module__}:{function.__qualname__}{json.dumps(types)}"
    except TypeError:
        return None


@dataclass(frozen=True)
class CompileList:
    """The kernels of some runs, callees before those that call them."""

    items: tuple[Item, ...]

    @classmethod
    def of(cls, runs: Iterable[str], file: Path | None = None) -> CompileList:
        """The kernels of runs; without those that have no list."""
        content = json.loads((file or FILE).read_text(encoding="utf-8"))
        known = content["runs"]
        chosen = sorted({number for run in runs for number in known.get(run, ())})
        place = {number: at for at, number in enumerate(chosen)}
        types, kernels = content["types"], content["kernels"]
        items: list[Item] = []
        for number in chosen:
            kernel, arguments, calls, seconds = kernels[number]
            inside = tuple(place[call] for call in calls if call in place)
            items.append(Item(kernel, [types[kind] for kind in arguments], inside, seconds, 0.0))
        paths = [item.seconds for item in items]
        for at in reversed(range(len(items))):  # who calls an item comes after it
            for call in items[at].calls:
                paths[call] = max(paths[call], items[call].seconds + paths[at])
        return cls(
            tuple(
                Item(item.kernel, item.arguments, item.calls, item.seconds, path)
                for item, path in zip(items, paths, strict=True)
            )
        )

    def called_by_python(self) -> tuple[Item, ...]:
        """The kernels that no other one calls."""
        inside = {call for item in self.items for call in item.calls}
        return tuple(item for at, item in enumerate(self.items) if at not in inside)
