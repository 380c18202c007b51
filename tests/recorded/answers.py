"""What twelve commands answer in JSON, the dossier of a release, and every documented message.

Answers are kept whole, in ``answers/``, so that a comparison of two versions shows what has changed in them. Left out
of them is what differs from run to run or from version to version: the entries of :data:`UNSTABLE`, wherever they
stand, and the folder that the commands are run in, for which ``HERE`` is written. Of the dossier it is the section of
hashes and versions, whose hashes are those of files that are recorded themselves.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tomlkit

from shoal.cli.main import execute
from tests.messages import test_messages as messages
from tests.recorded.digests import digest
from tests.recorded.methods import people, recipe

ANSWERS = Path(__file__).with_name("answers")
UNSTABLE = {"seconds", "shoal"}  # times, Shoal's version
# In this order: a release has to be there before it is looked at.
COMMANDS = {
    "check": "check optimal.toml",
    "run": "run optimal.toml",
    "verify": "verify optimal",
    "explain": "explain optimal",
    "diff": "diff optimal mondrian",
    "list": "list models",
    "audit": "audit people.csv --quasi age --quasi sex --quasi education --sensitive diagnosis --sensitive income",
    "values": "values optimal.toml",
    "risk": "risk optimal.toml",
    "measure": "measure optimal.toml",
    "attack": "attack optimal.toml --seed 1",
    "compare": "compare optimal.toml --grid suppression_limit=0.2,0.4 --seed 1 --processes 1",
}
DOSSIER = "report optimal -o dossier.md"
QUICK = list(COMMANDS)[:7]  # what a run of the tests that is not thorough asks


def path_of(name: str) -> Path:
    """The file that an answer is kept in."""
    return ANSWERS / f"{name}.json"


def lay_out(folder: Path) -> None:
    """The table, and recipes of two methods, whose releases are called by their names; one of them is made."""
    people().write_csv(folder / "people.csv")
    for name in ("optimal", "mondrian"):
        given = recipe(name) | {"output": {"folder": name}}
        (folder / f"{name}.toml").write_text(tomlkit.dumps(given), "utf-8")
    with inside(folder):
        assert _executed("run mondrian.toml")[0] == 0


def answer(name: str) -> str:
    """What a command answers in the folder that the process is in."""
    code, said, _ = _executed(f"{COMMANDS[name]} --json")
    return _text({"exit": code, "answer": _stable(json.loads(said))})


def dossier() -> str:
    """The digest of the dossier of the release that ``run`` has left in the folder that the process is in."""
    code, _, said = _executed(DOSSIER)
    assert code == 0, said
    text = Path("dossier.md").read_text("utf-8")
    kept, left_out = re.subn(r"^## \d+ Hashes and versions\n.*?(?=^## |\Z)", "", text, flags=re.M | re.S)
    assert left_out == 1
    return digest(kept.encode())


def digest_of_messages(said: dict[str, list[tuple[int, str]]]) -> str:
    """How many messages there are, and the digest of their exit codes and sentences."""
    return f"{len(said)} {digest(json.dumps(said, sort_keys=True).encode())}"


def documented_messages() -> dict[str, list[tuple[int, str]]]:
    """What the table of mistakes says, which its own tests hold against every command."""
    return {
        what: [(one["exit"], f"error: {one['says']}\n")] * len(messages.commands(one))
        for what, one in messages.MISTAKES.items()
    }


def said_messages(folder: Path) -> dict[str, list[tuple[int, str]]]:
    """What the commands say now of every documented mistake."""
    made = folder / "made"
    made.mkdir()
    messages.make_release(made)
    found: dict[str, list[tuple[int, str]]] = {}
    for number, (what, mistake) in enumerate(messages.MISTAKES.items()):
        here = folder / str(number)
        here.mkdir()
        messages.lay_out(mistake, here, made)
        with inside(here):
            found[what] = []
            for line in messages.commands(mistake):
                code, _, said = _executed(line)
                found[what].append((code, said.replace(str(here), "HERE")))
    return found


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Run in a folder, without a passphrase of the surroundings."""
    passphrase = os.environ.pop("SHOAL_PASSPHRASE", None)
    try:
        with contextlib.chdir(folder):
            yield
    finally:
        if passphrase is not None:
            os.environ["SHOAL_PASSPHRASE"] = passphrase


def _executed(line: str) -> tuple[int, str, str]:
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        code = execute(shlex.split(line))
    return code, out.getvalue(), errors.getvalue()


def _stable(given: Any) -> Any:
    if isinstance(given, dict):
        return {key: _stable(value) for key, value in given.items() if key not in UNSTABLE}
    if isinstance(given, list):
        return [_stable(one) for one in given]
    return given.replace(os.getcwd(), "HERE") if isinstance(given, str) else given


def _text(found: Any) -> str:
    return json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
