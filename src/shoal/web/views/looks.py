"""A project's source as it is, looked at column by column, with a proposal and a reason for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from shoal.errors import ShoalError
from shoal.io.files import is_typed
from shoal.io.recipes import Source
from shoal.starting.columns import Facts
from shoal.starting.drafting import Draft, drafted
from shoal.starting.proposing import Proposal
from shoal.starting.reading import Given, read_raw
from shoal.web.views.place import Place

# Of a larger file the beginning is looked at: pages have to come at once.
LOOKED_AT = 32 << 20
_ROWS = 30


@dataclass(frozen=True, kw_only=True, eq=False)
class Look:
    """What a file holds.

    Attributes
    ----------
    head
        Its first rows as texts, for the custodian's eyes.
    whole
        Whether all of it was looked at.
    """

    rows: int
    names: tuple[str, ...]
    facts: Mapping[str, Facts]
    proposals: Mapping[str, Proposal]
    notes: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    head: tuple[tuple[str, ...], ...] = field(repr=False, default=())
    whole: bool = True
    written: str = ""
    unique: float | None = None
    smallest: int | None = None
    people: int | None = None


def look(place: Place) -> Look:
    """Look at a project's source, or remember what was seen."""
    return _looked(*place.stamp, place.recipe.source.model_dump_json())


@lru_cache(maxsize=16)
def _looked(path: str, changed: int, size: int, said: str) -> Look:
    source = Source.model_validate_json(said)
    if is_typed(Path(path)) or size <= LOOKED_AT:
        return _made(drafted_from(path, source), whole=True)
    with TemporaryDirectory() as folder:
        part = Path(folder) / Path(path).name
        with open(path, "rb") as file:
            part.write_bytes(file.read(LOOKED_AT).rpartition(b"\n")[0])
        return _made(drafted_from(str(part), source), whole=False)


def drafted_from(path: str, source: Source | None = None) -> Draft:
    """A draft of a recipe for a file, read as a recipe says where there is one."""
    return drafted(read_raw(path, given := _given(source)), given)


def _given(source: Source | None) -> Given:
    if source is None:
        return Given()
    text: dict[str, Any] = {"encoding": source.encoding, "separator": source.separator}
    return Given(
        columns=source.columns, sheet=source.sheet, markers=source.missing_markers, thousands=source.thousands,
        decimal=None if source.decimal == "." else source.decimal,
        **{key: value for key, value in text.items() if value not in (None, "utf-8")},
    )  # fmt: skip


def _made(draft: Draft, whole: bool) -> Look:
    raw = draft.raw
    layout = raw.layout
    return Look(
        rows=raw.frame.height, names=tuple(raw.frame.columns), facts=draft.facts, proposals=draft.proposals,
        notes=tuple(draft.notes), asked=tuple(f"{one.what}. {one.asked}" for one in draft.questions),
        head=_texts(raw.frame.head(_ROWS)), whole=whole, unique=draft.unique, smallest=draft.smallest,
        people=draft.people, written="" if layout is None else f"separator {layout.separator!r}, {layout.encoding}",
    )  # fmt: skip


def _texts(frame: pl.DataFrame) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple("" if cell is None else str(cell) for cell in row) for row in frame.iter_rows())


def try_look(place: Place) -> tuple[Look | None, str]:
    """What a file holds, or why it cannot be looked at."""
    try:
        return look(place), ""
    except ShoalError as error:
        return None, str(error)
    except OSError:
        return None, "The data of this project cannot be read: upload them again."
