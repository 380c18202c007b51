"""Secrets of releases in one encrypted file: the trusted side of a pseudonymised release."""

from __future__ import annotations

from shoal.vault.files import check_vault, contents, load, store
from shoal.vault.seal import Key

__all__ = ["Key", "check_vault", "contents", "load", "store"]
