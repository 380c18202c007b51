"""What processes and all that they started take of processor and memory, by what Linux says of them."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

_TICKS, _PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")


@dataclass
class Taken:
    """Seconds of processor, and the peak of resident memory in MiB: shared pages count in each process."""

    seconds: float = 0.0
    peak: float = field(default=0.0)


@contextmanager
def watched(*roots: int) -> Iterator[Taken]:
    """What some processes and their descendants take until the end, whatever ran and ended in between."""
    found, over, begun = Taken(), threading.Event(), _spent(_family(roots))

    def look() -> None:
        while not over.wait(0.25):
            found.peak = max(found.peak, sum(_resident(one) for one in _family(roots)))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield found
    finally:
        over.set()
        looking.join()
        found.seconds = _spent(_family(roots)) - begun


def _family(roots: tuple[int, ...]) -> list[int]:
    parents = {}
    for path in Path("/proc").iterdir():
        if path.name.isdigit() and (said := _stat(int(path.name))):
            parents[int(path.name)] = int(said[1])
    family = set(roots)
    while more := {one for one, parent in parents.items() if parent in family} - family:
        family |= more
    return sorted(family)


def _spent(family: list[int]) -> float:
    """Their own seconds, and those of descendants that ended."""
    return sum(sum(map(int, said[11:15])) for one in family if (said := _stat(one))) / _TICKS


def _resident(process: int) -> float:
    said = _stat(process)
    return int(said[21]) * _PAGE / 2**20 if said else 0.0


def _stat(process: int) -> list[str]:
    """What follows the name of a process; nothing where it ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()
    except OSError:
        return []
