"""The public description that goes with a release, as bytes. The verifier reads it back."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.errors import InternalError


def json_bytes(value: Any) -> bytes:
    """Stable JSON: keys sorted, two spaces, a line feed at the end; NumPy numbers as numbers."""
    text = json.dumps(_plain(value), sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode()


def manifest_bytes(manifest: Mapping[str, Any]) -> bytes:
    """A manifest as it is written: equal manifests give equal bytes."""
    return json_bytes(manifest)


def _plain(value: Any) -> Any:
    """The same value in JSON's own types; NaN and infinities as text, which JSON has no numbers for."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        items = sorted(value) if isinstance(value, set | frozenset) else value
        return [_plain(item) for item in items]
    if hasattr(value, "tolist"):  # NumPy arrays and scalars
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Path):
        return str(value)
    raise InternalError(f"A {type(value).__name__} cannot be written as JSON.")
