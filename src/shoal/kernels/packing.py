"""Puts compiled kernels into a wheel: ``python -m shoal.kernels.packing WHEEL``, when ``shoal warm`` has made them."""

from __future__ import annotations

import base64
import hashlib
import json
import pickle
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from llvmlite import binding

from shoal.kernels.compiled import cache_folder, stamp
from shoal.kernels.tiers import served, tier


def pack_wheel(plain: Path, folder: Path) -> Path:
    """Write a wheel for this platform into a folder, made of one for all; gives its path."""
    tag = _tag()
    packed = folder / plain.name.replace("py3-none-any", tag)
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
    return packed


def _kernels() -> Iterator[tuple[str, bytes]]:
    """What was compiled for this processor's tier, of the kernels as they are now, and what it serves."""
    kept = {stamp(path)[:24] for path in Path(__file__).parent.rglob("*.py")}
    found = 0
    for folder in sorted((cache_folder() / "kernels" / version("numba")).iterdir()):
        for index in sorted(folder.glob("*.nbi")) if folder.name in kept else ():
            if _serves(index):
                found += 1
                for path in (index, *sorted(folder.glob(f"{index.stem}.*.nbc"))):
                    yield f"{folder.name}/{path.name}", path.read_bytes()
    if not found:
        raise SystemExit("There are no kernels for this processor's tier to pack: run shoal warm first.")
    yield "pack.json", json.dumps(served(version("numba")), indent=1).encode()


def _serves(index: Path) -> bool:
    """Whether a file of numba's is of this version and for the tier, not for the processor of whoever builds."""
    with index.open("rb") as file:
        if pickle.load(file) != version("numba"):
            return False
        _, overloads = pickle.load(file)
    return any(key[1] == (binding.get_process_triple(), tier(), "") for key in overloads)


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
    print(pack_wheel(Path(sys.argv[1]), Path(sys.argv[2])))
