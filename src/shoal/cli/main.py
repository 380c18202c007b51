"""The entry point: the commands, and how every failure becomes one line and an exit code."""

from __future__ import annotations

import functools
import io
import os
import re
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn

import typer
import typer.main

from shoal.cli.commands import Commands
from shoal.cli.console import error_data, show_error, show_json, show_warning
from shoal.errors import ShoalError
from shoal.params import nearest
from shoal.registry import VERSION, PluginWarning

_COMPLETE = "_SHOAL_COMPLETE"
_EPILOG = (
    "Exit codes: 0 done, 1 our fault, 2 bad input or recipe, 3 no release can satisfy the models, "
    "4 gate, verification or a claim failed."
)

app = typer.Typer(
    name="shoal",
    cls=Commands,
    rich_markup_mode=None,
    help="Publish microdata so that the people in it stay hidden and the data stays useful.",
    epilog=_EPILOG,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"shoal {VERSION}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop."),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and end the program with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # an arrow must not fail where the encoding has none
    if _COMPLETE in os.environ:  # a shell that asks for endings of what was typed
        _command().main(args=[], prog_name="shoal")
    code = execute(list(sys.argv[1:] if arguments is None else arguments))
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


@functools.cache
def _command() -> Any:
    """The group of all commands."""
    return typer.main.get_command(app)


def execute(arguments: list[str]) -> int:
    """Run one command and return its exit code; what went wrong is said in one line."""
    as_json = "--json" in arguments
    try:
        with warnings.catch_warnings():
            _say_of_plugins()
            return _command().main(args=arguments, prog_name="shoal", standalone_mode=False) or 0
    except KeyboardInterrupt:
        return 130
    except SystemExit:
        # Typer's answer to a reader that went away, as of `| head`; as if the signal had ended the program.
        return 128 + 13
    except ShoalError as error:
        return _failed(type(error).__name__, str(error), error.exit_code, as_json)
    except OSError as error:
        if error.filename is None:
            return _internal(error, as_json)
        return _failed("InputError", f"'{error.filename}' cannot be used: {error.strerror}.", 2, as_json)
    except Exception as error:
        if _interrupted(error):
            return 130
        # What the parser of the flags raises, whichever version of it is installed.
        if hasattr(error, "format_message"):
            return _failed("UsageError", _of_flags(error), 2, as_json)
        return _internal(error, as_json)


def _of_flags(error: Any) -> str:
    """What the parser of the flags found, in one sentence."""
    said = str(error.format_message()).rstrip(".")
    flag = next((name for name in getattr(getattr(error, "param", None), "opts", ()) if name.startswith("--")), None)
    where = "" if flag is None else f"{flag}: "
    if found := re.search(r"'([^']*)' is not one of (.*)", said):
        near = nearest(found[1], re.findall(r"'([^']*)'", found[2]))
        return f"{where}'{found[1]}' is not one of {found[2]}." + (f" Did you mean '{near}'?" if near else "")
    if kind := re.search(r"a valid (integer|number|float)", said):
        return f"{flag} must be a {'whole ' if kind[1] == 'integer' else ''}number."
    return f"{said} Try --help." if said.endswith("?") else f"{said}. Try --help."


def _interrupted(error: BaseException) -> bool:
    """Whether Ctrl-C is behind an error: compiled code that it comes in tells of it in an error of its own."""
    behind: BaseException | None = error
    while behind is not None and not isinstance(behind, KeyboardInterrupt):
        behind = behind.__cause__ or behind.__context__
    return behind is not None


def _say_of_plugins() -> None:
    """Make a warning about a plug-in one line, once, on standard error."""
    others = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        if issubclass(category, PluginWarning):
            show_warning(str(message))
        else:
            others(message, category, *rest, **more)

    warnings.showwarning = show  # type: ignore[assignment]
    warnings.simplefilter("once", PluginWarning)


def _internal(error: Exception, as_json: bool) -> int:
    """A fault of our own. Its message is not shown, because it may hold somebody's values."""
    if os.environ.get("SHOAL_DEBUG") == "1":
        traceback.print_exception(error)
    message = f"internal: {type(error).__name__}; rerun with SHOAL_DEBUG=1 for the traceback"
    return _failed(type(error).__name__, message, 1, as_json)


def _failed(kind: str, message: str, exit_code: int, as_json: bool) -> int:
    if as_json:
        show_json({"error": error_data(kind, message, exit_code)})
    else:
        show_error(message)
    return exit_code


if __name__ == "__main__":
    main()
