"""PyArrow for kinds and forms, imported when it is first used.

A schema needs the names and options of all kinds, and errors in a schema or in the options of a
command must be reported without loading PyArrow first (see `mottle.utils.lazy`). Therefore no
module of this package uses PyArrow while it is imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mottle.utils.lazy import lazy_module

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc

    from mottle.utils import arrow
else:
    pa = lazy_module("pyarrow")
    pc = lazy_module("pyarrow.compute")
    arrow = lazy_module("mottle.utils.arrow")

__all__ = ["arrow", "pa", "pc"]
