"""Puts compiled kernels into a wheel: ``python -m shoal.kernels.packing WHEEL``, when ``shoal warm`` has made them."""

from __future__ import annotations

import base64
import hashlib
import json
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from shoal.kernels.compiled import cache_folder, stamp
from shoal.kernels.tiers import served


def pack_wheel(plain: Path) -> Path:
    """Write a wheel for this platform beside one for all, which is removed; gives its path."""
    tag = _tag()
    packed = plain.with_name(plain.name.replace("py3-none-any", tag))
    with zipfile.ZipFile(plain) as source:
        files = {entry.filename: source.read(entry) for entry in source.infolist()}
    info = next(name.split("/")[0] for name in files if name.endswith(".dist-info/WHEEL"))
    files[f"{info}/WHEEL"] = _replaced(files[f"{info}/WHEEL"], "Tag: py3-none-any", f"Tag: {tag}").replace(
        b"Root-Is-Purelib: true", b"Root-Is-Purelib: false"
    )
    files[f"{info}/METADATA"] = _pinned(files[f"{info}/METADATA"])
    files |= {f"shoal/kernels/pack/{name}": content for name, content in _kernels()}
    del files[f"{info}/RECORD"]
    lines = [f"{name},sha256={_digest(content)},{len(content)}" for name, content in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*lines, f"{info}/RECORD,,", ""]).encode()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in files.items():
            target.writestr(name, content)
    plain.unlink()
    return packed


def _kernels() -> Iterator[tuple[str, bytes]]:
    """What the cache holds for the kernels as they are now, and what it serves."""
    kept = {stamp(path)[:24] for path in Path(__file__).parent.rglob("*.py")}
    for folder in sorted((cache_folder() / "kernels").iterdir()):
        if folder.name in kept:
            yield from ((f"{folder.name}/{path.name}", path.read_bytes()) for path in sorted(folder.glob("*.nb?")))
    yield "pack.json", json.dumps(served(version("numba")), indent=1).encode()


def _tag() -> str:
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{python}-{python}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def _pinned(metadata: bytes) -> bytes:
    """Compiled code goes with one version of numba."""
    lines = metadata.decode().split("\n")
    wanted = f"Requires-Dist: numba=={version('numba')}"
    return "\n".join(wanted if line.startswith("Requires-Dist: numba") else line for line in lines).encode()


def _replaced(content: bytes, old: str, new: str) -> bytes:
    return content.replace(old.encode(), new.encode())


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    print(pack_wheel(Path(sys.argv[1])))
