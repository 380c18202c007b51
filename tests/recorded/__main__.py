"""Make everything that is recorded again, and say what has changed since.

``python -m tests.recorded`` releases on every engine, asks every command and makes every documented mistake;
``--write`` records anew: only where a change of released cells is meant, which then stands in CHANGELOG.md.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shoal.vault import seal
from tests.recorded import answers
from tests.recorded.methods import ENGINES, every_engine, methods, release, served
from tests.recorded.releases import RECORD, made_again, recorded, releases


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="shoal-recorded-") as made:
        yield Path(made)


def by_methods() -> Iterator[tuple[str, str]]:
    """The record of every method, followed by the engines; where they disagree, what each of them gave."""
    with every_engine() as engines:
        for missing in set(ENGINES) - set(engines):
            print(f"'{missing}' cannot be started here: its releases are not made", file=sys.stderr)
        for name in methods():
            found: dict[str, list[str]] = {}
            for engine in served(name):
                if engine in engines:
                    with folder() as here:
                        found.setdefault(release(name, engine, here, engines[engine]), []).append(engine)
            given = "; ".join(f"{what} {' '.join(by)}" for what, by in found.items())
            yield f"method {name}", given + "".join(f" {one}" for one in served(name) if one not in engines)


def others() -> Iterator[tuple[str, str]]:
    """The dossier and the messages; answers of commands are the files of a folder."""
    with folder() as here:
        answers.lay_out(here)
        with answers.inside(here):
            for name in answers.COMMANDS:
                yield f"answer {name}", answers.answer(name)
            yield "dossier", answers.dossier()
    with folder() as here:
        yield "messages", answers.digest_of_messages(answers.said_messages(here))


def write() -> None:
    lines = [f"{case}: {given}\n" for case, given in (*by_methods(), *releases())]
    answers.ANSWERS.mkdir(exist_ok=True)
    for case, given in others():
        if case.startswith("answer "):
            answers.path_of(case.split()[1]).write_text(given, "utf-8")
        else:
            lines.append(f"{case}: {given}\n")
    RECORD.write_text("".join(lines), "utf-8")


def now() -> Iterator[tuple[str, str]]:
    """Everything that is recorded, as it is now."""
    yield from by_methods()
    yield from others()
    for case in recorded():
        if case.split()[0] in ("census", "generated", "newer"):
            with folder() as here:
                yield case, made_again(case, here) or "refused refused"


def compare() -> int:
    """Print what has changed; 1 if anything has."""
    before = recorded() | {f"answer {name}": answers.path_of(name).read_text("utf-8") for name in answers.COMMANDS}
    made = dict(now())
    changed = sorted(case for case in {*before, *made} if before.get(case) != made.get(case))
    for case in changed:
        print(f"{case}: {_difference(before.get(case), made.get(case))}")
    print(f"{len(made)} records, {len(changed)} changed")
    return 1 if changed else 0


def _difference(before: str | None, made: str | None) -> str:
    if before is None or made is None:
        return "new" if before is None else "gone"
    if "\n" in made:
        old, new = before.splitlines(), made.splitlines()
        return f"{len(set(new) - set(old))} lines changed: --write and git diff show them"
    if len(before.split()) == len(made.split()) > 1:
        words = ("data", "manifest", "share of rows")
        parts = [what for what, a, b in zip(words, before.split(), made.split(), strict=False) if a != b]
        return f"{' and '.join(parts)} changed" if parts else f"now {made}"
    return f"was {before}, now {made}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="record what is released and said now")
    strength = seal.MEMORY  # deriving keys is made cheap for the releases that need a registry
    try:
        if not parser.parse_args().write:
            return compare()
        write()
    finally:
        seal.MEMORY = strength
    return 0


if __name__ == "__main__":
    sys.exit(main())
