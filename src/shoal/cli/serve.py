"""``shoal serve``: the workbench in a browser, and the trusted server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.show import say
from shoal.errors import InputError, MissingExtraError, ParameterError
from shoal.grammar import pairs
from shoal.params import nearest

if TYPE_CHECKING:
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
        from shoal.web.serving import serve as run
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
