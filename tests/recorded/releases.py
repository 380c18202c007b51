"""Recorded releases of the census and of generated tables, by the names of their cases."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import shoal
from shoal.registry import names
from tests.recorded.digests import digests
from tests.soak.cases import NEWER, RECORDED, Case, make
from tests.soak.run import attempt, remember

RECORD = Path(__file__).with_name("record.txt")
RECORD_ANEW = "meant? then record anew: python -m tests.recorded --write"
EACH = 2  # releases of generated tables for every algorithm


def recorded() -> dict[str, str]:
    """What is recorded, by the name of its case."""
    lines = RECORD.read_text(encoding="utf-8").splitlines()
    return dict(line.split(": ", 1) for line in lines)  # type: ignore[misc]


def made_again(case: str, folder: Path) -> str | None:
    """Release a case of the census or of a generated table again; None where its recipe is refused."""
    kind, which, *_ = case.split()
    return _of_census(which, folder) if kind == "census" else _of_generated(_generated(kind, which), folder)


def releases() -> Iterator[tuple[str, str]]:
    """Cases that are released now, with their digests."""
    for name in names("algorithm"):
        with tempfile.TemporaryDirectory() as folder:
            yield f"census {name}", _of_census(name, Path(folder))
    for first, spec in enumerate(RECORDED):
        yield from _first("generated", map(str, range(first, 3000, len(RECORDED))), spec["name"])
    for place, spec in enumerate(NEWER):
        yield from _first("newer", (f"{place}.{seed}" for seed in range(7 * place + 2, 200)), spec["name"])


def _of_census(name: str, folder: Path) -> str:
    from tests.test_published import census, released  # which reads the record in its turn

    return digests(released(name, census(), folder)[0])


def _of_generated(case: Case, folder: Path) -> str | None:
    recipe = case.write(folder)
    key = remember(folder) if case.again else None
    if attempt(lambda: shoal.run(recipe, key=key))[0]:
        return None
    return digests(folder / "out")


def _generated(kind: str, which: str) -> Case:
    """A generated case: by its seed, or by place and seed where its algorithm came later."""
    if kind == "generated":
        return make(int(which), newer=False)
    place, seed = map(int, which.split("."))
    return make(seed, spec=NEWER[place])


def _first(kind: str, several: Iterable[str], name: str) -> Iterator[tuple[str, str]]:
    """The first cases that are released."""
    found = 0
    for which in several:
        with tempfile.TemporaryDirectory() as folder:
            digest = _of_generated(_generated(kind, which), Path(folder))
        if digest is not None:
            yield f"{kind} {which} {name}", digest
            found += 1
        if found == EACH:
            return
