"""Files that come in: written as they come, under another name until they are whole, and looked at before they stay."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import unicodedata
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request

from shoal.errors import InputError
from shoal.io.atomic import write_whole
from shoal.io.files import extension_of, first_unpacked, is_typed
from shoal.recipe.sniff import sniff
from shoal.web.errors import Refused, invalid
from shoal.web.middleware import TooLarge
from shoal.web.preview.head import whole_lines

INCOMING = "incoming"  # where files are that have no place yet
_HALF = ".incoming-"
KINDS = {"source": "source", "hierarchy": "hierarchies", "values": "values"}
_FIELD_BYTES, _FIELDS = 1 << 16, 50
_BLOCK = 1 << 20
_NAME_BYTES = 200  # of the 255 that file systems take, for what is put before it
_BROKEN = "The upload broke off: send the file again."
_UNFIT = re.compile(r"[^\w.,()+=@ -]")
_MAGIC = {".parquet": b"PAR1", ".xlsx": b"PK\x03\x04", ".xlsm": b"PK\x03\x04"}


@dataclass
class Incoming:
    """A file that came in and has no place yet, and the fields of the form that came before it."""

    path: Path
    name: str = ""
    bytes: int = 0
    sha256: str = ""
    fields: dict[str, str] = field(default_factory=dict)

    def drop(self) -> None:
        self.path.unlink(missing_ok=True)


class _Writer:
    """A new private file that is written block by block."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.incoming = Incoming(folder / f"{_HALF}{secrets.token_hex(8)}")
        self._file = os.fdopen(os.open(self.incoming.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        self._hash = hashlib.sha256()

    def write(self, block: bytes) -> None:
        self._file.write(block)
        self._hash.update(block)
        self.incoming.bytes += len(block)

    def close(self, whole: bool) -> None:
        if self._file.closed:
            return
        kept = False
        try:
            if whole:
                self._file.flush()
                os.fsync(self._file.fileno())
                self.incoming.sha256, kept = self._hash.hexdigest(), True
        finally:
            if not kept:
                self.incoming.drop()
            with suppress(OSError):  # what was not written any more
                self._file.close()


def forget_halves(folder: Path) -> None:
    """Remove whatever has no place yet: a server that was killed did not take it to its end."""
    for path in folder.glob("*"):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def written(data: bytes, folder: Path) -> Incoming:
    """A file that came from nowhere else."""
    writer, whole = _Writer(folder), False
    try:
        writer.write(data)
        whole = True
    finally:
        writer.close(whole)
    return writer.incoming


def clean_name(name: str) -> str:
    """A file's name without its folders and whatever could mean something to a shell or a page."""
    last = unicodedata.normalize("NFC", name).replace("\\", "/").rpartition("/")[2]
    fit = _UNFIT.sub("_", last)[-100:].encode()[-_NAME_BYTES:].decode("utf-8", "ignore")
    return fit.strip(" .") or "file"


async def receive_body(request: Request, folder: Path, name: str) -> Incoming:
    """The body of a request as a file."""
    writer = _Writer(folder)
    writer.incoming.name = clean_name(name)

    async def blocks() -> AsyncIterator[bytes]:
        async for block in request.stream():
            yield block

    return await _received(writer, blocks(), writer.write)


async def receive_form(request: Request, folder: Path, check: Callable[[dict[str, str]], None]) -> Incoming:
    """The one file of a form; ``check`` is given the fields before it, and may refuse before a byte is written."""
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    if kind != b"multipart/form-data" or b"boundary" not in options:
        raise invalid("The form brought no file: choose one.", "file")
    writer = _Writer(folder)
    parts = _Parts(writer, check)
    parser = MultipartParser(options[b"boundary"], parts.callbacks())  # type: ignore[arg-type]
    incoming = await _received(writer, request.stream(), parser.write)
    if not parts.ended:
        incoming.drop()
        raise Refused(400, "bad-request", _BROKEN)
    if not incoming.name:
        incoming.drop()
        raise invalid("The form brought no file: choose one.", "file")
    return incoming


async def _received(writer: _Writer, blocks: AsyncIterator[bytes], take: Callable[[bytes], object]) -> Incoming:
    whole = False
    try:
        async for block in blocks:
            await run_in_threadpool(take, block)
        whole = True
    except (MultipartParseError, ClientDisconnect):
        raise Refused(400, "bad-request", _BROKEN) from None
    except TooLarge:
        raise
    finally:
        await run_in_threadpool(writer.close, whole)
    return writer.incoming


class _Parts:
    """What a parser of forms calls: fields are collected, the file is written."""

    def __init__(self, writer: _Writer, check: Callable[[dict[str, str]], None]) -> None:
        self._writer, self._check = writer, check
        self._header, self._value = b"", b""
        self._headers: dict[bytes, bytes] = {}
        self._field: str | None = None
        self._data = b""
        self._in_file = False
        self.ended = False

    def callbacks(self) -> dict[str, Callable[..., None]]:
        return {
            "on_part_begin": self._begin, "on_header_field": self._header_field, "on_header_value": self._header_value,
            "on_header_end": self._header_end, "on_headers_finished": self._headers_finished,
            "on_part_data": self._part_data, "on_part_end": self._part_end, "on_end": self._end,
        }  # fmt: skip

    def _end(self) -> None:
        self.ended = True

    def _begin(self) -> None:
        self._headers, self._header, self._value, self._data = {}, b"", b"", b""
        self._field, self._in_file = None, False

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header_end(self) -> None:
        self._headers[self._header.lower()] = self._value
        self._header = self._value = b""

    def _headers_finished(self) -> None:
        _, options = parse_options_header(self._headers.get(b"content-disposition", b""))
        self._field = options.get(b"name", b"").decode("utf-8", "replace")
        if b"filename" in options:
            name = options[b"filename"].decode("utf-8", "replace")
            self._check(self._writer.incoming.fields)
            if self._writer.incoming.name:
                raise invalid("The form brought more than one file: send one at a time.", "file")
            self._writer.incoming.name = clean_name(name) if name else ""
            self._in_file = True

    def _part_data(self, data: bytes, start: int, end: int) -> None:
        if self._in_file:
            self._writer.write(data[start:end])
        else:
            self._data += data[start:end]
            if len(self._data) > _FIELD_BYTES:
                raise Refused(413, "too-large", "A field of the form is too long: shorten it.")

    def _part_end(self) -> None:
        if not self._in_file and self._field:
            self._writer.incoming.fields[self._field] = self._data.decode("utf-8", "replace")
            if len(self._writer.incoming.fields) > _FIELDS:
                raise Refused(413, "too-large", "The form has too many fields.")


def check_file(incoming: Incoming, kind: str) -> None:
    """Refuse what is no file of its kind by its name or its first bytes."""
    if kind not in KINDS:
        raise invalid(f"A file is one of: {', '.join(KINDS)}.", "kind")
    if incoming.bytes == 0:
        raise InputError(f"The file '{incoming.name}' is empty: choose another.")
    named = Path(incoming.name)
    if kind != "source":
        if named.suffix.lower() not in (".csv", ".toml", ".json", ".txt"):
            raise InputError(f"'{incoming.name}' is no hierarchy and no table of values: give a .csv file.")
        _refuse_binary(incoming)
        return
    if not is_typed(named):
        extension_of(named)
        if not named.suffix.lower().endswith(".gz"):
            _refuse_binary(incoming)
        _sniffed(incoming)
    elif not _head(incoming).startswith(_MAGIC.get(named.suffix.lower(), b"")):
        raise InputError(f"'{incoming.name}' is not what its name says: save it again as {named.suffix}.")


def _sniffed(incoming: Incoming) -> None:
    """Read the head as text, under the name that it will have; what is behind it is read by jobs."""
    packed = incoming.name.lower().endswith(".gz")
    place = incoming.path.with_name(f".{secrets.token_hex(8)}-{incoming.name[:-3] if packed else incoming.name}")
    try:
        head = first_unpacked(incoming.path, _BLOCK)[0] if packed else _head(incoming)
        write_whole(place, whole_lines(head))
        layout = sniff(place)
    except InputError as error:
        told = str(error).replace(place.name, incoming.name).replace(incoming.path.name, incoming.name)
        raise InputError(told) from None
    finally:
        place.unlink(missing_ok=True)
    if layout.width < 1:
        raise InputError(f"'{incoming.name}' has no columns: check the file.")


def _head(incoming: Incoming) -> bytes:
    with incoming.path.open("rb") as file:
        return file.read(_BLOCK)


def _refuse_binary(incoming: Incoming) -> None:
    head = _head(incoming)
    if b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"'{incoming.name}' is no text, whatever its name says: save it as CSV.")
