"""Other tools for comparison: run from PyPI in a separate environment, or as constants."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _shared import DATA, ROOT

from mottle.encoding.cover import cover
from mottle.encoding.domain import Codes
from mottle.graph.model import Graph
from mottle.hierarchy.tree import Hierarchy
from mottle.kinds.forms.range import range_scale
from mottle.loss.ncp import measure

ENVIRONMENT = ROOT / ".venv-rivals"
# ARX 3.9 on the 30,162 ADULT rows and the seven quasi-identifiers of this benchmark, measured
# beforehand (it is not a PyPI package): GCP at k = 5, 10, 20, 50, taking 2-5 s.
ARX_LOCAL = {5: 0.0301, 10: 0.0449, 20: 0.0631, 50: 0.0956}
ARX_GLOBAL = {5: 0.166, 10: 0.208, 20: 0.250, 50: 0.303}  # and 9-19 % of the rows suppressed


@dataclass(frozen=True)
class RivalResult:
    """Loss and time of another tool."""

    gcp: float
    seconds: float
    suppressed: float  # share of the rows; each counts as lost completely


def prepare_environment() -> Path:
    """The other tools' Python, installed again if the requirements have changed."""
    python = ENVIRONMENT / "bin" / "python"
    requirements = ROOT / "benchmarks" / "rivals" / "requirements.txt"
    installed = ENVIRONMENT / "requirements.txt"
    if not installed.exists() or installed.read_text() != requirements.read_text():
        subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
        command = [str(python), "-m", "pip", "install", "--quiet", "-r", str(requirements)]
        subprocess.run(command, check=True)
        installed.write_text(requirements.read_text())
    return python


def run_rival(tool: str, table: pa.Table, codes: Codes, k: int) -> RivalResult:
    """Run another tool on a table and measure its loss as ours is measured."""
    result, hierarchies = _run(tool, table, k)
    seconds = result["seconds"]
    assert isinstance(seconds, float)
    if "groups" in result:
        return RivalResult(_gcp_of_groups(_groups(result), codes), seconds, 0.0)
    gcp, suppressed = _gcp_of_labels(result, codes, hierarchies)
    return RivalResult(gcp, seconds, suppressed)


def run_rival_groups(tool: str, table: pa.Table, k: int) -> list[int]:
    """Run another tool that makes groups of records; the group of each record."""
    return _groups(_run(tool, table, k)[0])


def _groups(result: dict[str, object]) -> list[int]:
    groups = result["groups"]
    assert isinstance(groups, list)
    return groups


def _run(tool: str, table: pa.Table, k: int) -> tuple[dict[str, object], Path]:
    """What another tool found in its own environment, and the hierarchies it was given."""
    python = prepare_environment()
    script = ROOT / "benchmarks" / "rivals" / "run.py"
    hierarchies = DATA / "hierarchies" / "adult"
    with tempfile.TemporaryDirectory() as folder:
        data, output = Path(folder, "data.parquet"), Path(folder, "result.json")
        pq.write_table(table, data)
        subprocess.run(
            [str(python), str(script), tool, str(data), str(k), str(output), str(hierarchies)],
            check=True,
            capture_output=True,
        )
        return json.loads(output.read_text()), hierarchies


def _gcp_of_groups(groups: list[int], codes: Codes) -> float:
    """GCP of groups generalized to their ranges and sets."""
    members = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups)
    sizes = sizes[sizes > 0]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    graph = Graph.rings(members.astype(np.int32), starts, sizes.astype(np.int32))
    return measure(cover(graph, codes), codes).gcp


def _gcp_of_labels(
    result: dict[str, object], codes: Codes, hierarchies: Path
) -> tuple[float, float]:
    """GCP of hierarchy labels, each as the range or set of the data's values below it."""
    labels = result["labels"]
    assert isinstance(labels, dict)
    rows = np.array(result["rows"])
    suppressed = 1 - len(rows) / codes.records
    losses = []
    for domain in codes.domains:
        tree = Hierarchy.read(hierarchies / f"adult_hierarchy_{domain.name}.csv")
        texts = [str(value) for value in domain.values.to_pylist()]
        loss_of = {}
        for label in set(labels[domain.name]):
            below = set(tree.leaves_under(label))
            inside = np.flatnonzero([text in below for text in texts])
            if domain.positions.size:
                width = domain.positions[inside[-1]] - domain.positions[inside[0]]
                loss_of[label] = width / range_scale(domain)[0]
            else:
                loss_of[label] = (len(inside) - 1) / (domain.size - 1)
        losses.append(np.mean([loss_of[label] for label in labels[domain.name]]))
    return (1 - suppressed) * float(np.mean(losses)) + suppressed, suppressed
