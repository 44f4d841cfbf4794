"""A session of Spark keeps the rows that it shuffles where a killed run's rows are found."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from mottle.io.work_folder import remove_run, runs_left, work_folder

SHUFFLES = """
import sys
from pathlib import Path
from mottle.io.work_folder import temporary_run_folder
from mottle.pipeline.spark.session import spark_session

def shuffled(stage):
    with spark_session("local[1]", stage / "spark") as session:
        session.conf.set("spark.sql.shuffle.partitions", "2")
        session.range(1000).repartition(2, "id").count()
        found = list((stage / "spark").rglob("shuffle_*.data"))
        print(len(found), flush=True)
        yield

root = Path(sys.argv[1])
note = {"command": "a test", "target": "nowhere"}
with temporary_run_folder(root, note) as stage:
    list(shuffled(stage))
print("left" if stage.exists() else "removed", flush=True)
with temporary_run_folder(root, note | {"target": "elsewhere"}) as stage:
    for _ in shuffled(stage):
        print("again" if len(list(root.iterdir())) > 1 else "alone", flush=True)
        sys.stdin.read()
"""


def test_shuffled_rows_lie_in_the_work_folder_and_are_found_after_a_kill(tmp_path: Path) -> None:
    """Also in the second session of a process, for which Spark remembers the first one's folder."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    root = work_folder(tmp_path / "work")
    environment = {
        **os.environ,
        "TMPDIR": str(temporary),
        "JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={temporary}",
        "SPARK_LOCAL_DIRS": str(temporary),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    with subprocess.Popen(
        [sys.executable, "-c", SHUFFLES, str(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        try:
            said = [process.stdout.readline().strip() for _ in range(4)]
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # Java as well: it would tidy up
    first, ended, second, others = said
    assert int(first) > 0
    assert int(second) > 0
    assert (ended, others) == ("removed", "alone")
    assert not list(temporary.rglob("shuffle_*")), "rows in the folder for temporary files"
    (left,) = runs_left(root)
    assert list(left.path.rglob("shuffle_*.data"))
    assert remove_run(left)
    assert not root.exists()
