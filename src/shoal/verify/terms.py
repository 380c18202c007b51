"""What each model's entry in a manifest must say, and what its figure is compared with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shoal.errors import VerificationError

DISTANCES = ("equal", "ordered", "hierarchical", "variational", "kl")
REFERENCES = ("input", "released")
NUMERIC_ONLY = ("k-e", "variance", "eps-m")
# Models that need to know whose rows are whose when a subject column is given.
COUNTS_PEOPLE = (
    "k", "distinct-l", "entropy-l", "recursive-cl", "t-closeness", "alpha-k-simple", "alpha-k-general",
    "alpha-k-complete", "p-sensitive", "k-e", "variance", "eps-m", "max-range", "range-diversity", "range-confidence",
)  # fmt: skip
# Models that people can fail where rows do not, but never the other way round.
ROWS_FIRST = ("distinct-l", "p-sensitive", "k-e", "variance", "eps-m")
# Models that judge classes as such, not a sensitive attribute.
NO_TARGET = ("k", "worst-group-utility")
# Models of sensitive ranges, which belong to one column.
RANGES = ("range-diversity", "range-confidence")
# Models that ask for a class size of at least their 'k' (the 'k' of k-e counts distinct values).
ASKS_SIZE = ("k", "alpha-k-simple", "alpha-k-general", "alpha-k-complete", "p-sensitive")


def _number(value: Any) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and value == value
        and abs(value) < float("inf")
    )


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _not_negative(value: Any) -> bool:
    return _number(value) and value >= 0


def _from_one(value: Any) -> bool:
    return _number(value) and value >= 1


def _positive(value: Any) -> bool:
    return _number(value) and value > 0


def _share(value: Any) -> bool:
    return _number(value) and 0 <= value <= 1


def _positive_share(value: Any) -> bool:
    return _share(value) and value > 0


def _shares(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(k, str) and _share(v) for k, v in value.items())


def _scalar(value: Any) -> bool:
    return isinstance(value, str) or _number(value)


_REQUIRED: dict[str, dict[str, Callable[[Any], bool]]] = {
    "k": {"k": _count},
    "distinct-l": {"l": _count},
    "entropy-l": {"l": _from_one},
    "recursive-cl": {"c": _positive, "l": _count},
    "t-closeness": {"t": _not_negative},
    "alpha-k-simple": {"alpha": _share, "k": _count, "value": _scalar},
    "alpha-k-general": {"alpha": _share, "k": _count},
    "alpha-k-complete": {"alpha": _shares, "k": _count},
    "p-sensitive": {"p": _count, "k": _count},
    "k-e": {"k": _count, "e": _not_negative},
    "variance": {"v": _not_negative},
    "eps-m": {"eps": _not_negative, "m": _from_one},
    "max-range": {"limit": _not_negative},
    "range-diversity": {"p": _positive_share},
    "range-confidence": {"p": _positive_share},
    "worst-group-utility": {"u": _share},
    "personalised": {"p": _positive_share},
    "m-invariance": {"m": _count},
}
_OPTIONAL: dict[str, dict[str, Callable[[Any], bool]]] = {
    "t-closeness": {
        "distance": lambda value: value is None or value in DISTANCES,
        "reference": lambda value: value in REFERENCES,
    },
    "alpha-k-complete": {"default": _share},
    "eps-m": {"relative": lambda value: isinstance(value, bool)},
    "personalised": {"guard_level": lambda value: value == 0 or _count(value)},
}
_LIMIT: dict[str, Callable[[Mapping[str, Any]], float]] = {
    "k": lambda m: m["k"],
    "distinct-l": lambda m: m["l"],
    "entropy-l": lambda m: m["l"],
    "recursive-cl": lambda m: m["c"],
    "t-closeness": lambda m: m["t"],
    "alpha-k-simple": lambda m: m["alpha"],
    "alpha-k-general": lambda m: m["alpha"],
    "alpha-k-complete": lambda m: 1.0,
    "p-sensitive": lambda m: m["p"],
    "k-e": lambda m: m["e"],
    "variance": lambda m: m["v"],
    "eps-m": lambda m: 1.0 / m["m"],
    "max-range": lambda m: m["limit"],
    "range-diversity": lambda m: m["p"],
    "range-confidence": lambda m: m["p"],
    "worst-group-utility": lambda m: m["u"],
    "personalised": lambda m: m["p"],
    "m-invariance": lambda m: m["m"],
}


def limit(model: Mapping[str, Any]) -> float:
    """The number a model's figure is compared with."""
    return float(_LIMIT[model["name"]](model))


def check_model(model: Any) -> Mapping[str, Any]:
    """Refuse a model that cannot be verified: an unknown name, a missing, unknown or impossible parameter."""
    if not isinstance(model, Mapping) or not isinstance(model.get("name"), str):
        raise VerificationError("The manifest has a model without a name, so it cannot be verified.")
    name = model["name"]
    if name not in _REQUIRED:
        raise VerificationError(f"The manifest claims the model '{name}', which this version cannot verify.")
    required, optional = _REQUIRED[name], _OPTIONAL.get(name, {})
    for parameter, allowed in (required | optional).items():
        if parameter in model and not allowed(model[parameter]):
            raise VerificationError(f"The manifest's model '{name}' has an impossible '{parameter}'.")
        if parameter in required and parameter not in model:
            raise VerificationError(f"The manifest's model '{name}' lacks its parameter '{parameter}'.")
    extra = set(model) - set(required) - set(optional) - {"name"} - (set() if name in NO_TARGET else {"on"})
    if extra:
        raise VerificationError(
            f"The manifest's model '{name}' has an unknown parameter '{min(map(str, extra))}'."
        )
    return model
