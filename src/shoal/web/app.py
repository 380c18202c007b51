"""The application: settings in, something that a server can serve out."""

from __future__ import annotations

import errno
import json
import logging
import os
import pkgutil
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from threading import Event, Thread
from types import ModuleType
from typing import Any

import uvicorn
from fastapi import APIRouter, FastAPI
from starlette.staticfiles import StaticFiles

from shoal.errors import InputError
from shoal.registry import VERSION
from shoal.web import api, pages
from shoal.web.accounts.tokens import Bearers
from shoal.web.accounts.users import first_admin
from shoal.web.errors import API, ErrorAnswer, add_handlers
from shoal.web.jobs.results import forget_plain
from shoal.web.jobs.sandbox import leave_no_core
from shoal.web.middleware import BodyLimit, Headers, Hosts
from shoal.web.permissions import Limits
from shoal.web.projects.project import finish_begun
from shoal.web.projects.uploads import INCOMING, forget_halves
from shoal.web.questions.log_chain import Watch
from shoal.web.server_keys import Keys
from shoal.web.settings import Offer, Settings
from shoal.web.store.open import open_store

_STATIC = Path(__file__).parent / "static"
_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorAnswer, "description": words}
    for status, words in {
        400: "The request cannot be read.",
        401: "There is no token, or it has ended.",
        403: "The account or the token may not do this.",
        404: "There is no such thing, or none that this account may see.",
        405: "The address takes no such request.",
        409: "It does not fit with what is there, or Shoal refused it.",
        413: "The request is too large.",
        422: "Something given has to change.",
        429: "Asked for too often; Retry-After says in how many seconds there is room again.",
        500: "A fault of the server.",
        501: "The server lacks an optional library that this needs.",
        503: "The database does not answer, or others read first; Retry-After says when to try again.",
        507: "The server's disk is full.",
    }.items()
}


def create_app(settings: Settings) -> FastAPI:
    """An application over a data folder and a database, which is brought up to date first."""
    make_folder(settings.folder)
    make_folder(settings.projects)
    forget_halves(settings.folder / INCOMING)
    forget_plain(settings)
    app = FastAPI(title="Shoal", version=VERSION, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.settings = settings
    app.state.store = open_store(settings.database)
    with app.state.store.writing() as db:
        finish_begun(db, settings)
    app.state.keys = Keys(settings, app.state.store)
    app.state.limits = Limits(settings)
    app.state.log = Watch()
    app.state.bearers = Bearers(app.state.store, app.state.limits)
    add_handlers(app)
    app.add_middleware(BodyLimit, settings=settings)
    app.add_middleware(Hosts, settings=settings)
    app.add_middleware(Headers, settings=settings)
    for router in routers(pages):
        app.include_router(router, include_in_schema=False)
    for router in routers(api):
        app.include_router(router, prefix=API, responses=_ERRORS)
    app.mount("/static", StaticFiles(directory=_STATIC), name="static")
    return app


def routers(package: ModuleType) -> list[APIRouter]:
    """The routers of all modules of a package, in the order of their names."""
    names = sorted(one.name for one in pkgutil.iter_modules(package.__path__))
    modules = [import_module(f"{package.__name__}.{name}") for name in names]
    return [one for module in modules for one in vars(module).values() if isinstance(one, APIRouter)]


def make_folder(path: Path) -> None:
    """A folder that nobody else may look into."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.chmod(0o700)
    except OSError as error:
        raise InputError(f"The data folder '{path}' cannot be used: {error.strerror}.") from None


# ----------------------------------------
# One server to a data folder: whoever serves holds a lock, which the system lets go of however the process ends.


try:
    import fcntl
except ImportError:  # Windows has no flock: nobody can tell whether a folder is in use
    fcntl = None  # type: ignore[assignment]

LOCK, WORKER_LOCK = "server.lock", "worker.lock"
# Seconds. A process that was killed while it started another has the first for a moment longer; a worker whose server
# was killed brings to its end what it is just writing.
_PATIENCE = {LOCK: 1.0, WORKER_LOCK: 60.0}
_PAUSE = 0.05
_TOLD = {
    LOCK: "A server is at work in the data folder '{}': stop it first, or choose another folder.",
    WORKER_LOCK: "The worker of a server that has ended is still at work in the data folder '{}': try again later.",
}
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)  # of some network file systems


def take(folder: Path) -> tuple[int, int]:
    """Have a data folder to oneself until the process has ended; refused where a server or its worker is at work in it.

    Returns the descriptors of both locks. A worker inherits the second, and so has it for as long as it lives. The
    files stay when the locks are given up: one that is removed could be held by two.
    """
    server = _locked(folder, LOCK)
    try:
        return server, _locked(folder, WORKER_LOCK)
    except BaseException:
        os.close(server)
        raise


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Have a data folder to oneself for a while, in which nothing else may be begun that outlasts it."""
    held = take(folder)
    try:
        yield
    finally:
        for one in held:
            os.close(one)


def _locked(folder: Path, name: str) -> int:
    try:
        descriptor = os.open(folder / name, os.O_RDWR | os.O_CREAT, 0o600)  # which processes inherit if we say so alone
    except OSError as error:
        raise InputError(f"The data folder '{folder}' cannot be used: {error.strerror}.") from None
    try:
        if not _taken(descriptor, _PATIENCE[name]):
            raise InputError(_TOLD[name].format(folder))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _taken(descriptor: int, patience: float) -> bool:
    if fcntl is None:
        return True
    end = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > end:
                return False
            time.sleep(_PAUSE)
        except OSError as error:
            if error.errno in _NO_LOCKS:  # as on Windows
                return True
            raise


# ----------------------------------------
# Serving: the application, and beside it a worker in a process of its own, started again whenever it ends.


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
    command, passed = [sys.executable, "-m", "shoal.web.app"], (shared,) if os.name == "posix" else ()
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
