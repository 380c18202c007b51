"""Pages of the reproduction: every page opens with where its claims stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs" / "reproduction"


@pytest.mark.parametrize("path", sorted(PAGES.glob("*.md")), ids=lambda path: path.stem)
def test_a_page_opens_with_where_its_claims_stand(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert re.search(r"^## ", text, re.MULTILINE)
    opening = text.split("\n## ", 2)[1].replace("**Not\ndecidable**", "**Not decidable**")
    assert opening.startswith("In short\n")
    places = [opening.index(word) for word in ("**Reproduced**", "**Refuted", "**Not decidable**")]
    assert places == sorted(places)
    before = text.split("\n## ", 1)[0]
    assert len(before.splitlines()) <= 12  # the document and the method, and nothing else
