"""The beginning of what a gzip file holds, and no more: a few kilobytes can unpack to gigabytes."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import BinaryIO

from shoal.errors import InputError

_BLOCK = 1 << 14  # bytes that are unpacked at a time; what is left of one is copied for every member in it
_BESIDE = 1 << 20  # bytes of headers and the like, beside what is unpacked
_MEMBERS = 100_000  # of which a file may be put together, each with nothing in it
_GZIP = 16 + zlib.MAX_WBITS


def first_unpacked(path: Path, most: int) -> tuple[bytes, bool]:
    """The first bytes that a gzip file holds, at most so many, and whether they are all there are.

    What is read of the file is bounded, too, however little comes of it.
    """
    data = bytearray()
    try:
        with path.open("rb") as file:
            whole = _unpack(file, data, most)
    except (zlib.error, EOFError):
        raise InputError(f"'{path.name}' is not a whole gzip file: check how it was made.") from None
    return bytes(data), whole


class _Packed:
    """A file that is read up to a bound."""

    def __init__(self, file: BinaryIO, most: int) -> None:
        self._file, self._left = file, most

    def read(self) -> bytes:
        """The next bytes of it, none at its end."""
        block = self._file.read(_BLOCK)
        self._left -= len(block)
        return block

    @property
    def exhausted(self) -> bool:
        """Whether more was read than allowed for."""
        return self._left < 0


def _unpack(file: BinaryIO, data: bytearray, most: int) -> bool:
    """Unpack member after member; whether the file came to its end before anything else did."""
    source, members = _Packed(file, most + _BESIDE), 0
    packed = source.read()
    if not packed:
        raise EOFError
    while packed:
        member = zlib.decompressobj(_GZIP)
        members += 1
        while not member.eof:
            if len(data) > most or source.exhausted or members > _MEMBERS:
                del data[most:]
                return False
            data += member.decompress(packed, most + 1 - len(data))
            if not member.eof and not member.unconsumed_tail:
                packed = source.read()
                if not packed:
                    raise EOFError
            else:
                packed = member.unconsumed_tail
        packed = _next_member(member.unused_data, source)
    whole = len(data) <= most and not source.exhausted
    del data[most:]
    return whole


def _next_member(rest: bytes, source: _Packed) -> bytes:
    """Where another member begins; zeros may stand behind the last one."""
    while not (rest := rest.lstrip(b"\0")) and not source.exhausted:
        if not (rest := source.read()):
            break
    return rest
