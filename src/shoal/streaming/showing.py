"""What a release of rows that an engine keeps shows of its columns, found out before they are published."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.engines.external_rows import KeptRows
from shoal.recoding.publish import shown_texts
from shoal.recoding.recoded import Released
from shoal.recoding.rewriting import ByClass, rewritten


@dataclass(frozen=True, eq=False)
class Showing:
    """A release before its rows are published.

    Attributes
    ----------
    group
        Name of the column of group numbers of a bucketised release, else None.
    """

    rows: KeptRows
    released: Released
    group: str | None = None

    def texts(self, name: str) -> set[str]:
        """What will stand in a column, where other values are published than were read."""
        one = self.released.rewriting.get(name)
        if one is None:
            return set()
        if isinstance(one, ByClass):
            return shown_texts(one.columns[name])
        found: set[str] = set()
        placing = self.rows.placing(self.released.classmap)
        for batch in self.rows.batches("kept"):
            classes = placing(batch)
            found |= shown_texts(rewritten({name: one}, batch, classes)[name].gather((classes >= 0).nonzero()[0]))
        return found
