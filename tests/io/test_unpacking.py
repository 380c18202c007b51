"""The beginning of gzip files: as much as was asked for, however little or much a file unpacks to."""

from __future__ import annotations

import gzip
import random
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import pytest

from shoal.errors import InputError
from shoal.io import files
from shoal.io.files import first_unpacked


@pytest.mark.parametrize("seed", range(8))
def test_the_first_bytes_are_those_that_gzip_gives(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    path = tmp_path / "a.gz"
    for _ in range(10):
        sizes = [draw.choice([0, 1, 100, 5000, 70_000, 400_000]) for _ in range(draw.randint(1, 5))]
        parts = [draw.randbytes(size) if draw.random() < 0.5 else b"x" * size for size in sizes]
        packed = b"".join(gzip.compress(part, draw.choice([0, 1, 9])) for part in parts)
        path.write_bytes(packed + b"\0" * draw.choice([0, 5, 40_000]))
        content = gzip.decompress(path.read_bytes())
        for most in {0, 1, 4096, 70_000, max(len(content) - 1, 0), len(content), len(content) + 1}:
            assert first_unpacked(path, most) == (content[:most], len(content) <= most)


def test_a_bomb_is_unpacked_no_further_than_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"0" * (200 << 20), 1))
    tracemalloc.start()
    data, whole = first_unpacked(path, 1 << 20)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (len(data), whole) == (1 << 20, False)
    assert most < 8 << 20


@pytest.mark.parametrize("content", [
    gzip.compress(b"") * 400_000,  # nothing, very often
    b"\x1f\x8b\x08\x08" + bytes(6) + b"n" * (8 << 20),  # a name without an end
    gzip.compress(b"") + bytes(8 << 20),  # zeros without an end
], ids=["empty members", "a long name", "zeros behind it"])  # fmt: skip
def test_what_holds_nothing_is_not_read_for_ever(
    tmp_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, made, read = tmp_path / "a.gz", [0], [0]
    path.write_bytes(content)
    member, block = zlib.decompressobj, files._Packed.read

    def counted_member(*given: Any) -> Any:
        made[0] += 1
        return member(*given)

    def counted_block(packed: Any) -> bytes:
        read[0] += len(found := block(packed))
        return found

    monkeypatch.setattr(zlib, "decompressobj", counted_member)
    monkeypatch.setattr(files._Packed, "read", counted_block)
    assert first_unpacked(path, 1 << 20) == (b"", False)
    assert read[0] < 3 << 20
    assert made[0] <= files._MEMBERS + 1


@pytest.mark.parametrize(
    "content", [b"", b"no archive", gzip.compress(b"a" * 99)[:-9], gzip.compress(b"a") + b"more"],
    ids=["empty", "no archive", "cut short", "more behind it"],  # an archive has the time it was made at in it
)
def test_what_is_no_whole_archive_is_told(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"'a.gz' is not a whole gzip file"):
        first_unpacked(path, 1000)
