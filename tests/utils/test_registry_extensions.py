"""Entry points of other distributions: their items are found, broken ones left out and named."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mottle.cli.commands import check_method
from mottle.errors import UsageError
from mottle.utils.registry import ExtensionWarning, Registry

Install = Callable[..., None]

METHOD = """
from mottle.methods.base import METHODS, register

nh = METHODS["nh"]
own = dict(offers=nh.offers, decides_by=nh.decides_by, mixed_decision=nh.mixed_decision)
register("{name}", title="nh again", paper="none", cost="O(n)", **own)(nh.arrange)
"""

USE = """
import warnings
import mottle
from mottle import methods
from mottle.methods.base import METHODS

assert METHODS.distribution_of("nh") is None
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    names = list(methods.registered())
assert "tenth" in names and "nh" in names and "absent" not in names, names
for warning in caught:
    print(warning.category.__name__, warning.message)
people = mottle.datasets.population(200, seed=1).drop(["person_id"])
schema = mottle.Schema.of(quasi_identifying=["age", "sex"], rest="insensitive")
release = mottle.anonymize(people, schema, mottle.KAnonymity(5), method="tenth", seed=1)
own = mottle.anonymize(people, schema, mottle.KAnonymity(5), method="nh", seed=1)
print([note for note in release.certificate.notes if "plugin-of-others" in note])
print([note for note in own.certificate.notes if "not part of mottle" in note])
assert "method_of_others" in [limit.code for limit in release.certificate.limits]
assert "method_of_others" not in [limit.code for limit in own.certificate.limits]
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put a distribution with modules and entry points on the path."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def add(distribution: str, group: str, points: dict[str, str], **modules: str) -> None:
        folder = tmp_path / f"{distribution.replace('-', '_')}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1\n"
        )
        lines = [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
        (folder / "entry_points.txt").write_text("\n".join(lines) + "\n")
        for name, code in modules.items():
            (tmp_path / f"{name}.py").write_text(code)

    return add


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry:
    """Of a package with one item, `own`, which entry points may extend."""
    (tmp_path / "shelf_with_own").mkdir()
    (tmp_path / "shelf_with_own" / "__init__.py").write_text("")
    (tmp_path / "shelf_with_own" / "own.py").write_text(adding("own"))
    made: Registry = Registry("thing", "shelf_with_own", group="test.things")
    module = type(sys)("registry_of_things")
    module.REGISTRY = made  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "registry_of_things", module)
    for name in ("shelf_with_own", "shelf_with_own.own", "things_a", "things_b"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return made


def adding(*names: str) -> str:
    add = "".join(f"REGISTRY.add(SimpleNamespace(name={name!r}))\n" for name in names)
    return "from types import SimpleNamespace\nfrom registry_of_things import REGISTRY\n" + add


def test_entry_points_are_loaded_only_when_a_name_is_missing(install, registry) -> None:
    install("some-things", "test.things", {"far": "things_a"}, things_a=adding("far"))
    assert registry["own"].name == "own"
    assert "things_a" not in sys.modules
    assert registry["far"].name == "far"
    assert list(registry) == ["far", "own"]
    assert registry.distribution_of("far") == "some-things"
    assert registry.distribution_of("own") is None
    del sys.modules["things_a"]


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("raise RuntimeError('no licence')\n", "RuntimeError: no licence"),
        (adding("half") + "import no_such_module_at_all\n", "ModuleNotFoundError"),
        ("", "registers no thing of that name"),
        (adding("own"), "registered twice"),
        (adding("other"), "registers no thing of that name"),
    ],
    ids=["raises", "halfway", "empty", "name of ours", "another name"],
)
def test_a_broken_entry_point_is_named_and_left_out(install, registry, code, problem) -> None:
    install("bad-things", "test.things", {"half": "things_a"}, things_a=code)
    install("good-things", "test.things", {"far": "things_b"}, things_b=adding("far"))
    with pytest.warns(ExtensionWarning, match=f"thing 'half' of bad-things .*{problem}"):
        assert list(registry) == ["far", "own"]
    assert registry.distribution_of("own") is None
    for name in ("things_a", "things_b"):
        sys.modules.pop(name, None)


def test_an_extension_that_was_imported_before_is_known_as_one(install, registry) -> None:
    install("some-things", "test.things", {"far": "things_a"}, things_a=adding("far"))
    __import__("things_a")
    assert list(registry) == ["far", "own"]
    assert registry.distribution_of("far") == "some-things"
    del sys.modules["things_a"]


def test_the_command_line_knows_methods_of_others_without_importing_them(install) -> None:
    install("plugin-of-others", "mottle.methods", {"tenth": "plugin_absent"})
    install("sets-of-others", "mottle.methods.sets", {"eleventh": "plugin_absent"})
    check_method("tenth")
    check_method("eleventh", sets=True)
    with pytest.raises(UsageError, match=r"There is no method for sets 'tenth'"):
        check_method("tenth", sets=True)
    with pytest.raises(UsageError, match=r"'tenht'\. Did you mean 'tenth'"):
        check_method("tenht")


def test_a_method_of_others_runs_and_the_certificate_says_whose_it_is(install, tmp_path) -> None:
    install(
        "plugin-of-others",
        "mottle.methods",
        {"tenth": "plugin_tenth", "absent": "plugin_absent"},
        plugin_tenth=METHOD.format(name="tenth"),
    )
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.path.insert(0, sys.argv[1])\n" + USE, tmp_path],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    warning, of_others, own = done.stdout.splitlines()
    assert warning.startswith("ExtensionWarning The method 'absent' of plugin-of-others")
    assert "it comes from plugin-of-others" in of_others
    assert own == "[]"
