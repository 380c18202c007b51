"""The bytes of a text file: mapped or unpacked, in UTF-8, and what they look like before anybody splits them."""

from __future__ import annotations

import codecs
import gzip
import io
import mmap
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, BinaryIO, cast

import numpy as np

from shoal.data.table import spilling
from shoal.errors import InputError, ParameterError

BLANKS = " \t"
UNPACK_LIMIT = 1024  # MiB
CHUNK = 1 << 18  # bytes; a chunk and its masks stay in the processor's cache
_UNPACK = 1 << 20
_UTF8 = ("utf-8", "utf-8-sig")
_MARKED = {
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
}


@dataclass(frozen=True)
class Text:
    """The bytes of a file: ``data`` to look at, ``feed`` for Polars (the path itself where that will do)."""

    name: str
    data: bytes | mmap.mmap = field(repr=False)
    feed: bytes | IO[bytes] | Path = field(repr=False)

    @classmethod
    def open(cls, path: Path, encoding: str, unpack_limit: int = UNPACK_LIMIT, spill: Path | None = None) -> Text:
        """Map or read a file, unpacked and in UTF-8 without byte order mark.

        Parameters
        ----------
        spill
            A folder in which text of another encoding is written anew, in a file without a name; by default it is held
            in memory.
        """
        codec = _codec(encoding)
        data = _load(path, unpack_limit)
        feed: bytes | IO[bytes] | Path = data if isinstance(data, bytes) else path
        other = codec not in _UTF8
        if spill is not None and isinstance(data, mmap.mmap) and (other or data[:3] == codecs.BOM_UTF8):
            data = _spilled(cls(path.name, data, path), codec if other else "utf-8-sig", spill)
            feed = cast("IO[bytes]", data)  # a map is read as a file is
        elif other:
            data = feed = _recoded(path.name, bytes(data), codec)
        if data[:3] == codecs.BOM_UTF8:
            data = feed = bytes(data[3:])
        if len(data) == 0:
            raise InputError(f"'{path.name}' is empty: there is nothing to read.")
        found = cls(path.name, data, feed)
        # Who reads it in pieces looks at them, since a file may take long to read.
        found.refuse_zeros(None if spill is None else CHUNK)
        return found

    def refuse_zeros(self, most: int | None = None) -> None:
        """Refuse what is no text, looking at so many bytes of it."""
        if self.data.find(b"\0", 0, len(self.data) if most is None else most) >= 0:
            wide = self.data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
            advice = 'give encoding = "utf-16"' if wide else "check that it is a text file"
            raise InputError(f"'{self.name}' contains zero bytes, so it is no text: {advice}.")

    @contextmanager
    def reading(self) -> Iterator[Callable[[int, int], bytes]]:
        """What gives so many bytes from a place on: of a file by reading it, since a map ends us where it is cut."""
        if not isinstance(self.feed, Path):
            yield lambda start, size: bytes(self.data[start : start + size])
            return

        with self._refusing():
            file = self.feed.open("rb")

        def read(start: int, size: int) -> bytes:
            with self._refusing():
                file.seek(start)
                piece = file.read(size)
            if len(piece) != size:
                raise changed(self.name)
            return piece

        with file:
            yield read

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """Tell what the system refuses of the file, and nothing that it refuses whoever reads it."""
        try:
            yield
        except OSError as error:
            raise InputError(f"'{self.name}' cannot be read: {error.strerror}.") from None

    def lines(self) -> Iterator[str]:
        """Decoded lines, refusing the first that is not UTF-8."""
        stream = io.BytesIO(self.data) if isinstance(self.data, bytes) else self.data
        stream.seek(0)
        for number, line in enumerate(iter(stream.readline, b""), start=1):
            try:
                yield line.decode("utf-8")
            except UnicodeDecodeError:
                raise _wrong_encoding(self.name, number, "utf-8") from None

    def count(self, byte: int) -> int:
        """How often a byte occurs."""
        array = np.frombuffer(self.data, np.uint8)
        starts = range(0, array.size, CHUNK)
        return sum(int(np.count_nonzero(array[at : at + CHUNK] == byte)) for at in starts)

    def is_plain(self) -> bool:
        """Whether there is nothing but printable ASCII, blanks and line feeds, and no quotes around any of it."""
        if has_quotes(self):
            return False
        array = np.frombuffer(self.data, np.uint8)
        for at in range(0, array.size, CHUNK):
            chunk = array[at : at + CHUNK]
            # Below the space the difference wraps around, so one comparison finds what is not printable.
            others = np.count_nonzero(chunk - np.uint8(ord(" ")) > ord("~") - ord(" "))
            if others and others > sum(int(np.count_nonzero(chunk == ord(blank))) for blank in "\t\n"):
                return False
        return True

    def let_go(self) -> None:
        """Give back the memory of what was looked at of a mapped file, which is read anew whenever it is needed."""
        if isinstance(self.data, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            self.data.madvise(mmap.MADV_DONTNEED)

    def blank_lines_at_end(self) -> int:
        """Number of blank lines behind the last row."""
        size = len(self.data)
        end = size
        while end and self.data[end - 1] in b"\r\n":
            end -= 1
        return max(bytes(self.data[end:size]).count(b"\n") - 1, 0)

    def is_padded(self, separator: str) -> bool:
        """Whether any blank stands at the edge of a cell, inside or outside its quotes."""
        array = np.frombuffer(self.data, np.uint8)
        blanks = [ord(blank) for blank in BLANKS if blank != separator]
        edge = np.zeros(256, bool)
        edge[[ord(mark) for mark in (separator, "\n", "\r", '"')]] = True
        for at in range(0, array.size, CHUNK):
            chunk = array[at : at + CHUNK]
            is_blank = chunk == blanks[0]
            for blank in blanks[1:]:
                is_blank |= chunk == blank
            places = np.flatnonzero(is_blank) + at
            if places.size == 0:
                continue
            if places[0] == 0 or places[-1] == array.size - 1:
                return True
            # A run of blanks needs no care: its first or its last one touches the edge.
            if (edge[array[places - 1]] | edge[array[places + 1]]).any():
                return True
        return False


def has_quotes(text: Text) -> bool:
    # A map searches from where it was last read, unless told otherwise.
    return text.data.find(b'"', 0) >= 0


def _codec(encoding: str) -> str:
    try:
        return codecs.lookup(encoding).name
    except LookupError:
        raise ParameterError(f"There is no encoding called '{encoding}': try 'utf-8' or 'latin-1'.") from None


def _load(path: Path, limit: int) -> bytes | mmap.mmap:
    """The file's bytes, mapped rather than read unless they are compressed."""
    try:
        with path.open("rb") as file:
            if path.suffix.lower() == ".gz":
                return _unpacked(path.name, file, limit)
            if path.stat().st_size == 0:
                return b""
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise InputError(f"'{path.name}' is not a whole gzip file: check how it was made.") from None
    except OSError as error:
        raise InputError(f"'{path}' cannot be read: {error.strerror}.") from None


def _unpacked(name: str, file: BinaryIO, limit: int) -> bytes:
    """What a gzip file holds, as far as it may: a few kilobytes can unpack to gigabytes."""
    data = bytearray()
    with gzip.GzipFile(fileobj=file) as stream:
        while chunk := stream.read(_UNPACK):
            data += chunk
            if len(data) > limit << 20:
                raise too_large(name, limit)
    return bytes(data)


def changed(name: str) -> InputError:
    """The refusal of a file that is not what it was when it was opened."""
    return InputError(f"'{name}' was changed while it was read: wait until it is whole, and run again.")


def too_large(name: str, limit: int) -> InputError:
    """The refusal of a file that unpacks to more than ``limit`` MiB."""
    return InputError(
        f"'{name}' unpacks to more than {limit:,} MiB: raise 'unpack_limit' if there is memory for it, or check how "
        "the file was made."
    )


def _recoded(file: str, data: bytes, codec: str) -> bytes:
    try:
        return data.decode(codec).encode("utf-8")
    except UnicodeDecodeError as error:
        raise _wrong_encoding(file, data[: error.start].count(b"\n") + 1, codec) from None
    except (LookupError, UnicodeError):
        raise _no_text(codec) from None


def _spilled(source: Text, codec: str, folder: Path) -> bytes | mmap.mmap:
    """The same on disk, a piece at a time; nothing is left of it when the process ends, however it ends."""
    decoder, lines, size, file = _decoder(codec, source.data), 0, len(source.data), source.name
    with spilling(), tempfile.TemporaryFile(dir=folder) as made, source.reading() as read:
        for at in range(0, size, _UNPACK):
            piece = read(at, min(_UNPACK, size - at))
            try:
                text = decoder.decode(piece, at + _UNPACK >= size)
                made.write(text.encode("utf-8"))
            except UnicodeDecodeError as error:
                before = error.object[: error.start].count(b"\n")
                raise _wrong_encoding(file, lines + before + 1, codec) from None
            except UnicodeError:
                raise _no_text(codec) from None
            lines += text.count("\n")
        made.flush()
        return mmap.mmap(made.fileno(), 0, access=mmap.ACCESS_READ) if made.tell() else b""


def _decoder(codec: str, data: bytes | mmap.mmap) -> codecs.IncrementalDecoder:
    """What decodes pieces as all of it would be decoded at once."""
    try:
        with suppress(UnicodeError):  # which is told by its line
            b"a".decode(codec)
        # Without a byte order mark, the order is that of this machine, which pieces have to be told.
        if codec in _MARKED and data[: len(_MARKED[codec][0])] not in _MARKED[codec]:
            codec += "-le" if sys.byteorder == "little" else "-be"
        return codecs.getincrementaldecoder(codec)()
    except LookupError:
        raise _no_text(codec) from None


def _no_text(codec: str) -> ParameterError:
    return ParameterError(f"'{codec}' is no encoding of text: try 'utf-8' or 'latin-1'.")


def _wrong_encoding(file: str, line: int, codec: str) -> InputError:
    name = "UTF-8" if codec in _UTF8 else codec
    return InputError(
        f"Line {line} of '{file}' is not {name}: give the file's encoding, such as encoding = \"latin-1\"."
    )
