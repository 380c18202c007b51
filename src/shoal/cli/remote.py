"""``shoal remote``: releases of a server, and questions about them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.options import Json
from shoal.cli.show import clean, say, show_json, show_table
from shoal.errors import InputError, MissingExtraError, ParameterError, VerificationError

if TYPE_CHECKING:
    from shoal.remote import Remote
    from shoal.vault.signing import Signed

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
    found = _server(url, token_file).releases()
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
    server = _server(url, token_file)
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
    server = _server(url, token_file)
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
    server = _server(url, token_file)
    if key is not None:
        _show(server.question(key), as_json)
        return
    found = server.questions()
    if as_json:
        show_json({"questions": found})
        return
    rows = [(one["id"], one["release"], one["state"], one["created"][:16].replace("T", " ")) for one in found]
    show_table(["question", "release", "state", "asked"], rows)


def _server(url: str, token_file: Path | None) -> Remote:
    from shoal.remote import connect

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
