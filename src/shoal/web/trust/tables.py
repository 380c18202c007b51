"""Released tables that results are checked on: read whole, one after the other, as far as there is memory for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.recoding.secrets import MappingTable, Secret
from shoal.vault.protocol.recount import Counter, counter_of
from shoal.verify.folder import read_manifest
from shoal.web.errors import conflict
from shoal.web.projects.releases import files_of_release, folder_of_release
from shoal.web.settings import Settings
from shoal.web.store.work import Release

_SHARE = 4  # of the memory of a job, what a release may take: the server has others to answer
_CELL = 32  # bytes of a cell in memory, as text and as the number that it may be; in a Parquet file it may have none
_CODE = 256  # bytes of a mapped code beside that, as texts that others are looked up among


def read_table(release: Release, secrets: Sequence[Secret], settings: Settings) -> Counter:
    """The table of a release, for whoever has their turn to read; refused where it is too large for the server."""
    folder, most = folder_of_release(release, settings), settings.job_memory // _SHARE
    sizes = [path.stat().st_size for path in files_of_release(release, settings).values()]
    if max([*sizes, needed(read_manifest(folder), secrets)]) > most:
        raise conflict(
            f"This release takes more than the {most >> 20:,} MiB that results are checked on here, of its largest "
            f"file or at {_CELL} bytes a cell and {_CODE} a mapped code: ask whoever runs the server for more, a "
            "quarter of 'job-memory'."
        )
    return counter_of(folder, secrets)


def needed(manifest: Mapping[str, Any], secrets: Sequence[Secret]) -> int:
    """Bytes that the tables of a release take, which are not read unless these are few enough."""
    data = manifest["data"]
    rows: int = data["rows"] + data.get("sensitive", {"rows": 0})["rows"]
    codes = sum(min(len(one), rows) for one in secrets if isinstance(one, MappingTable))
    return _CELL * rows * len(manifest["columns"]) + _CODE * codes
