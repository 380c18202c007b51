"""What a user meets first: help with an example everywhere, what a run prints, lists, completion."""

from __future__ import annotations

import dataclasses
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from shoal import registry
from shoal.cli import console
from shoal.cli.main import app
from tests.cli.conftest import PATIENTS, recipe_text

Shoal = Callable[..., Any]


def every_command(command: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    command = command or typer.main.get_command(app)
    for name, below in getattr(command, "commands", {}).items():
        if hasattr(below, "commands"):
            yield from every_command(below, (*path, name))
        else:
            yield (*path, name), below


COMMANDS = dict(every_command())


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_ends_its_help_with_an_example_that_it_takes(path: tuple[str, ...]) -> None:
    command = COMMANDS[path]
    assert command.epilog, f"give 'shoal {' '.join(path)}' an example in cli/commands.py"
    words = shlex.split(command.epilog.removeprefix("Example: "))
    assert tuple(words[1 : 1 + len(path)]) == path
    known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
    assert {word for word in words if word.startswith("-")} <= known


def test_help_lists_commands_and_options_by_panel_in_whole_sentences(shoal: Shoal) -> None:
    found = shoal("--help").out
    places = [found.index(f"\n{panel}:\n") for panel in ("Options", "Make a release", "Look at one")]
    assert places == sorted(places)
    assert all(f"\n  {path[0]} " in found for path in COMMANDS)
    options = shoal("anonymize", "--help").out
    assert options.index("\nArguments:\n") < options.index("\nOptions:\n") < options.index("\nWhat to write:\n")
    assert "NAME[=MAIN] [key=value ...] [on COLUMN]" in " ".join(options.split())
    assert "calls it an older copy." in " ".join(shoal("vault", "--help").out.split())


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard output as a terminal of 80 columns would see it."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(console, "on_terminal", lambda: True)


def written(folder: Path) -> Path:
    (folder / "people.csv").write_text(PATIENTS, "utf-8")
    path = folder / "recipe.toml"
    path.write_text(recipe_text('identifiers = ["name"]\nquasi = ["age", "sex", "zip"]', k=2), "utf-8")
    return path


def test_what_a_run_prints_fits_a_terminal(
    shoal: Shoal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminal: None
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path)
    found = shoal("run", "recipe.toml")
    assert found.code == 0
    lines = found.out.splitlines()
    assert [line for line in lines if len(line) > 80 and " " in line] == []
    assert len(lines) <= 45
    assert "What is left of each column:" in found.out
    assert "shoal explain out" in found.out
    assert "bounds" not in found.out


def test_all_measures_are_there_on_demand(shoal: Shoal, tmp_path: Path) -> None:
    path = written(tmp_path)
    few, all_of_them = shoal("run", path), shoal("run", path, "--replace", "--measures")
    assert not [name for name in ("c-avg", "entropy ", "mpm") if name in few.out]
    assert not [name for name in registry.names("measure") if name not in all_of_them.out]


def test_piped_output_is_plain(shoal: Shoal, tmp_path: Path) -> None:
    found = shoal("run", written(tmp_path), "--measures")
    assert "\x1b" not in found.out
    assert found.err == ""


def test_models_are_listed_with_their_parameters(shoal: Shoal) -> None:
    found = {one["name"]: one["parameters"] for one in shoal("list", "models", "--json").json["models"]}
    assert set(found) == set(registry.names("model"))
    for name, given in found.items():
        assert set(given) == {one.name for one in dataclasses.fields(registry.load("model", name))}
    assert found["k"] == {"k": None}
    assert "t, distance" in shoal("list", "models").out


def test_a_shell_completes_commands() -> None:
    asked = {"_SHOAL_COMPLETE": "complete_bash", "COMP_WORDS": "shoal hierarchy s", "COMP_CWORD": "2"}
    done = subprocess.run(
        [sys.executable, "-m", "shoal.cli.main"], env={**os.environ, **asked}, capture_output=True, text=True,
        timeout=60,
    )  # fmt: skip
    assert done.stdout.split() == ["suggest", "show"]
