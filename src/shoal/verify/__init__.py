"""The verifier, which trusts no other part: the gate before writing, the re-check of what was published."""

from __future__ import annotations

from shoal.verify.gate import gate
from shoal.verify.recheck import recheck

__all__ = ["gate", "recheck"]
