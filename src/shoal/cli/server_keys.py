"""``shoal vault rotate`` and ``accept``: the secrets of a server that is not running."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.show import say
from shoal.errors import InputError, MissingExtraError

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
    with _server(folder, database, master_key, passphrase_file) as (settings, store, module):
        pieces = module.rotate(settings, store, key)
    say(f"{pieces:,} sealed pieces are under a fresh master key; backups of before need the old key file.")


def accept(
    folder: _Folder,
    database: _Database = None,
    master_key: _MasterKey = None,
    passphrase_file: _PassphraseFile = None,
) -> None:
    """Take a backup that was restored on purpose for the newest, where a server calls it an older copy."""
    with _server(folder, database, master_key, passphrase_file) as (settings, store, module):
        changes = module.accept(settings, store)
    say(f"The secrets are taken as they were after change {changes:,}. What answers told since then is not counted.")


@contextmanager
def _server(
    folder: Path, database: str | None, master_key: Path | None, passphrase_file: Path | None
) -> Iterator[tuple[Any, Any, Any]]:
    """A server that stands still, and does so until we are done."""
    try:
        from shoal.web.alone import alone
        from shoal.web.settings import Settings
        from shoal.web.store.opening import open_store
        from shoal.web.trust import rotating
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
        yield settings, store, rotating
