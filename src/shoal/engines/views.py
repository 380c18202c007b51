"""Coded rows as views of a Spark session, and what Spark SQL counts of them."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.data.table import spilling
from shoal.data.texts import Spellings
from shoal.engines.cluster import collected, mapped, told
from shoal.engines.spread import Each, Mapped, with_forms

_NUMBERS = 1 << 25  # that are kept of what was asked for
_SENT = 1 << 20  # rows of a table that goes to every machine whole
_VIEWS = re.compile(r"\b(coded|classes|gone|narrow)\b")


class SparkDatabase:
    """Coded rows that Spark SQL counts, under names that nobody else uses.

    Parameters
    ----------
    files
        Where they are.
    """

    def __init__(self, session: Any, files: Sequence[Path]) -> None:
        self.session = session
        self._files = files
        self._own = f"shoal_{secrets.token_hex(6)}_"
        self._views: set[str] = set()
        self._sent: dict[str, tuple[str, Any]] = {}
        self._known: dict[tuple[str, ...], dict[str, np.ndarray]] = {}

    def relate(self, subject: str | None) -> None:
        """Make the relation ``coded``, in which ``s`` says whose a row is."""
        whose = [] if subject is None else [f"{subject} AS s"]
        self._make("coded", rows_in(self.session, self._files).selectExpr("*", *whose))

    def ask(self, query: str) -> dict[str, np.ndarray]:
        """What a query of whole numbers finds; what was asked before is not asked again."""
        key = query, *(digest for name, (digest, _) in self._sent.items() if name in query)
        if key not in self._known:
            for name in [name for name, (_, rows) in self._sent.items() if rows is not None and name in query]:
                digest, rows = self._sent[name]
                self._make(name, self._given(rows))
                self._sent[name] = digest, None
            with told():
                found = collected(self.session.sql(_VIEWS.sub(rf"{self._own}\1", query)))
            if sum(column.size for one in self._known.values() for column in one.values()) > _NUMBERS:
                self._known.clear()
            self._known[key] = {name: found[name].cast(pl.Int64).to_numpy() for name in found.columns}
        return self._known[key]

    def spellings(self, subject: str) -> Spellings | None:
        """Count people whose names (``s``) may be spellings of each other; names stay where they are."""
        names = self.session.table(f"{self._own}coded").selectExpr("s AS t").distinct()
        forms = mapped(names, Mapped(Each(with_forms)), with_forms(pl.DataFrame(schema={"t": pl.String})))
        alike = forms.groupBy("form").count().where("count > 1")
        with told():
            found = collected(alike.selectExpr("coalesce(sum(count), 0) AS n", "count(*) AS m"))
        ((n, m),) = found.rows()
        return Spellings(column=subject, role="subject", spellings=int(n), values=int(m)) if m else None

    def forget(self) -> None:
        """Ask again for whatever is wanted from now on."""
        self._known.clear()

    def send(self, name: str, columns: Mapping[str, np.ndarray]) -> None:
        """Make a table of whole numbers, once something is asked of it."""
        frame = pl.DataFrame({key: np.asarray(values, dtype=np.int64) for key, values in columns.items()})
        digest = hashlib.sha256(b"".join(frame[key].to_numpy().tobytes() for key in columns)).hexdigest()
        self._sent[name] = digest, frame

    def _given(self, rows: pl.DataFrame) -> Any:
        """A table of ours there: with every machine whole where it is small, else in the folder that all see."""
        if rows.height <= _SENT:
            return self.session.createDataFrame(rows.to_arrow()).hint("broadcast")
        folder = self._files[0].parent.parent / f"sent-{secrets.token_hex(6)}"
        folder.mkdir(0o700)
        with spilling():
            rows.write_parquet(folder / "part-0.parquet", row_group_size=_SENT)
        return self.session.read.parquet(folder.as_uri())

    def _make(self, name: str, rows: Any) -> None:
        rows.createOrReplaceTempView(self._own + name)
        self._views.add(self._own + name)

    def close(self) -> None:
        """Forget the relations."""
        for name in self._views:
            with suppress(Exception):  # the session may have ended before
                self.session.catalog.dropTempView(name)


def rows_in(session: Any, files: Sequence[Path]) -> Any:
    """What some files hold, as a Spark DataFrame."""
    return session.read.parquet(*(path.as_uri() for path in files))
