"""The commands by name, each imported and built when it is asked for, and the help that lists them.

Building all commands takes longer than most commands do, and so does loading what would draw help in frames.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import typer
import typer.core
import typer.main

# ----------------------------------------
# An example for every command, which its help ends with.


EXAMPLES = {
    "start": "shoal start patients.csv -o recipe.toml",
    "demo": "shoal demo -o demo-out",
    "check": "shoal check patients.toml",
    "explore": "shoal explore patients.toml --measure ncp",
    "values": "shoal values deaths.toml --csv values.csv",
    "run": "shoal run patients.toml --replace",
    "anonymize": "shoal anonymize patients.csv -o out --quasi age --quasi zip --sensitive disease --model k=5",
    "verify": "shoal verify out",
    "explain": "shoal explain out zip",
    "diff": "shoal diff out-2025 out-2026",
    "sign": "shoal sign out --key agency.key",
    "report": "shoal report out -o dossier.html",
    "apply": "shoal apply out patients-2026.csv",
    "audit": "shoal audit release.csv --quasi age --quasi zip --sensitive disease",
    "risk": "shoal risk patients.toml --fraction 0.05",
    "measure": "shoal measure patients.toml ncp lm",
    "estimate": 'shoal estimate out "age in [30, 40]"',
    "attack": "shoal attack patients.toml --only linkage",
    "compare": "shoal compare patients.toml",
    "serve": "shoal serve --data shoal-data",
    "reproduce": "shoal reproduce --list",
    "data": "shoal data hospital",
    "list": "shoal list models",
    "hierarchy suggest": "shoal hierarchy suggest patients.csv zip -o zip.csv",
    "hierarchy show": "shoal hierarchy show patients.toml zip",
    "hierarchy edit": "shoal hierarchy edit zip.csv 'rename 80*** to Munich' --replace",
    "hierarchy export": "shoal hierarchy export patients.toml zip -o zip.csv",
    "hierarchy check": "shoal hierarchy check zip.csv --data patients.csv",
    "vault put": "shoal vault put keys.vault patients-2026 secrets.json",
    "vault list": "shoal vault list keys.vault",
    "vault get": "shoal vault get keys.vault patients-2026 -o secrets.json",
    "remote list": "shoal remote list https://shoal.example.org",
    "remote download": "shoal remote download https://shoal.example.org 4be1 -o patients",
    "remote ask": "shoal remote ask https://shoal.example.org 4be1 tree.txt --target work",
    "remote question": "shoal remote question https://shoal.example.org",
    "vault rotate": "shoal vault rotate shoal-data",
    "vault accept": "shoal vault accept shoal-data",
    "vault interpret": "shoal vault interpret keys.vault patients-2026 rules.txt",
    "registry new": "shoal registry new patients.registry --source patients",
    "registry show": "shoal registry show patients.registry",
    "log show": "shoal log show releases.log",
    "log verify": "shoal log verify releases.log",
    "log add": "shoal log add releases.log out --event withdrawn",
}


# Modules of shoal.cli and the commands in each, which are functions of their names unless ``_NAMED`` says otherwise.
_MODULES = {
    "run": ("run", "anonymize", "apply"), "start": ("start", "check", "demo"), "data": ("data", "list", "reproduce"),
    "risk": ("risk", "audit"), "attack": ("attack",), "measure": ("measure", "estimate"),
    "compare": ("compare", "explore"), "explain": ("explain", "diff", "report", "values"),
    "hierarchy": ("hierarchy",), "verify": ("verify", "sign", "log"), "vault": ("vault", "registry"),
    "server": ("serve", "remote"),
}  # fmt: skip
_NAMED = {"list": "list_names", "hierarchy": "app", "vault": "vault_app", "registry": "registry_app",
          "log": "log_app", "remote": "app"}  # fmt: skip
_PANELS = {
    "Make a release": (
        "start", "demo", "check", "explore", "values", "run", "anonymize", "apply", "serve", "hierarchy",
    ),
    "Look at one": (
        "verify", "explain", "diff", "sign", "report", "audit", "risk", "measure", "estimate", "attack", "compare",
    ),
    "Find out what there is": ("reproduce", "data", "list"),
    "Keep what undoes one, and what was done": ("vault", "registry", "log", "remote"),
}  # fmt: skip
_NAMES = [name for names in _PANELS.values() for name in names]


class Command(typer.core.TyperCommand):
    """A command whose help lists its options by panel, in plain text."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write a section for the arguments, for the options and for each panel that options name."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for one in self.get_params(ctx):
            panel = getattr(one, "rich_help_panel", None) or f"{one.param_type_name.capitalize()}s"
            if (row := one.get_help_record(ctx)) is not None:
                sections.setdefault(panel, []).append(row)
        for panel, rows in sections.items():
            _write(formatter, panel, rows)


class Group(typer.core.TyperGroup):
    """A group of commands, whose help lists them with the whole of their first paragraphs."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section for the commands."""
        _write(formatter, "Commands", [(name, _first(one.help)) for name, one in self.commands.items()])


class Commands(typer.core.TyperGroup):
    """All commands, whose help lists them by panel."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given | {"commands": _Built()})

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each panel, without building a command."""
        for panel, names in _PANELS.items():
            _write(formatter, panel, [(name, _summary(_load(name))) for name in names])


class _Built(Mapping[str, Any]):
    """Commands by their names; a lookup builds one."""

    def __getitem__(self, name: str) -> Any:
        if name not in _NAMES:
            raise KeyError(name)
        return _build(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


@functools.cache
def _build(name: str) -> Any:
    """Read a command off its function, or a group off its app, and end their help with examples."""
    one, found = typer.Typer(rich_markup_mode=None), _load(name)
    if isinstance(found, typer.Typer):
        one.add_typer(found, name=name, cls=Group)
        _finish(found, f"{name} ")
    else:
        one.command(name)(found)
        _finish(one)
    return typer.main.get_group(one).commands[name]


def _finish(app: typer.Typer, above: str = "") -> None:
    """Give the commands of an app plain help and an example each."""
    for info in app.registered_commands:
        called = info.name or (info.callback.__name__.replace("_", "-") if info.callback else "")
        info.cls, info.epilog = Command, f"Example: {EXAMPLES[above + called]}"


def _load(name: str) -> Any:
    (module,) = (module for module, names in _MODULES.items() if name in names)
    return getattr(import_module(f"shoal.cli.{module}"), _NAMED.get(name, name))


def _summary(found: Any) -> str:
    return _first(found.info.help if isinstance(found, typer.Typer) else inspect.getdoc(found))


def _first(said: str | None) -> str:
    """The first paragraph of a help, on one line."""
    return " ".join((said or "").partition("\n\n")[0].split())


def _write(formatter: Any, title: str, rows: list[tuple[str, str]]) -> None:
    if rows:
        with formatter.section(title):
            formatter.write_dl(rows)
