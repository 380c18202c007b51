"""Digests of what a release wrote: what a version or a wording of the report changes is left out."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path


def digest(content: bytes) -> str:
    """The first half of a SHA-256, of 64 bits."""
    return hashlib.sha256(content).hexdigest()[:16]


def digests(folder: Path) -> str:
    """Digests of the data and of the manifest of a release, without Shoal's version and the report's hash."""
    files = sorted(path for path in folder.iterdir() if path.suffix in (".csv", ".parquet"))
    data = b"".join(path.name.encode() + path.read_bytes() for path in files)
    manifest = json.loads((folder / "manifest.json").read_bytes())
    del manifest["shoal"], manifest["report"]
    return f"{digest(data)} {digest(json.dumps(manifest, sort_keys=True).encode())}"
