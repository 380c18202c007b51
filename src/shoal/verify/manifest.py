"""The manifest as a set of claims: JSON read without its ambiguities, and models that the columns bear out."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from shoal.errors import VerificationError
from shoal.verify.manifest_schema import Claims, read_parts
from shoal.verify.terms.base import check_model, term_of

# Releases whose rows are in classes with those of other people.
_CLASSED = ("generalised", "microaggregated", "bucketised")


def read_claims(manifest: Mapping[str, Any]) -> Claims:
    """Read the parts of a manifest that the verifier relies on.

    Raises
    ------
    VerificationError
        When a part is missing or of the wrong kind, or a model cannot be verified: a claim that cannot be read cannot
        be verified.
    """
    claims = read_parts(Claims, manifest)
    for model in claims.models:
        check_model(model)
    for model in claims.models:
        _check_target(claims, model)
    if not set(claims.across) <= set(across_targets(claims)):
        raise VerificationError(
            "The manifest's 'across_classes' names something that no model asks for over several classes."
        )
    if claims.counterfeits and not any(term_of(model).remembers for model in claims.models):
        raise VerificationError("The manifest has counterfeit rows, and no model that they could serve.")
    return claims


def across_targets(claims: Claims) -> list[tuple[str, ...]]:
    """Attributes of which a model asks that values remain possible over several classes."""
    every = [(column.name,) for column in claims.role("sensitive")]
    found: list[tuple[str, ...]] = []
    for model in claims.models:
        if term_of(model).asks_left:
            on = model.get("on")
            found += every if on is None else [(on,) if isinstance(on, str) else tuple(on)]
    return list(dict.fromkeys(found)) if claims.made in _CLASSED else []


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
