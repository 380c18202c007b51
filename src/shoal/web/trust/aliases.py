"""What a text calls columns, as people type it: ``feature_0 = age``, one a line."""

from __future__ import annotations

from shoal.web.errors import invalid


def read_aliases(text: str) -> dict[str, str]:
    """Aliases by what the text says."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not all("=" in line for line in lines):
        raise invalid("Write what the results call a column as 'feature_0 = age', one a line.", "aliases")
    pairs = [line.rpartition("=") for line in lines]
    return {alias.strip(): column.strip() for alias, _, column in pairs}
