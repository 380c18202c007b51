"""The same recipe on two engines: what each writes, or why it refuses."""

from __future__ import annotations

from pathlib import Path

import shoal
from tests.soak.run import attempt


def outcome(recipe: Path, engine: str, *, more: str = "") -> tuple[int, str, dict[str, bytes]]:
    """Exit code, sentence and files of a recipe, given without an engine and an output."""
    text = recipe.read_text(encoding="utf-8")
    folder = recipe.parent / f"out-{engine}"
    mine = recipe.with_name(f"{engine}.toml")
    lines = [line for line in text.splitlines() if not line.startswith("folder =")]
    at = lines.index("[output]") + 1 if "[output]" in lines else len(lines)
    head = [] if "[output]" in lines else ["[output]"]
    lines[at:at] = [*head, f'folder = "{folder.name}"']
    mine.write_text("\n".join([*lines, "[engine]", f'name = "{engine}"', more, ""]), encoding="utf-8")
    code, sentence = attempt(lambda: shoal.run(mine))
    files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())} if code == 0 else {}
    return code, sentence, files
