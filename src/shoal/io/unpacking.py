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


def _unpack(file: BinaryIO, data: bytearray, most: int) -> bool:
    """Unpack member after member; whether the file came to its end before anything else did."""
    packed, members, taken = file.read(_BLOCK), 0, 0
    if not packed:
        raise EOFError
    while packed:
        member = zlib.decompressobj(_GZIP)
        members += 1
        while not member.eof:
            if len(data) > most or taken > most + _BESIDE or members > _MEMBERS:
                del data[most:]
                return False
            data += member.decompress(packed, most + 1 - len(data))
            if not member.eof and not member.unconsumed_tail:
                packed = file.read(_BLOCK)
                taken += len(packed)
                if not packed:
                    raise EOFError
            else:
                packed = member.unconsumed_tail
        packed = _next_member(member.unused_data, file)
    whole = len(data) <= most
    del data[most:]
    return whole


def _next_member(rest: bytes, file: BinaryIO) -> bytes:
    """Where another member begins; zeros may stand behind the last one."""
    while not (rest := rest.lstrip(b"\0")):
        if not (rest := file.read(_BLOCK)):
            break
    return rest
