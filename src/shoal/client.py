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
import ssl
import tempfile
import urllib.error
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any, NoReturn
from urllib.parse import quote, urlsplit

from shoal.errors import InputError, ShoalError, UserError, VerificationError
from shoal.io.atomic import refuse_readable
from shoal.release.download import keep_signature, put, refuse_taken, verify

TOKEN, TOKEN_FILE = "SHOAL_TOKEN", "SHOAL_TOKEN_FILE"
_API = "/api/v1"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_SECONDS = 60.0
_LARGEST = 64 << 20  # of an answer that is read into memory
_BLOCK = 1 << 20
_MOST_FILES = 10_000  # of one release
MOST = 16 << 30  # bytes of a release, unless somebody says otherwise
_ID = re.compile(r"[\w-]{1,64}")
_FILE = re.compile(r"[\w][\w .()-]{0,199}")
# What there is of releases and questions, as far as anybody relies on it.
_RELEASE = {"id": str, "name": str, "rows": int, "statement": str, "created": str}
_ASKED = {"id": str, "release": str, "state": str, "created": str}
_QUESTION = {
    **_ASKED, "answer": str | None, "refused": [{"line": int, "why": str}],
    "left": [{"line": int, "text": str, "why": str}],
}  # fmt: skip
_SIGNATURE = {"signature": str | None, "public_key": str | None, "key": str | None}
# What a 409 says, by the code of its error: an exit code of 4 where something failed its check.
_FAILED = ("VerificationError", "GateError")


class RemoteError(UserError):
    """A server that cannot be reached, or does not do what it is asked for; ``status`` is that of its answer."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


def connect(
    url: str,
    token: str | None = None,
    *,
    token_file: str | Path | None = None,
    ca: str | Path | None = None,
    unprotected: bool = False,
) -> Remote:
    """A server by its address.

    Parameters
    ----------
    url
        ``https://…``, or ``http://`` on this machine. It never holds the token.
    token
        By default what ``SHOAL_TOKEN`` holds, or the file that ``token_file`` or ``SHOAL_TOKEN_FILE`` names.
    ca
        A file with the certificates that vouch for the server, in the place of those that this machine trusts.
    unprotected
        Take ``http://`` over a network as well, where everybody on the way can read the token and the data.
    """
    return Remote(_address(url, unprotected), _token(token, token_file), ca=ca)


class Remote:
    """A server, and somebody's token for it; made by :func:`connect`."""

    def __init__(self, address: str, token: str, *, ca: str | Path | None = None) -> None:
        self.address = address
        self._token = token
        handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
        handlers += [urllib.request.HTTPSHandler(context=_context(ca))] if address.startswith("https:") else []
        if urlsplit(address).hostname in _LOOPBACK:
            handlers.append(urllib.request.ProxyHandler({}))
        self._opener = urllib.request.build_opener(*handlers)

    def releases(self) -> list[dict[str, Any]]:
        """Releases that this account may see: id, name, statement, kind, rows, manifest (its SHA-256), created."""
        return self._json("GET", "/releases", [_RELEASE])

    def manifest(self, release: str) -> dict[str, Any]:
        """What is promised of a release."""
        return self._json("GET", f"/releases/{_id(release)}/manifest", {})

    def signature(self, release: str) -> dict[str, Any]:
        """Its ``signature`` and the ``public_key`` as files hold them, and the ``key``'s fingerprint; or None each."""
        return self._json("GET", f"/releases/{_id(release)}/signature", _SIGNATURE)

    def download(
        self, release: str, folder: str | Path, *, most: int = MOST, signed: bool = False,
        public_key: str | Path | None = None,
    ) -> Path:  # fmt: skip
        """A release in a new folder, after checking what its manifest says, as ``shoal verify`` does, and a signature.

        Parameters
        ----------
        most
            Bytes that its files may have together; of each file no more is read than the server lists.
        signed
            Refuse a release that nobody signed.
        public_key
            A file with the key that signed it; without, a signature is checked by the key that it names itself, or
            kept unchecked where it was not asked for and the library that checks it is not installed.

        Raises
        ------
        VerificationError
            It is not what the server lists, not what its manifest says or not signed as wanted; nothing is kept.
        """
        place, wanted = Path(folder).resolve(), signed or public_key is not None
        refuse_taken(place, folder)
        if wanted:
            from shoal.vault.signing import refuse_unfit

            refuse_unfit(public_key)  # before anything is downloaded
        manifest = _manifest(self._json("GET", f"/releases/{_id(release)}"))
        files = _files(self._json("GET", f"/releases/{_id(release)}/files"), most)
        signature = self.signature(release)["signature"]
        if signature is None and wanted:
            raise VerificationError("Nobody signed this release: nothing was downloaded.")
        with tempfile.TemporaryDirectory(prefix=f".{place.name}.", dir=place.parent) as aside:
            staged = Path(aside, "release")
            staged.mkdir(0o755)
            for name, size in files.items():
                self._save(f"/releases/{_id(release)}/files/{quote(name)}", staged / name, size)
            verify(staged, manifest)
            if signature is not None:
                keep_signature(staged, signature, public_key, wanted)
            put(staged, place)
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
        return self._json("POST", f"/releases/{_id(release)}/questions", _QUESTION, given)

    def questions(self, release: str | None = None) -> list[dict[str, Any]]:
        """Questions of this account, the newest first."""
        path = "/questions" if release is None else f"/releases/{_id(release)}/questions"
        return self._json("GET", path, [_ASKED])

    def question(self, key: str) -> dict[str, Any]:
        """One question, with its answer if it has one."""
        return self._json("GET", f"/questions/{_id(key)}", _QUESTION)

    def _json(self, method: str, path: str, shape: Any = object, content: Any = None) -> Any:
        """An answer, if it has what is wanted of it."""
        with self._open(method, path, content) as answer:
            body = self._block(answer, _LARGEST + 1)
        try:
            if len(body) > _LARGEST:
                raise ValueError("too long")
            found = json.loads(body)
            if not _fits(found, shape):
                raise ValueError("something else")
            return found
        except (ValueError, RecursionError):
            raise RemoteError(f"'{self.address}' does not answer as a Shoal server does: check the address.") from None

    def _save(self, path: str, place: Path, size: int) -> None:
        """A file of as many bytes as the server lists, written as it comes."""
        with self._open("GET", path) as answer, place.open("xb") as file:
            left = size
            while block := self._block(answer, min(_BLOCK, left + 1)):
                left -= len(block)
                if left < 0:
                    raise RemoteError(f"The server sends more of '{place.name}' than it lists: nothing was kept.")
                _write(file, block)
            if left:
                raise RemoteError(f"The download from '{self.address}' broke off: try again.")

    def _block(self, answer: Any, size: int) -> bytes:
        try:
            found: bytes = answer.read(size)
            return found
        except (OSError, HTTPException):
            raise RemoteError(f"The answer of '{self.address}' broke off: try again.") from None

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
        except (ValueError, LookupError, TypeError, OSError, HTTPException, RecursionError):
            code, message = "", f"'{self.address}' answered with {error.code}: check the address."
        made: ShoalError = VerificationError(message) if code in _FAILED else RemoteError(message, error.code)
        raise made from None

    def __repr__(self) -> str:
        return f"Remote({self.address!r})"

    def __reduce__(self) -> Any:
        raise TypeError("A Remote holds a token and cannot be serialised: connect again.")


def _fits(found: Any, shape: Any) -> bool:
    """Whether an answer has the kinds that are wanted: of every item of a list, and of these entries of a mapping."""
    if isinstance(shape, list):
        return isinstance(found, list) and all(_fits(one, shape[0]) for one in found)
    if isinstance(shape, dict):
        return isinstance(found, dict) and all(name in found and _fits(found[name], shape[name]) for name in shape)
    return isinstance(found, shape) and (shape is object or not isinstance(found, bool))


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Go nowhere else: the token is for one server."""

    def redirect_request(self, *given: Any, **more: Any) -> None:
        return None


def _context(ca: str | Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=None if ca is None else str(ca))
    except (OSError, ssl.SSLError):
        raise InputError(f"'{ca}' is no file of certificates: give one that holds them as text (PEM).") from None


def _manifest(told: Any) -> str:
    """The hash of a release's manifest, as a server lists it."""
    if not isinstance(told, dict) or "manifest" not in told:
        raise RemoteError("The server does not say which manifest the release has: nothing was downloaded.")
    return str(told["manifest"])


def _files(told: Any, most: int) -> dict[str, int]:
    """Names and sizes of the files of a release, as a server lists them, if they can be those."""
    try:
        listed = [(one["name"], one["bytes"]) for one in told["files"]]
    except (TypeError, KeyError):
        listed = [("", 0)]
    if not all(isinstance(name, str) and _FILE.fullmatch(name) for name, _ in listed):
        raise RemoteError("The server lists a file whose name cannot be one of a release: nothing was downloaded.")
    if not all(type(size) is int and size >= 0 for _, size in listed) or len(dict(listed)) < len(listed):
        raise RemoteError("The server lists files that cannot be those of a release: nothing was downloaded.")
    if len(listed) > _MOST_FILES:
        raise RemoteError(f"The server lists more than {_MOST_FILES:,} files: nothing was downloaded.")
    total = sum(size for _, size in listed)
    if total > most:
        raise InputError(
            f"The release has {total:,} bytes, and a download may have {most:,}: allow more if you have the room."
        )
    return dict(listed)


def _write(file: IO[bytes], block: bytes) -> None:
    try:
        file.write(block)
    except OSError as error:
        raise InputError(f"The download cannot be written: {error.strerror}.") from None


def _address(url: str, unprotected: bool = False) -> str:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        parts, host = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        raise InputError("The address of a server is written https://HOST or https://HOST:PORT.")
    if parts.username is not None or parts.password is not None:
        raise InputError("The address of a server holds no name and no token: set SHOAL_TOKEN, or name a file.")
    if parts.scheme == "http" and host not in _LOOPBACK and not unprotected:
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


def _why(reason: Any) -> str:
    told = getattr(reason, "strerror", None) or getattr(reason, "verify_message", None) or type(reason).__name__
    return str(told).rstrip(".")
