"""Releases under known seeds, and the digests of what they wrote: a rebuilt method must give the same bytes.

``python -m tests.recorded`` says what has changed since the last record, and ``--write`` records anew: only where a
change of released cells is meant, which then stands in CHANGELOG.md.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import shoal
from shoal.catalogue import names
from tests.soak.cases import NEWER, RECORDED, Case, make
from tests.soak.run import attempt, remember
from tests.test_published import census, released

RECORD = Path(__file__).with_suffix(".txt")
RECORD_ANEW = "meant? then record anew: python -m tests.recorded --write"
EACH = 2  # releases of generated tables for every algorithm


def digests(folder: Path) -> str:
    """Digests of the data and of the manifest of a release."""
    data = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.suffix in (".csv", ".parquet"):
            data.update(path.name.encode() + path.read_bytes())
    manifest = hashlib.sha256((folder / "manifest.json").read_bytes())
    return f"{data.hexdigest()[:16]} {manifest.hexdigest()[:16]}"


def of_census(name: str, folder: Path) -> str:
    """The synthetic census by one algorithm."""
    return digests(released(name, census(), folder)[0])


def of_generated(case: Case, folder: Path) -> str | None:
    """A generated table, None where its recipe is refused."""
    recipe = case.write(folder)
    key = remember(folder) if case.again else None
    if attempt(lambda: shoal.run(recipe, key=key))[0]:
        return None
    return digests(folder / "out")


def recorded() -> dict[str, str]:
    """Digests by the name of their case."""
    lines = RECORD.read_text(encoding="utf-8").splitlines()
    return dict(line.split(": ", 1) for line in lines)  # type: ignore[misc]


def made_again(case: str, folder: Path) -> str | None:
    """What a case gives now."""
    kind, which, *_ = case.split()
    return of_census(which, folder) if kind == "census" else of_generated(_generated(kind, which), folder)


def _generated(kind: str, which: str) -> Case:
    """A generated case: by its seed, or by place and seed where its algorithm came later."""
    if kind == "generated":
        return make(int(which), newer=False)
    place, seed = map(int, which.split("."))
    return make(seed, spec=NEWER[place])


def _fresh() -> Iterator[tuple[str, str]]:
    for name in names("algorithm"):
        with tempfile.TemporaryDirectory() as folder:
            yield f"census {name}", of_census(name, Path(folder))
    for first, spec in enumerate(RECORDED):
        yield from _first("generated", map(str, range(first, 3000, len(RECORDED))), spec["name"])
    for place, spec in enumerate(NEWER):
        yield from _first("newer", (f"{place}.{seed}" for seed in range(7 * place + 2, 200)), spec["name"])


def _first(kind: str, several: Iterable[str], name: str) -> Iterator[tuple[str, str]]:
    """The first cases that are released."""
    found = 0
    for which in several:
        with tempfile.TemporaryDirectory() as folder:
            digest = of_generated(_generated(kind, which), Path(folder))
        if digest is not None:
            yield f"{kind} {which} {name}", digest
            found += 1
        if found == EACH:
            return


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="record what is released now")
    if parser.parse_args().write:
        RECORD.write_text("".join(f"{case}: {digest}\n" for case, digest in _fresh()), encoding="utf-8")
        return 0
    changed = 0
    for case, digest in recorded().items():
        with tempfile.TemporaryDirectory() as folder:
            now = made_again(case, Path(folder)) or "refused refused"
        parts = [what for what, a, b in zip(("data", "manifest"), now.split(), digest.split(), strict=True) if a != b]
        if parts:
            print(f"{case}: {' and '.join(parts)} changed")
            changed += 1
    print(f"{len(recorded())} releases, {changed} changed")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
