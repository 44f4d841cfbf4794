"""Plain DuckDB SQL on the published cells, without access to anything but the release."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files

import duckdb
import pyarrow as pa

from mottle.errors import UsageError
from mottle.queries.sql.source import TABLE

# Shares of a range within low..high: whole numbers and days are counted, others are measured by
# length.
_MACROS = """
CREATE MACRO possible(cell, low, high) AS coalesce(cell.lo <= high AND cell.hi >= low, false);
CREATE MACRO certain(cell, low, high) AS
    coalesce(cell.lo >= low AND cell.hi <= high AND NOT cell.missing, false);
CREATE MACRO share(cell, low, high) AS CASE
    WHEN NOT possible(cell, low, high) THEN 0.0
    WHEN certain(cell, low, high) THEN 1.0
    WHEN typeof(cell.lo) IN ('FLOAT', 'DOUBLE') AND cell.lo < cell.hi
        THEN (least(cell.hi, high) - greatest(cell.lo, low)) / (cell.hi - cell.lo)
            * CASE WHEN cell.missing THEN 2.0 / 3 ELSE 1.0 END
    ELSE (least(cell.hi, high) - greatest(cell.lo, low) + 1)
        / (cell.hi - cell.lo + 1 + cell.missing::INT) END;
CREATE MACRO share_of(cell, value) AS
    CASE WHEN list_contains(cell, value) THEN 1.0 / len(cell) ELSE 0.0 END;
"""

# Without external access DuckDB still uses its folder for temporary files, ./.tmp by default: it
# could be read, written and attached there.
_ISOLATED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": False,
    "temp_directory": "",
    "python_enable_replacements": False,
    "python_scan_all_frames": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
}


def cell_macros() -> str:
    """Return the DuckDB macros that read the text cells of ``release.csv``."""
    return files("mottle.queries.sql").joinpath("cells.sql").read_text("utf-8")


def query_plain(
    table: pa.Table,
    sensitive: pa.Table | None,
    sql: str,
    lists: Mapping[str, pa.Table] | None = None,
) -> pa.Table:
    """Run SQL on ``release``, ``sensitive`` (if given) and code lists, and on nothing else."""
    tables = {TABLE: table, "sensitive": sensitive, **(lists or {})}
    with duckdb.connect(config=_ISOLATED) as connection:
        try:
            for name, contents in tables.items():
                if contents is not None:
                    connection.register("published", contents)
                    quoted = name.replace('"', '""')
                    connection.execute(f'CREATE TABLE "{quoted}" AS SELECT * FROM published')
                    connection.unregister("published")
            connection.execute(_MACROS)
            connection.execute(cell_macros())
            connection.execute("SET lock_configuration = true")
            answer = connection.sql(sql)
            return pa.table({}) if answer is None else answer.to_arrow_table()
        except duckdb.Error as error:
            message = str(error).splitlines()[0].rstrip(".!")
            if isinstance(error, duckdb.DataError):  # these quote cells
                message = "a value does not have the type, format or size that is needed"
            raise UsageError(
                f"DuckDB cannot answer: {message}.",
                f"The table is '{TABLE}'; DESCRIBE {TABLE} shows its columns.",
            ) from None
