"""What a server is told when it starts."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from shoal.errors import InputError

_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, kw_only=True)
class Offer:
    """A source that is offered without an upload: a table of a database, or a folder or file of the server.

    The address may hold a password, and is shown to nobody.
    """

    name: str
    place: str = field(repr=False)
    table: str | None = None

    @property
    def in_database(self) -> bool:
        return "://" in self.place


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything that a server goes by; nothing of it changes while it runs.

    Attributes
    ----------
    folder
        Where everything is kept; nobody else may read it.
    database
        An address as SQLAlchemy takes it; SQLite in the folder by default.
    address
        What people type in their browsers, where a proxy stands in front: ``https://shoal.example.org``.
    master_key, passphrase_file
        What opens the secrets that the server keeps: a key file, or a file with a passphrase.
    upload_bytes, form_bytes
        How much an upload and any other request may send.
    job_memory, job_seconds
        How much memory and time a job may take.
    lease_seconds
        After so long without a word of its worker, a job is taken up again.
    uploads_per_hour, jobs_per_hour, downloads_per_hour, edits_per_hour
        How often one account may ask for each; what was used up comes back bit by bit.
    jobs_waiting
        How many jobs of one project, and of one account, may wait at a time.
    minimum_count
        Results that rest on fewer rows are not interpreted.
    """

    folder: Path
    database: str = field(default="", repr=False)
    host: str = "127.0.0.1"
    port: int = 8765
    address: str | None = None
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    master_key: Path | None = None
    passphrase_file: Path | None = None
    upload_bytes: int = 1 << 30
    form_bytes: int = 4 << 20
    job_memory: int = 4 << 30
    job_seconds: int = 6 * 3600
    jobs_at_once: int = 1
    lease_seconds: float = 30
    uploads_per_hour: int = 200
    jobs_per_hour: int = 300
    downloads_per_hour: int = 1000
    edits_per_hour: int = 2000
    jobs_waiting: int = 50
    minimum_count: int = 10
    session_hours: float = 12
    idle_hours: float = 2
    offers: tuple[Offer, ...] = ()

    def __post_init__(self) -> None:
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise InputError("TLS needs both a certificate and its key: give both files, or neither.")
        if not self.database:
            object.__setattr__(self, "database", f"sqlite:///{self.folder / 'shoal.db'}")
        elif self.database.startswith(("postgresql://", "postgres://")):
            object.__setattr__(self, "database", "postgresql+psycopg://" + self.database.partition("://")[2])
        elif not self.database.startswith(("sqlite:///", "postgresql+psycopg://")):
            raise InputError("The database is SQLite in the data folder, or has an address that begins postgresql://.")

    @property
    def secure(self) -> bool:
        """Whether browsers come by TLS, ours or that of a proxy."""
        return self.tls_certificate is not None or (self.address or "").startswith("https://")

    @property
    def hosts(self) -> list[str]:
        """Names that a request may ask for; others come from pages that mean another server."""
        named = [] if self.address is None else [urlsplit(self.address).hostname or ""]
        bare = self.host.lower()
        own = [] if bare in ("0.0.0.0", "::") else [f"[{bare}]" if ":" in bare else bare]
        return [*dict.fromkeys([*_LOOPBACK, *own, *named])]

    @property
    def shown(self) -> str:
        """The address to open."""
        scheme = "https" if self.secure else "http"
        return self.address or f"{scheme}://{self.host}:{self.port}"

    @property
    def projects(self) -> Path:
        return self.folder / "projects"
