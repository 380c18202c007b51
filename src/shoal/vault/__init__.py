"""What only the publisher may keep, encrypted: secrets that undo releases, and who was in which class of them."""

from __future__ import annotations

from shoal.vault.files import check_vault, contents, load, store
from shoal.vault.registry import Registry
from shoal.vault.registry_file import open_registry, save_registry
from shoal.vault.seal import Key

__all__ = ["Key", "Registry", "check_vault", "contents", "load", "open_registry", "save_registry", "store"]
