"""The manifest as a strict schema: every part that it may have, of its kind, and nothing else.

What nobody reads nobody checks, and a reader would believe it all the same: an unknown key is refused. :class:`Claims`
has the parts that models are judged by, which the gate knows before there are a file, verdicts and a report;
:class:`Manifest` has all of them.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    NonNegativeInt,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from shoal.errors import VerificationError
from shoal.verify.manifest_column import Column, Given, Hash, List, Rules, Strict, Texts, Way, Words
from shoal.verify.manifest_sentences import SENTENCES, first_sentence, lacks, unknown

VERSION = 1
REPORT = "report.html"
Kind = Literal["generalised", "randomised", "pseudonymised", "microaggregated", "bucketised", "perturbed"]
KINDS = get_args(Kind)
# What only some kinds say, by how quasi-identifiers were made.
_APART = {
    "bucketised": ("group", "publication", "leftovers"), "randomised": ("redraw",), "perturbed": ("perturbation",),
}  # fmt: skip
_SUM = 1e-9

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
# Reading.


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
        told = first_sentence(error.errors(include_url=False), manifest)
    raise VerificationError(told)
