"""``shoal serve``: the workbench in a browser, and the trusted server."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.console import clean, say, show_json, show_table
from shoal.cli.options import Json
from shoal.errors import InputError, MissingExtraError, ParameterError, VerificationError
from shoal.grammar import pairs
from shoal.params import nearest

if TYPE_CHECKING:
    from shoal.client import Remote
    from shoal.vault.signing import Signed
    from shoal.web.settings import Offer

# What --set knows: the field, and what its text is.
_SETTINGS = {
    "tls-certificate": "path", "tls-key": "path", "master-key": "path", "passphrase-file": "path",
    "job-memory": "bytes", "upload-bytes": "bytes", "job-seconds": "whole", "jobs-at-once": "whole",
    "uploads-per-hour": "whole", "jobs-per-hour": "whole", "downloads-per-hour": "whole", "edits-per-hour": "whole",
    "jobs-waiting": "whole", "minimum-count": "whole", "session-hours": "number", "idle-hours": "number",
    "lease-seconds": "number",
}  # fmt: skip


def _one(metavar: str, help: str, **more: Any) -> Any:
    return typer.Option(metavar=metavar, help=help, show_default=False, **more)


def serve(
    data: Annotated[Path, _one("FOLDER", "Where everything is kept; made if there is none.")],
    port: Annotated[int, typer.Option(metavar="NUMBER", min=1, max=65535, help="Where it listens.")] = 8765,
    host: Annotated[str, _one("NAME", "Where it listens, on this machine alone by default.")] = "127.0.0.1",
    address: Annotated[
        str | None, _one("URL", "What people type, where a proxy stands in front: https://...")
    ] = None,
    database: Annotated[
        str | None,
        _one("URL", "postgresql://..., in the place of SQLite in the folder; or SHOAL_DATABASE.",
             envvar="SHOAL_DATABASE", show_envvar=False),
    ] = None,  # fmt: skip
    offer: Annotated[
        list[str] | None,
        _one("NAME=PLACE", "A source to offer without an upload: a file, or postgresql://...#TABLE. Can be repeated."),
    ] = None,
    more: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", show_default=False,
                     help=f"Any of {', '.join(_SETTINGS)}. Can be repeated."),
    ] = None,  # fmt: skip
) -> None:
    """Open the workbench in a browser: projects, releases, and those who may have them."""
    try:
        from shoal.web.app import serve as run
        from shoal.web.settings import Settings
    except ImportError as error:
        if (error.name or "").startswith("shoal"):
            raise
        raise MissingExtraError("The server", str(error.name), "web") from None

    given = {key: _value(key, text) for key, text in pairs("--set", more).items()}
    offers = tuple(_offer(name, place) for name, place in pairs("--offer", offer).items())
    settings = Settings(
        folder=data.resolve(), database=database or "", host=host, port=port, address=address, offers=offers,
        **{key.replace("-", "_"): value for key, value in given.items()},
    )  # fmt: skip
    run(settings, _announce)


def _announce(address: str, link: str | None) -> None:
    say(f"Shoal is at {address} (stop it with Ctrl-C).")
    if link is not None:
        say("Nobody is admin yet. This link lets you choose a password, once, within two days:", f"  {link}")


def _value(key: str, text: str) -> Any:
    """What a setting means."""
    from shoal.recipe.fields import memory_bytes

    if key not in _SETTINGS:
        near = nearest(key, list(_SETTINGS))
        raise ParameterError(f"There is no setting '{key}' for --set." + (f" Did you mean '{near}'?" if near else ""))
    kind = _SETTINGS[key]
    try:
        read: dict[str, Callable[[str], Any]] = {"path": Path, "bytes": memory_bytes, "whole": int, "number": float}
        value = read[kind](text)
    except ValueError:
        wanted = {"bytes": "an amount such as 4GiB", "whole": "a whole number", "number": "a number"}[kind]
        raise ParameterError(f"The setting '{key}' of --set must be {wanted}. Got '{text}'.") from None
    if kind in ("whole", "number") and value <= 0:
        raise ParameterError(f"The setting '{key}' of --set must be above 0. Got '{text}'.")
    return value.resolve() if kind == "path" else value


def _offer(name: str, place: str) -> Offer:
    """A source that is offered: a file that is there, or an address with a table."""
    from shoal.web.settings import Offer

    if "://" in place:
        url, _, table = place.partition("#")
        if not table:
            raise InputError(f"The --offer '{name}' names no table: write postgresql://host/database#table.")
        return Offer(name=name, place=url, table=table)
    if not Path(place).exists():
        raise InputError(f"The --offer '{name}' is not there: check the path.")
    return Offer(name=name, place=str(Path(place).resolve()))


# ----------------------------------------
# ``shoal vault rotate`` and ``accept``: the secrets of a server that is not running.


_Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The data folder of a server.", show_default=False)]
_Database = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Its database, as for 'shoal serve'; or SHOAL_DATABASE.", show_default=False,
                 envvar="SHOAL_DATABASE", show_envvar=False),
]  # fmt: skip
_MasterKey = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Its key file, if not in the folder.", show_default=False)
]
_PassphraseFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Or the file of its passphrase.", show_default=False)
]


def rotate(
    folder: _Folder,
    new_key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Key file from now on; the same by default.", show_default=False),
    ] = None,
    database: _Database = None,
    master_key: _MasterKey = None,
    passphrase_file: _PassphraseFile = None,
) -> None:
    """Give a server that is stopped a fresh master key."""
    from shoal.vault.seal import Key

    key = None if new_key is None else Key.file(new_key)
    with _open_server(folder, database, master_key, passphrase_file) as (settings, store, module):
        pieces = module.rotate(settings, store, key)
    say(f"{pieces:,} sealed pieces are under a fresh master key; backups of before need the old key file.")


def accept(
    folder: _Folder,
    database: _Database = None,
    master_key: _MasterKey = None,
    passphrase_file: _PassphraseFile = None,
) -> None:
    """Take a backup that was restored on purpose for the newest, where a server calls it an older copy."""
    with _open_server(folder, database, master_key, passphrase_file) as (settings, store, module):
        changes = module.accept(settings, store)
    say(f"The secrets are taken as they were after change {changes:,}. What answers told since then is not counted.")


@contextmanager
def _open_server(
    folder: Path, database: str | None, master_key: Path | None, passphrase_file: Path | None
) -> Iterator[tuple[Any, Any, Any]]:
    """A server that stands still, and does so until we are done."""
    try:
        from shoal.web import server_keys
        from shoal.web.app import alone
        from shoal.web.settings import Settings
        from shoal.web.store.open import open_store
    except ImportError as error:
        if (error.name or "").startswith("shoal"):
            raise
        raise MissingExtraError("The server", str(error.name), "web") from None
    if not folder.is_dir() or not (database or (folder / "shoal.db").is_file()):
        raise InputError(f"'{folder}' is no data folder of a server: check the path, or give its --database.")
    settings = Settings(
        folder=folder.resolve(), database=database or "", master_key=master_key, passphrase_file=passphrase_file
    )
    with alone(settings.folder), closing(open_store(settings.database)) as store:
        yield settings, store, server_keys


# ----------------------------------------
# ``shoal remote``: releases of a server, and questions about them.


app = typer.Typer(help="Have releases of a Shoal server, and results on them interpreted.")
_how: dict[str, Any] = {}  # to go there, as said before the command's name

_Url = Annotated[
    str, typer.Argument(metavar="URL", help="The server, such as https://shoal.example.org.", show_default=False)
]
_TokenFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Holds the token; else SHOAL_TOKEN does.", show_default=False),
]
_Release = Annotated[
    str, typer.Argument(metavar="RELEASE", help="Its identifier, as 'list' shows it.", show_default=False)
]


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    ca: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Certificates that vouch for the server.", show_default=False),
    ] = None,
    unprotected: Annotated[
        bool, typer.Option("--unprotected", help="Take http:// over a network too, for everybody to read.")
    ] = False,
) -> None:
    _how.update(ca=ca, unprotected=unprotected)
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command("list")
def list_releases(url: _Url, token_file: _TokenFile = None, as_json: Json = False) -> None:
    """List the releases that you were granted."""
    found = _connect(url, token_file).releases()
    if as_json:
        show_json({"releases": found})
        return
    rows = [(one["id"], one["name"], f"{one['rows']:,}", one["statement"], one["created"][:10]) for one in found]
    show_table(["release", "name", ">rows", "statement", "made"], rows)


@app.command()
def download(
    url: _Url,
    release: _Release,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="A new folder for it.", show_default=False)
    ],
    most: Annotated[str, typer.Option(metavar="AMOUNT", help="How large it may be.")] = "16GiB",
    signed: Annotated[bool, typer.Option("--signed", help="Refuse a release that nobody signed.")] = False,
    public_key: Annotated[
        Path | None, typer.Option(metavar="FILE.pub", help="Whose signature it has to have.", show_default=False)
    ] = None,
    token_file: _TokenFile = None,
    as_json: Json = False,
) -> None:
    """Download a release, and verify all that its manifest says, and its signature."""
    server = _connect(url, token_file)
    place = server.download(release, output, most=_bytes(most), signed=signed, public_key=public_key)
    found, why = _signed(place, public_key)
    if as_json:
        show_json({"release": release, "folder": str(place), "passed": True, "signature": found})
    else:
        say(f"{place} is what its manifest says.", why)


@app.command()
def ask(
    url: _Url,
    release: _Release,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="Results; standard input by default.", show_default=False),
    ] = None,
    form: Annotated[str, typer.Option(metavar="FORM", help="auto, tree, rules, csv or json.")] = "auto",
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="What the classes of a tree are of.", show_default=False)
    ] = None,
    alias: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT=COLUMN", help="What the text calls a column. Can be repeated.", show_default=False),
    ] = None,
    token_file: _TokenFile = None,
    as_json: Json = False,
) -> None:
    """Hand in results on a release; exit 4 where any statement is refused."""
    from shoal.cli.vault import read_aliases, read_text

    text = sys.stdin.read() if file is None else read_text(file)
    server = _connect(url, token_file)
    _show(server.ask(release, text, form=form, target=target, aliases=read_aliases(alias or [])), as_json)


@app.command()
def question(
    url: _Url,
    key: Annotated[
        str | None,
        typer.Argument(metavar="[QUESTION]", help="Its identifier; all of yours by default.", show_default=False),
    ] = None,
    token_file: _TokenFile = None,
    as_json: Json = False,
) -> None:
    """Read what became of a question, or list all of yours."""
    server = _connect(url, token_file)
    if key is not None:
        _show(server.question(key), as_json)
        return
    found = server.questions()
    if as_json:
        show_json({"questions": found})
        return
    rows = [(one["id"], one["release"], one["state"], one["created"][:16].replace("T", " ")) for one in found]
    show_table(["question", "release", "state", "asked"], rows)


def _connect(url: str, token_file: Path | None) -> Remote:
    from shoal.client import connect

    return connect(url, token_file=token_file, **_how)


def _signed(place: Path, public_key: Path | None) -> tuple[Signed | None, str]:
    """Who signed a release that was downloaded, and what is said of it."""
    from shoal.vault.signing import check_signature, signature_beside

    signature = signature_beside(place)
    if not signature.exists():
        return None, "Nobody signed it."
    try:
        found = check_signature(place, signature, public_key)
    except MissingExtraError as error:
        return None, f"Its signature, {signature}, was not checked. {error}"
    whose = "" if found.expected else " Whose key that is nobody said: compare it, or give their --public-key."
    return found, f"Signed by {found.fingerprint} ({signature}).{whose}"


def _bytes(text: str) -> int:
    from shoal.recipe.fields import memory_bytes

    try:
        return memory_bytes(text)
    except ValueError as error:
        raise ParameterError(f"The --most of a download {error}. Got '{text}'.") from None


def _unlisted(found: dict[str, Any], what: str) -> int:
    """How many more there are than a server lists; older servers list all, and say nothing."""
    more = found.get("more")
    count = more.get(what) if isinstance(more, dict) else 0
    return count if isinstance(count, int) else 0


def _show(found: dict[str, Any], as_json: bool) -> None:
    more = {what: _unlisted(found, what) for what in ("refused", "left")}
    if as_json:
        show_json(found)
    else:
        for line in (found["answer"] or "").splitlines():  # values of the data, and what a server says
            print(clean(line))
        for one in found["refused"]:
            print(f"refused: line {one['line']} {clean(one['why'])}", file=sys.stderr)
        if more["refused"]:
            print(f"refused: {more['refused']:,} more, which the server does not list", file=sys.stderr)
        for one in found["left"]:
            print(f"not turned back: line {one['line']}: '{clean(one['text'])}' {clean(one['why'])}", file=sys.stderr)
        if more["left"]:
            print(f"not turned back: {more['left']:,} more, which the server does not list", file=sys.stderr)
    if found["state"] == "waiting":
        print(f"note: it waits for the custodian; ask again for {clean(found['id'])}", file=sys.stderr)
    elif found["refused"] and not as_json:
        raise VerificationError(f"{len(found['refused']) + more['refused']:,} statements were refused.")
    elif found["state"] == "refused" and not as_json:
        raise InputError("Nothing in it is a statement that can be checked: see what results are read.")
