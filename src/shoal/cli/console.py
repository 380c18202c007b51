"""Everything that reaches the terminal: tables, figures, JSON, errors and the progress spinner."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from shoal.errors import ParameterError
from shoal.grammar import target_words

if TYPE_CHECKING:
    from rich.console import Console

ARROWS = {"down": "↓", "up": "↑"}
# Output that is piped is not folded to the width of a terminal nobody looks at.
_PIPED_WIDTH = 160
# What names a value of the sensitive attribute, and so stays out of tables.
_UNSHOWN = ("name", "on", "value")


def clean(text: object) -> str:
    """The text on one line, without characters that could steer a terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in str(text))


def figure(value: float | None) -> str:
    """A number for people: about six significant digits, a dash where there is none."""
    if value is None or math.isnan(value):
        return "-"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:,.0f}" if 1e6 <= abs(value) < 1e15 else f"{value:,.6g}"


def share(value: float) -> str:
    """A share as a percentage."""
    return f"{value:.2%}"


def model_label(model: Mapping[str, Any]) -> str:
    """A model with its parameters, such as ``recursive-cl c=2 l=2``; values of an attribute are left out."""
    given = [
        f"{key}={entry:g}" if isinstance(entry, float) else f"{key}={entry}"
        for key, entry in model.items()
        if key not in _UNSHOWN and not isinstance(entry, Mapping)
    ]
    return " ".join([str(model["name"]), *given])


def target_label(model: str, on: str | Sequence[str] | None) -> str:
    """The columns that a model is judged on, ``-`` where it is about none."""
    return "-" if on is None else target_words(model, on)


def on_terminal() -> bool:
    """Whether somebody looks at standard output."""
    return sys.stdout.isatty()


def refuse_values_shown(show_values: bool, as_json: bool) -> None:
    """Refuse ``--show-values`` where its output may end in a file or a log."""
    if show_values and (as_json or not on_terminal()):
        raise ParameterError("--show-values prints values to a terminal only: leave it out here.")


def console() -> Console:
    """Standard output, which never reads text from the data as markup."""
    from rich.console import Console

    width = None if on_terminal() else _PIPED_WIDTH
    return Console(markup=False, highlight=False, emoji=False, width=width)


def say(*lines: str) -> None:
    """Print lines as they are, folded only by a terminal."""
    target = console()
    for line in lines:
        target.print(clean(line), soft_wrap=not on_terminal())


def show_table(
    headings: Sequence[str], rows: Iterable[Sequence[object]], *, title: str | None = None
) -> None:
    """Print a table; headings that begin with ``>`` are of columns of numbers."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, title=title, title_justify="left", title_style="bold")
    for heading in headings:
        table.add_column(heading.removeprefix(">"), justify="right" if heading.startswith(">") else "left")
    for row in rows:
        table.add_row(*(clean(cell) for cell in row))
    console().print(table)


def show_json(value: Any) -> None:
    """Print one JSON value and nothing else."""
    print(json.dumps(plain(value), indent=2, allow_nan=False))


def plain(value: Any) -> Any:
    """The same value in JSON's own types; NaN and infinities, which JSON has not, are null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # NumPy arrays and scalars
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, str | int | float) else str(value)


def error_data(kind: str, message: str, exit_code: int) -> dict[str, Any]:
    """What ``error`` holds in JSON output, the same for every command."""
    return {"type": kind, "message": message, "exit_code": exit_code}


def show_error(message: str) -> None:
    """One line on standard error."""
    print(f"error: {clean(message)}", file=sys.stderr)


def show_warning(message: str) -> None:
    """One line on standard error about what goes on without something."""
    print(f"warning: {clean(message)}", file=sys.stderr)


@contextmanager
def steps() -> Iterator[Callable[[str], None]]:
    """A spinner on standard error that names the step and its time; nothing where nobody looks."""
    if not sys.stderr.isatty():
        yield lambda step: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("starting", total=None)
        yield lambda step: shown.reset(task, description=step)


@contextmanager
def bar() -> Iterator[Callable[[int, int, str], None]]:
    """A bar on standard error: how many of how many are done, and the last of them; nothing where nobody looks."""
    if not sys.stderr.isatty():
        yield lambda done, total, last: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    text = TextColumn("{task.description}", markup=False)
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), text)
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("reading", total=None)
        yield lambda done, total, last: shown.update(task, completed=done, total=total, description=clean(last))


def verdict_rows(verdicts: Iterable[Any]) -> list[tuple[str, ...]]:
    """Verdicts as rows of model, attribute, whether it holds, worst class, limit, and how it is known."""
    return [
        (
            model_label(verdict.model),
            target_label(verdict.model["name"], verdict.on),
            "yes" if verdict.holds else "NO",
            figure(verdict.value) if verdict.holds else f"{verdict.classes:,} classes fail",
            figure(verdict.limit),
            verdict.by if verdict.vouched_by is None else f"{verdict.by} ({verdict.vouched_by})",
        )
        for verdict in verdicts
    ]
