"""What the verifier knows of a model, and the table of all models that it can verify.

The verifier's own record beside the model class that a release is made with: neither imports the other, and tests
hold them against each other. A plug-in brings its model's term by :func:`register_term`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from shoal.errors import ParameterError, VerificationError

if TYPE_CHECKING:
    import numpy as np

    from shoal.verify.counts import Known
    from shoal.verify.facts import Facts, Sample
    from shoal.verify.manifest_column import Column
    from shoal.verify.manifest_schema import Claims
    from shoal.verify.report import Outcome

Model = Mapping[str, Any]
Parameters = Mapping[str, Callable[[Any], bool]]


class Term:
    """One model as a manifest may claim it, and how a release is held against it.

    Attributes
    ----------
    name, main
        As in manifests, and the parameter that stands for the model in a sentence.
    required, optional
        Parameters, with what each may be; ``on`` goes without saying where sensitive values are judged.
    words, group_words
        What it says of a release, with parameters in braces; and of groups whose members' quasi-identifiers are exact,
        where the usual words would promise too much.
    leaves_open, closed_by
        What it leaves open of a column, which stands in braces; and the models that do not, set on the same column.
    identity, sized
        Whether it limits how few records or people share their quasi-identifiers; and whether its figure is that size.
    valued, together, single, numeric
        Whether it judges sensitive values; all of its columns in one figure; one column at a time only; numbers only.
    of_cells, membership, remembers, guards
        Whether it is about generalised cells; about who is in the data at all; whether counterfeit rows may serve it;
        and whether it is about what the owner of each record guards.
    people
        Whether it needs to know whose rows are whose when a subject column is given.
    reads_input
        Whether it looks at values of the input.
    rows_first
        Whether people can fail it where rows do not, but never the other way round.
    vouched_by
        The package that a plug-in's term came with, None for ours.
    """

    name: ClassVar[str]
    words: ClassVar[str]
    required: ClassVar[Parameters]
    main: ClassVar[str | None] = None
    optional: ClassVar[Parameters] = {}
    group_words: ClassVar[str | None] = None
    leaves_open: ClassVar[str | None] = None
    closed_by: ClassVar[tuple[str, ...]] = ()
    identity: ClassVar[bool] = False
    sized: ClassVar[bool] = False
    valued: ClassVar[bool] = True
    together: ClassVar[bool] = False
    single: ClassVar[bool] = False
    numeric: ClassVar[bool] = False
    of_cells: ClassVar[bool] = False
    membership: ClassVar[bool] = False
    remembers: ClassVar[bool] = False
    guards: ClassVar[bool] = False
    people: ClassVar[bool] = True
    reads_input: ClassVar[bool] = False
    rows_first: ClassVar[bool] = False

    def __init__(self, vouched_by: str | None = None) -> None:
        self.vouched_by = vouched_by

    def judge(self, model: Model, sample: Sample) -> Outcome:
        """Give the figure of every class, and whether it holds there."""
        raise NotImplementedError

    def limit(self, model: Model) -> float:
        """The number that the figure is compared with."""
        return float(model[str(self.main)])

    def size(self, model: Model) -> int:
        """The class size that it asks for."""
        return 0

    def sides(self, model: Model) -> Sequence[str]:
        """What it is judged against, one verdict each: ``"input"``, ``"released"``, ``"history"``, ``"population"``."""
        return ("",)

    def needs_input(self, claims: Claims, columns: Sequence[Column]) -> bool:
        """Whether it measures by something that these columns do not publish."""
        return False

    def check(self, claims: Claims, model: Model, columns: Sequence[Column], joint: bool) -> None:
        """Refuse what it is not defined for, of these columns one by one or, where ``joint``, of all together."""

    def protects_each(self, model: Model, columns: int) -> bool:
        """Whether its figure over so many columns keeps every single one of them from being the same in a class."""
        return columns == 1

    def can_fail(self, model: Model) -> bool:
        """Whether some table could fail it; at least 1, or a share of at most 1, is true of every class."""
        return True

    def necessary(self, model: Model, known: Known) -> np.ndarray | None:
        """For each class, whether what is published leaves it possible that it holds; None where it always does."""
        return None

    def weaker(self, model: Model, facts: Facts, names: tuple[str, ...]) -> Model | None:
        """A model that must hold against the released rows where this one holds against the input; None for none."""
        return None

    def left(self, model: Model, sample: Sample) -> float | np.ndarray | None:
        """What share of enough each value is worth that remains possible for a person over all classes of their rows.

        One number, or one a value; None where it asks nothing of the kind.
        """
        return None

    @property
    def asks_left(self) -> bool:
        """Whether it asks that values remain possible over several classes."""
        return type(self).left is not Term.left


# The file of each model that can be verified; its term is loaded when a manifest first names it.
_HOMES = {
    "k": "size", "k-m": "size", "k-wildcard": "size", "k-map": "size", "delta-presence": "size",
    "distinct-l": "diversity", "entropy-l": "diversity", "recursive-cl": "diversity", "t-closeness": "closeness",
    "beta-likeness": "closeness", "delta-disclosure": "closeness", "alpha-k-simple": "diversity",
    "alpha-k-general": "diversity", "alpha-k-complete": "diversity", "p-sensitive": "diversity", "k-e": "numeric",
    "variance": "numeric", "eps-m": "numeric", "max-range": "numeric", "range-diversity": "ranges",
    "range-confidence": "ranges", "personalised": "personalised", "m-invariance": "personalised",
    "worst-group-utility": "worst_group_utility",
}  # fmt: skip
_TABLE: dict[str, Term | None] = dict.fromkeys(_HOMES)


def term_names() -> list[str]:
    """Every model that can be verified."""
    return list(_TABLE)


def term_of(model: Model) -> Term:
    """The term of a manifest's model."""
    name = model["name"]
    found = _TABLE[name]
    if found is None:
        home = vars(import_module(f"shoal.verify.terms.{_HOMES[name]}"))
        found = next(one() for one in home.values() if isinstance(one, type) and getattr(one, "name", "") == name)
        _TABLE[name] = found
    return found


def register_term(term: type[Term], *, vouched_by: str) -> None:
    """Let the verifier check a plug-in's model; verdicts on it name the package that vouches for the check."""
    if term.name in _TABLE:
        known = term_of({"name": term.name})
        if type(known) is not term or known.vouched_by != vouched_by:
            raise ParameterError(f"The verifier has a model '{term.name}' already: choose another name.")
    _TABLE[term.name] = term(vouched_by)


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
