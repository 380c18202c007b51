"""Serving: the application, and beside it a worker in a process of its own, started again whenever it ends."""

from __future__ import annotations

import json
import logging
import os
import ssl
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from threading import Event, Thread
from typing import Any

import uvicorn

from shoal.errors import InputError
from shoal.web.accounts.users import first_admin
from shoal.web.alone import take
from shoal.web.app import create_app, make_folder
from shoal.web.jobs.child import leave_no_core
from shoal.web.keys import Keys
from shoal.web.settings import Offer, Settings
from shoal.web.store.opening import open_store

_PATHS = ("folder", "tls_certificate", "tls_key", "master_key", "passphrase_file")
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_log = logging.getLogger("shoal.web")


def serve(settings: Settings, announce: Callable[[str, str | None], None]) -> None:
    """Serve until a signal comes.

    Parameters
    ----------
    announce
        Is told the address, and the address at which the first admin chooses a password, once.
    """
    refuse_open(settings)
    leave_no_core()
    make_folder(settings.folder)
    # Before anything is swept up that another server may be making, and until the process has ended: threads that
    # answer requests go on for a while when the server has stopped.
    _, shared = take(settings.folder)
    _serve(settings, announce, shared)


def _serve(settings: Settings, announce: Callable[[str, str | None], None], shared: int) -> None:
    app = create_app(settings)
    _ = app.state.keys.keyring  # a wrong key is told now
    with app.state.store.writing() as db:
        link = first_admin(db)
    announce(settings.shown, None if link is None else f"{settings.shown}/setup/{link}")
    stop = Event()
    watcher = Thread(target=_keep_working, args=(settings, stop, shared), daemon=True)
    watcher.start()
    try:
        uvicorn.Server(_config(app, settings)).run()
    finally:
        stop.set()
        watcher.join(20)
        app.state.store.close()


def refuse_open(settings: Settings) -> None:
    """Refuse to send passwords and data over a network for everybody to read, or to start with TLS that cannot be."""
    if settings.host not in _LOOPBACK and not settings.secure:
        raise InputError(
            f"On '{settings.host}', passwords and data would cross the network unprotected: give TLS files, or stand "
            "behind a proxy with TLS and give its --address https://..."
        )
    if settings.host in ("0.0.0.0", "::") and settings.address is None:
        raise InputError("Where the server listens everywhere, it has to know its name: give --address https://...")
    if settings.tls_certificate is not None and settings.tls_key is not None:
        _refuse_files(settings.tls_certificate, settings.tls_key)


def _refuse_files(certificate: Path, key: Path) -> None:
    """Refuse files that no connection could be made with, such as a key under a passphrase, which nobody is asked."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=lambda: "")
    except (OSError, ValueError):  # errors of TLS are of the first kind
        raise InputError(
            f"TLS cannot be spoken with '{certificate}' and '{key}': give a certificate and its own key as text (PEM), "
            "without a passphrase, that the server may read."
        ) from None


def _config(app: Any, settings: Settings) -> uvicorn.Config:
    # No log of requests: addresses hold identifiers and one-time links.
    return uvicorn.Config(
        app, host=settings.host, port=settings.port, access_log=False, log_level="warning", server_header=False,
        proxy_headers=settings.address is not None, timeout_graceful_shutdown=10,
        timeout_keep_alive=75,  # longer than proxies keep a connection, so that none sends into one that we close
        ssl_certfile=_text(settings.tls_certificate), ssl_keyfile=_text(settings.tls_key),
    )  # fmt: skip


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _keep_working(settings: Settings, stop: Event, shared: int) -> None:
    """Run a worker, which has the lock of that descriptor too, and another one when it ends."""
    told = dumped(settings) + "\n"
    command, passed = [sys.executable, "-m", "shoal.web.serving"], (shared,) if os.name == "posix" else ()
    while not stop.is_set():
        started = time.monotonic()
        try:
            worker = subprocess.Popen(command, stdin=subprocess.PIPE, text=True, pass_fds=passed)
        except OSError as error:  # of a machine that has no process, memory or file left just now
            _log.error("the worker does not start: %s; trying again", error.strerror)
            stop.wait(1)
            continue
        _watch(worker, told, stop)
        if not stop.is_set():
            _log.error("the worker ended with code %s: starting another", worker.returncode)
            stop.wait(0 if time.monotonic() - started > 10 else 1)


def _watch(worker: subprocess.Popen[str], told: str, stop: Event) -> None:
    """Wait until a worker has ended, by itself or since it should stop."""
    assert worker.stdin is not None
    with suppress(BrokenPipeError):
        worker.stdin.write(told)
        worker.stdin.flush()
    while worker.poll() is None and not stop.wait(0.2):
        pass
    with suppress(BrokenPipeError, OSError):
        worker.stdin.close()  # by which it knows that it should end
    try:
        worker.wait(15)
    except subprocess.TimeoutExpired:
        worker.kill()
        worker.wait()


def dumped(settings: Settings) -> str:
    """Settings as one line; they may hold a password, and go from process to process alone."""
    plain = asdict(settings)
    return json.dumps({key: str(one) if isinstance(one, Path) else one for key, one in plain.items()})


def loaded(line: str) -> Settings:
    """Settings from a line."""
    plain = json.loads(line)
    paths = {key: None if plain[key] is None else Path(plain[key]) for key in _PATHS}
    return Settings(**{**plain, **paths, "offers": tuple(Offer(**one) for one in plain["offers"])})


def work() -> None:
    """The worker's process: settings come on its standard input, and when that ends, so does it."""
    from shoal.web.jobs.worker import Worker

    leave_no_core()
    settings = loaded(sys.stdin.readline())
    stop = Event()
    Thread(target=_stop_with_the_server, args=(stop,), daemon=True).start()
    store = open_store(settings.database)
    Worker(settings, store, Keys(settings, store), lease=settings.lease_seconds).run(stop)
    store.close()


def _stop_with_the_server(stop: Event) -> None:
    with suppress(OSError):
        while os.read(0, 1024):
            pass
    stop.set()


if __name__ == "__main__":
    work()
