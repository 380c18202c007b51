"""The manifest as a strict schema: every part that it may have, of its kind, and nothing else.

What nobody reads nobody checks, and a reader would believe it all the same: an unknown key is refused. :class:`Claims`
has the parts that models are judged by, which the gate knows before there are a file, verdicts and a report;
:class:`Manifest` has all of them.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
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
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from shoal.errors import VerificationError
from shoal.verify.policies import Policy, read_policy
from shoal.verify.values import canonical

VERSION = 1
REPORT = "report.html"
Kind = Literal["generalised", "randomised", "pseudonymised", "microaggregated", "bucketised", "perturbed"]
KINDS = get_args(Kind)
# How quasi-identifiers are perturbed.
Way = Literal["swapped", "shuffled", "condensed", "pram", "invariant-pram", "noise"]
WAYS = get_args(Way)
# How what is published stands for a column's values, and as what it is read.
CODED = {"graded": "numeric", "mapping": "categorical", "token": "categorical", "shifted": "date"}
# The marks before, between and behind several values of one cell, by the kind of cells.
_SEVERAL = {"set": "{|}", "interval": "[,]"}
_TECHNIQUES = ("derived", "recoded", "top-coded", "bottom-coded", "rounded")
# What only some kinds say, by how quasi-identifiers were made.
_APART = {
    "bucketised": ("group", "publication", "leftovers"), "randomised": ("redraw",), "perturbed": ("perturbation",),
}  # fmt: skip
_SUM = 1e-9

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


def _iso(date: str) -> str:
    try:
        right = datetime.date.fromisoformat(date).isoformat() == date
    except ValueError:
        right = False
    if not right:
        raise ValueError("The 'date' of the manifest must be an ISO date.")
    return date


def _published(columns: tuple[Column, ...]) -> tuple[Column, ...]:
    names = [column.name for column in columns]
    if not names or len(set(names)) < len(names):
        raise ValueError("The 'columns' of the manifest must be at least one, each named once.")
    for position, column in enumerate(columns, start=1):
        if column.cells in ("set", "items") and column.several is None:
            raise ValueError(
                f"Column {position} of the manifest does not say how several values are written: verify it with the "
                "Shoal that wrote it."
            )
    return columns


def _unattested(verdicts: tuple[ClaimedVerdict, ...]) -> tuple[ClaimedVerdict, ...]:
    """Attested figures tell something about the input; who vouches is looked up by whoever reads it."""
    if any(verdict.by == "attested" and verdict.value is not None for verdict in verdicts):
        raise ValueError("The manifest gives a figure to an attested verdict, which nothing checks.")
    return verdicts


def _name_sets(value: Any, info: ValidationInfo) -> Any:
    """A name alone is a set of one."""
    return [[one] if isinstance(one, str) else one for one in value] if isinstance(value, list | tuple) else value


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


# ----------------------------------------
# Files, verdicts, figures and words.


class Counted(Strict):
    """What the gate knows of files that are not yet written."""

    model_config = ConfigDict(extra="ignore")

    rows: NonNegativeInt | None = None


class _Table(Counted):
    model_config = ConfigDict(extra="forbid")

    file: str
    rows: NonNegativeInt
    sha256: Hash


class _Copy(Strict):
    """A copy of the data in another format, of which nothing but its hash is known."""

    file: Annotated[str, Field(pattern=r"^(release|sensitive)\.(xlsx|sav|dta)$")]
    sha256: Hash


class Data(_Table):
    """The files of the release. A manifest comes from somebody else, so no name leads out of its folder."""

    format: Literal["csv", "parquet"]
    sensitive: Given[_Table] = None
    formulas: Given[Literal["escaped"]] = None
    copies: Annotated[list[_Copy], Field()] = []

    def rules(self) -> Rules:
        yield self.file != f"release.{self.format}", SENTENCES["data.file"]
        apart = self.sensitive is not None and self.sensitive.file != f"sensitive.{self.format}"
        yield apart, SENTENCES["data.sensitive"]
        yield self.formulas is not None and self.format != "csv", SENTENCES["data.formulas"]
        yield len({copy.file for copy in self.copies}) < len(self.copies), SENTENCES["data.copies.*.file"]


class _Report(Strict):
    file: Literal["report.html"]
    sha256: Hash


class ClaimedVerdict(Strict):
    """A verdict as the manifest gives it; one of a plug-in's model names the package that vouches for it."""

    model: dict[str, Any]
    on: Any
    holds: bool
    by: Any
    value: float | None
    limit: float
    # The name and the version of a distribution, as they may stand on a command line.
    vouched_by: Given[Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]* [0-9][A-Za-z0-9.+!]*$")]] = None

    def rules(self) -> Rules:
        yield self.value is None and self.by != "attested", SENTENCES["verdicts.*.value"]


class ClaimedClasses(Strict):
    """How many classes there are, the smallest, and digests of quasi-identifiers and of each sensitive column."""

    count: int
    smallest: int
    digest: dict[str, str]


class _Figure(Strict):
    """A figure of an attack, which rests on evidence; what it cannot be is refused."""

    name: str
    value: float
    interval: Annotated[list[float], Field(min_length=2, max_length=2)]
    baseline: float | None
    sentence: str

    def rules(self) -> Rules:
        low, high = self.interval
        outside = not low <= self.value <= high
        yield outside, "The 'measured' of the manifest has a figure outside its interval."
        shares = all(0 <= share <= 1 for share in (low, high, self.baseline or 0))
        yield not shares, "The 'measured' of the manifest must be shares from 0 to 1."


class _Review(Strict):
    """What a publisher says in words of their own: texts, lists of texts, and reasons for accepted codes."""

    title: Given[Words] = None
    purpose: Given[Words] = None
    controller: Given[Words] = None
    contact: Given[Words] = None
    context: Given[Words] = None
    use: Given[Words] = None
    re_evaluation: Given[Words] = None
    recipients: Given[list[Words]] = None
    earlier: Given[list[Words]] = None
    accepted: dict[str, Words] = {}


class _Sample(Strict):
    """That rows or people were drawn, by which share, and whether by strata."""

    of: Literal["rows", "people"]
    share: Annotated[float, Field(gt=0, lt=1)] = 0.5
    stratified: bool


# ----------------------------------------
# The whole.


class Claims(Strict):
    """What a manifest says about a release, as far as models are judged by it.

    ``sets`` are quasi-identifiers that each model holds for one by one, none where it holds for all together;
    ``across`` are attributes of which enough values are claimed to remain over all classes of a person's rows where
    these agree.
    """

    model_config = ConfigDict(extra="ignore")

    kind: Kind = "generalised"
    made: Kind = "generalised"
    suppressed: Literal["drop", "star"]
    order: Literal["shuffled", "kept"]
    people: bool
    columns: List[Column]
    models: List[dict[str, Any]]
    data: Given[Counted] = None
    verdicts: Given[List[ClaimedVerdict]] = None
    classes: Given[ClaimedClasses] = None
    group: Given[str] = None
    publication: Given[Literal["tables", "permuted"]] = None
    leftovers: Given[Literal["suppress", "join"]] = None
    redraw: Given[int] = None
    perturbation: Given[Way] = None
    counterfeits: int = 0
    sets: List[Texts] = Field((), alias="quasi_sets")
    across: Annotated[List[Texts], BeforeValidator(_name_sets)] = Field((), alias="across_classes")

    @model_validator(mode="before")
    @classmethod
    def _made_as_called(cls, given: Any) -> Any:
        return {"made": given["kind"], **given} if isinstance(given, dict) and "kind" in given else given

    @property
    def rows(self) -> int | None:
        """Rows of the release."""
        return None if self.data is None else self.data.rows

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

    def rules(self) -> Rules:
        others = [name for kind, names in _APART.items() if kind != self.made for name in names]
        odd = sorted(name for name in others if getattr(self, name) is not None)
        yield bool(odd), unknown("The manifest", next(iter(odd), ""))
        named = Counter(name for column in self.columns for name in {column.name, *column.files})
        twice = [name for name, times in named.items() if times > 1 or name == self.group]
        yield bool(twice), f"The manifest lists the column '{next(iter(twice), '')}' twice."
        yield (
            "quasi" in [column.name for column in self.role("sensitive")],
            "A sensitive column called 'quasi' cannot be verified: rename it.",
        )
        exact = self.made == "generalised" or all(column.cells == "value" for column in self.role("quasi"))
        yield not exact, f"The manifest's cells of quasi-identifiers are not those of a {self.made} release."
        coded = any(column.coded not in (None, "shifted") for column in self.columns)
        kind = "pseudonymised" if coded else self.made
        yield (
            self.kind != kind,
            f"The manifest calls a release {self.kind}, and its columns are not coded accordingly.",
        )
        yield (
            self.made == "perturbed" and bool(self.models),
            "The manifest promises models of a perturbed release, which has no classes.",
        )
        for key in ("group", "publication"):
            yield self.made == "bucketised" and getattr(self, key) is None, lacks(key)
        yield from self._set_rules()
        yield from self._digest_rules()

    def _set_rules(self) -> Rules:
        where = "The manifest's 'quasi_sets'"
        every = {name for one in self.sets for name in one} == {column.name for column in self.role("quasi")}
        told = len(self.sets) > 1 and all(self.sets) and every
        yield (
            "sets" in self.model_fields_set and not told,
            f"{where} must be two or more, and together all of its quasi-identifiers.",
        )
        yield bool(self.sets) and self.made != "generalised", f"{where} are for generalised releases."
        where = "The manifest's 'across_classes'"
        yield bool(self.across) and not self.people, f"{where} are claimed, and people are not counted."
        yield len(set(self.across)) < len(self.across), f"{where} repeats an entry."
        most = self.counterfeits if self.rows is None else self.rows
        yield (
            not 0 <= self.counterfeits <= most,
            "The manifest's 'counterfeits' are not a number of rows of the release.",
        )

    def _digest_rules(self) -> Rules:
        wanted = ["quasi", *(column.name for column in self.role("sensitive"))]
        digests = dict.fromkeys(wanted) if self.classes is None else self.classes.digest
        for key in wanted:
            yield key not in digests, lacks(key, "The manifest's digest of the classes")
        extra = next((key for key in digests if key not in wanted), None)
        yield extra is not None, f"The manifest has a digest of '{extra}', which nothing checks."


class Manifest(Claims):
    """All of a manifest, as it lies beside a release."""

    model_config = ConfigDict(extra="forbid")

    shoal: Annotated[str, Field(pattern=r"^[0-9]+(\.[0-9]+)+[0-9a-z.+]*$")]
    manifest: int
    kind: Kind
    source: str | None
    statement: str
    not_protected: list[str]
    data: Data
    report: _Report
    columns: Annotated[List[Column], AfterValidator(_published)]
    verdicts: Annotated[List[ClaimedVerdict], AfterValidator(_unattested)]
    classes: ClaimedClasses
    acknowledged: list[str]
    date: Annotated[Given[str], AfterValidator(_iso)] = None
    measured: list[_Figure] = []
    review: _Review = _Review()
    sample: Given[_Sample] = None

    def rules(self) -> Rules:
        yield from super().rules()
        reasons = set(self.review.accepted) <= set(self.acknowledged)
        yield not reasons, "The manifest's 'review' gives a reason for a code that is not acknowledged."
        drawn = self.sample is None or self.sample.of == ("people" if self.people else "rows")
        yield not drawn, SENTENCES["sample.of"]
        yield from self._chances()
        yield self.made == "perturbed" and self.perturbation is None, SENTENCES["perturbation"]
        for key, ways in (("stay", ("pram", "invariant-pram")), ("noise", ("noise",))):
            told = any(getattr(column, key) is not None for column in self.columns)
            right = told == (self.perturbation in ways)
            yield not right, f"The manifest gives a column its '{key}' exactly where the release was made so."

    def _chances(self) -> Rules:
        """How likely each quasi-identifier is to be redrawn, of a randomised release and of no other."""
        chances = [column.p for column in self.role("quasi")]
        given = [p for p in chances if p is not None]
        if self.made != "randomised":
            yield bool(given), "The manifest gives chances to be redrawn, and nothing of the release was."
            return
        right = len(given) == len(chances) and min(given, default=0) >= 0 and abs(sum(given) - 1) <= _SUM
        yield not right, SENTENCES["columns.*.p"]
        drawn = [p for p in given if p > 0]
        number = self.redraw or 0
        yield (
            not 1 <= number <= len(drawn),
            "The 'redraw' of the manifest must be a number of its columns with a chance above 0.",
        )
        yield (
            number > 1 and max(drawn) - min(drawn) > _SUM,
            "The manifest redraws several columns of a record, and their chances are not equal.",
        )


# ----------------------------------------
# Reading, and one sentence for what is wrong.


def check_manifest(manifest: Any) -> None:
    """Refuse a manifest that lacks a part, has one too many, or in which a part is of the wrong kind.

    Whether its models can be verified is seen when they are.
    """
    if isinstance(manifest, Mapping) and manifest.get("manifest") is not VERSION:
        raise VerificationError(f"The manifest is not of version {VERSION}: verify it with the Shoal that wrote it.")
    read_parts(Manifest, manifest)


P = TypeVar("P", bound=Claims)


def read_parts(kind: type[P], manifest: Any) -> P:
    """Read a manifest as one of the classes above."""
    if not isinstance(manifest, Mapping):
        raise VerificationError("The manifest is not a JSON object.")
    try:
        return kind.model_validate(dict(manifest))
    except ValidationError as error:
        told = _sentence(error.errors(include_url=False), manifest)
    raise VerificationError(told)


_WHERE = {
    "": "The manifest", "data": "The manifest's 'data'", "data.copies.*": "A copy in the manifest's 'data'",
    "data.sensitive": "The manifest's table of sensitive values", "report": "The manifest's 'report'",
    "verdicts.*": "An entry of the manifest's 'verdicts'", "measured.*": "An entry of the manifest's 'measured'",
    "classes": "The manifest's 'classes'", "sample": "The manifest's 'sample'", "review": "The manifest's 'review'",
}  # fmt: skip
# Parts of a column that say nothing where they are of the wrong kind.
_ODD = {"null", "prepared", "builder", "stay", "noise"}
_FILE = "The 'data' of the manifest must be the file release.csv or release.parquet."
_APART_FILE = "The table of sensitive values in the manifest must be the file sensitive.csv or sensitive.parquet."
_ROWS = "The 'data' of the manifest must give its number of rows."
_HASH = "The '{}' of the manifest must give its SHA-256 in hexadecimal."
_PARTS = "The 'measured' of the manifest must have all of their parts."
_NUMBERS = "The 'measured' of the manifest must be numbers."
_INCOMPLETE = "The manifest has a verdict that is incomplete."
_NO_NUMBER = "The manifest has a verdict whose value or limit is not a number."
_SAMPLE = "The 'sample' of the manifest must say of what it is, and of which share."
# What is said where a part is lacking or of the wrong kind; a key that ends with a colon and the kind of error first.
SENTENCES = {
    "shoal:string_pattern_mismatch": "The 'shoal' of the manifest must be a version.",
    "not_protected.*": "The 'not_protected' of the manifest must be texts.",
    "acknowledged.*": "The 'acknowledged' of the manifest must be texts.",
    "data.file": _FILE, "data.format": _FILE, "data.rows": _ROWS, "data.sha256": _HASH.format("data"),
    "data.formulas": "The 'formulas' of the manifest's data can only be 'escaped', in a CSV file.",
    "data.sensitive": _APART_FILE, "data.sensitive.file": _APART_FILE, "data.sensitive.rows": _ROWS,
    "data.sensitive.sha256": _HASH.format("data"),
    "data.copies": "The 'copies' of the manifest's data must be a list of files.",
    "data.copies.*": "The 'copies' of the manifest's data must be a list of files.",
    "data.copies.*.file": "The 'copies' of the manifest's data must be files such as release.xlsx, each once.",
    "data.copies.*.sha256": _HASH.format("copies"),
    "report.file": f"The 'report' of the manifest must be the file {REPORT}.", "report.sha256": _HASH.format("report"),
    "columns.*.p": "The manifest must give each quasi-identifier its chance 'p' to be redrawn, in all 1.",
    "perturbation": f"The 'perturbation' of the manifest must be one of {', '.join(WAYS)}.",
    "models.*": "The 'models' of the manifest must be JSON objects.",
    "verdicts.*": "The 'verdicts' of the manifest must be JSON objects.",
    "verdicts.*.model": _INCOMPLETE, "verdicts.*.on": _INCOMPLETE, "verdicts.*.holds": _INCOMPLETE,
    "verdicts.*.by": _INCOMPLETE, "verdicts.*.value:missing": _INCOMPLETE, "verdicts.*.limit:missing": _INCOMPLETE,
    "verdicts.*.value": _NO_NUMBER, "verdicts.*.limit": _NO_NUMBER,
    "verdicts.*.vouched_by": "The manifest has a verdict whose 'vouched_by' is no distribution with its version.",
    "measured.*": "The 'measured' of the manifest must be JSON objects.", "measured.*.name": _PARTS,
    "measured.*.sentence": _PARTS, "measured.*.interval": _PARTS, "measured.*.baseline:missing": _PARTS,
    "measured.*.baseline": _NUMBERS, "measured.*.value": _NUMBERS, "measured.*.interval.*": _NUMBERS,
    "sample.of": _SAMPLE, "sample.share": _SAMPLE, "sample.stratified": _SAMPLE,
}  # fmt: skip


def unknown(where: str, key: str) -> str:
    """Say that a part has a key that it should not have."""
    return f"{where} has a key '{key}' that is not known, so nothing checks it."


def lacks(key: str, where: str = "The manifest") -> str:
    """Say that a part lacks something that the release is judged by."""
    return f"{where} lacks a valid '{key}', so the release cannot be verified."


def _sentence(errors: Sequence[ErrorDetails], manifest: Mapping[str, Any]) -> str:
    """The first thing that is wrong; of keys that are not known the first by name."""
    error = errors[0]
    kind, place = error["type"], error["loc"]
    path, in_column = _path(place), place[:1] == ("columns",) and len(place) > 1
    column = f"Column {int(place[1]) + 1} of the manifest" if in_column else ""
    if kind == "idle" or (in_column and {*place} & _ODD):
        return f"{column} has a '{place[2]}' that says nothing about it."
    if kind == "value_error":
        return str(error["ctx"]["error"])
    if kind == "extra_forbidden":
        alike = [one["loc"] for one in errors if one["type"] == kind and one["loc"][:-1] == place[:-1]]
        return unknown(_WHERE.get(_path(place[:-1]), column), str(min(map(str, (loc[-1] for loc in alike)))))
    if (said := SENTENCES.get(f"{path}:{kind}") or SENTENCES.get(path)) is not None:
        return said
    if in_column:
        return _column_sentence(error, manifest["columns"])
    return _part_sentence(error)


def _part_sentence(error: ErrorDetails) -> str:
    """What is said of parts that have no sentence of their own."""
    kind, (part, *rest) = error["type"], error["loc"]
    if part == "review" and rest:
        return f"The '{rest[0]}' in the manifest's 'review' is of the wrong kind."
    if part == "classes" and rest:
        return lacks(str(rest[-1]), _WHERE["classes"] if len(rest) == 1 else "The manifest's digest of the classes")
    if kind == "missing":
        return f"The manifest lacks '{part}'."
    if kind == "literal_error" and isinstance(error["input"], str):
        return f"The manifest has an unknown '{part}': it must be one of {_options(error)}."
    return f"The '{part}' of the manifest is of the wrong kind."


def _column_sentence(error: ErrorDetails, columns: Sequence[Mapping[str, Any]]) -> str:
    at, key = int(error["loc"][1]), str(next(iter(error["loc"][2:]), "name"))
    if key == "name":
        return f"Column {at + 1} of the manifest has no name."
    if key in ("role", "type", "cells"):
        options = ", ".join(get_args(Column.model_fields[key].annotation))
        return f"The {key} of column {at + 1} of the manifest must be one of {options}."
    where = f"The manifest's column '{columns[at]['name']}'"
    if error["type"] == "literal_error":
        return f"{where} has an unknown '{key}': it must be one of {_options(error)}."
    return lacks(key, where)


def _options(error: ErrorDetails) -> str:
    return ", ".join(re.findall("'([^']*)'", error["ctx"]["expected"]))


def _path(place: Sequence[int | str]) -> str:
    return ".".join("*" if isinstance(part, int) else part for part in place)
