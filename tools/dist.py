"""Build wheel and sdist, look into them, install the wheel into a fresh environment, use it there.

`make dist` runs it, and `make dist-oldest` with the oldest versions of dependencies that
pyproject.toml allows. Everything is made in build/dist; what may be published is in dist/.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "dist"
DIST = ROOT / "dist"
TOOLS = ("build>=1.2", "twine>=6")

UNWANTED = re.compile(
    r"(^|/)(tests?|__pycache__|data|\.venv|\.git)(/|$)|\.(nb[ic]|pyc|csv|parquet|arrow|xlsx|sqlite)$"
)
WHEEL_ROOTS = re.compile(r"mottle(-[\w.]+\.dist-info)?/")
NEEDED_BY_TESTS = ("pyproject.toml", "README.md", "Makefile", "constraints.txt", "CITATION.cff")
FOLDERS_NEEDED_BY_TESTS = ("src", "tests", "docs", "benchmarks", "tools", ".github")

SMOKE = """
import csv, mottle
people = mottle.datasets.population(300, seed=1).drop(["person_id"])
with open("people.csv", "w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(people.column_names)
    writer.writerows(zip(*people.to_pydict().values()))
"""


def main() -> None:
    """Make what the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--oldest", action="store_true", help="with the oldest dependencies")
    options = parser.parse_args()
    wheel, sdist = build()
    check_wheel(zipfile.ZipFile(wheel).namelist())
    with tarfile.open(sdist) as archive:
        check_sdist(name.partition("/")[2] for name in archive.getnames())
    requirements = oldest_requirements() if options.oldest else []
    use(install(wheel, requirements, "oldest" if options.oldest else "newest"))
    print(f"{wheel.name} and {sdist.name} are in {DIST.relative_to(ROOT)}/")


def run(*command: str | Path, folder: Path = ROOT) -> None:
    """Run a command without the variables that would let it find this checkout."""
    hidden = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    print("$", *(Path(part).name if isinstance(part, Path) else part for part in command))
    subprocess.run([str(part) for part in command], cwd=folder, env=environment, check=True)


def environment_named(name: str) -> Path:
    """Make a fresh virtual environment and return its Python."""
    folder = WORK / name
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    return folder / ("Scripts" if os.name == "nt" else "bin") / "python"


def build() -> tuple[Path, Path]:
    """Build wheel and sdist, the wheel from the sdist, and check their metadata."""
    shutil.rmtree(DIST, ignore_errors=True)
    python = environment_named("tools")
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *TOOLS)
    run(python, "-m", "build", "--outdir", DIST, ROOT)
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    run(python, "-m", "twine", "check", "--strict", wheel, sdist)
    return wheel, sdist


def check_wheel(names: Iterable[str]) -> None:
    """Stop unless a wheel has the package, its data files, and nothing else."""
    names = set(names)
    unwanted = [n for n in names if UNWANTED.search(n) or not WHEEL_ROOTS.match(n)]
    if unwanted:
        sys.exit(f"The wheel must not have: {', '.join(sorted(unwanted))}")
    source = ROOT / "src"
    wanted = {
        path.relative_to(source).as_posix()
        for path in (source / "mottle").rglob("*")
        if path.is_file() and not UNWANTED.search(path.relative_to(source).as_posix())
    }
    if missing := wanted - names:
        sys.exit(f"The wheel lacks: {', '.join(sorted(missing))}")


def check_sdist(names: Iterable[str]) -> None:
    """Stop unless an sdist has what the tests need, and no caches."""
    names = set(names)
    missing = [name for name in NEEDED_BY_TESTS if name not in names]
    folders = {name.partition("/")[0] for name in names if "/" in name}
    missing += [folder for folder in FOLDERS_NEEDED_BY_TESTS if folder not in folders]
    if missing:
        sys.exit(f"The sdist lacks: {', '.join(missing)}")
    if caches := [name for name in names if re.search(r"__pycache__|\.(nb[ic]|pyc)$", name)]:
        sys.exit(f"The sdist must not have: {', '.join(sorted(caches))}")


def oldest_requirements() -> list[str]:
    """The lowest versions of the dependencies that pyproject.toml allows."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    bounds = [re.fullmatch(r"([\w.-]+)>=([\w.]+)", each) for each in project["dependencies"]]
    if not all(bounds):
        sys.exit("Every dependency in pyproject.toml needs a lower bound: name>=version")
    return [f"{bound[1]}=={bound[2]}" for bound in bounds if bound]


def install(wheel: Path, requirements: list[str], name: str) -> Path:
    """Install a wheel into an environment of its own and return its Python."""
    python = environment_named(name)
    binaries = ["--only-binary", ":all:"] if requirements else []
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *binaries]
    run(*pip, *requirements, wheel)
    run(python, "-m", "pip", "check")
    return python


def use(python: Path) -> None:
    """Anonymize, verify, audit and query a small table, far from the checkout."""
    folder = python.parents[1] / "smoke"
    folder.mkdir()
    mottle = python.with_name("mottle")
    run(mottle, "--version", folder=folder)
    run(python, "-c", SMOKE, folder=folder)
    roles = ["--qi", "age,sex,origin", "--sensitive", "diagnosis", "--rest", "insensitive"]
    links = ["--private", "links.parquet"]
    run(
        mottle,
        "anonymize",
        "people.csv",
        *roles,
        "--k",
        "5",
        *links,
        "-o",
        "released",
        folder=folder,
    )
    original = ["--original", "people.csv", *links]
    run(mottle, "verify", "released", *original, "--export", "evidence", folder=folder)
    run(python, "evidence/verify_release.py", "released", "evidence", folder=folder)
    run(mottle, "query", "released", "SELECT count(*) FROM release WHERE age > 60", folder=folder)


if __name__ == "__main__":
    main()
