"""The verifier's own reading of a release folder: from bytes on disk to tables and manifest, or not at all.

Nothing may stand in the folder that its manifest
does not list, and a CSV file is spelled in the one way that a release is written in.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import InputError, VerificationError
from shoal.verify.manifest import read_json
from shoal.verify.manifest_schema import check_manifest

# ----------------------------------------
# The verifier's own reading of a table on disk, batch by batch.
#
# A file is hashed before it is read and once more while it is, so that what was hashed is what is looked at. Memory
# is one batch. What is wrong with a file is said when all of it has been read, and does not depend on where batches
# end.


# Bytes of a CSV file, and rows of a Parquet file, that are read in one go; the latter are those of a row group.
_BYTES, _ROWS = 1 << 23, 1 << 18
# Bytes that a batch may take, or a table that is held in memory, and bytes a cell with what is counted of it: some
# kilobytes of Parquet can unpack to gigabytes, in rows, columns or long texts. How long texts are is seen only once
# they are decoded, because Polars tells nothing of the sizes in a file's footer.
_MOST, _CELL = 1 << 30, 32
# How a cell begins that a spreadsheet runs unless it is a number: a sign of a formula, or one that NFKC makes such.
_SIGN = (
    r"[=+\-@\t\r\x{207A}-\x{207C}\x{208A}-\x{208C}\x{2212}"
    r"\x{2A75}\x{2A76}\x{FB29}\x{FE62}\x{FE63}\x{FE66}\x{FE6B}\x{FF0B}\x{FF0D}\x{FF1D}\x{FF20}]"
)
_FORMULA = rf"^{_SIGN}"
_ESCAPED = rf"^'('*{_SIGN})"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
# What Polars writes into a Parquet file beside the rows.
_PARQUET_KEYS = {"ARROW:schema"}


def check_hash(folder: Path, entry: Mapping[str, Any]) -> None:
    """Refuse a file that is not the one that the manifest describes."""
    path = folder / entry["file"]
    try:
        # From a pipe or a device there may never be an end.
        if path.exists() and not path.is_file():
            raise InputError(f"'{path}' is no file.")
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"The file '{path}' cannot be read: {error.strerror}.") from None
    if found != entry["sha256"]:
        raise VerificationError(f"'{entry['file']}' is not the file that the manifest describes: its hash differs.")


def stored_batches(
    folder: Path, entry: Mapping[str, Any], *, escaped: bool = False, size: int | None = None
) -> Iterator[pl.DataFrame]:
    """The rows of a table, in order, in one batch or several; of CSV every column as text, every cell as it stands.

    Parameters
    ----------
    entry
        The manifest's description: file, hash and number of rows.
    escaped
        Whether cells that begin like formulas are escaped.
    size
        Bytes (of CSV) or rows (of Parquet) that are read in one go.
    """
    check_hash(folder, entry)
    path, file = folder / entry["file"], entry["file"]
    batches = _csv(path, file, entry["sha256"], size or _BYTES) if file.endswith(".csv") else _parquet(
        path, entry, size or _ROWS
    )  # fmt: skip
    rows, formulas = 0, _Formulas(file)
    for frame in batches:
        rows += frame.height
        yield formulas.unescaped(frame) if escaped else frame
    formulas.refuse()
    check_hash(folder, entry)
    _refuse_miscounted(entry, rows)


def _refuse_miscounted(entry: Mapping[str, Any], rows: int) -> None:
    if rows != entry["rows"]:
        raise VerificationError(f"'{entry['file']}' has {rows} rows and the manifest says {entry['rows']}.")


def _csv(path: Path, file: str, digest: str, size: int) -> Iterator[pl.DataFrame]:
    """Read parts of the file, write them again, and compare: so no quote, blank or mark can be read in two ways."""
    header, spelled, seen = b"", True, hashlib.sha256()
    for part in _records(path, size):
        seen.update(part)
        again = io.BytesIO()
        try:
            frame = read_csv(header + part)
            frame.write_csv(again, include_header=not header)
        except (pl.exceptions.PolarsError, OSError):
            raise VerificationError(f"'{file}' cannot be read back as CSV: write the release again.") from None
        if not header:
            names = io.BytesIO()
            frame.clear().write_csv(names)
            header = names.getvalue()
        # A cell with nothing in it is null here; a release quotes an empty text.
        spelled &= again.getvalue() == part and not any(column.null_count() for column in frame.iter_columns())
        yield frame
    if seen.hexdigest() != digest:
        raise VerificationError(f"'{file}' is not the file that the manifest describes: its hash differs.")
    if not spelled:
        raise VerificationError(f"'{file}' is not spelled as Shoal writes CSV, so it could be read in two ways.")


def read_csv(data: bytes) -> pl.DataFrame:
    """A CSV file as text. Polars leaves quotes in the names of columns as they are written, twice."""
    frame = pl.read_csv(data, infer_schema=False)
    if any('"' in name for name in frame.columns):
        frame.columns = next(csv.reader(io.StringIO(data.decode(), newline="")))
    return frame


def _records(path: Path, size: int) -> Iterator[bytes]:
    """The bytes of a CSV file in parts that end where a record does: at a line end outside quotes.

    The first part has a record besides the header, where there is one.
    """
    rest, first = b"", True
    with path.open("rb") as stream:
        while chunk := stream.read(size):
            rest += chunk
            end = _last_end(rest)
            # Of the first part the header is one record.
            if end and not (first and _last_end(rest[: end - 1]) == 0):
                yield rest[:end]
                rest, first = rest[end:], False
    if rest or first:
        yield rest


def _last_end(text: bytes) -> int:
    """How many bytes there are up to the last line end outside quotes, that one included."""
    end = text.rfind(b"\n")
    quotes = text.count(b'"', 0, max(end, 0))
    while end >= 0 and quotes % 2:
        before = text.rfind(b"\n", 0, end)
        quotes -= text.count(b'"', max(before, 0), end)
        end = before
    return end + 1


class _Formulas:
    """Apostrophes that keep spreadsheets from running cells: taken off, and counted where they are lacking."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._lacking: dict[str, int] = {}
        self._names = 0

    def unescaped(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The cells and names without their apostrophes."""
        names = pl.Series("", frame.columns, dtype=pl.String)
        for texts in frame.iter_columns():
            self._lacking[texts.name] = self._lacking.get(texts.name, 0) + self._bare(texts)
        self._names = self._bare(names)
        cells = frame.with_columns(pl.all().str.replace(_ESCAPED, "${1}"))
        return cells.rename(dict(zip(frame.columns, names.str.replace(_ESCAPED, "${1}").to_list(), strict=True)))

    def refuse(self) -> None:
        """None may lack its own."""
        lacking = next((count for count in (*self._lacking.values(), self._names) if count), 0)
        if lacking:
            told = f"'{self._file}' has {lacking:,} formulas that are not escaped, against its manifest."
            raise VerificationError(told)

    @staticmethod
    def _bare(texts: pl.Series) -> int:
        return int((texts.str.contains(_FORMULA) & ~texts.str.contains(_NUMBER)).sum())


def _parquet(path: Path, entry: Mapping[str, Any], size: int) -> Iterator[pl.DataFrame]:
    file = entry["file"]
    try:
        table = pl.scan_parquet(path, hive_partitioning=False, glob=False)
        schema = table.collect_schema()
        rows = int(table.select(pl.len()).collect().item())
        extra = set(pl.read_parquet_metadata(path)) - _PARQUET_KEYS
    except (pl.exceptions.PolarsError, OSError, pl.exceptions.PanicException):
        raise VerificationError(f"'{file}' cannot be read back as Parquet: write the release again.") from None
    if extra:
        raise VerificationError(f"'{file}' carries {len(extra)} notes beside its rows, which nothing describes.")
    odd = [name for name, kind in schema.items() if kind.is_nested() or kind in (pl.Binary, pl.Object)]
    if odd:
        raise VerificationError(f"The column '{odd[0]}' of '{file}' holds neither text nor numbers nor dates.")
    listed = [name for name, kind in schema.items() if isinstance(kind, pl.Categorical | pl.Enum)]
    if listed:
        raise VerificationError(
            f"The column '{listed[0]}' of '{file}' is kept as categories, whose list may name values that stand in no "
            "row: write the release again."
        )
    _refuse_miscounted(entry, rows)
    size = max(1, min(size, _MOST // (_CELL * max(len(schema), 1))))
    for start in range(0, max(rows, 1), size):
        try:
            frame = table.slice(start, size).collect()
        except (pl.exceptions.PolarsError, OSError, pl.exceptions.PanicException):
            raise VerificationError(f"'{file}' cannot be read back as Parquet: write the release again.") from None
        # Equal texts share their bytes as they are read, and no longer once they are worked on.
        texts = frame.select(pl.col(pl.String)).iter_columns()
        if sum(int(one.str.len_bytes().sum()) for one in texts) > _MOST:
            raise VerificationError(
                f"'{file}' has texts of more than {_MOST >> 20:,} MiB in {frame.height:,} rows, as no release "
                "has."
            )
        yield frame


MANIFEST = "manifest.json"


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
                f"The release has more than {_MOST // _CELL:,} cells, too many to be held in memory: "
                "only 'shoal verify' and 'shoal risk --engine duckdb' read it part by part."
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
