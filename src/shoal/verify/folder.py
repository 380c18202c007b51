"""The verifier's own reading of a release folder: from bytes on disk to tables and manifest, or not at all.

Every file is read once, so that what was hashed is what is looked at. Nothing may stand in the folder that its manifest
does not list, and a CSV file is spelled in the one way that a release is written in.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import InputError, VerificationError
from shoal.verify.shape import check_manifest
from shoal.verify.strict import read_json

MANIFEST = "manifest.json"
# How a cell begins that a spreadsheet runs unless it is a number, and how one that is escaped.
_FORMULA = r"^[=+\-@\t\r]"
_ESCAPED = r"^'('*[=+\-@\t\r])"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
# What Polars writes into a Parquet file beside the rows.
_PARQUET_KEYS = {"ARROW:schema"}


def read_folder(folder: str | Path) -> tuple[dict[str, pl.DataFrame], dict[str, Any]]:
    """Tables (``"release"``, and ``"sensitive"`` where there is one) and manifest of a release.

    From CSV every column is text, every cell as it stands.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    data = manifest["data"]
    listed = {"release": data} | ({"sensitive": data["sensitive"]} if "sensitive" in data else {})
    _check_files(folder, [MANIFEST, manifest["report"]["file"], *(entry["file"] for entry in listed.values())])
    _hashed(folder, manifest["report"])
    escaped = "formulas" in data
    return {name: _table(folder, entry, escaped) for name, entry in listed.items()}, manifest


def read_manifest(folder: str | Path) -> dict[str, Any]:
    """The manifest of a release folder, read strictly."""
    path = Path(folder) / MANIFEST
    try:
        found = read_json(_bytes(path))
    except FileNotFoundError:
        raise InputError(f"'{folder}' holds no {MANIFEST}: name the folder of a release.") from None
    except OSError as error:
        raise InputError(f"'{path}' cannot be read: {error.strerror}.") from None
    except ValueError:
        raise InputError(f"'{path}' is not JSON: the release has to be written again.") from None
    check_manifest(found)
    manifest: dict[str, Any] = found
    return manifest


def _check_files(folder: Path, listed: list[str]) -> None:
    extra = sorted(path.name for path in folder.iterdir() if path.name not in listed)
    if extra:
        more = f" and {len(extra) - 1:,} more" if len(extra) > 1 else ""
        raise VerificationError(f"The folder also holds '{extra[0]}'{more}, which its manifest does not list.")


def _bytes(path: Path) -> bytes:
    """A file's bytes; from a pipe or a device there may never be an end of them."""
    if path.exists() and not path.is_file():
        raise InputError(f"'{path}' is no file.")
    return path.read_bytes()


def _hashed(folder: Path, entry: Mapping[str, Any]) -> bytes:
    """A file's bytes, which are those that the manifest describes."""
    try:
        raw = _bytes(folder / entry["file"])
    except OSError as error:
        raise InputError(f"The file '{folder / entry['file']}' cannot be read: {error.strerror}.") from None
    if hashlib.sha256(raw).hexdigest() != entry["sha256"]:
        raise VerificationError(f"'{entry['file']}' is not the file that the manifest describes: its hash differs.")
    return raw


def _table(folder: Path, entry: Mapping[str, Any], escaped: bool) -> pl.DataFrame:
    raw, file = _hashed(folder, entry), entry["file"]
    frame = _csv(raw, file) if file.endswith(".csv") else _parquet(raw, file)
    frame = _unescaped(frame, file) if escaped else frame
    if frame.height != entry["rows"]:
        raise VerificationError(f"'{file}' has {frame.height} rows and the manifest says {entry['rows']}.")
    return frame


def _csv(raw: bytes, file: str) -> pl.DataFrame:
    """Read the file, write it again, and compare: so no quote, blank, line end or mark can be read in two ways."""
    again = io.BytesIO()
    try:
        frame = pl.read_csv(raw, infer_schema=False)
        frame.write_csv(again)
    except (pl.exceptions.PolarsError, OSError):
        raise VerificationError(f"'{file}' cannot be read back as CSV: write the release again.") from None
    # A cell with nothing in it is null here; a release quotes an empty text.
    if again.getvalue() != raw or any(column.null_count() for column in frame.iter_columns()):
        raise VerificationError(f"'{file}' is not spelled as Shoal writes CSV, so it could be read in two ways.")
    return frame


def _unescaped(frame: pl.DataFrame, file: str) -> pl.DataFrame:
    """The cells without the apostrophes that keep spreadsheets from running them; none may lack its own."""
    names = pl.Series("", frame.columns, dtype=pl.String)
    for texts in (*frame.iter_columns(), names):
        bare = texts.str.contains(_FORMULA) & ~texts.str.contains(_NUMBER)
        if bare.any():
            lacking = int(bare.sum())
            raise VerificationError(f"'{file}' has {lacking:,} formulas that are not escaped, against its manifest.")
    cells = frame.with_columns(pl.all().str.replace(_ESCAPED, "${1}"))
    return cells.rename(dict(zip(frame.columns, names.str.replace(_ESCAPED, "${1}").to_list(), strict=True)))


def _parquet(raw: bytes, file: str) -> pl.DataFrame:
    try:
        frame = pl.read_parquet(io.BytesIO(raw), hive_partitioning=False)
        extra = set(pl.read_parquet_metadata(io.BytesIO(raw))) - _PARQUET_KEYS
    except (pl.exceptions.PolarsError, OSError, pl.exceptions.PanicException):
        raise VerificationError(f"'{file}' cannot be read back as Parquet: write the release again.") from None
    if extra:
        raise VerificationError(f"'{file}' carries {len(extra)} notes beside its rows, which nothing describes.")
    odd = [name for name, kind in frame.schema.items() if kind.is_nested() or kind in (pl.Binary, pl.Object)]
    if odd:
        raise VerificationError(f"The column '{odd[0]}' of '{file}' holds neither text nor numbers nor dates.")
    return frame
