"""What a folder or a pattern stands for: every file once, nothing left out without a word, and no rows of before."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shoal.errors import InputError
from shoal.io.folders import files_of, find_files, refuse_among


def put(*places: Path) -> None:
    """Files with a row each."""
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("age\n1\n")


def found(folder: Path, pattern: str = ".") -> list[str]:
    """The files that a folder, or a pattern below it, names."""
    return [one.relative_to(folder).as_posix() for one in files_of(folder / pattern)]


@pytest.mark.parametrize("pattern", [".", "*.csv", "**/*.csv"])
@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_file_of_two_names_is_refused(link: Callable[[Path, Path], None], pattern: str, tmp_path: Path) -> None:
    put(tmp_path / "people.csv")
    link(tmp_path / "people.csv", tmp_path / "latest.csv")
    with pytest.raises(InputError, match=r"'people.csv' in '.*' is 'latest.csv' once more"):
        files_of(tmp_path / pattern)
    assert found(tmp_path, "p*.csv") == ["people.csv"]


@pytest.mark.parametrize("pattern", [".", "*/*.csv", "**/*.csv"])
@pytest.mark.parametrize("target", ["sex=1", ".", "../far"])
def test_a_link_to_a_folder_is_refused(target: str, pattern: str, tmp_path: Path) -> None:
    put(tmp_path / "src/sex=1/a.csv", tmp_path / "src/x.csv", tmp_path / "far/b.csv")
    (tmp_path / "src/sex=2").symlink_to(target)
    with pytest.raises(InputError, match="'sex=...' in '.*' is a link to a folder: name the folder that it leads to"):
        files_of(tmp_path / "src" / pattern)
    assert found(tmp_path / "src", "*.csv") == ["x.csv"]


def test_a_folder_that_a_pattern_ends_at_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "2024/a.csv", tmp_path / "x.csv")
    with pytest.raises(InputError, match=r"'2024' in '.*' is a folder: name it, or write '\*\*'"):
        files_of(tmp_path / "*")
    assert found(tmp_path, "**") == ["2024/a.csv", "x.csv"]


def test_a_file_that_is_also_there_packed_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "a.csv", tmp_path / "a.csv.gz", tmp_path / "b/a.csv")
    with pytest.raises(InputError, match=r"'a.csv.gz' in '.*' is 'a.csv' once more"):
        files_of(tmp_path)
    assert found(tmp_path, "**/*.csv") == ["a.csv", "b/a.csv"]
    put(*(tmp_path / "folders" / name for name in ("a/b.csv", "a.gz/c.csv", "d.csv/e.csv", "d.csv.gz")))
    assert len(files_of(tmp_path / "folders")) == 4


@pytest.mark.parametrize("named", [".", "part", "part/*.csv", "**/*.csv"])
@pytest.mark.parametrize(
    "mark", ["_delta_log/0.json", ".hoodie/hoodie.properties", "metadata/snap-1-0-a.avro", "_spark_metadata/0"]
)
def test_tables_that_keep_rows_of_before_are_refused(mark: str, named: str, tmp_path: Path) -> None:
    put(tmp_path / mark, tmp_path / "part/a.csv")
    with pytest.raises(InputError, match="whose files also hold rows that were changed, deleted or never counted"):
        files_of(tmp_path / named)
    assert files_of(tmp_path / "part/a.csv") == [tmp_path / "part/a.csv"]


@pytest.mark.parametrize("pattern", [".", "**/*.csv", "old*/*.csv"])
def test_a_release_among_the_files_is_refused(pattern: str, tmp_path: Path) -> None:
    put(tmp_path / "people.csv", tmp_path / "old/release.csv")
    (tmp_path / "old/manifest.json").write_text('{"shoal": "1"}')
    with pytest.raises(InputError, match=r"'old/release.csv' in '.*' is part of a release, whose people would count"):
        files_of(tmp_path / pattern)
    assert found(tmp_path, "*.csv") == ["people.csv"]
    assert files_of(tmp_path / "old/release.csv") == [tmp_path / "old/release.csv"]
    (tmp_path / "old/manifest.json").write_text("{}")
    assert found(tmp_path) == ["old/release.csv", "people.csv"]


def test_links_lead_to_no_release_and_into_no_table_of_before(tmp_path: Path) -> None:
    put(tmp_path / "old/release.csv", tmp_path / "table/_delta_log/0.json", tmp_path / "table/date=1/a.csv")
    (tmp_path / "old/manifest.json").write_text('{"shoal": "1"}')
    for name, leads, pattern, words in [
        ("b.csv", "old/release.csv", ".", r"'b.csv' in '.*' is part of a release"),
        ("b.csv", "table/date=1/a.csv", "*.csv", "is, or is part of, a Delta"),
    ]:
        put(tmp_path / "src/people.csv")
        link = tmp_path / "src" / name
        link.symlink_to(tmp_path / leads)
        with pytest.raises(InputError, match=words):
            files_of(tmp_path / "src" / pattern)
        link.unlink()


def test_a_manifest_that_cannot_be_read_may_be_one_of_a_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "old/release.csv", tmp_path / "old/manifest.json")
    assert found(tmp_path) == ["old/release.csv"]

    def denied(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", denied)
    with pytest.raises(InputError, match=r"'old/release.csv' in '.*' lies beside a 'manifest.json' that cannot"):
        files_of(tmp_path)


@pytest.mark.parametrize("pattern", [".", "*/*.csv", "**/*.csv"])
def test_a_folder_that_cannot_be_looked_into_is_refused(
    pattern: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "year=2020/a.csv", tmp_path / "year=2021/a.csv")
    listed = os.scandir

    def scandir(path: Path) -> Any:
        if Path(path) == tmp_path / "year=2021":
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(InputError, match=r"'year=...' in '.*' cannot be looked into \(Permission denied\)"):
        files_of(tmp_path / pattern)
    assert found(tmp_path, "year=2020/*.csv") == ["year=2020/a.csv"]


@pytest.mark.parametrize(("name", "pattern"), [("b.csv", "."), ("b.csv", "*.csv"), ("2025", "."), ("2025", "*/*.csv")])
def test_links_to_nothing_are_refused(name: str, pattern: str, tmp_path: Path) -> None:
    put(tmp_path / "2024/a.csv", tmp_path / "a.csv")
    for hidden in (".#a.csv", "_b"):
        (tmp_path / hidden).symlink_to("/nowhere")
    assert files_of(tmp_path / pattern)
    (tmp_path / name).symlink_to("/nowhere")
    with pytest.raises(InputError, match=f"'{name}' in '.*' is neither a file nor a folder that is there"):
        files_of(tmp_path / pattern)


@pytest.mark.parametrize(("name", "pattern"), [("notes", "*.csv"), (".#a.csv", "."), ("_b", "**/*.csv")])
def test_a_link_that_nobody_asked_for_may_lead_anywhere(name: str, pattern: str, tmp_path: Path) -> None:
    put(tmp_path / "a.csv")
    (tmp_path / name).symlink_to(name)
    assert found(tmp_path, pattern) == ["a.csv"]
    (tmp_path / "b.csv").symlink_to("b.csv")
    with pytest.raises(InputError, match="'b.csv' in '.*' is neither a file nor a folder that is there and open to us"):
        files_of(tmp_path / pattern)


def test_so_are_pipes_that_are_called_as_data(tmp_path: Path) -> None:
    put(tmp_path / "a.csv")
    os.mkfifo(tmp_path / "pipe")
    assert found(tmp_path) == ["a.csv"]
    os.mkfifo(tmp_path / "b.csv")
    with pytest.raises(InputError, match="'b.csv' in '.*' is neither"):
        files_of(tmp_path)


def test_hidden_names_match_no_pattern_and_are_counted(tmp_path: Path) -> None:
    put(*(tmp_path / name for name in ("a.csv", "b.csv", "_2024/a.csv", "_2024/b.csv", ".c.csv", "_SUCCESS", "_d.log")))
    for pattern, told in {
        ".": "2 files, leaving out 2 hidden", "*.csv": "2 files, leaving out 1 hidden", "a.csv": "1 file",
        "**/*": "2 files, leaving out 4 hidden",
    }.items():  # fmt: skip
        assert find_files(tmp_path / pattern).told == told
    for pattern in ("_*/a*", "[.]*.csv", ".*.csv"):
        with pytest.raises(InputError, match="names that begin with '.' or '_' are left out"):
            files_of(tmp_path / pattern)
    assert files_of(tmp_path / ".c.csv") == [tmp_path / ".c.csv"]


def test_marks_of_patterns_above_the_first_one_are_letters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "[a]").mkdir()
    monkeypatch.chdir(tmp_path / "[a]")
    with pytest.raises(InputError, match="would hold files that the pattern of the source matches"):
        refuse_among(Path("out"), Path("*/*.csv"), "The output folder", ["release.csv"])
    refuse_among(tmp_path / "a/out", Path("*/*.csv"), "The output folder", ["release.csv"])
