"""JSON without its ambiguities: what two readers could understand in two ways is refused."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from shoal.errors import VerificationError

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
