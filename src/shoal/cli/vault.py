"""``shoal vault``: what undoes a pseudonymised release, kept in one encrypted file."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import server
from shoal.cli.console import clean, model_label, say, show_json, show_table
from shoal.cli.options import AcceptShort, Json, KeyFile, PassphraseFile
from shoal.errors import InputError, VerificationError

if TYPE_CHECKING:
    from shoal.recoding.secrets import Secret
    from shoal.vault.interpret import Interpreted
    from shoal.vault.protocol.decision import Answer, Refused
    from shoal.vault.seal import Key

PASSPHRASE = "SHOAL_PASSPHRASE"
_UNCOUNTED = "note: nothing is counted or logged here; a server ('shoal serve') counts what answers tell."

vault_app = typer.Typer(help="Keep what undoes a pseudonymised release in an encrypted file, and use it.")

_VaultFile = Annotated[Path, typer.Argument(metavar="VAULT", help="A file that ends in .vault.", show_default=False)]
_Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of an entry.", show_default=False)]
_Release = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER", help="The release that the secrets have to be of, or its manifest.", show_default=False
    ),
]
_Replace = Annotated[bool, typer.Option("--replace", help="Overwrite what is there.")]


def _file(help: str) -> Any:
    return typer.Argument(metavar="[FILE]", help=help, show_default=False)


@vault_app.callback(invoke_without_command=True)
def _start_vault(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


vault_app.command()(server.rotate)
vault_app.command()(server.accept)


@vault_app.command()
def put(
    vault: _VaultFile,
    name: _Name,
    file: Annotated[Path | None, _file("Secrets as 'vault get' writes them (JSON).")] = None,
    new_key: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Draw a fresh key for tokens of that column instead.", show_default=False),
    ] = None,
    passphrase_file: PassphraseFile = None,
    key_file: KeyFile = None,
    accept_short: AcceptShort = False,
    replace: _Replace = False,
    as_json: Json = False,
) -> None:
    """Store secrets, or a fresh key, under a name; the vault is made if there is none."""
    from shoal.vault.files import check_vault, read_secrets, store

    place = check_vault(vault)
    if (file is None) == (new_key is None):
        raise InputError("Give either a file of secrets or --new-key COLUMN.")
    secrets = _fresh_key(new_key) if new_key is not None else read_secrets(Path(file or ""))
    key = read_key(passphrase_file, key_file, new=not place.exists(), accept_short=accept_short)
    store(place, key, name, secrets, replace=replace)
    if as_json:
        show_json({"vault": str(place), "name": name, "secrets": [_entry(secret) for secret in secrets]})
    else:
        say(f"Stored under '{name}' in {place}: {_columns(secrets)}.")


@vault_app.command("list")
def list_entries(
    vault: _VaultFile, passphrase_file: PassphraseFile = None, key_file: KeyFile = None, as_json: Json = False
) -> None:
    """List the entries: names, columns and sizes, no values."""
    from shoal.vault.files import contents

    found = contents(vault, read_key(passphrase_file, key_file))
    if as_json:
        show_json({"vault": str(vault), "entries": found})
        return
    rows = [(name, one["kind"], one["column"], one["size"]) for name, several in found.items() for one in several]
    show_table(["entry", "kind", "column", "size"], rows)


@vault_app.command()
def get(
    vault: _VaultFile,
    name: _Name,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE.json", help="Where to write it.", show_default=False)
    ],
    column: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Only the secret of this column.", show_default=False)
    ] = None,
    release: _Release = None,
    passphrase_file: PassphraseFile = None,
    key_file: KeyFile = None,
    replace: _Replace = False,
    as_json: Json = False,
) -> None:
    """Write the secrets of an entry to a file that only you can read."""
    from shoal.io.private import check_private, write_private
    from shoal.vault.files import load, refuse_public

    place = check_private(output, suffix=".json", replace=replace)
    refuse_public(place, str(output))
    secrets = load(vault, read_key(passphrase_file, key_file), name, release=release)
    wanted = [secret for secret in secrets if column in (None, secret.column)]
    if not wanted:
        raise InputError(f"The entry '{name}' has no secret of column '{column}': it has {_columns(secrets)}.")
    write_private(place, json.dumps([secret.reveal() for secret in wanted], indent=2, ensure_ascii=False) + "\n")
    if as_json:
        show_json({"file": str(place), "name": name, "secrets": [_entry(secret) for secret in wanted]})
    else:
        say(f"Private, not for publication: {place}")


@vault_app.command()
def interpret(
    vault: _VaultFile,
    name: _Name,
    file: Annotated[Path | None, _file("Rules or CSV; standard input by default.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Standard output by default.", show_default=False),
    ] = None,
    alias: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT=COLUMN", help="What the text calls a column. Can be repeated.", show_default=False),
    ] = None,
    is_csv: Annotated[
        bool, typer.Option("--csv", help="Read it as CSV, as files that end in .csv are, and what looks like it.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Count statements again on --release, and turn back only what holds.")
    ] = False,
    target: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="With --check: what the classes of a tree are of.", show_default=False),
    ] = None,
    release: _Release = None,
    passphrase_file: PassphraseFile = None,
    key_file: KeyFile = None,
    replace: _Replace = False,
) -> None:
    """Turn rules, thresholds and codes in analysis results back; exit 4 where any code could not be."""
    from shoal.io.private import check_private, write_private
    from shoal.vault.files import load, refuse_public

    place = None if output is None else check_private(output, suffix=output.suffix.lower(), replace=replace)
    if place is not None:
        refuse_public(place, str(output))
    if check and (release is None or not release.is_dir()):
        raise InputError("Statements are checked on a release: name its folder by --release.")
    secrets = load(vault, read_key(passphrase_file, key_file), name, release=release or _around(file))
    text = sys.stdin.read() if file is None else read_text(file)
    table = is_csv or (file is not None and file.suffix.lower() == ".csv")
    aliases = read_aliases(alias or [])
    refused: list[Refused] = []
    made: Interpreted | Answer
    if check:
        made, refused = _checked(secrets, text, release, table, target, aliases)
    else:
        made = _interpreted(secrets, text, table, aliases)
    if place is None:
        sys.stdout.write(made.text)
    else:
        write_private(place, made.text)
    for what, several in (("refused", refused), ("not turned back", made.left)):
        for one in several:
            print(f"{what}: {clean(one)}", file=sys.stderr)
    print(_UNCOUNTED, file=sys.stderr)
    if refused:
        raise VerificationError(f"{len(refused)} statements do not hold on the release, or say too little.")
    if made.left:
        raise VerificationError(f"{len(made.left)} places were not turned back: give an --alias, or write them anew.")


def _interpreted(secrets: list[Secret], text: str, table: bool, aliases: dict[str, str]) -> Interpreted:
    from shoal.vault.interpret import Interpreter

    reader = Interpreter(secrets, aliases)
    if not table and reader.is_table(text):
        print("note: read as CSV, because the first line names columns.", file=sys.stderr)
        table = True
    return reader.table(text) if table else reader.text(text)


def _checked(
    secrets: list[Secret], text: str, release: Path | None, table: bool, target: str | None, aliases: dict[str, str]
) -> tuple[Answer, list[Refused]]:
    """What a server would answer to the first question of somebody without a budget."""
    from shoal.vault.protocol.decision import Policy, answer, examine
    from shoal.vault.protocol.recount import counter_of
    from shoal.vault.protocol.submission import Submission

    given = Submission(text=text, form="csv" if table else "auto", target=target, aliases=aliases)
    limits = Policy(waiting=1.0, budget=1.0, together=1.0)
    found = examine(given, counter_of(str(release), secrets), limits)
    return answer(found, secrets), list(found.refused)


def _around(file: Path | None) -> Path | None:
    """The release that a file is part of, if any."""
    from shoal.io.folders import is_release

    return file.parent if file is not None and is_release(file.parent) else None


def read_key(
    passphrase_file: Path | None, key_file: Path | None, *, new: bool = False, accept_short: bool = False
) -> Key:
    """What opens the vault: a file, else the environment, else a question, which is asked on a terminal only.

    Parameters
    ----------
    new
        Ask twice, because a slip would lock a new vault for ever.
    accept_short
        Let a passphrase of fewer than 12 characters make something new.
    """
    from shoal.io.atomic import refuse_readable
    from shoal.vault.seal import Key

    if passphrase_file is not None and key_file is not None:
        raise InputError("Give either --passphrase-file or --key-file.")
    if key_file is not None:
        return Key.file(key_file)
    if passphrase_file is not None:
        refuse_readable(passphrase_file)
        line = read_text(passphrase_file).partition("\n")[0].rstrip("\r")
        return Key.passphrase(line, accept_short=accept_short)
    if os.environ.get(PASSPHRASE):
        return Key.passphrase(os.environ[PASSPHRASE], accept_short=accept_short)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InputError(f"The vault needs a passphrase: give --passphrase-file, --key-file or set {PASSPHRASE}.")
    from getpass import getpass

    given = getpass("Passphrase of the vault: ")
    if new and getpass("The same again: ") != given:
        raise InputError("The two passphrases differ: nothing was stored.")
    return Key.passphrase(given, accept_short=accept_short)


def _fresh_key(column: str) -> list[Secret]:
    from secrets import token_bytes

    from shoal.recoding.secrets import SecretKey

    return [SecretKey(column, token_bytes(32))]


def read_text(path: Path) -> str:
    """A text file that somebody named."""
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise InputError(f"'{path}' cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InputError(f"'{path}' is not UTF-8 text: convert it first.") from None


def read_aliases(given: list[str]) -> dict[str, str]:
    """What texts call columns, as flags say it."""
    found = dict(text.rsplit("=", 1) for text in given if "=" in text)
    if len(found) < len(given) or not all(found):
        raise InputError("An alias is written TEXT=COLUMN, such as H_age=age.")
    return found


def _entry(secret: Secret) -> dict[str, Any]:
    return {"kind": secret.kind, "column": secret.column, "size": secret.size()}


def _columns(secrets: list[Secret]) -> str:
    return ", ".join(f"'{secret.column}'" for secret in secrets)


# ----------------------------------------
# ``shoal registry``: what a publisher remembers of the releases of one source.


registry_app = typer.Typer(
    help="Make, or look into, the encrypted registry that 'shoal run' keeps of a source's releases."
)

_RegistryFile = Annotated[
    Path, typer.Argument(metavar="REGISTRY", help="A file that ends in .registry.", show_default=False)
]


@registry_app.callback(invoke_without_command=True)
def _start_registry(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


@registry_app.command()
def new(
    registry: _RegistryFile,
    source: Annotated[
        str, typer.Option(metavar="NAME", help="The source.name of its recipes.", show_default=False)
    ],
    passphrase_file: PassphraseFile = None,
    key_file: KeyFile = None,
    accept_short: AcceptShort = False,
    as_json: Json = False,
) -> None:
    """Make a registry that knows of no release yet; 'shoal run' never makes one by itself."""
    from shoal.vault.registry import Registry
    from shoal.vault.registry_file import check_registry, save_registry

    place = check_registry(registry)
    made = Registry(source=source)
    save_registry(place, read_key(passphrase_file, key_file, new=True, accept_short=accept_short), made)
    if as_json:
        show_json({"registry": str(place), "source": source, "people": 0, "releases": []})
    else:
        say(f"A registry of '{source}' without any release: {place}")


@registry_app.command()
def show(
    registry: _RegistryFile, passphrase_file: PassphraseFile = None, key_file: KeyFile = None, as_json: Json = False
) -> None:
    """List its releases: names, models and numbers, nobody's values."""
    from shoal.vault.registry_file import open_registry

    found, _ = open_registry(registry, read_key(passphrase_file, key_file))
    people = found.past.people.height
    if as_json:
        show_json({"registry": str(registry), "source": found.source, "people": people, "releases": found.listing()})
        return
    say(f"Source '{found.source}': {people:,} people in {len(found.past.releases):,} releases.")
    rows = [
        (
            str(one["release"]),
            one["name"],
            ", ".join(model_label(model) for model in one["models"]),
            f"{one['records']:,}",
            f"{one['people']:,}" if one["tracked"] else "unknown",
            "W-REPEAT" if one["accepted"] else "",
        )
        for one in found.listing()
    ]
    show_table([">release", "name", "models", ">records", ">people", "accepted"], rows)
