"""A small client of a Shoal server: list releases, download and verify them, hand in results, read the answers.

Examples
--------
>>> import shoal
>>> server = shoal.connect("https://shoal.example.org", token="shoal_...")        # doctest: +SKIP
>>> release = server.releases()[0]                                                # doctest: +SKIP
>>> server.download(release["id"], "patients")                                    # doctest: +SKIP
>>> server.ask(release["id"], "IF age < 1.9 THEN disease = illness_3")["answer"]  # doctest: +SKIP
"""

from __future__ import annotations

import json
import os
import re
import shutil
import ssl
import tempfile
import urllib.error
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote, urlsplit

from shoal.errors import InputError, ShoalError, UserError, VerificationError
from shoal.io.rights import refuse_readable

TOKEN, TOKEN_FILE = "SHOAL_TOKEN", "SHOAL_TOKEN_FILE"
_API = "/api/v1"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_SECONDS = 60.0
_LARGEST = 64 << 20  # of an answer that is read into memory
_ID = re.compile(r"[\w-]{1,64}")
_FILE = re.compile(r"[\w][\w .()-]{0,199}")
# What a 409 says, by the code of its error: an exit code of 4 where something failed its check.
_FAILED = ("VerificationError", "GateError")


class RemoteError(UserError):
    """A server that cannot be reached, or does not do what it is asked for; ``status`` is that of its answer."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


def connect(url: str, token: str | None = None, *, token_file: str | Path | None = None) -> Remote:
    """A server by its address.

    Parameters
    ----------
    url
        ``https://…``, or ``http://`` on this machine. It never holds the token.
    token
        By default what ``SHOAL_TOKEN`` holds, or the file that ``token_file`` or ``SHOAL_TOKEN_FILE`` names.
    """
    return Remote(_address(url), _token(token, token_file))


class Remote:
    """A server, and somebody's token for it; made by :func:`connect`."""

    def __init__(self, address: str, token: str) -> None:
        self.address = address
        self._token = token
        context = ssl.create_default_context() if address.startswith("https:") else None
        handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
        handlers += [] if context is None else [urllib.request.HTTPSHandler(context=context)]
        if urlsplit(address).hostname in _LOOPBACK:
            handlers.append(urllib.request.ProxyHandler({}))
        self._opener = urllib.request.build_opener(*handlers)

    def releases(self) -> list[dict[str, Any]]:
        """Releases that this account may see: id, name, statement, kind, rows, manifest (its SHA-256), created."""
        return self._json("GET", "/releases")

    def manifest(self, release: str) -> dict[str, Any]:
        """What is promised of a release."""
        return self._json("GET", f"/releases/{_id(release)}/manifest")

    def download(self, release: str, folder: str | Path) -> Path:
        """A release in a new folder, after checking all that its manifest says, as ``shoal verify`` does.

        Raises
        ------
        VerificationError
            It is not what the server lists, or not what its manifest says; nothing is left in the folder.
        """
        place = Path(folder).resolve()
        if place.exists():
            raise InputError(f"'{folder}' exists: choose another name.")
        if not place.parent.is_dir():
            raise InputError(f"There is no folder '{place.parent}' to put '{place.name}' into: make it first.")
        listed = self._json("GET", f"/releases/{_id(release)}")
        files = [one["name"] for one in self._json("GET", f"/releases/{_id(release)}/files")["files"]]
        if not all(isinstance(name, str) and _FILE.fullmatch(name) for name in files):
            raise RemoteError("The server lists a file whose name cannot be one of a release: nothing was downloaded.")
        staged = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
        try:
            for name in files:
                self._save(f"/releases/{_id(release)}/files/{quote(name)}", staged / name)
            _verify(staged, str(listed["manifest"]))
            staged.chmod(0o755)
            os.rename(staged, place)
        except BaseException:
            shutil.rmtree(staged, ignore_errors=True)
            raise
        return place

    def ask(
        self,
        release: str,
        text: str,
        *,
        form: str = "auto",
        target: str | None = None,
        aliases: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Hand in results on a release, to be checked and interpreted.

        Parameters
        ----------
        form
            ``auto``, ``text``, ``tree``, ``rules``, ``csv`` or ``json``.
        target
            The column that classes are of, where the results do not say it.
        aliases
            What the results call columns, to their names.

        Returns
        -------
        dict
            The question: its ``id``, ``state`` (``answered``, ``waiting`` or ``refused``), ``answer``, the
            ``statements`` that hold, those ``refused`` and why, and what was ``left`` as it is.
        """
        given = {"text": text, "form": form, "target": target, "aliases": dict(aliases or {})}
        return self._json("POST", f"/releases/{_id(release)}/questions", given)

    def questions(self, release: str | None = None) -> list[dict[str, Any]]:
        """Questions of this account, the newest first."""
        return self._json("GET", "/questions" if release is None else f"/releases/{_id(release)}/questions")

    def question(self, key: str) -> dict[str, Any]:
        """One question, with its answer if it has one."""
        return self._json("GET", f"/questions/{_id(key)}")

    def _json(self, method: str, path: str, content: Any = None) -> Any:
        with self._open(method, path, content) as answer:
            body = answer.read(_LARGEST + 1)
        try:
            if len(body) > _LARGEST:
                raise ValueError("too long")
            return json.loads(body)
        except ValueError:
            raise RemoteError(f"'{self.address}' does not answer as a Shoal server does: check the address.") from None

    def _save(self, path: str, place: Path) -> None:
        with self._open("GET", path) as answer, place.open("xb") as file:
            try:
                shutil.copyfileobj(answer, file, 1 << 20)
            except (OSError, HTTPException):
                raise RemoteError(f"The download from '{self.address}' broke off: try again.") from None

    def _open(self, method: str, path: str, content: Any = None) -> Any:
        headers = {"authorization": f"Bearer {self._token}", "accept": "application/json"}
        data = None
        if content is not None:
            data, headers["content-type"] = json.dumps(content).encode(), "application/json"
        request = urllib.request.Request(self.address + _API + path, data=data, headers=headers, method=method)
        try:
            return self._opener.open(request, timeout=_SECONDS)
        except urllib.error.HTTPError as error:
            with error:
                self._refused(error)
        except urllib.error.URLError as error:
            if isinstance(error.reason, ssl.SSLCertVerificationError):
                why = f"The certificate of '{self.address}' cannot be trusted: {_why(error.reason)}."
                raise RemoteError(why) from None
            raise RemoteError(f"'{self.address}' cannot be reached: {_why(error.reason)}.") from None
        except (OSError, HTTPException) as error:
            raise RemoteError(f"'{self.address}' cannot be reached: {_why(error)}.") from None

    def _refused(self, error: urllib.error.HTTPError) -> NoReturn:
        """The server's own sentence, where it gives one."""
        if error.code in (301, 302, 303, 307, 308):
            raise RemoteError(f"'{self.address}' sends elsewhere: give the address that it sends to.", error.code)
        try:
            told = json.loads(error.read(1 << 20))["error"]
            code, message = str(told["code"]), str(told["message"])
        except (ValueError, LookupError, TypeError, OSError):
            code, message = "", f"'{self.address}' answered with {error.code}: check the address."
        made: ShoalError = VerificationError(message) if code in _FAILED else RemoteError(message, error.code)
        raise made from None

    def __repr__(self) -> str:
        return f"Remote({self.address!r})"

    def __reduce__(self) -> Any:
        raise TypeError("A Remote holds a token and cannot be serialised: connect again.")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Go nowhere else: the token is for one server."""

    def redirect_request(self, *given: Any, **more: Any) -> None:
        return None


def _address(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        parts, host = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        raise InputError("The address of a server is written https://HOST or https://HOST:PORT.")
    if parts.username is not None or parts.password is not None:
        raise InputError("The address of a server holds no name and no token: set SHOAL_TOKEN, or name a file.")
    if parts.scheme == "http" and host not in _LOOPBACK:
        raise InputError("Over a network a server is reached by https:// alone: a token would be seen on the way.")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def _token(token: str | None, token_file: str | Path | None) -> str:
    if token is not None and token_file is not None:
        raise InputError("Give a token or a file with one, not both.")
    file = token_file or (None if token or os.environ.get(TOKEN) else os.environ.get(TOKEN_FILE))
    if file:
        refuse_readable(file)
        try:
            token = Path(file).read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            raise InputError(f"The token file '{file}' cannot be read: check the path.") from None
    found = (token or os.environ.get(TOKEN) or "").strip()
    if not found:
        raise InputError(f"A server needs a token: set {TOKEN}, or name a file with one.")
    if not re.fullmatch(r"[\x21-\x7e]+", found):
        raise InputError("A token is one word of plain letters, digits and signs: copy it again.")
    return found


def _id(given: str) -> str:
    if not isinstance(given, str) or not _ID.fullmatch(given):
        raise InputError("The identifier of a release or question has letters and digits alone: copy it again.")
    return given


def _verify(folder: Path, expected: str) -> None:
    from shoal.io.publication import digest_of
    from shoal.running import verify_release

    if digest_of(folder) != expected:
        raise VerificationError("The manifest that came is not the one that the server lists: nothing was kept.")
    report = verify_release(folder)
    if not report.passed:
        wrong = next((check.detail for check in report.checks if not check.passed), "a verdict does not hold")
        raise VerificationError(f"The release that came is not what its manifest says, and was not kept: {wrong}")


def _why(reason: Any) -> str:
    told = getattr(reason, "strerror", None) or getattr(reason, "verify_message", None) or type(reason).__name__
    return str(told).rstrip(".")
