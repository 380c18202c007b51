"""Runs on every engine that are killed at random moments, and what has to be true of disk and database afterwards.

    python -m tests.engines.kills duckdb 20 --seed 1
    python -m tests.engines.kills postgres 20 --signal INT
    python -m tests.engines.kills spark 20
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

import shoal
from tests.engines.server import Server, binaries, running

ROOT = Path(__file__).parents[2]
HANGS = 1200  # seconds that no run takes, however many others use the machine
ENGINES = ("memory", "duckdb", "postgres", "spark")
SIGNALS = {"KILL": signal.SIGKILL, "INT": signal.SIGINT}
TABLE = "public.killed_release"
RECIPE = """
acknowledge = ["W-NEUTRAL"]
seed = 1
[source]
{source}
missing = "value"
name = "people"
[roles]
key = "key"
identifiers = ["name"]
quasi = ["age", "sex", "region"]
sensitive = ["diagnosis"]
neutral = ["visits"]
drop = ["birth_date", "postcode", "marital_status", "education", "occupation", "industry", "admitted", "income"]
[hierarchies]
age = {{ widths = [5, 10, 20] }}
sex = {{ prefix = [1] }}
region = {{ prefix = [1] }}
[[models]]
name = "k"
k = 3
[[models]]
name = "distinct-l"
l = 2
on = "diagnosis"
[algorithm]
name = "optimal"
suppression_limit = 0.6
[output]
folder = "out"
{output}
[engine]
name = "{engine}"
{scratch}
"""


class Killed:
    """A recipe of one engine, and what its run leaves when nobody disturbs it."""

    def __init__(self, root: Path, engine: str, server: Server | None, rows: int) -> None:
        self.root, self.engine, self.server = root, engine, server
        self.out, self.scratch = root / "out", root / "scratch"
        self.scratch.mkdir(parents=True)
        people = shoal.example_census(2 * rows).unique("person", keep="first", maintain_order=True)
        people = people.drop("person").with_row_index("key", offset=101)
        people = people.with_columns(pl.col("key").cast(pl.Int64))
        source, output = 'path = "people.csv"', ""
        if server is None:
            people.write_csv(root / "people.csv")
        else:
            server.fill("public.killed", people)
            source, output = f'url = "{server.url()}"\ntable = "public.killed"', f'table = "{TABLE}"'
        scratch = "" if engine == "memory" else 'scratch = "scratch"'
        text = RECIPE.format(source=source, output=output, engine=engine, scratch=scratch)
        (root / "recipe.toml").write_text(text, encoding="utf-8")
        begun = time.monotonic()
        self.complete()
        self.lasts = time.monotonic() - begun
        self.files, self.listing = self.released(), self.listed()
        assert self.files

    def started(self) -> subprocess.Popen[bytes]:
        """The command line, from its first moment on."""
        command = [sys.executable, "-m", "shoal.cli.main", "run", str(self.root / "recipe.toml")]
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "papers" / "src")])
        environment = {**os.environ, "PYTHONPATH": path, "TMPDIR": str(self.scratch)}
        if self.engine == "spark":  # which has temporary files of its own, and should rather begin quickly than go fast
            environment |= {"TMPDIR": tempfile.gettempdir(), "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"}
        return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def complete(self) -> None:
        """Run to the end, which nothing that is left may stand in the way of."""
        process = self.started()
        said = process.communicate(timeout=HANGS)[1]
        assert process.returncode == 0, said.decode()

    def killed(self, when: float, number: signal.Signals) -> str:
        """Run, and send a signal after so many seconds; how it ended."""
        self.clean()
        process = self.started()
        try:
            process.wait(when)
        except subprocess.TimeoutExpired:
            process.send_signal(number)
        said = process.communicate(timeout=HANGS)[1].decode()
        stopped = {signal.SIGKILL: (-signal.SIGKILL,), signal.SIGINT: (130, -signal.SIGINT)}[number]
        assert process.returncode in (0, *stopped), f"ended with {process.returncode}: {said}"
        self.check(interrupted=number == signal.SIGINT)
        return "done" if process.returncode == 0 else "stopped"

    def check(self, *, interrupted: bool) -> None:
        """What may be there after a stop: all of a release or nothing of it, and after Ctrl-C nothing else."""
        if self.out.exists():
            assert self.released() == self.files, "a release that is not whole"
        elif self.server is not None:
            assert not self.tables(), "a table without its release"
        if interrupted:
            assert not list(self.scratch.iterdir()), "scratch is left after an interrupt"
            assert self.listed() <= self.listing, f"left after an interrupt: {self.listed() - self.listing}"

    def recovered(self) -> None:
        """The next run completes with the same bytes, and leaves nothing of the one that was stopped."""
        self.clean()
        self.complete()
        assert self.released() == self.files, "the next run writes something else"
        assert self.listed() == self.listing, f"left: {self.listed() ^ self.listing}"
        assert not list(self.scratch.iterdir()), "scratch is left"
        if self.server is not None:
            assert self.tables() == self.height, "the table has other rows than the release"

    def clean(self) -> None:
        """Take a whole release away, so that the next one can be written, and nothing that a kill may have left."""
        for folder in (self.out, self.root / "out.evidence"):
            shutil.rmtree(folder, ignore_errors=True)
        if self.server is not None:
            self.server.do(f"DROP TABLE IF EXISTS {TABLE}")

    def released(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.out.iterdir()}

    def listed(self) -> set[str]:
        """Everything beside the scratch folder, hidden files too."""
        return {path.name for path in self.root.iterdir()}

    @property
    def height(self) -> int:
        return len(self.files["release.csv"].splitlines()) - 1

    def tables(self) -> int:
        """Rows of the release in the database, 0 where there is none."""
        assert self.server is not None
        if not self.server.rows(f"SELECT 1 WHERE to_regclass('{TABLE}') IS NOT NULL"):
            return 0
        return int(self.server.rows(f"SELECT count(*) FROM {TABLE}")[0][0])


def storm(
    killed: Killed,
    number: int,
    seed: int,
    signals: list[signal.Signals],
    said: Callable[[str], None] = lambda line: None,
) -> Counter[str]:
    """Stop so many runs at random moments of their whole lives; how they ended."""
    draw, counts = random.Random(seed), Counter[str]()
    for at in range(number):
        when = draw.uniform(0, killed.lasts)
        ended = killed.killed(when, draw.choice(signals))
        killed.recovered()
        counts[ended] += 1
        said(f"{at + 1} of {number}: {ended} after {when:.1f} s, the next one completed")
    return counts


@contextmanager
def served(engine: str) -> Iterator[Server | None]:
    """A database, where an engine needs one."""
    if engine != "postgres":
        yield None
        return
    programs = binaries()
    assert programs is not None, "needs the programs of PostgreSQL"
    with running(programs) as server:
        yield server


def main() -> None:
    """Stop runs of one engine, and say how they ended."""
    parser = argparse.ArgumentParser(description="Kill runs at random moments, and look at disk and database.")
    parser.add_argument("engine", choices=ENGINES)
    parser.add_argument("kills", type=int, nargs="?", default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--signal", choices=SIGNALS, default="KILL")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, served(given.engine) as server:
        killed = Killed(Path(folder) / "place", given.engine, server, given.rows)
        counts = storm(killed, given.kills, given.seed, [SIGNALS[given.signal]], lambda line: print(line, flush=True))
    print(
        f"{given.engine}: {counts['stopped']} of {given.kills} runs of {killed.lasts:.1f} s stopped on their way, "
        "every next one completed with the same bytes, nothing left"
    )


if __name__ == "__main__":
    main()
