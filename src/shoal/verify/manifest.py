"""The manifest as a set of claims: read it once, strictly, into plain data.

Anything missing or of the wrong type is a :class:`~shoal.errors.VerificationError`, since a claim that cannot
be read cannot be verified.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from shoal.errors import VerificationError
from shoal.verify.policies import Policy, read_policy
from shoal.verify.terms.base import check_model, term_of
from shoal.verify.values import canonical

ROLES = ("quasi", "sensitive", "neutral", "pseudonym")
TYPES = ("numeric", "date", "ordinal", "categorical")
CELLS = ("interval", "label", "set", "value", "bounds", "representative", "items")
KINDS = ("generalised", "randomised", "pseudonymised", "microaggregated", "bucketised", "perturbed")
# The marks before, between and behind several values of one cell, by the kind of cells.
SEVERAL = {"set": "{|}", "interval": "[,]"}
# How what is published stands for a column's values, and as what it is read.
CODED = {"graded": "numeric", "mapping": "categorical", "token": "categorical", "shifted": "date"}
# Releases whose rows are in classes with those of other people.
_CLASSED = ("generalised", "microaggregated", "bucketised")
_PUBLICATIONS = ("tables", "permuted")
_LEFTOVERS = ("suppress", "join")


@dataclass(frozen=True, eq=False)
class Column:
    """One column of the release, as the manifest describes it; ``bounds`` has two columns in the file.

    ``coded`` says how what is published stands for the values, None where it is the values, and ``answers`` that no
    code stands for a non-answer. A ``hierarchy`` that is not ``whole`` has the labels that stand in the release, and
    null for what is not said; ``builder`` says how it was built. ``mark`` stands between items of one cell.
    """

    name: str
    role: str
    type: str
    cells: str
    hierarchy: Sequence[Sequence[Any]] | None
    order: Sequence[str] | None
    domain: tuple[float, float] | None
    non_answers: Sequence[str]
    bounds: Sequence[str] = ()
    policy: Policy | None = None
    coded: str | None = None
    days: int | None = None
    answers: bool = False
    whole: bool = False
    mark: str | None = None
    builder: Mapping[str, Any] | None = None

    @property
    def files(self) -> Sequence[str]:
        """Its names in the file."""
        return self.bounds or (self.name,)

    @property
    def reads(self) -> str:
        """The type that what is published is read as."""
        if self.role == "sensitive" and self.cells == "label":  # lifted: nodes above numbers are texts
            return "categorical"
        return self.type if self.coded is None else CODED[self.coded]


@dataclass(frozen=True, eq=False)
class Claims:
    """What a manifest says about a release."""

    columns: tuple[Column, ...]
    models: tuple[Mapping[str, Any], ...]
    suppressed: str
    order: str
    people: bool
    rows: int | None
    kind: str = "generalised"
    made: str = "generalised"
    group: str | None = None
    publication: str | None = None
    leftovers: str | None = None
    counterfeits: int = 0
    sets: tuple[tuple[str, ...], ...] = ()
    across: tuple[tuple[str, ...], ...] = ()

    @property
    def names(self) -> list[str]:
        """Column names in file order."""
        return [column.name for column in self.columns]

    @property
    def files(self) -> list[str]:
        """The names that the file has, or the first of two."""
        here = [column for column in self.columns if self.publication != "tables" or column.role != "sensitive"]
        names = [name for column in here for name in column.files]
        return names if self.group is None else [*names, self.group]

    @property
    def apart(self) -> list[str]:
        """The names that the file of sensitive values has, where they stand in one of their own."""
        if self.publication != "tables" or self.group is None:
            return []
        return [self.group, *(column.name for column in self.role("sensitive"))]

    def role(self, role: str) -> list[Column]:
        """The columns of one role, in file order."""
        return [column for column in self.columns if column.role == role]

    def column(self, name: str) -> Column:
        """The column of this name."""
        return next(column for column in self.columns if column.name == name)


def read_claims(manifest: Mapping[str, Any]) -> Claims:
    """Read the parts of a manifest that the verifier relies on."""
    if not isinstance(manifest, Mapping):
        raise VerificationError("The manifest is not a JSON object.")
    entries = field(manifest, "columns", Sequence)
    columns = tuple(_column(entry) for entry in entries)
    named = Counter(name for column in columns for name in {column.name, *column.files})
    twice = [name for name, times in named.items() if times > 1]
    if twice:
        raise VerificationError(f"The manifest lists the column '{twice[0]}' twice.")
    if any(column.name == "quasi" and column.role == "sensitive" for column in columns):
        raise VerificationError("A sensitive column called 'quasi' cannot be verified: rename it.")
    data = manifest.get("data", {})
    rows = data.get("rows") if isinstance(data, Mapping) else None
    if rows is not None and (not isinstance(rows, int) or isinstance(rows, bool) or rows < 0):
        raise VerificationError("The manifest's 'data.rows' must be a whole number.")
    claims = Claims(
        columns=columns,
        models=tuple(check_model(model) for model in field(manifest, "models", Sequence)),
        suppressed=choice(manifest, "suppressed", ("drop", "star"), "The manifest"),
        order=choice(manifest, "order", ("shuffled", "kept"), "The manifest"),
        people=field(manifest, "people", bool),
        rows=rows,
        counterfeits=field({"counterfeits": 0, **manifest}, "counterfeits", int),
        sets=_sets(manifest, columns),
        **_form(manifest, columns),
    )
    for model in claims.models:
        _check_target(claims, model)
    claims = replace(claims, across=_across(manifest, claims))
    if claims.counterfeits < 0 or (rows is not None and claims.counterfeits > rows):
        raise VerificationError("The manifest's 'counterfeits' are not a number of rows of the release.")
    if claims.counterfeits and not any(term_of(model).remembers for model in claims.models):
        raise VerificationError("The manifest has counterfeit rows, and no model that they could serve.")
    return claims


def _sets(manifest: Mapping[str, Any], columns: Sequence[Column]) -> tuple[tuple[str, ...], ...]:
    """Sets of quasi-identifiers that each model holds for one by one; none where it holds for all together."""
    if "quasi_sets" not in manifest:
        return ()
    where = "The manifest's 'quasi_sets'"
    found = tuple(tuple(_texts(one, "quasi_sets", where) or ()) for one in field(manifest, "quasi_sets", Sequence))
    quasi = {column.name for column in columns if column.role == "quasi"}
    if len(found) < 2 or not all(found) or {name for one in found for name in one} != quasi:
        raise VerificationError(f"{where} must be two or more, and together all of its quasi-identifiers.")
    if manifest.get("made", manifest.get("kind", "generalised")) != "generalised":
        raise VerificationError(f"{where} are for generalised releases.")
    return found


def _across(manifest: Mapping[str, Any], claims: Claims) -> tuple[tuple[str, ...], ...]:
    """Attributes of which enough values are claimed to remain over all classes of a person's rows where these agree."""
    where = "The manifest's 'across_classes'"
    given, found = field({"across_classes": [], **manifest}, "across_classes", Sequence), []
    if given and not claims.people:
        raise VerificationError(f"{where} are claimed, and people are not counted.")
    for entry in given:
        names = tuple(_texts([entry] if isinstance(entry, str) else entry, "across_classes", where) or ())
        if names not in across_targets(claims):
            raise VerificationError(f"{where} names something that no model asks for over several classes.")
        found.append(names)
    if len(set(found)) < len(found):
        raise VerificationError(f"{where} repeats an entry.")
    return tuple(found)


def across_targets(claims: Claims) -> list[tuple[str, ...]]:
    """Attributes of which a model asks that values remain possible over several classes."""
    every = [(column.name,) for column in claims.role("sensitive")]
    found: list[tuple[str, ...]] = []
    for model in claims.models:
        if term_of(model).left is not None:
            on = model.get("on")
            found += every if on is None else [(on,) if isinstance(on, str) else tuple(on)]
    return list(dict.fromkeys(found)) if claims.made in _CLASSED else []


def _form(manifest: Mapping[str, Any], columns: Sequence[Column]) -> dict[str, Any]:
    """The kind of release, how its quasi-identifiers were made, and what a bucketised one needs besides."""
    kind = choice({"kind": "generalised", **manifest}, "kind", KINDS, "The manifest")
    made = choice({"made": kind, **manifest}, "made", KINDS, "The manifest")
    if made != "generalised" and any(column.cells != "value" for column in columns if column.role == "quasi"):
        raise VerificationError(f"The manifest's cells of quasi-identifiers are not those of a {made} release.")
    if kind != ("pseudonymised" if any(column.coded not in (None, "shifted") for column in columns) else made):
        raise VerificationError(f"The manifest calls a release {kind}, and its columns are not coded accordingly.")
    if made == "perturbed" and manifest.get("models"):
        raise VerificationError("The manifest promises models of a perturbed release, which has no classes.")
    if made != "bucketised":
        return {"kind": kind, "made": made}
    group = field(manifest, "group", str)
    if group in [name for column in columns for name in column.files]:
        raise VerificationError(f"The manifest lists the column '{group}' twice.")
    publication = choice(manifest, "publication", _PUBLICATIONS, "The manifest")
    rule = choice(manifest, "leftovers", _LEFTOVERS, "The manifest") if "leftovers" in manifest else None
    return {"kind": kind, "made": made, "group": group, "publication": publication, "leftovers": rule}


def field(entry: Mapping[str, Any], key: str, kind: type, where: str = "The manifest") -> Any:
    """A required entry of a given type."""
    value = entry.get(key)
    if not isinstance(value, kind) or (kind is Sequence and isinstance(value, str | bytes)):
        raise VerificationError(f"{where} lacks a valid '{key}', so the release cannot be verified.")
    return value


def choice(entry: Mapping[str, Any], key: str, allowed: Sequence[str], where: str) -> str:
    """A required entry that is one of a few words."""
    value = field(entry, key, str, where)
    if value not in allowed:
        raise VerificationError(f"{where} has an unknown '{key}': it must be one of {', '.join(allowed)}.")
    return value


def _column(entry: Any) -> Column:
    if not isinstance(entry, Mapping):
        raise VerificationError("The manifest has a column that is not a JSON object.")
    name = field(entry, "name", str)
    where = f"The manifest's column '{name}'"
    kind = choice(entry, "type", TYPES, where)
    column = Column(
        name=name,
        role=choice(entry, "role", ROLES, where),
        type=kind,
        cells=choice(entry, "cells", CELLS, where),
        hierarchy=_hierarchy(entry.get("hierarchy"), entry.get("whole") is True, where),
        order=_texts(entry.get("order"), "order", where),
        domain=_domain(entry.get("domain"), kind, where),
        non_answers=_texts(entry.get("non_answers"), "non_answers", where) or (),
        bounds=_texts(entry.get("columns"), "columns", where) or (),
        policy=read_policy(entry.get("policy"), kind, entry.get("hierarchy"), where),
        coded=choice(entry, "coded", tuple(CODED), where) if "coded" in entry else None,
        days=field(entry, "days", int, where) if entry.get("coded") == "shifted" else None,
        answers=field({"answers": False, **entry}, "answers", bool, where),
        whole=field({"whole": False, **entry}, "whole", bool, where),
        mark=field(entry, "several", str, where) if entry.get("cells") == "items" else None,
        builder=field(entry, "builder", dict, where) if "builder" in entry else None,
    )
    if column.mark is None and entry.get("several", SEVERAL.get(column.cells)) != SEVERAL.get(column.cells):
        raise VerificationError(f"{where} has several values in a cell written in a way that is not known.")
    _check_cells(column, kind, where)
    return column


def _check_cells(column: Column, kind: str, where: str) -> None:
    """Refuse cells that a column of its role and type cannot have."""
    if (column.cells == "bounds") != (len(column.bounds) == 2):
        raise VerificationError(f"{where} needs the names of two 'columns' exactly when its cells are 'bounds'.")
    if column.cells == "bounds" and kind not in ("numeric", "date"):
        raise VerificationError(f"{where} is {kind}, so its cells cannot be bounds.")
    lifted = column.role == "sensitive" and column.cells == "label" and column.coded is None
    held = column.cells == "items" and column.role == "sensitive" and column.coded is None and kind == "categorical"
    if column.cells == "items" and (not held or len(column.mark or "") != 1):
        raise VerificationError(f"{where} has cells of items, which only a sensitive column with one mark has.")
    if column.role != "quasi" and column.cells != "value" and not lifted and not held:
        raise VerificationError(f"{where} is {column.role}, so its cells must be of kind 'value'.")
    if column.role == "quasi" and column.coded is not None:
        raise VerificationError(f"{where} is a quasi-identifier, so it cannot be coded.")
    if column.role == "pseudonym" and column.coded != "token":
        raise VerificationError(f"{where} is a pseudonym, so it must be coded as tokens.")
    if column.cells == "label" and column.hierarchy is None:
        raise VerificationError(f"{where} has label cells but no hierarchy.")
    if column.cells in ("interval", "representative") and kind == "categorical":
        raise VerificationError(f"{where} is categorical, so its cells cannot be intervals or representatives.")
    if (
        kind == "ordinal"
        and column.order is None
        and column.coded is None
        and (column.cells in ("interval", "representative") or column.role == "sensitive")
    ):
        raise VerificationError(f"{where} is ordinal but has no order.")


def _texts(value: Any, key: str, where: str) -> Sequence[str] | None:
    if value is None:
        return None
    if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
        raise VerificationError(f"{where} needs a list of texts as its '{key}'.")
    if len(set(value)) < len(value):
        raise VerificationError(f"{where} repeats an entry of its '{key}'.")
    return value


def _domain(value: Any, kind: str, where: str) -> tuple[float, float] | None:
    if value is None or kind not in ("numeric", "date"):
        return None
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise VerificationError(f"{where} needs two ends as its 'domain'.")
    low, high = canonical(pl.Series([str(end) for end in value]), kind)[1]
    if np.isnan(low) or np.isnan(high) or low > high:
        raise VerificationError(f"{where} has a 'domain' whose ends are not in order or not readable.")
    return float(low), float(high)


def _hierarchy(rows: Any, whole: bool, where: str) -> Sequence[Sequence[Any]] | None:
    """Rows leaf..root, checked to be one tree whose labels each name one set of leaves."""
    if rows is None:
        return None
    if (
        not isinstance(rows, list | tuple)
        or not rows
        or not all(isinstance(row, list | tuple) for row in rows)
    ):
        raise VerificationError(f"{where} has a hierarchy that is not a list of rows.")
    _check_rows(rows, whole, where)
    leaves = Counter(label for row in rows for label in set(row) - {None})
    for level in range(len(rows[0])):
        here = Counter(row[level] for row in rows if row[level] is not None)
        if any(leaves[label] != count for label, count in here.items()):
            raise VerificationError(
                f"{where} has a hierarchy with a label that names two different sets of leaves."
            )
        below = [(row[level - 1], row[level]) for row in rows if level and row[level - 1] is not None]
        if len(set(below)) > len({label for label, _ in below}):
            raise VerificationError(f"{where} has a hierarchy with a label that has two parents.")
    return rows


def _check_rows(rows: Sequence[Sequence[Any]], whole: bool, where: str) -> None:
    """Rows of one length, each of another leaf or label, all with one root; null only where not all is said."""
    depth = len(rows[0])
    allowed = str if whole else str | None
    if depth < 1 or any(len(row) != depth or not all(isinstance(label, allowed) for label in row) for row in rows):
        raise VerificationError(
            f"{where} has a hierarchy whose rows differ in length or hold other things than texts."
        )
    if len({row[-1] for row in rows}) > 1 or rows[0][-1] is None:
        raise VerificationError(f"{where} has a hierarchy with more than one root.")
    if len({lowest(row) for row in rows}) < len(rows):
        raise VerificationError(f"{where} has a hierarchy with the same leaf twice.")


def lowest(row: Sequence[Any]) -> str:
    """The leaf of a row, or the lowest label that is said."""
    return next(label for label in row if label is not None)


def _check_target(claims: Claims, model: Mapping[str, Any]) -> None:
    """Every model must judge something, and something it is defined for."""
    name, term = model["name"], term_of(model)
    if not term.valued:
        if not claims.role("quasi"):
            raise VerificationError(f"The manifest claims {name} but has no quasi-identifier.")
        if claims.sets and (term.of_cells or term.membership or term.remembers):
            raise VerificationError(f"The manifest claims {name} of sets of quasi-identifiers, which nothing checks.")
        if term.of_cells and claims.made != "generalised":
            raise VerificationError(f"The manifest claims {name}, and a {claims.made} release generalises nothing.")
        term.check(claims, model, (), False)
        return
    sensitive = {column.name: column for column in claims.role("sensitive")}
    on = model.get("on")
    names = list(sensitive) if "on" not in model else [on] if isinstance(on, str) else on
    if not isinstance(names, list | tuple) or not names or any(part not in list(sensitive) for part in names):
        raise VerificationError(
            f"The manifest's model '{name}' does not name sensitive columns of the release."
        )
    if len(set(names)) < len(names):
        raise VerificationError(f"The manifest's model '{name}' names a sensitive column twice.")
    joint = on is not None and len(names) > 1
    if joint and term.single:
        raise VerificationError(f"The manifest's model '{name}' is claimed on several columns together.")
    columns = [sensitive[part] for part in names]
    if term.numeric and (joint or any(column.type not in ("numeric", "date") for column in columns)):
        raise VerificationError(
            f"The manifest's model '{name}' is claimed on something that is not one numeric column."
        )
    term.check(claims, model, columns, joint)


# ----------------------------------------
# JSON without its ambiguities: what two readers could understand in two ways is refused.


_DEEPEST = 32
_LONGEST_NUMBER = 40
# Escapes can spell one half of a character that UTF-16 writes as two.
_HALF = re.compile("[\ud800-\udfff]")


def read_json(raw: bytes) -> Any:
    """Read a manifest: UTF-8, no key twice, no NaN, nothing nested beyond reason, no number beyond a float, no half
    characters.

    Raises
    ------
    VerificationError
        When it is JSON that could be read in two ways, or that no manifest needs.
    ValueError
        When it is not JSON at all.
    """
    try:
        found = json.loads(
            raw.decode(), object_pairs_hook=_object, parse_int=_whole, parse_float=_real, parse_constant=_constant
        )
    except RecursionError:
        raise _too_deep() from None
    _check_parts(found)
    return found


def _check_parts(value: Any) -> None:
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > _DEEPEST:
            raise _too_deep()
        if any(_HALF.search(one) for one in level if isinstance(one, str)):
            raise VerificationError("The manifest has half of a character, which no text holds.")
        inner = [one for one in level if isinstance(one, dict | list)]
        level = [part for one in inner for part in ([*one, *one.values()] if isinstance(one, dict) else one)]


def _too_deep() -> VerificationError:
    return VerificationError(f"The manifest is nested more than {_DEEPEST} levels deep.")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise VerificationError(f"The manifest has the key '{key}' twice in one object.")
        found[key] = value
    return found


def _whole(text: str) -> int:
    _check_length(text)
    return int(text)


def _real(text: str) -> float:
    _check_length(text)
    number = float(text)
    if not math.isfinite(number):
        raise VerificationError("The manifest has a number that is too large for a float.")
    return number


def _check_length(text: str) -> None:
    if len(text) > _LONGEST_NUMBER:
        raise VerificationError(f"The manifest has a number of more than {_LONGEST_NUMBER} digits.")


def _constant(text: str) -> float:
    raise VerificationError(f"The manifest has {text} in place of a number.")
