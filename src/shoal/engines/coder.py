"""The different values of a source, coded by our own coder, whatever engine gathered them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl

from shoal.data.coding import canonical_text
from shoal.data.gather import Gathering
from shoal.data.schema import Schema
from shoal.data.table import Table, iso_dates
from shoal.data.texts import count_spellings, refuse_lookalikes
from shoal.engines.base import Dictionaries
from shoal.errors import ShoalError


def dictionaries(gathering: Gathering, schema: Schema, build: Callable[..., Table], name: str | None) -> Dictionaries:
    """Code the different values of a source.

    Parameters
    ----------
    build
        Makes a table of a frame and roles (`shoal.recipe.source.Told.table`).
    """
    coded, columns = [*schema.quasi, *schema.sensitive], gathering.columns
    shown = replace(
        schema, identifiers=(), pseudonym=(), drop=(), subject=None, weight=None, key=None, guard=None,
        across_classes=True,  # which is asked of people
    )  # fmt: skip
    listed = [one for one in gathering.types if one in shown.released]
    # Dates are moved person by person when they are published, and values are seen here without their people.
    specs = {one: replace(spec, shift=None) for one, spec in schema.specs.items() if one in listed}
    often = {one: _often(columns[one].values, columns[one].counts) for one in coded}
    coder = partial(build, schema=replace(shown, specs=specs), name=name, often=often)
    try:
        _refuse_gathered(gathering, schema)
    except ShoalError as error:
        if gathering.n:
            error.everything = partial(_everything, error, coder, gathering.frame(listed, known=True))
        raise
    table = coder(gathering.frame(listed))
    made, parsed = {}, iso_dates(table)
    codes = {one: table.codes[one][: columns[one].card] for one in coded}
    for one in coded:
        column = table.columns[one]
        counts = np.zeros(column.card, dtype=np.int64)
        np.add.at(counts, codes[one], columns[one].counts)
        made[one] = replace(column, frequencies=counts)
    subjects = None if schema.subject is None else columns[schema.subject].values
    domain = replace(
        table.domain, schema=schema, columns=made, n=gathering.n, n_subjects=0 if subjects is None else len(subjects),
        subject_spellings=None if subjects is None else count_spellings(str(schema.subject), "subject", subjects),
        types={one: table.domain.types.get(one, kind) for one, kind in gathering.types.items()},
    )  # fmt: skip
    return Dictionaries(
        domain=domain,
        plain={one: table.series(one)[: columns[one].card] for one in coded},
        parsed={one: parsed[one][: columns[one].card] for one in coded},
        codes=codes,
        subjects=subjects,
        dropped=gathering.dropped,
        n_read=gathering.n_read,
    )


def _refuse_gathered(gathering: Gathering, schema: Schema) -> None:
    """Refuse what is wrong with a source whatever its values mean."""
    gathering.refuse()
    if schema.subject is not None:
        people = gathering.columns[schema.subject].values.alias(schema.subject)
        refuse_lookalikes(people, schema.spec(schema.subject).non_answers)


def _everything(first: ShoalError, coder: Callable[[pl.DataFrame], Table], values: pl.DataFrame) -> list[ShoalError]:
    """An error, and what is wrong with the values beside it."""
    try:
        coder(values)
    except ShoalError as error:
        return [first, *((error.everything() if error.everything is not None else ()) or [error])]
    return [first]


def _often(values: pl.Series, counts: np.ndarray) -> dict[str, int]:
    """How often each text occurs."""
    found: dict[str, int] = {}
    for text, count in zip(canonical_text(values).to_list(), counts.tolist(), strict=True):
        if text is not None:
            found[text] = found.get(text, 0) + count
    return found
