"""People in columns that are published as they were read: what the gate would find of them, before a run."""

from __future__ import annotations

from collections.abc import Collection

from shoal.checking.sources import Source
from shoal.errors import ShoalError
from shoal.io.gating import naming, refusal_of
from shoal.verify.identifier_scan import Anybody
from shoal.verify.identifier_words import Hidden
from shoal.verify.identifiers import Named
from shoal.verify.tally import Numbering
from shoal.verify.values import Coded


def named(source: Source, accepted: Collection[str]) -> list[ShoalError]:
    """Why the gate would refuse these columns; two passes over the rows, one where nothing is hidden."""
    roles, columns = source.rows.domain.schema, source.rows.domain.columns
    if not (*roles.sensitive, *roles.neutral):
        return []
    known, people = Hidden(), Numbering()
    for name, cells in source.left_out().items():
        known.read_others(cells.alias(name), people=roles.subject is not None)
    for batch in source.batches() if naming(roles) else ():
        known.read(batch.hidden, None if batch.subject is None else people.see(batch.subject.to_frame("who")).codes)
    sensitive = [columns[name] for name in roles.sensitive]
    closed = [one.name for one in sensitive if one.hierarchy is not None or one.spec.order]
    open_ones = [name for name in (*roles.sensitive, *roles.neutral) if name not in closed]
    anybody, rows = Anybody(known), Named(known, open_ones)
    for batch in source.batches():
        read = Coded(batch.published)
        anybody.see(read)
        rows.see(read, batch.hidden)
    checks = [rows.own(), anybody.check(), *rows.read(accepted)]
    return [refusal_of([check]) for check in checks if not check.passed]
