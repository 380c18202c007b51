"""Runs recipes in this process, as the command line does, and has the oracle judge what was written.

    python -m tests.soak.run 20000            # cases 0 to 19,999
    python -m tests.soak.run 100 --start 7000 --jobs 2 --pycanon /path/to/python
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.soak.cases import REGISTRY, SOURCE, Case, make
from tests.soak.oracle import faults, read_rows
from tests.soak.third import Pycanon, comparable, disagreements

if TYPE_CHECKING:
    from shoal.vault import Key

# Refused for a reason that is written down: bad input or recipe (2), no release possible (3).
_CLEAN = (2, 3)


def attempt(action: Callable[[], Any]) -> tuple[int, str]:
    """The exit code that a command would end with, and its sentence."""
    from shoal.errors import ShoalError

    try:
        action()
    except ShoalError as error:
        return error.exit_code, str(error)
    return 0, ""


def remember(folder: Path) -> Key:
    """Make the registry that a method of several releases asks for; gives what opens it."""
    from shoal.vault import Key, seal
    from shoal.vault.registry import Registry
    from shoal.vault.registry_file import save_registry

    seal.MEMORY = 10  # a mebibyte: thousands of keys are derived
    key = Key.passphrase("soak soak soak soak")
    save_registry(folder / REGISTRY, key, Registry(source=SOURCE))
    return key


def judge_case(case: Case, folder: Path) -> tuple[str, list[str]]:
    """What became of a case (released, or the exit code), and what is wrong with it."""
    import shoal

    recipe, out = case.write(folder), folder / "out"
    key = remember(folder) if case.again else None
    code, said = attempt(lambda: shoal.run(recipe, key=key))
    if code in _CLEAN:
        wrong = ["something was written although the run was refused"] if out.exists() else []
        if "\n" in said:
            wrong.append(f"a refusal is not one sentence: {said[-300:]}")
        return f"exit {code}", wrong
    if code:
        return f"exit {code}", [f"exit {code}: {said[-500:]}"]
    found = faults(case, out)
    report = shoal.verify_release(out)
    found += [f"verify: {check.detail}" for check in report.checks if not check.passed]
    return "released", found


def run_seed(seed: int, third: Pycanon | None = None) -> tuple[str, str, list[str]]:
    """Algorithm, outcome and faults of one case."""
    folder = Path(tempfile.mkdtemp(prefix="shoal-soak-"))
    case = make(seed)
    try:
        outcome, found = judge_case(case, folder)
        if third is not None and outcome == "released":
            found += _ask(third, case, folder / "out")
    except Exception:
        outcome, found = "oracle", [traceback.format_exc(limit=3)]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return case.algorithm["name"], outcome, [f"case {seed}: {one}" for one in found]


def _ask(third: Pycanon, case: Case, folder: Path) -> list[str]:
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    rows = [row for row in read_rows(folder, "release") if set(row.values()) != {"*"}]
    return disagreements(case, manifest, rows, third) if rows and comparable(case, manifest) else []


def _part(job: tuple[int, int, str | None]) -> tuple[Counter[tuple[str, str]], list[str]]:
    tally: Counter[tuple[str, str]] = Counter()
    wrong: list[str] = []
    third = None if job[2] is None else Pycanon(job[2])
    for seed in range(job[0], job[1]):
        name, outcome, found = run_seed(seed, third)
        tally[name, outcome] += 1
        wrong += found
    if third is not None:
        third.close()
    return tally, wrong


def main() -> int:
    """Prints a tally and every fault; 1 when there is one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", type=int, nargs="?", default=20_000)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--pycanon", help="an interpreter that has pycanon, to ask for a third opinion")
    given = parser.parse_args()
    step = 100
    starts = range(given.start, given.start + given.cases, step)
    jobs = [(start, min(start + step, given.start + given.cases), given.pycanon) for start in starts]
    tally: Counter[tuple[str, str]] = Counter()
    wrong: list[str] = []
    with get_context("spawn").Pool(given.jobs, maxtasksperchild=20) as pool:
        for done, (counts, found) in enumerate(pool.imap(_part, jobs), start=1):
            tally += counts
            wrong += found
            print("\n".join(found), end="\n" if found else "", flush=True)
            if sys.stderr.isatty() or done % 10 == 0:
                print(f"{done * step:,} cases, {len(wrong)} faults", file=sys.stderr, flush=True)
    for name in sorted({name for name, _ in tally}):
        counts = ", ".join(f"{one} {tally[name, one]:,}" for one in sorted({o for n, o in tally if n == name}))
        print(f"{name:18} {counts}")
    released = sum(count for (_, outcome), count in tally.items() if outcome == "released")
    print(f"{sum(tally.values()):,} cases, {released:,} released, {len(wrong):,} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
