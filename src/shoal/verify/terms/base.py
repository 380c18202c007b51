"""What the verifier knows of a model, and the table of all models that it can verify.

The verifier's own record beside the model class that a release is made with: neither imports the other, and tests
hold them against each other. A plug-in brings its model's term by :func:`register_term`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from shoal.errors import ParameterError, VerificationError

if TYPE_CHECKING:
    import numpy as np

    from shoal.verify.counts import Known
    from shoal.verify.facts import Facts, Sample
    from shoal.verify.manifest_schema import Claims, Column
    from shoal.verify.report import Outcome

Model = Mapping[str, Any]
Parameters = Mapping[str, Callable[[Any], bool]]


@dataclass(frozen=True, kw_only=True)
class Term:
    """One model as a manifest may claim it, and how a release is held against it.

    Attributes
    ----------
    name, main
        As in manifests, and the parameter that stands for the model in a sentence.
    required, optional
        Parameters, with what each may be; ``on`` goes without saying where sensitive values are judged.
    limit, judge
        The number that the model's figure is compared with, and the figure of every class.
    words, group_words
        What it says of a release, with parameters in braces; and of groups whose members' quasi-identifiers are exact,
        where the usual words would promise too much.
    leaves_open, closed_by
        What it leaves open of a column, which stands in braces; and the models that do not, set on the same column.
    identity, size, sized
        Whether it limits how few records or people share their quasi-identifiers; the class size that it asks for; and
        whether its figure is that size.
    valued, together, single, numeric
        Whether it judges sensitive values; all of its columns in one figure; one column at a time only; numbers only.
    of_cells, membership, remembers, guards
        Whether it is about generalised cells; about who is in the data at all; whether counterfeit rows may serve it;
        and whether it is about what the owner of each record guards.
    people
        Whether it needs to know whose rows are whose when a subject column is given.
    sides
        What it is judged against, one verdict each: ``"input"``, ``"released"``, ``"history"``, ``"population"`` or
        nothing.
    reads_input, needs_input
        Whether it looks at values of the input; and whether it measures by something that these columns do not publish.
    check
        Refuses what it is not defined for: claims, model, its columns, and whether they are taken together.
    protects_each
        Whether its figure over so many columns keeps every single one of them from being the same in a class.
    can_fail
        Whether some table could fail it; at least 1, or a share of at most 1, is true of every class.
    rows_first
        Whether people can fail it where rows do not, but never the other way round.
    necessary
        For each class, whether what is published leaves it possible that the model holds.
    weaker
        A model that must hold against the released rows where this one holds against the input, None where none must.
    left
        What share of enough each value is worth that remains possible for a person over all classes of their rows: one
        number, or one a value. None where the model asks nothing of the kind.
    vouched_by
        The package that a plug-in's term came with, None for ours.
    """

    name: str
    words: str
    required: Parameters
    limit: Callable[[Model], float]
    judge: Callable[[Model, Sample], Outcome]
    main: str | None = None
    optional: Parameters = field(default_factory=dict)
    group_words: str | None = None
    leaves_open: str | None = None
    closed_by: tuple[str, ...] = ()
    identity: bool = False
    size: Callable[[Model], int] = lambda model: 0
    sized: bool = False
    valued: bool = True
    together: bool = False
    single: bool = False
    numeric: bool = False
    of_cells: bool = False
    membership: bool = False
    remembers: bool = False
    guards: bool = False
    people: bool = True
    sides: Callable[[Model], Sequence[str]] = lambda model: ("",)
    reads_input: bool = False
    needs_input: Callable[[Claims, Sequence[Column]], bool] = lambda claims, columns: False
    check: Callable[[Claims, Model, Sequence[Column], bool], None] = lambda claims, model, columns, joint: None
    protects_each: Callable[[Model, int], bool] = lambda model, columns: columns == 1
    can_fail: Callable[[Model], bool] = lambda model: True
    rows_first: bool = False
    necessary: Callable[[Model, Known], np.ndarray] | None = None
    weaker: Callable[[Model, Facts, tuple[str, ...]], Model | None] = lambda model, facts, names: None
    left: Callable[[Model, Sample], float | np.ndarray] | None = None
    vouched_by: str | None = None


# The file of each model's term, which is called ``TERM_`` and the model's name in it.
_HOMES = {
    "k": "size", "k-m": "size", "k-wildcard": "size", "k-map": "size", "delta-presence": "size",
    "distinct-l": "diversity", "entropy-l": "diversity", "recursive-cl": "diversity", "p-sensitive": "diversity",
    "alpha-k-simple": "diversity", "alpha-k-general": "diversity", "alpha-k-complete": "diversity",
    "t-closeness": "closeness", "beta-likeness": "closeness", "delta-disclosure": "closeness", "k-e": "numeric",
    "variance": "numeric", "eps-m": "numeric", "max-range": "numeric", "range-diversity": "ranges",
    "range-confidence": "ranges", "personalised": "personalised", "m-invariance": "personalised",
    "worst-group-utility": "worst_group_utility",
}  # fmt: skip
# Every model; its term is loaded when a manifest first names it.
_TABLE: dict[str, Term | None] = dict.fromkeys((
    "k", "k-m", "k-wildcard", "k-map", "delta-presence", "distinct-l", "entropy-l", "recursive-cl", "t-closeness",
    "beta-likeness", "delta-disclosure", "alpha-k-simple", "alpha-k-general", "alpha-k-complete", "p-sensitive", "k-e",
    "variance", "eps-m", "max-range", "range-diversity", "range-confidence", "personalised", "m-invariance",
    "worst-group-utility",
))  # fmt: skip


def term_names() -> list[str]:
    """Every model that can be verified."""
    return list(_TABLE)


def term_of(model: Model) -> Term:
    """The term of a manifest's model."""
    name = model["name"]
    found = _TABLE[name]
    if found is None:
        module = import_module(f"shoal.verify.terms.{_HOMES[name]}")
        found = getattr(module, f"TERM_{name.replace('-', '_').upper()}")
        _TABLE[name] = found
    return found


def register_term(term: Term, *, vouched_by: str) -> None:
    """Let the verifier check a plug-in's model; verdicts on it name the package that vouches for the check."""
    if term.name in _TABLE and term_of({"name": term.name}) != replace(term, vouched_by=vouched_by):
        raise ParameterError(f"The verifier has a model '{term.name}' already: choose another name.")
    _TABLE[term.name] = replace(term, vouched_by=vouched_by)


def limit(model: Model) -> float:
    """The number a model's figure is compared with."""
    return float(term_of(model).limit(model))


def size_asked(model: Model) -> int:
    """The class size a model asks for, 0 when it asks for none."""
    return int(term_of(model).size(model))


def check_model(model: Any) -> Model:
    """Refuse a model that cannot be verified: an unknown name, a missing, unknown or impossible parameter."""
    if not isinstance(model, Mapping) or not isinstance(model.get("name"), str):
        raise VerificationError("The manifest has a model without a name, so it cannot be verified.")
    name = model["name"]
    if name not in _TABLE:
        raise VerificationError(f"The manifest claims the model '{name}', which this version cannot verify.")
    term = term_of(model)
    for parameter, allowed in {**term.required, **term.optional}.items():
        if parameter in model and not allowed(model[parameter]):
            raise VerificationError(f"The manifest's model '{name}' has an impossible '{parameter}'.")
        if parameter in term.required and parameter not in model:
            raise VerificationError(f"The manifest's model '{name}' lacks its parameter '{parameter}'.")
    extra = set(model) - set(term.required) - set(term.optional) - {"name"} - ({"on"} if term.valued else set())
    if extra:
        raise VerificationError(
            f"The manifest's model '{name}' has an unknown parameter '{min(map(str, extra))}'."
        )
    return model


# ----------------------------------------
# What a parameter of a model may be, as a manifest gives it.


def number(value: Any) -> bool:
    """A finite number."""
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and value == value
        and abs(value) < float("inf")
    )


def count(value: Any) -> bool:
    """A whole number from 1."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def not_negative(value: Any) -> bool:
    """A number from 0."""
    return number(value) and value >= 0


def from_one(value: Any) -> bool:
    """A number from 1."""
    return number(value) and value >= 1


def positive(value: Any) -> bool:
    """A number above 0."""
    return number(value) and value > 0


def share(value: Any) -> bool:
    """A number from 0 to 1."""
    return number(value) and 0 <= value <= 1


def positive_share(value: Any) -> bool:
    """A number above 0, up to 1."""
    return share(value) and value > 0


def shares(value: Any) -> bool:
    """A share for each of some texts."""
    return isinstance(value, Mapping) and all(isinstance(k, str) and share(v) for k, v in value.items())


def scalar(value: Any) -> bool:
    """A text or a number."""
    return isinstance(value, str) or number(value)


def flag(value: Any) -> bool:
    """Yes or no."""
    return isinstance(value, bool)


def one_of(*words: str | None) -> Callable[[Any], bool]:
    """One of a few words."""
    return lambda value: value in words
