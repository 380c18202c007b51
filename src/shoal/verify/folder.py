"""The verifier's own reading of a release folder: from bytes on disk to tables and manifest, or not at all.

Nothing may stand in the folder that its manifest
does not list, and a CSV file is spelled in the one way that a release is written in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import InputError, VerificationError
from shoal.verify.shape import check_manifest
from shoal.verify.stored import check_hash, stored_batches
from shoal.verify.strict import read_json

MANIFEST = "manifest.json"
# Bytes that a Parquet table may take where all of it is held in memory, and bytes a cell, with what is counted of it.
_MOST, _CELL = 1 << 30, 32


def read_folder(folder: str | Path) -> tuple[dict[str, pl.DataFrame], dict[str, Any]]:
    """Tables (``"release"``, and ``"sensitive"`` where there is one) and manifest of a release.

    From CSV every column is text, every cell as it stands.
    """
    tables, manifest = open_folder(folder)
    listed = _tables(manifest["data"])
    return {name: pl.concat(_bounded(batches, listed[name])) for name, batches in tables.items()}, manifest


def _bounded(batches: Iterator[pl.DataFrame], entry: Mapping[str, Any]) -> Iterator[pl.DataFrame]:
    """Pass batches on, unless the table is more than memory is asked to hold; a CSV file is as large as it looks."""
    for frame in batches:
        # A Parquet file with other rows than the manifest says is refused before its first batch.
        if entry["file"].endswith(".parquet") and entry["rows"] * frame.width * _CELL > _MOST:
            raise InputError(
                f"The release has more than {_MOST // _CELL:,} cells, too many to be held in memory: only 'shoal "
                "verify' and 'shoal risk --engine duckdb' read it part by part."
            )
        yield frame


def open_folder(
    folder: str | Path, size: int | None = None
) -> tuple[dict[str, Iterator[pl.DataFrame]], dict[str, Any]]:
    """The same with tables in batches, each of which has to be read to its end to be trusted.

    Parameters
    ----------
    size
        Bytes (of CSV) or rows (of Parquet) that are read in one go.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    data = manifest["data"]
    listed = _tables(data)
    others = [manifest["report"], *data.get("copies", ())]
    _check_files(folder, [MANIFEST, *(entry["file"] for entry in (*others, *listed.values()))])
    for entry in (*others, *listed.values()):
        check_hash(folder, entry)
    escaped = "formulas" in data
    return {
        name: stored_batches(folder, entry, escaped=escaped, size=size) for name, entry in listed.items()
    }, manifest


def _tables(data: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Entries of the manifest that describe tables, by name."""
    return {"release": data} | ({"sensitive": data["sensitive"]} if "sensitive" in data else {})


def read_manifest(folder: str | Path) -> dict[str, Any]:
    """The manifest of a release folder, read strictly."""
    path = Path(folder) / MANIFEST
    try:
        found = read_json(_bytes(path))
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"'{folder}' holds no {MANIFEST}: name the folder of a release.") from None
    except OSError as error:
        raise InputError(f"'{path}' cannot be read: {error.strerror}.") from None
    except ValueError:
        raise InputError(f"'{path}' is not JSON: the release has to be written again.") from None
    check_manifest(found)
    manifest: dict[str, Any] = found
    return manifest


def _check_files(folder: Path, listed: list[str]) -> None:
    """Refuse files that the manifest does not list, and links, whose target can change or be missing elsewhere."""
    found = sorted(folder.iterdir())
    links = [path.name for path in found if path.is_symlink()]
    if links:
        raise VerificationError(f"'{links[0]}' is a symbolic link: put the file itself into the folder.")
    extra = [path.name for path in found if path.name not in listed]
    if extra:
        more = f" and {len(extra) - 1:,} more" if len(extra) > 1 else ""
        raise VerificationError(f"The folder also holds '{extra[0]}'{more}, which its manifest does not list.")


def _bytes(path: Path) -> bytes:
    """A file's bytes; from a pipe or a device there may never be an end of them."""
    if path.exists() and not path.is_file():
        raise InputError(f"'{path}' is no file.")
    return path.read_bytes()
