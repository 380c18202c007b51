"""An example for every command, which its help ends with."""

from __future__ import annotations

import typer

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


def give_examples(app: typer.Typer, above: str = "") -> None:
    """End the help of every command of an app with its example, where it has none of its own."""
    for info in app.registered_commands:
        called = info.name or (info.callback.__name__.replace("_", "-") if info.callback else "")
        example = EXAMPLES.get(f"{above}{called}")
        if example is not None and info.epilog is None:
            info.epilog = f"Example: {example}"
    for group in app.registered_groups:
        if group.typer_instance is not None:
            give_examples(group.typer_instance, f"{above}{group.name} ")
