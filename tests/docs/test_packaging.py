"""What is published: files of the wheel, lower bounds, containers, and the matrix of systems."""

from __future__ import annotations

import re
import runpy
import tomllib

import pytest
import yaml
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder
from paths import ROOT

DIST = runpy.run_path(str(ROOT / "tools" / "dist.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_wheel_has_the_package_and_nothing_else() -> None:
    files = WheelBuilder(str(ROOT)).recurse_included_files()
    names = [file.distribution_path.replace("\\", "/") for file in files]
    assert len(names) > 300
    DIST["check_wheel"](names)


@pytest.mark.parametrize("name", ["tests/test_a.py", "mottle/x.nbi", "mottle/people.csv", "a.py"])
def test_a_wheel_with_something_else_is_refused(name: str) -> None:
    files = WheelBuilder(str(ROOT)).recurse_included_files()
    with pytest.raises(SystemExit, match="must not have"):
        DIST["check_wheel"]([*(file.distribution_path for file in files), name])


def test_a_wheel_without_a_template_is_refused() -> None:
    files = WheelBuilder(str(ROOT)).recurse_included_files()
    names = [file.distribution_path for file in files]
    with pytest.raises(SystemExit, match=r"lacks: mottle/report/templates/style\.css"):
        DIST["check_wheel"](name for name in names if not name.endswith("style.css"))


def test_sdist_has_what_the_tests_need() -> None:
    files = SdistBuilder(str(ROOT)).recurse_included_files()
    DIST["check_sdist"](file.distribution_path.replace("\\", "/") for file in files)
    with pytest.raises(SystemExit, match="lacks"):
        DIST["check_sdist"](["pyproject.toml"])


def test_every_dependency_has_a_lower_bound_that_the_pinned_version_meets() -> None:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pinned = dict(line.lower().split("==") for line in lines if "==" in line)
    oldest = [requirement.split("==") for requirement in DIST["oldest_requirements"]()]
    assert len(oldest) == len(PROJECT["dependencies"])
    for name, version in oldest:
        assert numbers(pinned[name.lower()]) >= numbers(version), name


def test_base_installation_draws_no_charts_and_compare_names_the_extra() -> None:
    needed = " ".join(PROJECT["dependencies"])
    charts = PROJECT["optional-dependencies"]["charts"]
    assert not any(re.split(r"[>=]", each)[0] in needed for each in charts)


def numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]


# -------------------------------------------------------------------------------- containers


def test_container_runs_mottle_without_root_and_with_compiled_kernels() -> None:
    lines = [line.split(maxsplit=1) for line in joined_lines("Containerfile")]
    instructions = [line[0] for line in lines]
    assert set(instructions) <= {
        "FROM",
        "ENV",
        "WORKDIR",
        "COPY",
        "RUN",
        "USER",
        "ENTRYPOINT",
        "CMD",
    }
    images = [line[1].split()[0] for line in lines if line[0] == "FROM"]
    assert all(re.fullmatch(r"python:3\.\d+-slim", image) for image in images)
    user = instructions.index("USER")
    assert lines[user][1] not in ("root", "0")
    assert any(line[0] == "RUN" and "mottle warm" in line[1] for line in lines[user:])
    assert lines[-1] == ["ENTRYPOINT", '["mottle"]']
    copied = " ".join(line[1] for line in lines if line[0] == "COPY").split()
    sources = [word for word in copied if not word.startswith(("-", "/", "."))]
    assert all((ROOT / source).exists() for source in sources), sources


def test_compose_file_has_mottle_and_a_database_that_only_it_can_reach() -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]
    assert set(services) == {"mottle", "database"}
    assert services["mottle"]["build"] == {"context": ".", "dockerfile": "Containerfile"}
    assert services["mottle"]["depends_on"] == {"database": {"condition": "service_healthy"}}
    assert re.fullmatch(r"postgres:\d+", services["database"]["image"])
    assert "healthcheck" in services["database"]
    assert not any("ports" in service for service in services.values())
    text = (ROOT / "compose.yaml").read_text("utf-8")
    assert "POSTGRES_PASSWORD: ${" in text  # never a password in the file


def joined_lines(name: str) -> list[str]:
    text = (ROOT / name).read_text("utf-8").replace("\\\n", " ")
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


# ------------------------------------------------------------------- three systems, three Pythons


def test_workflow_of_systems_calls_targets_of_the_makefile() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/systems.yml").read_text("utf-8"))
    (job,) = workflow["jobs"].values()
    matrix = job["strategy"]["matrix"]
    assert {name.split("-")[0] for name in matrix["system"]} == {"ubuntu", "macos", "windows"}
    assert len(matrix["python"]) == 3
    assert PROJECT["requires-python"] == f">={matrix['python'][0]}"
    commands = [step["run"] for step in job["steps"] if "run" in step]
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    for command in commands:
        program, target, *_ = command.split()
        assert program == "make"
        assert target in targets


# --------------------------------------------------------------------------------- the paper


def test_papers_that_the_paper_cites_are_in_its_bibliography() -> None:
    text = (ROOT / "paper" / "paper.md").read_text("utf-8")
    known = re.findall(r"^@\w+\{(\w+),", (ROOT / "paper" / "paper.bib").read_text("utf-8"), re.M)
    assert set(re.findall(r"@(\w+)", text)) == set(known)
