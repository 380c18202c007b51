"""Released tables that results are checked on: read whole, one after the other, as far as there is memory for them."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.pseudonyms.secrets import Secret
from shoal.vault.protocol.checking import Counter
from shoal.vault.protocol.folder import counter_of
from shoal.web.errors import conflict
from shoal.web.projects.releases import files_of_release, folder_of_release
from shoal.web.settings import Settings
from shoal.web.store.work import Release

_SHARE = 4  # of the memory of a job, bytes that a release may have: the server has others to answer


def read_table(release: Release, secrets: Sequence[Secret], settings: Settings) -> Counter:
    """The table of a release, for whoever has their turn to read; refused where it is too large for the server."""
    sizes = [path.stat().st_size for path in files_of_release(release, settings).values()]
    if max(sizes, default=0) > settings.job_memory // _SHARE:
        raise conflict(
            f"A file of this release has more than the {settings.job_memory // _SHARE >> 20:,} MiB that results are "
            "checked on here: ask whoever runs the server for more, a quarter of 'job-memory'."
        )
    return counter_of(folder_of_release(release, settings), secrets)
