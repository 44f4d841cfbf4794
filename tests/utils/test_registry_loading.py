"""A registry imports what is looked up, and everything only when it has to."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mottle.errors import UsageError
from mottle.utils.registry import Registry

ITEM = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Item:
    name: str

"""


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    """Of a package with three modules, of which one breaks when it is imported."""
    package = tmp_path / "zoo"
    package.mkdir()
    (package / "__init__.py").write_text("from mottle.utils.registry import Registry\n")
    add = "from test_zoo_registry import REGISTRY\nREGISTRY.add(Item({!r}))\n"
    (package / "red_panda.py").write_text(ITEM + add.format("red-panda"))
    (package / "birds.py").write_text(ITEM + add.format("owl"))
    (package / "costly.py").write_text("raise RuntimeError('costly')\n")
    made: Registry = Registry("animal", "zoo", leaving_out=("costly",))
    module = type(sys)("test_zoo_registry")
    module.REGISTRY = made  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "test_zoo_registry", module)
    monkeypatch.syspath_prepend(tmp_path)
    yield made
    for name in [name for name in sys.modules if name.partition(".")[0] == "zoo"]:
        del sys.modules[name]


def test_an_item_is_found_in_the_module_of_its_name_without_loading_others(registry) -> None:
    assert registry["red-panda"].name == "red-panda"
    assert "zoo.birds" not in sys.modules
    assert list(registry) == ["owl", "red-panda"]
    assert "zoo.birds" in sys.modules


def test_an_item_of_another_name_than_its_module_is_found(registry) -> None:
    assert registry.get_named("owl").name == "owl"
    assert "zoo.costly" not in sys.modules


def test_what_is_not_there_is_refused_with_a_suggestion(registry) -> None:
    with pytest.raises(UsageError, match=r"no animal 'owll'\. Did you mean 'owl'"):
        registry.get_named("owll")
    with pytest.raises(UsageError, match=r"no animal '\.\./owl'"):
        registry.get_named("../owl")
    with pytest.raises(UsageError, match="no animal 'None'"):
        registry.get_named(None)


def test_a_module_that_lacks_a_dependency_says_so(registry, tmp_path: Path) -> None:
    (tmp_path / "zoo" / "yak.py").write_text("import nowhere_to_be_found\n")
    with pytest.raises(ModuleNotFoundError, match="nowhere_to_be_found"):
        registry.get("yak")


def test_the_usual_method_does_not_load_those_for_comparison() -> None:
    code = (
        "import sys; from mottle import methods; methods.get('auto');"
        " sys.exit('mottle.methods.fast07.idistance' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
