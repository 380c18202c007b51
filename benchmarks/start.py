"""What starting costs: `shoal --help` and a run on 1,000 rows, against importing the libraries that a run needs.

    python -m benchmarks.start

Every call is a process of its own, and its processor time counts, that of all threads, with compiled bytecode at hand.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.harness import Result, as_json, as_table
from shoal.cli.start import write_census

ROWS = 1_000
SHOAL = [sys.executable, "-m", "shoal.cli.main"]
YARDSTICK = [sys.executable, "-c", "import polars, numpy, pydantic"]


def processor_seconds(command: Sequence[str]) -> float:
    """Run a command and return its processor time."""
    given = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with subprocess.Popen(command, env=given, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if status:
        sys.exit(f"'{' '.join(command)}' failed: it ended with {process.returncode}.")
    return usage.ru_utime + usage.ru_stime


def measured(name: str, command: Sequence[str], limit: float, repeats: int) -> Result:
    """The least of several calls, in turns with the yardstick; the first call fills the caches."""
    first = processor_seconds(command)
    processor_seconds(YARDSTICK)
    turns = [(processor_seconds(command), processor_seconds(YARDSTICK)) for _ in range(repeats)]
    seconds, beside = (min(times) for times in zip(*turns, strict=True))
    return Result(
        name=name, seconds=seconds, first=first, yardstick=beside, ratio=seconds / beside, limit=limit, repeats=repeats
    )


def main() -> None:
    """Print both, and end with 1 where one is over its limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=9, help="timed calls a case (default 9)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results to this file as well")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "source").mkdir()
        write_census(folder / "source", folder / "release", ROWS, seed=1)
        run = [*SHOAL, "run", str(folder / "source" / "recipe.toml"), "--replace"]
        results = [
            measured("shoal --help", [*SHOAL, "--help"], 0.45, asked.repeats),
            measured(f"shoal run, {ROWS:,} rows", run, 5, asked.repeats),
        ]
    Console().print(as_table(results))
    if asked.json is not None:
        asked.json.parent.mkdir(parents=True, exist_ok=True)
        asked.json.write_text(json.dumps(as_json(results), indent=2) + "\n")
    sys.exit(0 if all(result.passed for result in results) else 1)


if __name__ == "__main__":
    main()
