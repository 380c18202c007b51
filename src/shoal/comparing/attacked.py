"""A recipe's release made to be attacked: in memory, people kept back as a control, or where an engine keeps rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from shoal.catalogue import load
from shoal.data.keys import Keys
from shoal.data.table import Table
from shoal.recipe.recipe import Recipe
from shoal.risk.attacks.base import AttackResult
from shoal.risk.attacks.case import AttackCase
from shoal.risk.attacks.run import hold_out, make_case, refuse_overlap
from shoal.risk.attacks.views import people_frame, release_view
from shoal.running import anonymize_table, read_recipe_source
from shoal.streaming.attackable import SAMPLE, attackable, refuse_unattackable
from shoal.streaming.recipes import judged_release, memory_of

HOLD_OUT = 0.2


@dataclass(frozen=True, kw_only=True, eq=False)
class Beside:
    """What is known beside the release: people in the data, people outside it, and further releases."""

    against: pl.DataFrame | None = None
    control: pl.DataFrame | None = None
    others: Sequence[tuple[pl.DataFrame, Mapping[str, Any]]] = ()


def recipe_case(
    recipe: Recipe,
    *,
    part: float = HOLD_OUT,
    beside: Beside | None = None,
    seed: int | None = None,
    progress: Callable[[str], None] = lambda step: None,
) -> tuple[AttackCase, str]:
    """A release made from a recipe, and what it states; ``part`` is kept back where no control is given."""
    known = beside or Beside()
    progress("reading")
    table = read_recipe_source(recipe)
    keys = Keys.from_seed(recipe.seed if seed is None else seed)
    inside, kept = hold_out(table, keys, 0.0 if known.control is not None else part)
    release = anonymize_table(recipe, inside, progress=progress)
    people = people_frame(release) if known.against is None else known.against
    outside = kept if known.control is None else _dated(known.control, table)
    if known.control is not None and outside is not None:
        refuse_overlap(table.frame if known.against is None else people, outside)
    told = "Nobody was held out, so there is no control." if outside is None else None
    case = make_case(
        release_view(release), release.manifest, keys, against=people, control=outside, no_control=told,
        release=release, aligned=known.against is None, held_out=known.control is None, others=known.others,
    )  # fmt: skip
    return case, release.manifest["statement"]


def kept_case(
    recipe: Recipe,
    *,
    sample: int | None = None,
    beside: Beside | None = None,
    seed: int | None = None,
    progress: Callable[[str], None] = lambda step: None,
) -> tuple[AttackCase, str, dict[str, int]]:
    """The same where an engine keeps the rows, its own people attacked: also how large a sample of them that is."""
    known = beside or Beside()
    refuse_unattackable(load("algorithm", recipe.algorithm["name"]).kind, recipe.engine.name)
    keys = Keys.from_seed(recipe.seed if seed is None else seed)
    with judged_release(recipe, progress) as (judged, manifest):
        found = attackable(
            judged, manifest, keys, memory=memory_of(recipe), most=SAMPLE if sample is None else sample,
            control=known.control, others=known.others, progress=progress,
        )  # fmt: skip
    return found.case, f"{manifest['statement']}. {found.told}", {"rows": found.people, "of": found.rows}


def _dated(frame: pl.DataFrame, table: Table) -> pl.DataFrame:
    """A control with dates written as the source writes them."""
    given = {name: spec.format for name, spec in table.schema.specs.items() if spec.format is not None}
    texts = [name for name in given if name in frame.columns and frame[name].dtype == pl.String]
    return frame.with_columns(pl.col(name).str.to_date(given[name]) for name in texts)


def attack_data(result: AttackResult) -> dict[str, Any]:
    """A result as plain data."""
    return {
        "name": result.name,
        "story": result.story,
        "note": result.note,
        "excess": result.excess,
        "figures": [
            {
                "name": one.name,
                "value": one.value,
                "low": one.low,
                "high": one.high,
                "baseline": one.baseline,
                "control": one.control,
                "control_interval": one.control_interval,
                "trials": one.trials,
                "beats": one.beats,
                "excess": one.excess,
                "told": one.told(),
            }
            for one in result.figures
        ],
        "also": result.also,
    }
