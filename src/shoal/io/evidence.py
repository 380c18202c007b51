"""The private side of a release: recipe, secret, keyed hash of the input, exact figures.

None of it may be published: the secret undoes the shuffle, and exact figures tell about suppressed people.
"""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import io
import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from shoal.data.texts import all_told, is_text
from shoal.errors import InputError, InternalError

# ----------------------------------------
# The public description that goes with a release, as bytes. The verifier reads it back.


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


RECIPE, SECRET, SAMPLE_SECRET, FACTS = "recipe.toml", "secret", "sample-secret", "evidence.json"
# What has a file of its own: these never go into evidence.json.
_SECRETS = {"secret": SECRET, "sample_secret": SAMPLE_SECRET}
_APART = ("recipe", *_SECRETS)
_SLICE = 1 << 20  # rows hashed at a time, so that memory stays small and bytes do not depend on chunks


def evidence_folder(folder: str | Path) -> Path:
    """Where the evidence of a release folder goes: beside it, never inside; beside the folder that a link points to."""
    folder = Path(folder).resolve()
    return folder.with_name(f"{folder.name}.evidence")


def refuse_linked_evidence(folder: str | Path) -> None:
    """Refuse an evidence folder that is a symbolic link or a mounted disk: no rename can put evidence there."""
    private = evidence_folder(folder)
    if private.is_symlink() or private.is_mount():
        what = "a symbolic link" if private.is_symlink() else "a mounted disk"
        raise InputError(
            f"The evidence folder '{private}' is {what}, and evidence has to be beside its release: remove it, or "
            "choose another output folder."
        )


def write_evidence(evidence: Mapping[str, Any], folder: Path) -> None:
    """Write the evidence's files, readable by their owner alone, into an existing folder.

    Parameters
    ----------
    evidence
        ``recipe`` (TOML text), ``secret`` and ``sample_secret``, which drew the rows (bytes, or hexadecimal text), go
        to files of their own, everything else into ``evidence.json``.
    """
    folder.chmod(0o700)
    facts = {key: value for key, value in evidence.items() if key not in _APART}
    _write_private(folder / FACTS, json_bytes(facts))
    if evidence.get("recipe") is not None:
        _write_private(folder / RECIPE, str(evidence["recipe"]).encode())
    for key, name in _SECRETS.items():
        if evidence.get(key) is not None:
            _write_private(folder / name, f"{_key(evidence[key]).hex()}\n".encode())


def read_evidence(folder: str | Path) -> dict[str, Any]:
    """What :func:`write_evidence` wrote, given the evidence folder or the release folder beside it.

    Secrets come back as hexadecimal text.
    """
    folder = Path(folder)
    if not (folder / FACTS).is_file():
        folder = evidence_folder(folder)
    apart = [name for name in (RECIPE, *_SECRETS.values()) if (folder / name).is_file()]
    try:
        files = {name: (folder / name).read_bytes() for name in (FACTS, *apart)}
    except FileNotFoundError:
        raise InputError(f"'{folder}' holds no {FACTS}: name the evidence folder of a release.") from None
    except OSError as error:
        raise InputError(f"The evidence in '{folder}' cannot be read: {error.strerror}.") from None
    return evidence_of(files, str(folder))


def evidence_of(files: Mapping[str, bytes], where: str) -> dict[str, Any]:
    """The same from the contents of its files, by their names; ``where`` they are from is for a message."""
    try:
        found: dict[str, Any] = json.loads(files[FACTS])
        for key, name in (("recipe", RECIPE), *_SECRETS.items()):
            if name in files:
                text = files[name].decode("utf-8")
                found[key] = text if key == "recipe" else text.removesuffix("\n")
    except (LookupError, ValueError, TypeError):
        raise InputError(f"The evidence in '{where}' is damaged: it cannot be used.") from None
    return found


def input_hash(frame: pl.DataFrame, secret: str | bytes) -> str:
    """HMAC-SHA256 of a table's columns, names and types in order, as hexadecimal text.

    Equal tables give equal hashes whatever their chunks; without the secret nobody can test a guess.
    One pass over the data, O(cells).
    """
    digest = hmac.new(_key(secret), digestmod=hashlib.sha256)
    types = all_told(frame.clear()).schema
    digest.update(json_bytes([frame.height, [[name, str(dtype)] for name, dtype in types.items()]]))
    for column in frame.iter_columns():
        for start in range(0, column.len(), _SLICE):
            for piece in _pieces(column.slice(start, _SLICE)):
                digest.update(piece)
    return digest.hexdigest()


def frame_stamp(frame: pl.DataFrame) -> str:
    """A quick hash without a secret, to tell within one run whether a table that is kept was changed."""
    names = json_bytes([frame.height, [[name, str(dtype)] for name, dtype in frame.schema.items()]])
    return hashlib.sha256(names + frame.hash_rows(seed=0).to_numpy().tobytes()).hexdigest()


def row_bytes(frame: pl.DataFrame) -> bytes:
    """Bytes that tell rows apart, for whoever reads them batch by batch."""
    names = json_bytes([frame.height, [[name, str(dtype)] for name, dtype in frame.schema.items()]])
    return names + b"".join(piece for column in frame.iter_columns() for piece in _pieces(column))


def _key(secret: str | bytes) -> bytes:
    return bytes.fromhex(secret) if isinstance(secret, str) else secret


def _pieces(column: pl.Series) -> Iterator[bytes]:
    """Bytes that tell a column's cells apart: lengths then text, or a mask of gaps then numbers.

    Texts that are kept as numbers give the bytes that they would give one by one.
    """
    if column.dtype == pl.Boolean:
        column = column.cast(pl.UInt8)
    elif column.dtype.is_temporal():
        column = column.to_physical()
    elif column.dtype.is_decimal() or column.dtype in (pl.Int128, pl.UInt128):
        column = column.cast(pl.String)
    if is_text(column.dtype):
        # No cell is this long, so a gap and an empty cell differ.
        yield _lengths(column).fill_null(2**32 - 1).to_numpy().tobytes()
        yield _run_together(column)
    else:
        yield column.is_null().cast(pl.UInt8).to_numpy().tobytes()
        # Adding zero makes minus zero the zero it equals.
        yield (column.fill_null(0).to_numpy() + 0).tobytes()


def _lengths(texts: pl.Series) -> pl.Series:
    """Bytes of each text, looked up where only the different ones are kept."""
    if not isinstance(texts.dtype, pl.Enum):
        return texts.str.len_bytes()
    return texts.dtype.categories.str.len_bytes().gather(texts.to_physical())


def _run_together(texts: pl.Series) -> bytes:
    """All texts, one behind the other. Written as a file of one row is, which makes no text of theirs on the way."""
    text = io.BytesIO()
    texts.to_frame().write_csv(text, include_header=False, line_terminator="", quote_style="never", null_value="")
    return text.getvalue()


def _write_private(path: Path, content: bytes) -> None:
    # Created with its final mode: there is no moment at which others could open it.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
