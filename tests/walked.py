"""The commands of a page of the documentation, carried out one after the other as a reader would."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from shoal.cli.main import execute

_BLOCK = re.compile(r"^```(sh|text|toml|diff)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"# exit (\d+)")
# A line that says that something was left out.
_LEFT_OUT = "..."


@dataclass
class Walk:
    """What came of a page: commands with their codes, and lines that a page shows and no command printed.

    Of ``sh`` blocks the lines of ``shoal`` are run; a ``text`` block behind one shows lines that it printed, in order,
    and ``...`` where lines are left out. A ``toml`` block that begins with ``# NAME.toml`` is that file, or its end
    with ``, added`` behind the name; a ``diff`` block that begins so changes lines of it.
    """

    folder: Path
    ran: list[tuple[str, int, int]] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)

    def page(self, text: str) -> Walk:
        """Carry out all of its blocks."""
        printed = ""
        for kind, block in _BLOCK.findall(text):
            if kind == "sh":
                printed = self._run(block)
            elif kind == "text":
                self._compare(block, printed)
            elif named := re.match(r"# (\S+\.toml)(, added)?\n", block):
                self._write(self.folder / named[1], block[named.end() :], kind, bool(named[2]))
        return self

    def _run(self, block: str) -> str:
        told = io.StringIO()
        for line in block.replace("\\\n", " ").splitlines():
            if not line.startswith("shoal "):
                continue
            wanted = _CODE.search(line)
            with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
                code = execute(shlex.split(line, comments=True)[1:])
            self.ran.append((line, code, int(wanted[1]) if wanted else 0))
        return told.getvalue()

    def _compare(self, block: str, printed: str) -> None:
        rest = [" ".join(line.split()) for line in printed.splitlines()]
        for line in block.splitlines():
            wanted = " ".join(line.split())
            if not wanted or wanted == _LEFT_OUT:
                continue
            if wanted in rest:
                rest = rest[rest.index(wanted) + 1 :]
            else:
                self.unseen.append(line)

    def _write(self, path: Path, block: str, kind: str, added: bool) -> None:
        if kind == "toml":
            path.write_text((path.read_text("utf-8") if added else "") + block, "utf-8")
            return
        text = path.read_text("utf-8")
        for change in re.findall(r"((?:^-.*\n)+)((?:^\+.*\n)*)", block, re.MULTILINE):
            old, new = ("".join(line[1:] for line in one.splitlines(keepends=True)) for one in change)
            if old not in text:
                self.unseen.append(old)
            text = text.replace(old, new)
        path.write_text(text, "utf-8")
