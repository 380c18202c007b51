"""A column of a manifest, and the kinds of parts that a manifest has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Annotated, Any, Literal, Self, TypeVar, get_args

import numpy as np
import polars as pl
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    NonNegativeInt,
    PlainValidator,
    ValidationInfo,
    model_validator,
)
from pydantic_core import PydanticCustomError

from shoal.verify.policies import Policy, read_policy
from shoal.verify.values import canonical

# How what is published stands for a column's values, and as what it is read.
CODED = {"graded": "numeric", "mapping": "categorical", "token": "categorical", "shifted": "date"}
# The marks before, between and behind several values of one cell, by the kind of cells.
_SEVERAL = {"set": "{|}", "interval": "[,]"}
# How quasi-identifiers are perturbed.
Way = Literal["swapped", "shuffled", "condensed", "pram", "invariant-pram", "noise"]
WAYS = get_args(Way)
_TECHNIQUES = ("derived", "recoded", "top-coded", "bottom-coded", "rounded")

# ----------------------------------------
# Kinds of parts.

T = TypeVar("T")


def _given(value: Any) -> Any:
    if value is None:
        raise PydanticCustomError("null", "null")
    return value


def _texts(value: Any, info: ValidationInfo) -> tuple[str, ...]:
    key = {"sets": "quasi_sets", "across": "across_classes"}.get(str(info.field_name), str(info.field_name))
    where = _column(info) if "name" in info.data else f"The manifest's '{key}'"
    if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
        raise ValueError(f"{where} needs a list of texts as its '{key}'.")
    if len(set(value)) < len(value):
        raise ValueError(f"{where} repeats an entry of its '{key}'.")
    return tuple(value)


def _column(info: ValidationInfo) -> str:
    return f"The manifest's column '{info.data.get('name')}'"


def _only(**wanted: Collection[Any]) -> BeforeValidator:
    """Refuse a part in columns that it says nothing about: there nobody would check it."""

    def check(value: Any, info: ValidationInfo) -> Any:
        if not all(info.data.get(key) in allowed for key, allowed in wanted.items()):
            raise PydanticCustomError("idle", "idle")
        return value

    return BeforeValidator(check)


def _described(value: Any, info: ValidationInfo) -> Any:
    if info.data.get("hierarchy") is None:
        raise PydanticCustomError("idle", "idle")
    return value


def _domain(value: Any, info: ValidationInfo) -> tuple[float, float] | None:
    if value is None:
        return None
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise ValueError(f"{_column(info)} needs two ends as its 'domain'.")
    low, high = canonical(pl.Series([str(end) for end in value]), info.data["type"])[1]
    if np.isnan(low) or np.isnan(high) or low > high:
        raise ValueError(f"{_column(info)} has a 'domain' whose ends are not in order or not readable.")
    return float(low), float(high)


def _policy(value: Any, info: ValidationInfo) -> Policy | None:
    return read_policy(value, info.data.get("type", ""), info.data.get("hierarchy"), _column(info))


def _hierarchy(rows: Any, info: ValidationInfo) -> Sequence[Sequence[Any]] | None:
    """Rows leaf..root of one length, checked to be one tree whose labels each name one set of leaves."""
    if rows is None:
        return None
    where = f"{_column(info)} has a hierarchy"
    if not isinstance(rows, list | tuple) or not rows or not all(isinstance(row, list | tuple) for row in rows):
        raise ValueError(f"{where} that is not a list of rows.")
    _check_rows(rows, where)
    leaves = Counter(label for row in rows for label in set(row) - {None})
    for level in range(len(rows[0])):
        here = Counter(row[level] for row in rows if row[level] is not None)
        if any(leaves[label] != count for label, count in here.items()):
            raise ValueError(f"{where} with a label that names two different sets of leaves.")
        below = [(row[level - 1], row[level]) for row in rows if level and row[level - 1] is not None]
        if len(set(below)) > len({label for label, _ in below}):
            raise ValueError(f"{where} with a label that has two parents.")
    return rows


def _check_rows(rows: Sequence[Sequence[Any]], where: str) -> None:
    """Rows of one length, each of another leaf or label, all with one root."""
    depth = len(rows[0])
    if depth < 1 or any(len(row) != depth or not all(isinstance(label, str | None) for label in row) for row in rows):
        raise ValueError(f"{where} whose rows differ in length or hold other things than texts.")
    if len({row[-1] for row in rows}) > 1 or rows[0][-1] is None:
        raise ValueError(f"{where} with more than one root.")
    if len({lowest(row) for row in rows}) < len(rows):
        raise ValueError(f"{where} with the same leaf twice.")


def lowest(row: Sequence[Any]) -> str:
    """The leaf of a row, or the lowest label that is said."""
    return next(label for label in row if label is not None)


def _techniques(words: list[str]) -> list[str]:
    if not words or words != [word for word in _TECHNIQUES if word in words]:
        raise ValueError("each once and in our order")
    return words


# A part that may be left out, but is not null where it stands.
Given = Annotated[T | None, BeforeValidator(_given)]
Texts = Annotated[tuple[str, ...], PlainValidator(_texts)]
List = Annotated[tuple[T, ...], Field(strict=False)]
Hash = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Words = Annotated[str, Field(pattern=r"\S")]
Share = Annotated[float, Field(ge=0, le=1)]
# Numbers are texts in a manifest, or they would be rounded.
Decimal = Annotated[str, Field(pattern=r"^-?[0-9]+(\.[0-9]+)?$")]
_Levels = Annotated[list[T], Field(min_length=1)]
Rules = Iterator[tuple[bool, str]]


class Strict(BaseModel):
    """A part of a manifest: nothing unknown, nothing of another type, nothing that changes."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True)

    def rules(self) -> Rules:
        """What else has to hold, rule by rule: whether it is broken, and what is then said."""
        yield from ()

    @model_validator(mode="after")
    def _keeps_rules(self) -> Self:
        broken = next((why for wrong, why in self.rules() if wrong), None)
        if broken is not None:
            raise ValueError(broken)
        return self


# ----------------------------------------
# Columns.


class _Edges(Strict):
    edges: _Levels[_Levels[Decimal]]


class _Builder(Strict):
    """How a hierarchy was built: numbers, names of levels, one character."""

    prefix: _Levels[NonNegativeInt] = []
    mask: Annotated[str, Field(min_length=1, max_length=1)] = ""
    widths: _Levels[Decimal] = []
    origin: Decimal = ""
    intervals: Given[_Edges] = None
    dates: _Levels[Literal["month", "quarter", "year", "decade"]] = []
    quantiles: _Levels[NonNegativeInt] = []

    def rules(self) -> Rules:
        forms = ({"prefix", "mask"}, {"widths", "origin"}, {"intervals"}, {"dates"}, {"quantiles"})
        yield self.model_fields_set not in forms, "One form of builder, with all of its parameters."


class Column(Strict):
    """One column of the release; one of ``bounds`` has two columns in the file, whose names are ``columns``.

    ``coded`` says how what is published stands for the values, None where it is the values, and ``answers`` that no
    code stands for a non-answer. A ``hierarchy`` that is not ``whole`` has the labels that stand in the release, and
    null for what is not said; ``builder`` says how it was built.
    """

    name: str
    role: Literal["quasi", "sensitive", "neutral", "pseudonym"]
    type: Literal["numeric", "date", "ordinal", "categorical"]
    cells: Literal["interval", "label", "set", "value", "bounds", "representative", "items"]
    columns: Annotated[Texts, _only(cells=("bounds",))] = ()
    null: Annotated[Given[Literal["*"]], _only(cells=("bounds", "representative"))] = None
    several: Annotated[Given[str], _only(cells=("set", "interval", "items"))] = None
    prepared: Annotated[list[str], AfterValidator(_techniques)] = []
    hierarchy: Annotated[Sequence[Sequence[Any]] | None, PlainValidator(_hierarchy)] = None
    whole: Annotated[bool, BeforeValidator(_described)] = False
    builder: Annotated[Given[_Builder], BeforeValidator(_described)] = None
    order: Annotated[Texts | None, _only(type=("ordinal",))] = None
    domain: Annotated[tuple[float, float] | None, PlainValidator(_domain), _only(type=("numeric", "date"))] = None
    policy: Annotated[Policy | None, PlainValidator(_policy)] = None
    non_answers: Annotated[Texts, _only(role=("sensitive",))] = ()
    coded: Given[Literal["graded", "mapping", "token", "shifted"]] = None
    days: Annotated[Given[int], _only(coded=("shifted",))] = None
    answers: Annotated[bool, _only(role=("sensitive",), coded=CODED)] = False
    p: Annotated[Given[float], _only(role=("quasi",), cells=("value",))] = None
    stay: Annotated[Given[Share], _only(role=("quasi",))] = None
    noise: Annotated[Annotated[float, Field(ge=0)] | None, BeforeValidator(_given), _only(role=("quasi",))] = None

    @property
    def mark(self) -> str | None:
        """What stands between items of one cell."""
        return self.several if self.cells == "items" else None

    @property
    def files(self) -> Sequence[str]:
        """Its names in the file."""
        return self.columns or (self.name,)

    @property
    def reads(self) -> str:
        """The type that what is published is read as."""
        if self.role == "sensitive" and self.cells == "label":  # lifted: nodes above numbers are texts
            return "categorical"
        return self.type if self.coded is None else CODED[self.coded]

    def rules(self) -> Rules:
        where, cells = f"The manifest's column '{self.name}'", self.cells
        gaps = self.whole and any(label is None for row in self.hierarchy or () for label in row)
        yield gaps, f"{where} has a hierarchy whose rows differ in length or hold other things than texts."
        days = self.coded == "shifted" and self.days is None
        yield days, f"{where} lacks a valid 'days', so the release cannot be verified."
        several = cells != "items" and self.several not in (None, _SEVERAL.get(cells))
        yield several, f"{where} has several values in a cell written in a way that is not known."
        bounds = (cells == "bounds") != (len(self.columns) == 2)
        yield bounds, f"{where} needs the names of two 'columns' exactly when its cells are 'bounds'."
        yield from self._cell_rules(where, self.type, cells)
        yield self.role == "quasi" and self.coded is not None, f"{where} is a quasi-identifier, so it cannot be coded."
        token = self.role == "pseudonym" and self.coded != "token"
        yield token, f"{where} is a pseudonym, so it must be coded as tokens."

    def _cell_rules(self, where: str, kind: str, cells: str) -> Rules:
        """Cells that a column of its role and type can have."""
        own = self.role == "sensitive" and self.coded is None
        numbers = kind in ("numeric", "date")
        yield cells == "bounds" and not numbers, f"{where} is {kind}, so its cells cannot be bounds."
        items = own and kind == "categorical" and len(self.mark or "") == 1
        yield (
            cells == "items" and not items,
            f"{where} has cells of items, which only a sensitive column with one mark has.",
        )
        lifted = cells in (("value", "label", "items") if own else ("value",))
        yield self.role != "quasi" and not lifted, f"{where} is {self.role}, so its cells must be of kind 'value'."
        yield cells == "label" and self.hierarchy is None, f"{where} has label cells but no hierarchy."
        ranged = cells in ("interval", "representative")
        yield (
            ranged and kind == "categorical",
            f"{where} is categorical, so its cells cannot be intervals or representatives.",
        )
        ordered = kind == "ordinal" and self.coded is None and (ranged or self.role == "sensitive")
        yield ordered and self.order is None, f"{where} is ordinal but has no order."
