"""Mutated manifests, recipes, tables, hierarchies and vaults through the command line: no fault of ours, no hang.

``python -m tests.fuzzing --cases 10000`` tries so many of each kind, in child processes of a few hundred, and lists the
cases that end in exit code 1. A case that hangs or kills its process ends the run. A seed and a number name a case.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import io
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

SECONDS = 120  # of a case; a machine that does other things is slow
MEMORY = 1 << 30
BATCH = 250
PASSPHRASE = "correct horse battery"

ROWS = [(20 + i % 7 * 5, "mf"[i % 2], f"{1000 + i % 5 * 37}", ("flu", "cold", "HIV", "gout")[i % 4]) for i in range(32)]
TABLE = "age,sex,zip,disease\n" + "".join(f"{a},{s},{z},{d}\n" for a, s, z, d in ROWS)
HIERARCHY = "".join(f"{z};{z[:2]}**;*\n" for z in sorted({row[2] for row in ROWS}))
RECIPE = """acknowledge = []
seed = 1
[source]
name = "patients"
path = "p.csv"
missing = "value"
missing_markers = ["?"]
[roles]
quasi = ["age", "sex", "zip"]
sensitive = ["disease"]
[columns.zip]
type = "categorical"
[columns.age]
snap = "auto"
style = "auto"
domain = [0, 120]
[hierarchies]
zip = "zip.csv"
[policies.disease]
ranges = [["HIV"], ["flu", "cold"]]
else = "value"
[weights]
age = 2.0
[[models]]
name = "k"
k = 2
[[models]]
name = "distinct-l"
l = 2
on = "disease"
[algorithm]
name = "mondrian"
suppression_limit = 0.5
[limits]
prosecutor_max = 0.9
[output]
folder = "out"
format = "csv"
suppressed = "drop"
"""
SECRETS = [
    {
        "kind": "grading", "column": "age", "bounds": [["15", "45"], ["46", "90"]], "names": [1, 2], "rule": "paper",
        "shared": False, "decimals": 0, "type": "numeric",
    },
    {"kind": "mapping", "column": "disease", "mapping": {"Flu": "illness_2", "Ulcer": "illness_1"}},
]  # fmt: skip

TOKENS = [
    "", "0", "-1", "1e308", "1e-308", "1e999999999", "nan", "inf", "9" * 30, "9" * 400, "9007199254740993", "0.1",
    "true", "null", "[]", "{}", "[[]]", '""', '"x"', '"*"', "*", "<missing>", "\\", '"', "'", ";", ",", "\n",
    "\r", "\t", "\0", "\ufeff", "\u200b", "=", ".", "[", "]", "{", "}", "^a$", "a.a.a.a.a", "1979-01-01", "%",
    "%d", "..", "/", "\ud7ff", "\U0001f600", "e\u0301", "-0", "age", "disease", "k", "mondrian", "optimal",
    "anatomy", "random", "samarati", "upc", "graded", "t-closeness", "k-e", "numeric", "date", "ordinal",
    "bounds", "representative", "star", "parquet", "interval", "label", "set", "value", "prefix", "widths",
]  # fmt: skip
VALUES: list[Any] = [
    None, True, 0, -1, 10**18, 10**30, 0.5, -0.0, 1e300, "", "*", "<missing>", "\0", "x" * 5000, [], {}, [[]],
    [{}], [0], ["x"], {"x": 1}, {"name": "k", "k": 2}, [["a", "*"], ["b", "*"]], "1e999", "9" * 40, "nan",
]  # fmt: skip


def mutate_text(rng: random.Random, text: str) -> bytes:
    """Some small changes of a text, now and then of its bytes."""
    data = text
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        data = rng.choice(_CHANGES)(rng, data)
    raw = data.encode("utf-8", "surrogatepass")
    if raw and rng.random() < 0.1:
        place = rng.randrange(len(raw))
        raw = raw[:place] + bytes([rng.randrange(256)]) + raw[place + rng.randint(0, 1) :]
    return raw


def _span(rng: random.Random, text: str) -> tuple[int, int]:
    first = rng.randint(0, len(text))
    return first, min(len(text), first + rng.choice([0, 1, 2, 5, 20, 200]))


def _insert(rng: random.Random, text: str) -> str:
    first, last = _span(rng, text)
    return text[:first] + rng.choice(TOKENS) * rng.choice([1, 1, 1, 2, 50]) + text[last:]


def _drop(rng: random.Random, text: str) -> str:
    first, last = _span(rng, text)
    return text[:first] + text[last:]


def _repeat(rng: random.Random, text: str) -> str:
    first, last = _span(rng, text)
    return text[:last] + text[first:last] * rng.choice([1, 2, 100]) + text[last:]


def _line(rng: random.Random, text: str) -> str:
    """Move, drop or repeat a line."""
    lines = text.split("\n")
    one = lines.pop(rng.randrange(len(lines)))
    for _ in range(rng.choice([0, 1, 2])):
        lines.insert(rng.randint(0, len(lines)), one)
    return "\n".join(lines)


def _word(rng: random.Random, text: str) -> str:
    """Put another word in the place of one that is there, as a cell, a key or a value."""
    words = text.replace("\n", " \n ").replace(",", " , ").replace(";", " ; ").split(" ")
    place = rng.randrange(len(words))
    old = words[place]
    return text.replace(old, rng.choice(TOKENS), rng.choice([1, 1, -1])) if old.strip() else text


_CHANGES: list[Callable[[random.Random, str], str]] = [_insert, _drop, _repeat, _line, _word, _word]


def mutate_json(rng: random.Random, text: str) -> bytes:
    """Changes of parts, so that what is left is JSON; now and then of the text."""
    if rng.random() < 0.3:
        return mutate_text(rng, text)
    found = json.loads(text)
    for _ in range(rng.choice([1, 1, 2, 4])):
        holders = [one for one in _holders(found) if one]
        holder = rng.choice(holders)
        key = rng.choice(list(holder)) if isinstance(holder, dict) else rng.randrange(len(holder))
        what = rng.random()
        if what < 0.2:
            del holder[key]
        elif what < 0.4:
            holder[key] = rng.choice(TOKENS)
        elif what < 0.5 and isinstance(holder, list):
            holder.append(holder[key])
        elif what < 0.6 and isinstance(holder, dict):
            holder[rng.choice(TOKENS) or "x"] = holder[key]
        else:
            holder[key] = copy.deepcopy(rng.choice(VALUES))
        if not found:
            break
    return json.dumps(found, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _holders(value: Any) -> list[Any]:
    if not isinstance(value, dict | list):
        return []
    inner = value.values() if isinstance(value, dict) else value
    return [value, *(one for part in inner for one in _holders(part))]


class Place:
    """A folder with everything in order, of which one file is changed at a time."""

    def __init__(self, folder: Path) -> None:
        from shoal.vault import seal

        seal.MEMORY = 10  # deriving a key is slow on purpose
        os.environ["SHOAL_PASSPHRASE"] = PASSPHRASE
        self.folder = folder
        for name, text in {"p.csv": TABLE, "zip.csv": HIERARCHY, "r.toml": RECIPE}.items():
            (folder / name).write_text(text)
        (folder / "secrets.json").write_text(json.dumps(SECRETS))
        self.must("run", folder / "r.toml")
        self.must("vault", "put", folder / "keys.vault", "patients", folder / "secrets.json")
        (folder / "rule.txt").write_text("IF H-age < 1.9 THEN disease = illness_2\n")
        (folder / "out").rename(folder / "good")
        shutil.rmtree(folder / "out.evidence")

    def must(self, *arguments: object) -> None:
        code, told = call(*arguments)
        if code:
            raise RuntimeError(told)

    def change(self, name: str, content: bytes) -> None:
        for left in ("out", "out.evidence"):
            shutil.rmtree(self.folder / left, ignore_errors=True)
        (self.folder / name).write_bytes(content)


def call(*arguments: object) -> tuple[int, str]:
    """Exit code and what was said, in this process."""
    from shoal.cli.main import execute

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = execute([str(one) for one in arguments])
    return code, err.getvalue()


def manifests(place: Place, rng: random.Random) -> tuple[int, str]:
    good = (place.folder / "good" / "manifest.json").read_text()
    shutil.rmtree(place.folder / "release", ignore_errors=True)
    shutil.copytree(place.folder / "good", place.folder / "release")
    place.change("release/manifest.json", mutate_json(rng, good))
    return call("verify", place.folder / "release")


def recipes(place: Place, rng: random.Random) -> tuple[int, str]:
    place.change("x.toml", mutate_text(rng, RECIPE))
    return call(rng.choice(["check", "run"]), place.folder / "x.toml")


def tables(place: Place, rng: random.Random) -> tuple[int, str]:
    place.change("p.csv", mutate_text(rng, TABLE))
    recipe = RECIPE.replace('type = "categorical"', rng.choice(['type = "categorical"', 'non_answers = ["x"]']))
    (place.folder / "x.toml").write_text(recipe.replace("domain = [0, 120]\n", rng.choice(["", "domain = [0, 120]\n"])))
    code = call("run", place.folder / "x.toml")
    return call("verify", place.folder / "out") if code[0] == 0 else code


def hierarchies(place: Place, rng: random.Random) -> tuple[int, str]:
    place.change("zip.csv", mutate_text(rng, HIERARCHY))
    code = call("run", place.folder / "r.toml")
    return call("verify", place.folder / "out") if code[0] == 0 else code


def vaults(place: Place, rng: random.Random) -> tuple[int, str]:
    """Changed bytes of a vault, and changed files of secrets to be put into one."""
    if rng.random() < 0.3:
        place.change("x.json", mutate_json(rng, json.dumps(SECRETS)))
        (place.folder / "new.vault").unlink(missing_ok=True)
        return call("vault", "put", place.folder / "new.vault", "patients", place.folder / "x.json")
    changed = mutate_text(rng, (place.folder / "keys.vault").read_bytes().decode("latin-1"))
    place.change("x.vault", changed.decode("utf-8", "replace").encode("latin-1", "replace"))
    if rng.random() < 0.5:
        return call("vault", "list", place.folder / "x.vault")
    return call("vault", "interpret", place.folder / "x.vault", "patients", place.folder / "rule.txt")


KINDS = {"manifests": manifests, "recipes": recipes, "tables": tables, "hierarchies": hierarchies, "vaults": vaults}
# A table or hierarchy that was read has to be released in a way that verifies, or not at all.
ALLOWED = {
    "manifests": (0, 2, 4),
    "recipes": (0, 2, 3, 4),
    "tables": (0, 2, 3),
    "hierarchies": (0, 2, 3),
    "vaults": (0, 2, 4),
}


def run_batch(kind: str, seed: int, first: int, cases: int) -> tuple[dict[str, int], list[str]]:
    """Run cases in this process and count their exit codes; lists those that are not allowed."""
    codes: Counter[str] = Counter()
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder))
        for number in range(first, first + cases):
            print(f"case {number}", file=sys.stderr, flush=True)
            signal.alarm(SECONDS)
            code, told = KINDS[kind](place, random.Random(f"{kind} {seed} {number}"))
            signal.alarm(0)
            if code not in ALLOWED[kind] or "Traceback" in told:
                wrong.append(f"{kind} {number} of seed {seed}: exit code {code}: {told[-3000:]}")
            codes[str(code)] += 1
            (place.folder / "p.csv").write_text(TABLE)
            (place.folder / "zip.csv").write_text(HIERARCHY)
    return dict(codes), wrong


def child(kind: str, seed: int, first: int, cases: int) -> dict[str, Any]:
    """The same in a process of its own, whose memory is watched."""
    command = [sys.executable, "-m", "tests.fuzzing", "--child", kind, str(seed), str(first), str(cases)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = [line for line in done.stderr.splitlines() if line.startswith("case ")][-1:]
        raise SystemExit(f"{kind} of seed {seed}, {' '.join(last)}: status {done.returncode}\n{done.stderr[-3000:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    if found["peak"] > MEMORY:
        raise SystemExit(f"{kind} of seed {seed} from case {first}: {found['peak'] >> 20} MiB of memory")
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--child", nargs=4)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=list(KINDS), action="append")
    given = parser.parse_args()
    if given.child:
        kind, *numbers = given.child
        codes, wrong = run_batch(kind, *map(int, numbers))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
        print(json.dumps({"codes": codes, "wrong": wrong, "peak": peak}))
        return
    wrong = []
    for kind in given.only or KINDS:
        total: Counter[str] = Counter()
        peak = 0
        for first in range(given.first, given.first + given.cases, BATCH):
            found = child(kind, given.seed, first, min(BATCH, given.first + given.cases - first))
            peak = max(peak, found["peak"])
            total.update(found["codes"])
            wrong += found["wrong"]
            for one in found["wrong"]:
                print(one, flush=True)
        codes = ", ".join(f"exit code {code}: {count:,}" for code, count in sorted(total.items()))
        print(f"{kind}: {sum(total.values()):,} cases, {codes}; at most {peak >> 20} MiB", flush=True)
    if wrong:
        raise SystemExit(f"{len(wrong)} cases ended as none should.")


if __name__ == "__main__":
    main()
