"""The public description that goes with a release, as bytes and back."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.errors import InputError, InternalError, VerificationError

MANIFEST = "manifest.json"
VERSION = 1
_ROLES = ("quasi", "sensitive", "neutral", "pseudonym")
_TYPES = ("numeric", "date", "ordinal", "categorical")
_CELLS = ("interval", "label", "set", "value", "bounds", "representative")
_FIELDS: dict[str, type | tuple[type, ...]] = {
    "shoal": str,
    "manifest": int,
    "kind": str,
    "source": (str, type(None)),
    "statement": str,
    "not_protected": list,
    "data": dict,
    "suppressed": str,
    "order": str,
    "people": bool,
    "columns": list,
    "models": list,
    "verdicts": list,
    "classes": dict,
    "acknowledged": list,
}


def json_bytes(value: Any) -> bytes:
    """Stable JSON: keys sorted, two spaces, a line feed at the end; NumPy numbers as numbers."""
    text = json.dumps(_plain(value), sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode()


def manifest_bytes(manifest: Mapping[str, Any]) -> bytes:
    """A manifest as it is written: equal manifests give equal bytes."""
    return json_bytes(manifest)


def read_manifest(folder: str | Path) -> dict[str, Any]:
    """The manifest of a release folder, checked by :func:`check_manifest`."""
    path = Path(folder) / MANIFEST
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise InputError(f"'{folder}' holds no {MANIFEST}: name the folder of a release.") from None
    except OSError as error:
        raise InputError(f"'{path}' cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError):
        raise InputError(f"'{path}' is not JSON: the release has to be written again.") from None
    check_manifest(found)
    return found


def check_manifest(manifest: Any) -> None:
    """Refuse a manifest that lacks a part, or in which a part is of the wrong kind.

    What the parts say is for the verifier to judge.
    """
    if not isinstance(manifest, Mapping):
        raise VerificationError("The manifest is not a JSON object.")
    if manifest.get("manifest") != VERSION:
        raise VerificationError(
            f"The manifest is not of version {VERSION}: verify it with the Shoal that wrote it."
        )
    for name, kind in _FIELDS.items():
        if name not in manifest:
            raise VerificationError(f"The manifest lacks '{name}'.")
        if not isinstance(manifest[name], kind):
            raise VerificationError(f"The '{name}' of the manifest is of the wrong kind.")
    _check_data(manifest["data"])
    names = [
        _checked_column(position, column) for position, column in enumerate(manifest["columns"], start=1)
    ]
    if not names or len(set(names)) != len(names):
        raise VerificationError("The 'columns' of the manifest must be at least one, each named once.")
    for part in ("models", "verdicts"):
        if not all(isinstance(entry, Mapping) for entry in manifest[part]):
            raise VerificationError(f"The '{part}' of the manifest must be JSON objects.")


def _check_data(data: Mapping[str, Any]) -> None:
    file, format, rows = data.get("file"), data.get("format"), data.get("rows")
    # A manifest comes from somebody else, so its file name must not lead out of its folder.
    if format not in ("csv", "parquet") or file != f"release.{format}":
        raise VerificationError("The 'data' of the manifest must be the file release.csv or release.parquet.")
    if not isinstance(rows, int) or isinstance(rows, bool) or rows < 0:
        raise VerificationError("The 'data' of the manifest must give its number of rows.")
    if not isinstance(data.get("sha256"), str) or not re.fullmatch(r"[0-9a-f]{64}", data["sha256"]):
        raise VerificationError("The 'data' of the manifest must give its SHA-256 in hexadecimal.")
    apart = data.get("sensitive")
    if apart is not None:
        if not isinstance(apart, Mapping) or apart.get("file") != f"sensitive.{format}":
            raise VerificationError("The table of sensitive values in the manifest must be the file sensitive.csv or "
                                    "sensitive.parquet.")  # fmt: skip
        _check_data({**apart, "file": file, "format": format, "sensitive": None})


def _checked_column(position: int, column: Any) -> str:
    if not isinstance(column, Mapping) or not isinstance(column.get("name"), str):
        raise VerificationError(f"Column {position} of the manifest has no name.")
    for key, options in (("role", _ROLES), ("type", _TYPES), ("cells", _CELLS)):
        if column.get(key) not in options:
            raise VerificationError(
                f"The {key} of column {position} of the manifest must be one of {', '.join(options)}."
            )
    return str(column["name"])


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
