"""Roles, types and per-column settings, checked against each other before any data is coded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from functools import cached_property, partial
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field

from shoal.data.column_settings import (
    Derived,
    End,
    check_code,
    check_derive,
    check_domain,
    check_end,
    check_shift,
    check_snap,
    checked_code,
    checked_derive,
    checked_end,
    checked_recode,
    checked_round,
    checked_shift,
)
from shoal.data.entries import Entries, Names, Text, Texts, as_list
from shoal.data.values import normal_text
from shoal.errors import ParameterError, SchemaError
from shoal.params import choice, nearest, real, shown

Type = Literal["numeric", "date", "ordinal", "categorical"]
TYPES: tuple[str, ...] = get_args(Type)
LIST_ROLES = ("identifiers", "quasi", "sensitive", "neutral", "pseudonym", "drop")
MOST_QUASI = 256
SINGLE_ROLES = ("subject", "weight", "key", "guard")


@dataclass(frozen=True, kw_only=True)
class ColumnSpec(Entries):
    """Settings of one column, under ``[columns.NAME]`` in a recipe; every entry is optional.

    Attributes
    ----------
    type
        ``numeric``, ``date``, ``ordinal`` or ``categorical``; found from the data when None.
    format
        strptime format of a date column, ISO when None.
    order
        The values of an ordinal column, lowest first.
    domain
        Declared lowest and highest value of a numeric or date column; public.
    style
        ``"auto"`` (text cells), ``"bounds"`` (two columns) or ``"representative"`` (one value a class).
    snap
        ``"auto"``, ``"off"`` or a grid width for released intervals.
    use
        ``"interval"`` prices and cuts a numeric column by width although it has a hierarchy.
    non_answers
        Values of a sensitive column that say nothing, such as ``"refused"``.
    shift
        Move the dates of every person by a secret number of days: ``{"days": 30, "gap_limit": 0.05}``, the largest move
        and the largest share of people whose gaps between dates nobody else has (without ``W-TRAJECTORY``).
    code
        Publish codes of a sensitive column's values: ``"mapping"``, ``"graded"``, or a table of ``how`` and the
        parameters of that method: ``{"how": "graded", "categories": 8}``.
    missing_markers
        Cells of this column that stand for a missing value.
    decimal, thousands
        How a column of text writes numbers, such as ``","`` and ``"."`` for 1.234,5; as the source does when None.
    derive
        Make the column from others: ``{"years": ["born", "admitted"]}``, ``{"days": "born", "at": "2026-01-01"}``,
        ``{"year": "born"}``, ``{"month": "born"}`` or ``{"first": "zip", "length": 3}``.
    recode, recode_else
        Which value becomes which, and whether others are an ``"error"`` or are ``"keep"``-t.
    top, bottom
        From where on values become one: a number (``90`` gives ``90+``, or ``<=90`` at the bottom), or a table of
        ``at`` and ``as``, a text, a number or ``"mean"``.
    round
        The base that numbers between the ends are rounded to.
    items
        What stands between the items of a sensitive column whose cells hold several, such as ``"|"``.
    """

    type: Type | None = None
    format: str | None = None
    order: Texts | None = None
    domain: Annotated[Sequence[Any], BeforeValidator(check_domain)] | None = None
    style: Literal["auto", "bounds", "representative"] = "auto"
    snap: Annotated[Any, BeforeValidator(check_snap)] = "auto"
    use: Literal["interval"] | None = None
    non_answers: Texts = ()
    missing_markers: Texts = ()
    decimal: Literal[".", ","] | None = None
    thousands: str | None = None
    shift: Annotated[Mapping[str, Any], BeforeValidator(check_shift)] | None = None
    code: Annotated[Any, BeforeValidator(check_code)] = None
    derive: Annotated[Mapping[str, Any], BeforeValidator(check_derive)] | None = None
    recode: Mapping[str, Text] | None = None
    recode_else: Literal["error", "keep"] = "error"
    top: Annotated[Any, BeforeValidator(check_end)] = None
    bottom: Annotated[Any, BeforeValidator(check_end)] = None
    round: Annotated[float, Field(gt=0, allow_inf_nan=False, strict=False)] | None = None
    items: str | None = None

    def __post_init__(self) -> None:
        self._check_techniques()
        if self.code is not None:
            checked_code(self.code)
        if self.shift is not None:
            checked_shift(self.shift)
        if self.type is not None:
            choice("a column", "type", self.type, TYPES)
        if self.format is not None and not (isinstance(self.format, str) and "%" in self.format):
            raise ParameterError(
                f"The 'format' of a column must be one of dates, such as '%d.%m.%Y'. Got {shown(self.format)}."
            )
        choice("a column", "style", self.style, ("auto", "bounds", "representative"))
        if self.use is not None:
            choice("a column", "use", self.use, ("interval",))
        if isinstance(self.snap, str):
            choice("a column", "snap", self.snap, ("auto", "off"))
        else:
            real("a column", "snap", self.snap, low=1e-100, high=1e100)
        if self.domain is not None and len(self.domain) != 2:
            raise ParameterError("The 'domain' of a column must be its lowest and its highest value.")
        # As cells are read, or a non-answer written in another form would pass for an answer.
        object.__setattr__(self, "non_answers", _as_read("non_answers", self.non_answers))
        object.__setattr__(self, "missing_markers", _as_read("missing_markers", self.missing_markers))
        if self.order is not None:
            object.__setattr__(self, "order", _as_read("order", self.order))
        if self.items is not None:
            _check_items(self)
        if self.type == "ordinal" and not self.order:
            raise ParameterError("An ordinal column needs its 'order': the list of its values, lowest first.")

    def _check_techniques(self) -> None:
        choice("a column", "recode_else", self.recode_else, ("error", "keep"))
        _ = (self.derived, self.recoding, self.rounding)  # each checks itself, as do the ends
        top, bottom = self.top_end, self.bottom_end
        if top is not None and bottom is not None and bottom.at >= top.at:
            raise ParameterError("The 'bottom' of a column must be below its 'top'.")

    @cached_property
    def derived(self) -> Derived | None:
        """How the column is derived from others."""
        return None if self.derive is None else checked_derive(self.derive)

    @cached_property
    def recoding(self) -> dict[str, str] | None:
        """Which value becomes which, as cells are read."""
        return None if self.recode is None else checked_recode(self.recode)

    @cached_property
    def rounding(self) -> Decimal | None:
        """The base that numbers are rounded to."""
        return None if self.round is None else checked_round(self.round)

    @cached_property
    def top_end(self) -> End | None:
        """The largest value that is told."""
        return None if self.top is None else checked_end("top", self.top)

    @cached_property
    def bottom_end(self) -> End | None:
        """The smallest value that is told."""
        return None if self.bottom is None else checked_end("bottom", self.bottom)

    @property
    def techniques(self) -> list[str]:
        """What is done to the column before it is coded, in words that tell no value."""
        found = {"derived": self.derive, "recoded": self.recode, "top-coded": self.top, "bottom-coded": self.bottom}
        return [word for word, given in (found | {"rounded": self.round}).items() if given is not None]

    @property
    def changes_numbers(self) -> bool:
        """Whether the column is rounded or coded at its ends."""
        return any(given is not None for given in (self.round, self.top, self.bottom))


def column_spec(name: str, given: Mapping[str, Any]) -> ColumnSpec:
    """Settings of a column from a mapping; an unknown entry proposes the nearest one."""
    known = [one.name for one in fields(ColumnSpec)]
    for key in given:
        choice(f"column '{name}'", "setting", key, known)
    return _of_column(name, lambda: ColumnSpec(**given))


def checked_specs(specs: Mapping[str, ColumnSpec]) -> dict[str, ColumnSpec]:
    """The settings of columns as a recipe holds them, after checking what they mean."""
    return {name: _of_column(name, partial(replace, spec)) for name, spec in specs.items()}


def _of_column(name: str, make: Callable[[], ColumnSpec]) -> ColumnSpec:
    try:
        return make()
    except ParameterError as error:
        message = str(error)
        raise ParameterError(f"Column '{name}': {message[0].lower()}{message[1:]}") from None


@dataclass(frozen=True, kw_only=True)
class Roles(Entries):
    """Which column plays which role, under ``[roles]`` in a recipe.

    ``rest`` says what becomes of columns that have none, until those of a source are known.
    ``across_classes`` is about people with several rows: whether diversity models also judge the values that all
    classes of their rows leave possible, where the person's own values are all the same.
    """

    identifiers: Names = field(default_factory=list)
    quasi: Names = field(default_factory=list)
    sensitive: Names = field(default_factory=list)
    neutral: Names = field(default_factory=list)
    pseudonym: Names = field(default_factory=list)
    drop: Names = field(default_factory=list)
    subject: str | None = None
    weight: str | None = None
    key: str | None = None
    guard: str | None = None
    rest: Literal["drop"] | None = None
    quasi_sets: Annotated[Sequence[Names], BeforeValidator(as_list)] = field(default_factory=list)
    across_classes: bool = True


@dataclass(frozen=True, kw_only=True)
class Schema(Roles):
    """The roles of columns that are all named, and the settings of columns.

    Examples
    --------
    >>> Schema(quasi=["age", "sex"], sensitive=["disease"]).role("age")
    'quasi'
    """

    specs: Mapping[str, ColumnSpec] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.quasi) > MOST_QUASI:
            raise SchemaError(
                f"The table has {len(self.quasi):,} quasi-identifiers and can have at most {MOST_QUASI}: no class of "
                "that many columns keeps anything, so drop those that nobody could know."
            )

    def roles(self) -> dict[str, str]:
        """Column name to role, refusing a column in two roles."""
        found: dict[str, str] = {}
        for role in LIST_ROLES:
            for name in getattr(self, role):
                self._claim(found, name, "identifier" if role == "identifiers" else role)
        for role in SINGLE_ROLES:
            name = getattr(self, role)
            # Whose row it is may be released as a token, and still count people; what tells rows apart may name people.
            if name is not None and (role, found.get(name)) not in (("subject", "pseudonym"), ("key", "identifier")):
                self._claim(found, name, role)
        return found

    def role(self, name: str) -> str | None:
        """Role of a column, None when it has none."""
        return self.roles().get(name)

    def spec(self, name: str) -> ColumnSpec:
        """Settings of a column, the defaults when none are given."""
        return self.specs.get(name, ColumnSpec())

    @property
    def released(self) -> list[str]:
        """Columns of a release, quasi first, in the order given."""
        return [*self.quasi, *self.sensitive, *self.neutral, *self.pseudonym]

    @property
    def coded(self) -> list[str]:
        """Columns whose settings ask for codes."""
        return [name for name in self.released if self.spec(name).code is not None]

    def code_of(self, name: str) -> dict[str, Any]:
        """How a column is coded, with parameters; empty where it is not."""
        code = self.spec(name).code
        return {} if code is None else checked_code(code)

    def shift_of(self, name: str) -> dict[str, Any]:
        """How far a column's dates are moved, and for how large a share gaps may tell; empty where they are not."""
        shift = self.spec(name).shift
        return {} if shift is None else checked_shift(shift)

    @property
    def shifted(self) -> list[str]:
        """Columns whose dates are moved."""
        return [name for name in self.released if self.spec(name).shift is not None]

    def check(self, columns: Sequence[str]) -> None:
        """Refuse unknown columns, columns without a role, and a table without quasi-identifiers."""
        for problem in self.problems(columns):
            problem.everything = lambda: list(self.problems(columns))
            raise problem

    def problems(self, columns: Sequence[str]) -> Iterator[SchemaError]:
        """Everything that is wrong with the roles of some columns."""
        roles = self.roles()
        known = set(columns)
        for name in dict.fromkeys([*roles, *self.specs]):
            if name not in known:
                near = nearest(name, columns)
                hint = f"Did you mean '{near}'?" if near else f"The columns are: {', '.join(columns)}."
                yield SchemaError(f"There is no column '{name}' in the table. {hint}")
        without = [name for name in columns if name not in roles]
        if without:
            yield SchemaError(
                f"{_listed(without)} no role: add {'it' if len(without) == 1 else 'each'} to identifiers, quasi, "
                "sensitive, neutral or drop."
            )
        if self.subject is None and not self.across_classes:
            yield SchemaError("'across_classes' is about people with several rows: name a 'subject', or leave it out.")
        for check in (self._check_shifts, self._check_codes, self._check_sets):
            try:
                check(roles)
            except SchemaError as error:
                yield error
        if not self.quasi:
            yield SchemaError("The table has no quasi-identifier: name at least one column under 'quasi'.")

    def _check_shifts(self, roles: Mapping[str, str]) -> None:
        for name, spec in self.specs.items():
            if spec.shift is None:
                continue
            if roles.get(name) not in ("sensitive", "neutral"):
                raise SchemaError(
                    f"The dates of column '{name}' are to be shifted, which is for sensitive and neutral columns: a "
                    "quasi-identifier is generalised instead."
                )
            if spec.type not in (None, "date"):
                raise SchemaError(f"Column '{name}' is {spec.type}: a shift is for dates.")
            if self.subject is None:
                raise SchemaError(f"The dates of column '{name}' are shifted person by person: name the 'subject'.")

    def _check_sets(self, roles: Mapping[str, str]) -> None:
        if not self.quasi_sets:
            return
        if len(self.quasi_sets) < 2 or not all(self.quasi_sets):
            raise SchemaError("Sets of quasi-identifiers are two or more lists of columns: with one, leave them out.")
        twice = [name for one in self.quasi_sets for name in one if list(one).count(name) > 1]
        if twice:
            raise SchemaError(f"Column '{twice[0]}' is twice in a set of quasi-identifiers: name it once.")
        named = [name for one in self.quasi_sets for name in one]
        others = [name for name in named if roles.get(name) != "quasi"]
        if others:
            raise SchemaError(f"Column '{others[0]}' is in a set of quasi-identifiers and is none: name it as one.")
        without = [name for name in self.quasi if name not in named]
        if without:
            raise SchemaError(
                f"The quasi-identifier '{without[0]}' is in none of the quasi_sets, so that nothing would protect "
                "whom it tells about: add it to one."
            )

    def _check_codes(self, roles: Mapping[str, str]) -> None:
        for name, spec in self.specs.items():
            if spec.items is not None and roles.get(name) not in ("sensitive", "drop"):
                raise SchemaError(f"Column '{name}' holds items, which is for sensitive columns: give it that role.")
            if spec.code is not None and roles.get(name) != "sensitive":
                raise SchemaError(
                    f"Column '{name}' is to be coded, which is for sensitive columns: a quasi-identifier is "
                    "generalised, and an identifier gets a token by the role 'pseudonym'."
                )
            if spec.code is not None and spec.shift is not None:
                raise SchemaError(f"Column '{name}' is to be coded and its dates to be shifted: keep one of the two.")

    @staticmethod
    def _claim(found: dict[str, str], name: str, role: str) -> None:
        if name in found:
            raise SchemaError(f"Column '{name}' has two roles, {found[name]} and {role}: keep one.")
        found[name] = role


def _check_items(spec: ColumnSpec) -> None:
    mark = spec.items
    if not isinstance(mark, str) or len(mark) != 1 or mark.isalnum() or mark in "*<>\\_" or not mark.isprintable():
        raise ParameterError(
            f"The 'items' of a column must be the one character between them, such as '|' or ';'. Got {shown(mark)}."
        )
    others = {"type": spec.type not in (None, "categorical"), "order": spec.order, "code": spec.code,
              "shift": spec.shift, "non_answers": spec.non_answers}  # fmt: skip
    first = next((name for name, given in others.items() if given), None)
    if first is not None:
        raise ParameterError(f"The '{first}' of a column is for single values, and its cells hold items: leave it out.")


def _as_read(what: str, given: Sequence[Any]) -> tuple[Any, ...]:
    """Values of a column as they are after reading."""
    if isinstance(given, str):
        raise ParameterError(f"The '{what}' of a column must be a list of its values, not one text.")
    return tuple(normal_text(value) if isinstance(value, str) else value for value in given)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:5]) + (" and others" if len(names) > 5 else "")
    return f"Column {shown} has" if len(names) == 1 else f"Columns {shown} have"
