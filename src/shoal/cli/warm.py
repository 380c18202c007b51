"""``shoal warm``: every kernel compiled now."""

from __future__ import annotations

import sys

from shoal.cli.options import Json
from shoal.cli.show import say, show_json


def warm(as_json: Json = False) -> None:
    """Compile all kernels now, so that no later run has to.

    An installation from a wheel has them compiled already, and scripts/demo and scripts/test do this by themselves.
    """
    from shoal.kernels.compiled import cache_folder
    from shoal.warming import warm as make_ready

    def progress(done: int, jobs: int, job: str) -> None:
        end = "\r" if sys.stderr.isatty() and done < jobs else "\n"
        print(f"Compiling kernels: {done} of {jobs} ({job})".ljust(70), end=end, file=sys.stderr, flush=True)

    make_ready(progress)
    if as_json:
        show_json({"folder": str(cache_folder())})
    else:
        say(f"All kernels are compiled: {cache_folder()}")
