"""The records of a release over time as the spine takes them: kept blocks, and newcomers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from mottle.encoding.encode import encode
from mottle.encoding.sensitive import encode_sensitive
from mottle.graph.model import join, with_edges
from mottle.guarantees.base import Guarantee
from mottle.methods.base import Arrangement, Draw, MethodContext
from mottle.pipeline.over_time import KNOWN_RECORDS, OverTime
from mottle.pipeline.settings import Settings
from mottle.pipeline.table_records import TableRecords

__all__ = ["ContinuedRecords"]


@dataclass(frozen=True, kw_only=True)
class ContinuedRecords(TableRecords):
    """The records of a release over time: kept blocks as they are, newcomers by the method."""

    over_time: OverTime
    guarantee: Guarantee
    settings: Settings

    @classmethod
    def of(
        cls, records: TableRecords, over_time: OverTime, guarantee: Guarantee, settings: Settings
    ) -> ContinuedRecords:
        """Let the records of a table be those of a release over time."""
        own = {item.name: getattr(records, item.name) for item in fields(TableRecords)}
        return cls(**own, over_time=over_time, guarantee=guarantee, settings=settings)

    def arrange(self, context: MethodContext) -> Arrangement:
        """Arrange the newcomers among themselves, and put the kept blocks behind them.

        The newcomers' blocks come first because random numbers belong to the number of a block, and
        a method that previews its first blocks has to see what will be published.
        """
        kept, truth = self.over_time.kept, self.over_time.truth
        if kept is None:
            return super().arrange(context)
        now = self._of_newcomers
        if now is None:
            draw = Draw.BUCKETS if self.demand.capped else Draw.WALK
            return Arrangement(kept, self._known_records({}), draw, truth)
        found = now.arrange(context)
        moved = found.graph._replace(members=found.graph.members + np.int32(kept.records))
        return Arrangement(
            graph=join([with_edges(moved), kept]),
            facts=self._known_records(found.facts),
            draw=found.draw,
            drawn_before=truth + np.int32(found.graph.records),
        )

    def _known_records(self, facts: Mapping[str, object]) -> dict[str, object]:
        """Facts about the newcomers; what one known record gives away is the most of all blocks."""
        earlier = self.over_time.history.known_records
        numbers = [
            number for number in (facts.get(KNOWN_RECORDS), earlier) if isinstance(number, int)
        ]
        return {**facts, **({KNOWN_RECORDS: max(numbers)} if numbers else {})}

    @cached_property
    def _of_newcomers(self) -> TableRecords | None:
        """The newcomers as a table of their own."""
        if self.over_time.newcomers == 0:
            return None
        table = self.table.slice(self.table.num_rows - self.over_time.newcomers)
        sensitive = encode_sensitive(table, self.schema) if self.guarantee.about_values else ()
        codes = encode(table, self.schema, self.settings.representation)
        return TableRecords(
            method=self.method,
            table=table,
            schema=self.schema,
            codes=codes,
            codes_to_arrange=self.method.codes_to_arrange(codes, self.guarantee),
            demand=self.guarantee.demand(table.num_rows, sensitive),
        )
