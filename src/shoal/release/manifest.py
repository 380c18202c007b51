"""The public description of a release: what was promised, how to read the cells, and what is not protected."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from shoal.data.column import TREE, Column, file_columns
from shoal.data.domain import Domain
from shoal.data.hierarchy import ROOT, Hierarchy, shown_entry
from shoal.data.values import format_date, format_number
from shoal.recoding.cell_text import SEVERAL
from shoal.recoding.kinds import GENERALISED, Kind, Trait, left_open
from shoal.recoding.publish import Output, released_columns
from shoal.recoding.recoded import Released

_ALWAYS = (
    "Whether a person is in the data: nothing here hides membership.",
    "People who appear in other releases too: releases of overlapping people can be intersected.",
    "An intruder with more knowledge than the quasi-identifiers: no differential privacy is claimed.",
)


_UNMODELLED = "The values of '{}' within a class: no model is set on it."
_SHARED = (
    "The values of '{}' within a class: no model is set on it alone, and one on several columns may hold where "
    "everybody has the same."
)
_ACROSS = "The values of '{}' of people with several records: the classes of their records may share a single one."
_CHANGING = "People whose records differ in '{}': the classes of their records may share a single value."
_SETS = "Whoever knows columns of several sets of quasi-identifiers of a person: models hold for each set alone."


class Shown(Protocol):
    """What is published, as far as it is described."""

    @property
    def group(self) -> str | None: ...

    def texts(self, name: str) -> set[str]: ...


class Promised(Protocol):
    """A model, as far as it is described: what it is called, what it says and what it leaves open."""

    @property
    def name(self) -> str: ...

    @property
    def valued(self) -> bool: ...

    @property
    def ranged(self) -> bool: ...

    @property
    def membership(self) -> bool: ...

    @property
    def leaves_open(self) -> str | None: ...

    @property
    def closed_by(self) -> tuple[str, ...]: ...

    def parameters(self) -> dict[str, Any]: ...

    def promise(self, *, groups: bool = False) -> str: ...

    def columns(self, sensitive: Sequence[str]) -> list[str]: ...

    def judged_together(self, sensitive: Sequence[str]) -> list[str]: ...

    def target_words(self, sensitive: Sequence[str]) -> str: ...


def describe(
    domain: Domain,
    models: Sequence[Promised],
    *,
    version: str,
    output: Output,
    released: Released | None = None,
    published: Shown | None = None,
    figures: Sequence[Any] = (),
) -> dict[str, Any]:
    """The manifest without verdicts, class figures and the data's hash.

    Parameters
    ----------
    released
        The release, where it may be of another kind than generalised.
    published
        Its tables, whose labels are the only ones that are shown of a hierarchy that is not public.
    figures
        What was measured by attacking it, for kinds that are not generalised.
    """
    domain = domain if released is None else released.public_domain
    made, kind = (GENERALISED, GENERALISED) if released is None else (released.made, released.kind)
    coded = () if released is None else set(released.coded.values())
    # In the order of the file, from which anybody can write the same sentence.
    sensitive = [name for name in released_columns(domain) if name in domain.schema.sensitive]
    counterfeit = 0 if released is None else released.n_counterfeit
    by_rule = [] if released is None else list(released.recoding.left_open)
    across = () if released is None else released.across
    open_left = _not_protected(domain, models, output.acknowledged, sensitive, counterfeit, across)
    found = {
        "shoal": version,
        "manifest": 1,
        "kind": kind.name,
        "source": domain.name,
        "statement": statement(models, sensitive, kind, made, len(domain.schema.quasi_sets)),
        "not_protected": left_open(made, coded, output.joinable, output.same_codes) + by_rule + open_left,
        "suppressed": output.suppressed,
        "order": output.order,
        "people": domain.by_people,
        "columns": [
            _explained(_released_column(domain, name, models, released, published, output.suppressed), domain)
            for name in released_columns(domain)
        ],
        "models": [model.parameters() for model in models],
        "acknowledged": sorted(output.acknowledged),
    }
    if released is not None:
        found |= _of_kind(released, published)
    if domain.by_people:
        found["across_classes"] = [names[0] if len(names) == 1 else list(names) for names in across]
    # What a release does not have is left out.
    optional = {
        "quasi_sets": [list(one) for one in domain.schema.quasi_sets],
        "measured": _public_figures(figures),
        "sample": None if domain.sample is None else domain.sample.public,
        "date": output.day,
        "review": dict(output.review),
        "counterfeits": counterfeit,
    }
    return found | {key: value for key, value in optional.items() if value}


def _of_kind(released: Released, published: Shown | None) -> dict[str, Any]:
    """What somebody needs to know to check a kind that is not generalised."""
    found: dict[str, Any] = {} if released.kind == released.made else {"made": released.made.name}
    if published is not None and published.group is not None:
        found["group"] = published.group
    return {**found, **released.recoding.public}


def _public_figures(figures: Sequence[Any]) -> list[dict[str, Any]]:
    """Attack figures for the manifest, rounded: what was found, not every digit of it."""
    return [
        {
            "name": one.name,
            "value": round(one.value, 4),
            "interval": [round(one.low, 4), round(one.high, 4)],
            "baseline": None if one.baseline is None else round(one.baseline, 4),
            "sentence": one.sentence,
        }
        for one in figures
    ]


def uncoded_columns(released: Released, models: Sequence[Promised]) -> dict[str, dict[str, Any]]:
    """What the manifest would say about coded columns if their values were published; for the gate alone."""
    return {
        name: _column(released.public_domain, name, models, None)
        for name in released.coded
        if name in released.domain.columns
    }


def whole_policies(domain: Domain) -> dict[str, dict[str, Any]]:
    """Every file of sensitive ranges with all its values; for the gate alone."""
    found = {name: column.policy for name, column in domain.columns.items() if column.policy is not None}
    return {name: dict(policy.plain) for name, policy in found.items() if policy.plain is not None}


def inferred_types(domain: Domain) -> list[str]:
    """Columns of text whose type nobody declares; for the gate alone."""
    return [name for name, column in domain.columns.items() if domain.is_inferred(column)]


def whole_hierarchies(domain: Domain) -> dict[str, list[list[str]]]:
    """Every hierarchy with all its values; for the gate alone."""
    trees = {name: column.hierarchy or column.tree for name, column in domain.columns.items()}
    return {name: _whole_rows(tree) for name, tree in trees.items() if tree is not None}


def _whole_rows(tree: Hierarchy) -> list[list[str]]:
    """The paths of all values.

    A label follows from the released values below it, and may be that of a node further down, which covers all of
    these. Other values are then below the lower node no more than before, and get another label.
    """
    lowest = {label: level for level, names in reversed(list(enumerate(tree.labels))) for label in names}
    return [[one if row[lowest[one]] == one else f"{one}\1" for one in row] for row in tree.rows()]


def statement(
    models: Sequence[Promised],
    sensitive: Sequence[str],
    kind: Kind = GENERALISED,
    made: Kind = GENERALISED,
    sets: int = 0,
) -> str:
    """The models met, in words: "5-anonymous, entropy 3-diverse on occupation"."""
    parts = []
    for model in models:
        text = model.promise(groups=made.has(Trait.GROUPS))
        on = model.target_words(sensitive)
        parts.append(f"{text} on {on}" if on else text)
    each = [f"each by {sets} sets of quasi-identifiers one by one"] if sets and parts else []
    return kind.statement(made, ", ".join(parts + each))


def _left_open(models: Sequence[Promised], sensitive: Sequence[str]) -> list[str]:
    """What models leave open of their columns, in the order of the sentences, unless others close it."""
    found = []
    for model in sorted(models, key=lambda model: model.leaves_open or ""):
        closed = {name for one in models if one.name in model.closed_by for name in one.columns(sensitive)}
        if model.leaves_open is not None:
            on = model.columns(sensitive) if model.valued else [""]
            found += [model.leaves_open.format(name) for name in on if name not in closed]
    return found


def _not_protected(
    domain: Domain,
    models: Sequence[Promised],
    acknowledged: Collection[str],
    sensitive: Sequence[str],
    counterfeit: int,
    across: Collection[tuple[str, ...]],
) -> list[str]:
    found = []
    shared = {name for model in models for name in model.judged_together(sensitive)}
    for code in sorted(acknowledged):
        column = code.partition(":")[2]
        if code.startswith("W-UNMODELLED:"):
            found.append((_SHARED if column in shared else _UNMODELLED).format(column))
        if code.startswith("W-TEXT:"):
            found.append(f"Whatever the free text of '{column}' says about anybody.")
        if code.startswith("W-NAMES:"):
            found.append(f"People whose names stand in '{column}' as words of the language.")
        if code.startswith("W-IDENTIFIES:"):
            found.append(f"People who are known by their '{column}', which identifies them by itself.")
        if code.startswith("W-DETERMINES:"):
            found.append(f"Quasi-identifiers that follow from '{column}' more finely than their cells say.")
        if code == "W-ROWS":
            found.append("People with several records: models count records, and one person may have all of a class.")
        if code == "W-NO-K":
            found.append("Identity: no model limits how few records share their quasi-identifiers.")
        if code == "W-REPEAT":
            found.append("People of earlier releases: taken together, releases may protect less than each of them.")
    if domain.schema.quasi_sets:
        found.append(_SETS)
    if counterfeit:
        found.append("Counts: some records are counterfeit, and classes have the values promised with them only.")
    if domain.schema.neutral:
        found.append("Links through the neutral columns, which are published as they are.")
    if domain.by_people:
        found += [(_CHANGING if (name,) in across else _ACROSS).format(name) for name in sensitive]
    if not any(model.valued for model in models) and sensitive:
        found.append("Sensitive values: a class whose members share one discloses it (homogeneity).")
    always = _ALWAYS[1:] if any(model.membership for model in models) else _ALWAYS
    return [*found, *_left_open(models, sensitive), *always]


def _released_column(
    domain: Domain,
    name: str,
    models: Sequence[Promised],
    released: Released | None,
    published: Shown | None,
    suppressed: str,
) -> dict[str, Any]:
    """A column as it is published: codes say nothing about values, and values need no cells to be explained."""
    standing = _standing(released, published, name, suppressed)
    entry = _column(domain, name, models, standing)
    if released is None:
        return entry
    if name in released.coded:
        plain = {key: entry[key] for key in ("name", "role", "type")}
        found = plain | {"cells": "value", "coded": released.coded[name]}
        if entry["role"] == "sensitive" and not domain.schema.spec(name).non_answers:
            found["answers"] = True
        shift = domain.schema.shift_of(name)
        return found | {"type": "date", "days": shift["days"]} if shift else found
    if entry["role"] == "sensitive" and name in released.changed and entry["cells"] == "value":
        return entry | {"cells": "label"}
    if entry["role"] != "quasi" or released.made.generalises:
        return entry
    column = domain.columns[name]
    kept = ("name", "role", "type", "order", "domain")
    exact = {key: entry[key] for key in kept if key in entry} | {"cells": "value"}
    modes = column.kind == TREE and column.type not in ("numeric", "date")
    if released.made.has(Trait.CENTROIDS) and modes and column.hierarchy is not None:
        # Tells modes from the medians of ordered categories.
        exact |= shown_entry(column.hierarchy, standing or ())
    return {**exact, **released.recoding.of_columns.get(name, {})}


def _explained(entry: dict[str, Any], domain: Domain) -> dict[str, Any]:
    """A column with how several values of a cell are written, and with what was done to it before it was coded."""
    if entry["cells"] == "items":
        entry = entry | {"several": domain.schema.spec(entry["name"]).items}
    if entry["cells"] in SEVERAL:
        entry = entry | {"several": SEVERAL[entry["cells"]]}
    done = domain.schema.spec(entry["name"]).techniques
    return entry | {"prepared": done} if done else entry


def _standing(
    released: Released | None, published: Shown | None, name: str, suppressed: str
) -> set[str] | None:
    """What stands in the cells of a column, as labels of its hierarchy are written; None where nothing is known."""
    if released is None:
        return None
    if name in released.coded:
        return set()  # nothing is told of codes, and there may be as many as people
    column = released.domain.columns.get(name)
    if column is not None and column.role == "sensitive" and name not in released.changed:
        return set(column.texts.gather(released.sensitive_left[name]).to_list())
    if column is not None and released.made.generalises and name in released.cells:
        starred = {ROOT} if suppressed == "star" and released.n_suppressed else set()
        return starred | set(released.cells[name].texts().unique().to_list()) if column.cells == "label" else set()
    found = set() if published is None else published.texts(name)
    if column is not None and column.cells == "items":
        return {label for text in found for label in text.split(str(column.spec.items))}
    return found


def _column(
    domain: Domain, name: str, models: Sequence[Promised], standing: Collection[str] | None
) -> dict[str, Any]:
    column = domain.columns.get(name)
    if column is None:
        role = "pseudonym" if name in domain.schema.pseudonym else "neutral"
        return {"name": name, "role": role, "type": "categorical", "cells": "value"}
    entry: dict[str, Any] = {"name": name, "role": column.role, "type": column.type, "cells": column.cells}
    if column.cells == "bounds":
        entry["columns"] = file_columns(column)
    if column.cells in ("bounds", "representative") and column.type in ("numeric", "date"):
        entry["null"] = ROOT
    if column.tree is not None:
        entry |= shown_entry(column.tree, standing or ())
    if column.hierarchy is not None and (column.cells == "label" or column.role == "sensitive"):
        entry |= {"hierarchy": column.hierarchy.rows()} if standing is None else shown_entry(column.hierarchy, standing)
    if column.type == "ordinal":
        entry["order"] = [str(value) for value in column.spec.order or ()]
    if column.declared is not None:
        entry["domain"] = [_bound(column, bound) for bound in column.declared]
    ranged = [name for model in models if model.ranged for name in model.columns(domain.schema.sensitive)]
    if name in ranged and column.policy is not None and column.policy.plain is not None:
        entry["policy"] = _shown_ranges(column.policy.plain, standing)
    if column.spec.non_answers and column.role == "sensitive":
        entry["non_answers"] = [str(value) for value in column.spec.non_answers]
    return entry


def _shown_ranges(plain: Mapping[str, Any], standing: Collection[str] | None) -> dict[str, Any]:
    """Sensitive ranges as the recipe lists them; of a file that gives every value its own, those of released values."""
    kind = next((key for key in ("each", "nodes") if key in plain), None)
    if kind is None or standing is None:
        return dict(plain)
    return {**plain, kind: [row for row in plain[kind] if row[0] in standing], "part": True}


def _bound(column: Column, bound: Any) -> str:
    if column.type == "date":
        return format_date(int(bound))
    return format_number(bound.item() if hasattr(bound, "item") else bound)
