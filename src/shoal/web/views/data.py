"""The page of data and roles: what each column is, what was proposed and why, and the first rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from shoal.recipe.edit import roles_of, with_roles
from shoal.web.views.apart import apart
from shoal.web.views.looks import SHOWN, Look, draft_of, try_look
from shoal.web.views.place import Place
from shoal.web.views.remembering import turn

_SHORT = {"numeric": "number", "date": "date", "ordinal": "ordered", "categorical": "category"}


@dataclass(frozen=True, kw_only=True)
class ColumnView:
    """A column with what is known of it and what the recipe says."""

    name: str
    role: str
    proposed: str
    why: str
    sure: bool
    found: str
    type: str
    format: str
    distinct: int
    missing: int
    missing_share: float
    unique: float


@dataclass(frozen=True, kw_only=True)
class DataView:
    """The source of a project; ``more`` of its columns are not shown."""

    title: str
    look: Look | None
    problem: str
    columns: tuple[ColumnView, ...]
    more: int
    differing: int


def data_view(place: Place) -> DataView:
    """What is known of a project's source, and what its recipe says of it."""
    look, problem = try_look(place)
    roles = roles_of(place.text)
    names = look.names if look is not None else tuple(roles)
    return DataView(
        title=place.recipe.source.title, look=look, problem=problem, more=max(0, len(names) - SHOWN),
        columns=tuple(_column(place, look, name, roles.get(name, "")) for name in names[:SHOWN]),
        differing=len(_differing(look, roles)),
    )  # fmt: skip


def _column(place: Place, look: Look | None, name: str, role: str) -> ColumnView:
    settings = place.recipe.columns.get(name)
    said = {"type": (settings and settings.type) or "", "format": (settings and settings.format) or ""}
    if look is None or name not in look.facts:
        return ColumnView(
            name=name, role=role, proposed="", why="", sure=True, found="", distinct=0, missing=0, missing_share=0.0,
            unique=0.0, **said,
        )  # fmt: skip
    facts, proposal = look.facts[name], look.proposals[name]
    return ColumnView(
        name=name, role=role, proposed=proposal.role, why=proposal.why, sure=proposal.sure,
        found=_SHORT.get(facts.type, facts.type), distinct=facts.distinct, missing=facts.missing,
        missing_share=facts.missing / max(facts.rows, 1), unique=facts.unique, **said,
    )  # fmt: skip


def proposed_roles(place: Place) -> dict[str, str]:
    """Column to the role that was proposed for it, where the recipe says another."""
    return _differing(try_look(place)[0], roles_of(place.text))


def _differing(look: Look | None, roles: Mapping[str, str]) -> dict[str, str]:
    proposals = {} if look is None else look.proposals
    return {name: one.role for name, one in proposals.items() if roles.get(name) != one.role}


def changed_roles(place: Place, wanted: Mapping[str, str]) -> tuple[str, bool]:
    """The recipe with other roles for some columns, and with what their values suggest; whether these could be read."""
    known = roles_of(place.text)
    same = all(known.get(name) == role for name, role in wanted.items())
    if same or try_look(place)[0] is None:
        return with_roles(place.text, wanted, {}), same
    given = (place.stamp[0], place.seen.model_dump_json(exclude_unset=True), place.text, dict(wanted))
    with turn(str(place.folder)):
        return apart(roles_changed, *given, within=place.folder), True


def roles_changed(path: str, said: str, text: str, wanted: Mapping[str, str]) -> str:
    """The same of a file that was looked at already."""
    return with_roles(text, wanted, draft_of(path, said).facts)
