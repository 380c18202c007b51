"""A project's source as it is, looked at column by column, with a proposal and a reason for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from shoal.errors import InputError, ShoalError
from shoal.io.files import is_typed
from shoal.recipe.column_profile import Facts
from shoal.recipe.draft import Draft, drafted
from shoal.recipe.recipe import Source
from shoal.recipe.roles import Proposal
from shoal.recipe.sniff import Given, read_raw
from shoal.web.preview.cache import apart, remembered
from shoal.web.preview.place import Place

COLUMNS = 20_000  # as many as are looked at
SHOWN = 500  # as many as a page shows: each has a row of its form, and cells
_ROWS, _CHARACTERS = 30, 400


@dataclass(frozen=True, kw_only=True, eq=False)
class Look:
    """What a file holds.

    Attributes
    ----------
    facts
        What is known of the columns that are shown, without their values.
    head
        Their first rows as texts, for the custodian's eyes.
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
    return _looked(str(place.folder), place.stamp, place.seen.model_dump_json(exclude_unset=True), place.whole)


@remembered(16)
def _looked(folder: str, stamp: tuple[str, int, int], said: str, whole: bool) -> Look:
    return apart(look_at, stamp[0], said, whole, within=folder)


def look_at(path: str, said: str, whole: bool) -> Look:
    """Look at a file, read as a recipe says."""
    return _made(draft_of(path, said), whole)


def draft_of(path: str, said: str) -> Draft:
    """A draft of a recipe for a file, read as one says."""
    given = _given(Source.model_validate_json(said), Path(path))
    raw = read_raw(path, given)
    if raw.frame.width > COLUMNS:
        raise InputError(f"'{Path(path).name}' has more than the {COLUMNS:,} columns that pages look at: jobs do.")
    return drafted(raw, given)


def _given(source: Source, path: Path) -> Given:
    said = source.model_fields_set  # what was left open is looked for
    return Given(
        columns=source.columns, sheet=source.sheet, markers=source.missing_markers, thousands=source.thousands,
        separator=source.separator, encoding=source.encoding if "encoding" in said and not is_typed(path) else None,
        decimal=source.decimal if "decimal" in said else None,
    )  # fmt: skip


def _made(draft: Draft, whole: bool) -> Look:
    raw = draft.raw
    layout = raw.layout
    shown = raw.frame.columns[:SHOWN]
    facts = {name: replace(draft.facts[name], values=pl.DataFrame()) for name in shown if name in draft.facts}
    return Look(
        rows=raw.frame.height, names=tuple(raw.frame.columns), facts=facts, proposals=draft.proposals,
        notes=tuple(draft.notes), asked=tuple(f"{one.what}. {one.asked}" for one in draft.questions),
        head=_texts(raw.frame.select(shown).head(_ROWS)), whole=whole, unique=draft.unique, smallest=draft.smallest,
        people=draft.people, written="" if layout is None else f"separator {layout.separator!r}, {layout.encoding}",
    )  # fmt: skip


def _texts(frame: pl.DataFrame) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple("" if cell is None else shortened(str(cell)) for cell in row) for row in frame.iter_rows())


def shortened(text: str) -> str:
    """As much of a text as a cell of a page shows."""
    return text if len(text) <= _CHARACTERS else f"{text[: _CHARACTERS - 1]}…"


def try_look(place: Place) -> tuple[Look | None, str]:
    """What a file holds, or why it cannot be looked at."""
    try:
        return look(place), ""
    except ShoalError as error:
        return None, str(error)
