"""Build wheel and sdist, look into them, install the wheel into a fresh environment, use it there.

`make dist` runs it, `make dist-oldest` with the oldest versions of dependencies that pyproject.toml
allows, and `make dist-pythons` with every Python that is found here. Everything is made in
build/dist; what may be published is in dist/.
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
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

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
    parser.add_argument(
        "--python", action="append", metavar="PROGRAM", help="use it with this one; repeatable"
    )
    parser.add_argument("--pythons", action="store_true", help="use it with all that are found")
    options = parser.parse_args()
    pythons = options.python or (found_pythons() if options.pythons else [sys.executable])
    wheel, sdist = build()
    check_wheel(zipfile.ZipFile(wheel).namelist())
    with tarfile.open(sdist) as archive:
        check_sdist(name.partition("/")[2] for name in archive.getnames())
    requirements = oldest_requirements() if options.oldest else []
    used = []
    for program in pythons:
        name = f"{'oldest' if options.oldest else 'newest'}-{Path(program).name}"
        python = install(wheel, requirements, name, program)
        use(python)
        used.append(versions(python))
    print(
        f"{wheel.name} and {sdist.name} are in {DIST.relative_to(ROOT)}/. Installed and used with:"
    )
    print(*used, sep="\n")
    if "urls" not in project():
        print("pyproject.toml has no [project.urls]: add them before the first upload.")


def found_pythons() -> list[str]:
    """One program for every minor version that pyproject.toml allows: in the path, or of pyenv."""
    places = os.environ.get("PATH", "").split(os.pathsep)
    places += map(str, sorted((Path.home() / ".pyenv" / "versions").glob("*/bin")))
    lowest = int(re.search(r"3\.(\d+)", project()["requires-python"])[1])
    found: dict[int, str] = {}
    for place in filter(None, places):
        for program in Path(place).glob("python3.*"):
            minor = re.fullmatch(r"python3\.(\d+)", program.name)
            if minor and int(minor[1]) >= lowest and os.access(program, os.X_OK) and runs(program):
                found.setdefault(int(minor[1]), str(program))
    return [found[minor] for minor in sorted(found)]


def runs(program: Path) -> bool:
    """Whether a program runs and can make environments; pyenv's shims and bare systems cannot."""
    command = [str(program), "-c", "import ensurepip, venv"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def versions(python: Path) -> str:
    """Return what an environment has: Python, and what mottle depends on."""
    names = [re.split(r"[>=]", each)[0] for each in project()["dependencies"]]
    code = (
        "import sys, importlib.metadata as m;"
        "print('Python', sys.version.split()[0] + ':',"
        " ', '.join(f'{n} {m.version(n)}' for n in sys.argv[1:]))"
    )
    done = subprocess.run(
        [python, "-c", code, *names], capture_output=True, text=True, check=True, cwd=WORK
    )
    return done.stdout.strip()


def run(*command: str | Path, folder: Path = ROOT) -> None:
    """Run a command without the variables that would let it find this checkout."""
    hidden = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    print("$", *(Path(part).name if isinstance(part, Path) else part for part in command))
    subprocess.run([str(part) for part in command], cwd=folder, env=environment, check=True)


def environment_named(name: str, program: str = sys.executable) -> Path:
    """Make a fresh virtual environment and return its Python."""
    folder = WORK / name
    shutil.rmtree(folder, ignore_errors=True)
    run(program, "-m", "venv", folder)
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


def project() -> dict[str, Any]:
    """The project's metadata in pyproject.toml."""
    return dict(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"])


def oldest_requirements() -> list[str]:
    """The lowest versions of the dependencies that pyproject.toml allows."""
    bounds = [re.fullmatch(r"([\w.-]+)>=([\w.]+)", each) for each in project()["dependencies"]]
    if not all(bounds):
        sys.exit("Every dependency in pyproject.toml needs a lower bound: name>=version")
    return [f"{bound[1]}=={bound[2]}" for bound in bounds if bound]


def install(wheel: Path, requirements: list[str], name: str, program: str) -> Path:
    """Install a wheel into an environment of its own and return its Python."""
    python = environment_named(name, program)
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
