"""Registries: items are found once their package is imported, by any thread, and only once."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from mottle.errors import UsageError
from mottle.utils.registry import Registry


@dataclass(frozen=True)
class Item:
    name: str


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A module through which the test and the package with items find each other."""
    package = tmp_path / "shelf_of_items"
    (package / "deeper").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "_private.py").write_text("raise AssertionError('private modules are not imported')")
    (package / "deeper" / "__init__.py").write_text("")
    (package / "deeper" / "second.py").write_text(
        "import gate_of_items as gate\ngate.registry.add(gate.Item('second'))\n"
    )
    (package / "first.py").write_text(
        "import gate_of_items as gate\ngate.entered.set()\nassert gate.open.wait(60)\n"
        "gate.registry.add(gate.Item('first'))\n"
    )
    gate = ModuleType("gate_of_items")
    gate.__dict__.update(
        Item=Item,
        registry=Registry[Item]("item", "shelf_of_items"),
        entered=threading.Event(),
        open=threading.Event(),
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(sys.modules, "gate_of_items", gate)
    yield gate
    for name in [name for name in sys.modules if name.startswith("shelf_of_items")]:
        del sys.modules[name]


def test_items_of_the_package_and_its_packages_are_found_on_the_first_look_up(gate) -> None:
    gate.open.set()
    assert "shelf_of_items.first" not in sys.modules
    assert list(gate.registry) == ["first", "second"]
    assert len(gate.registry) == 2
    assert gate.registry["first"] == Item("first")


def test_a_second_thread_waits_until_all_items_are_registered(gate) -> None:
    found: list[list[str]] = []
    threads = [threading.Thread(target=lambda: found.append(list(gate.registry))) for _ in "ab"]
    threads[0].start()
    assert gate.entered.wait(60)  # it is importing the package
    threads[1].start()
    threads[1].join(0.2)  # without waiting it would be done by now, with nothing found
    gate.open.set()
    for thread in threads:
        thread.join(60)
    assert found == [["first", "second"]] * 2


def test_unknown_names_suggest_the_nearest(gate) -> None:
    gate.open.set()
    assert gate.registry.get_named("second") == Item("second")
    with pytest.raises(UsageError, match=r"no item 'secnd'\. Did you mean 'second'"):
        gate.registry.get_named("secnd")
    with pytest.raises(UsageError, match="no item 'None'"):
        gate.registry.get_named(None)


def test_two_items_of_one_name_are_a_defect(gate) -> None:
    gate.open.set()
    list(gate.registry)
    with pytest.raises(ValueError, match="item first is registered twice"):
        gate.registry.add(Item("first"))
