"""Pages made from templates: each is compiled once, escapes what it is given, and fails on what it is not."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"


def render(template: str, **data: Any) -> str:
    """One self-contained page."""
    return _environment().get_template(template).render(**data)


def plotly() -> str:
    """The script that draws plots, to stand inside a page: no network is needed."""
    from plotly.offline import get_plotlyjs

    # A script ends where its end tag stands, even inside a string.
    return get_plotlyjs().replace("</script", r"<\/script")


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined)
