"""A Spark cluster of separate processes on this machine."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = "local-cluster[2,1,1024]"  # executors are processes of their own


@contextmanager
def running_cluster(folder: Path) -> Iterator[SparkSession]:
    """A session on a cluster that keeps its files in ``folder``; stopped at the end."""
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    os.environ.pop("PYSPARK_DRIVER_PYTHON", None)
    import pyspark
    from pyspark.sql import SparkSession

    running = (
        SparkSession.builder.master(MASTER)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.local.dir", str(folder / "local"))
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    running.sparkContext.setLogLevel("OFF")
    work = Path(pyspark.__file__).parent / "work" / running.sparkContext.applicationId
    try:
        yield running
    finally:
        running.stop()
        shutil.rmtree(work, ignore_errors=True)  # where a local cluster keeps its logs
