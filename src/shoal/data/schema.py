"""Roles, types and per-column settings, checked against each other before any data is coded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import Any

from shoal.data.column_settings import Derived, End, checked_derive, checked_end, checked_recode, checked_round
from shoal.data.values import normal_text
from shoal.errors import ParameterError, SchemaError
from shoal.params import choice, nearest, real, shown, whole

TYPES = ("numeric", "date", "ordinal", "categorical")
LIST_ROLES = ("identifiers", "quasi", "sensitive", "neutral", "pseudonym", "drop")
MOST_QUASI = 256
SINGLE_ROLES = ("subject", "weight", "key", "guard")


@dataclass(frozen=True, kw_only=True)
class ColumnSpec:
    """Settings of one column; every entry is optional.

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

    type: str | None = None
    format: str | None = None
    order: Sequence[str] | None = None
    domain: Sequence[Any] | None = None
    style: str = "auto"
    snap: str | float = "auto"
    use: str | None = None
    non_answers: Sequence[str] = ()
    shift: Mapping[str, Any] | None = None
    code: Mapping[str, Any] | str | None = None
    missing_markers: Sequence[str] = ()
    decimal: str | None = None
    thousands: str | None = None
    derive: Derived | Any = None
    recode: Mapping[str, str] | None = None
    recode_else: str = "error"
    top: End | Any = None
    bottom: End | Any = None
    round: Any = None
    items: str | None = None

    def __post_init__(self) -> None:
        self._check_techniques()
        if self.code is not None:
            object.__setattr__(self, "code", _checked_code(self.code))
        if self.shift is not None:
            object.__setattr__(self, "shift", _checked_shift(self.shift))
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
        if self.derive is not None and not isinstance(self.derive, Derived):
            object.__setattr__(self, "derive", checked_derive(self.derive))
        if self.recode is not None:
            object.__setattr__(self, "recode", checked_recode(self.recode))
        if self.round is not None and not isinstance(self.round, Decimal):
            object.__setattr__(self, "round", checked_round(self.round))
        for what in ("top", "bottom"):
            given = getattr(self, what)
            if given is not None and not isinstance(given, End):
                object.__setattr__(self, what, checked_end(what, given))
        if self.top is not None and self.bottom is not None and self.bottom.at >= self.top.at:
            raise ParameterError("The 'bottom' of a column must be below its 'top'.")

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
    try:
        return ColumnSpec(**given)
    except ParameterError as error:
        message = str(error)
        raise ParameterError(f"Column '{name}': {message[0].lower()}{message[1:]}") from None


@dataclass(frozen=True, kw_only=True)
class Schema:
    """Which column plays which role.

    ``across_classes`` is about people with several rows: whether diversity models also judge the values that all
    classes of their rows leave possible, where the person's own values are all the same.

    Examples
    --------
    >>> Schema(quasi=["age", "sex"], sensitive=["disease"]).role("age")
    'quasi'
    """

    identifiers: Sequence[str] = ()
    quasi: Sequence[str] = ()
    sensitive: Sequence[str] = ()
    neutral: Sequence[str] = ()
    pseudonym: Sequence[str] = ()
    drop: Sequence[str] = ()
    subject: str | None = None
    weight: str | None = None
    key: str | None = None
    guard: str | None = None
    quasi_sets: Sequence[Sequence[str]] = ()
    across_classes: bool = True
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
        return dict(code) if isinstance(code, Mapping) else {}

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


def _checked_shift(given: Mapping[str, Any]) -> dict[str, Any]:
    extra = [key for key in given if key not in ("days", "gap_limit")]
    if extra or "days" not in given:
        raise ParameterError("The 'shift' of a column must give its 'days', and may give a 'gap_limit'.")
    limit = real("a date shift", "gap_limit", given.get("gap_limit", 0.05), low=0.0, high=1.0)
    return {"days": whole("a date shift", "days", given["days"], least=1), "gap_limit": limit}


# Ways of coding a column, with the parameters of each.
CODES = {
    "mapping": ("prefix",),
    "graded": ("bounds", "categories", "names", "max_rule", "allow_shared_bounds"),
}


def _checked_code(given: Any) -> dict[str, Any]:
    found = {"how": given} if isinstance(given, str) else given
    if not isinstance(found, Mapping) or "how" not in found:
        raise ParameterError("The 'code' of a column must be 'mapping', 'graded' or a table that says 'how'.")
    how = choice("a column's code", "how", found["how"], CODES)
    odd = [key for key in found if key != "how" and key not in CODES[how]]
    if odd:
        known = ", ".join(CODES[how])
        raise ParameterError(f"The code '{how}' of a column has no parameter '{odd[0]}': there is {known}.")
    return dict(found)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:5]) + (" and others" if len(names) > 5 else "")
    return f"Column {shown} has" if len(names) == 1 else f"Columns {shown} have"
