"""What a database, or a recipe that names one, cannot give: one sentence each, and nothing written anywhere."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.errors import ShoalError
from shoal.io.databases import without_password
from shoal.release import write
from tests.engines.alike import outcome
from tests.engines.server import PASSWORD, Server, binaries, standby

RECIPE = """
acknowledge = ["W-NEUTRAL", "W-EXACT-QI"]
seed = 1
[source]
url = "{url}"
{asked}
missing = "value"
[roles]
key = "id"
quasi = ["age", "sex"]
neutral = ["note"]
[hierarchies]
age = {{ widths = [5, 10, 20] }}
sex = {{ prefix = [1] }}
[[models]]
name = "k"
k = 2
[algorithm]
name = "optimal"
suppression_limit = 0.5
[output]
"""
ROWS = pl.DataFrame(
    {
        "id": range(60),
        "age": [20 + row * 7 % 30 for row in range(60)],
        "sex": ["f" if row % 2 else "m" for row in range(60)],
        "note": [f"note {row % 3}" for row in range(60)],
    }
)
TYPES = {"id": "integer", "age": "integer"}
TABLE = 'table = "public.sixty"'
NOTED = 'neutral = ["note"]', 'neutral = ["note"]\ndrop = ["secret"]'


@pytest.fixture(autouse=True)
def filled(postgres: Server) -> Iterator[None]:
    """A table of sixty people, and whatever else is made goes."""
    postgres.fill("public.sixty", ROWS, TYPES)
    before = tables(postgres)
    yield
    left = tables(postgres) - before
    postgres.do(*(f'DROP TABLE "{schema}"."{name}"' for schema, name in left))
    assert left == set()


def tables(server: Server) -> set[tuple[str, str]]:
    return set(server.rows("SELECT schemaname::text, tablename::text FROM pg_tables WHERE schemaname !~ '^(pg_|info)'"))


def run(
    folder: Path, server: Server, asked: str = TABLE, *, url: str = "", output: str = "", change: Sequence[str] = "  "
) -> tuple[int, str, dict[str, bytes]]:
    recipe = folder / "recipe.toml"
    text = RECIPE.format(url=url or server.url(), asked=asked).replace(*change)
    recipe.write_text(text + output, encoding="utf-8")
    found = outcome(recipe, "postgres")
    assert PASSWORD not in found[1]
    assert PASSWORD.replace(" ", "%20") not in found[1]
    assert "\n" not in found[1]
    if found[0]:
        assert sorted(path.name for path in folder.iterdir()) == ["postgres.toml", "recipe.toml"]
    return found


def test_it_runs(tmp_path: Path, postgres: Server) -> None:
    code, sentence, files = run(tmp_path, postgres)
    assert (code, sentence) == (0, "")
    assert len(files["release.csv"].splitlines()) > 30
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.parent != tmp_path]
    assert len(written) >= 6
    assert not any(PASSWORD.encode() in data or b"open%20sesame" in data for data in written)
    kept = (tmp_path / "out-postgres.evidence" / "recipe.toml").read_text()
    assert f"postgresql://postgres@127.0.0.1:{postgres.port}/postgres" in kept


@pytest.mark.parametrize(
    "url, words",
    [
        ("postgresql://postgres:{pw}@127.0.0.1:1/postgres", ["'postgres' on '127.0.0.1'", "no server answers"]),
        ("postgresql://postgres:wrong@127.0.0.1:{port}/postgres", ["'postgres' on '127.0.0.1'", "password"]),
        ("postgresql://postgres:{pw}@127.0.0.1:{port}/nowhere", ["'nowhere' on '127.0.0.1'", "no such database"]),
        ("postgresql://postgres:{pw}@nowhere.invalid/postgres", ["on 'nowhere.invalid'", "no such host"]),
        ("postgresql://postgres:{pw}@127.0.0.1:port/postgres", ["'url'", "must be postgresql://user@host:port"]),
        ("postgresql://postgres:{pw}@database.password.invalid/postgres", ["no such host"]),
        ("postgresql://postgres:{pw}@127.0.0.1:1/database", ["no server answers"]),
        ("postgresql://postgres:{pw}@127.0.0.1/postgres?nonsense=1", ["is no address"]),
        ("postgresql://postgres:{pw}@127.0.0.1:{port}/postgres?connect_timeout=soon", ["'connect_timeout'", "seconds"]),
    ],
)
def test_no_connection(url: str, words: list[str], tmp_path: Path, postgres: Server) -> None:
    code, sentence, _ = run(tmp_path, postgres, url=url.format(pw="open%20sesame%207", port=postgres.port))
    assert code == 2
    assert all(word in sentence for word in words), sentence


def test_nothing_has_to_be_searched_for_tables(tmp_path: Path, postgres: Server) -> None:
    url = f"postgresql://postgres:open%20sesame%207@127.0.0.1:{postgres.port}/postgres?options=-csearch_path%3D"
    code, sentence, _ = run(tmp_path, postgres, url=url)
    assert (code, sentence) == (0, "")


@pytest.mark.parametrize("password", ["sesame/7", "sesame@7", "sesame@7/x", "7/sesame?x=1", "sesame?7", "ses:ame"])
def test_no_part_of_a_password_is_taken_for_anything_else(password: str, tmp_path: Path, postgres: Server) -> None:
    url = f"postgresql://postgres:{password}@127.0.0.1:{postgres.port}/postgres"
    code, sentence, _ = run(tmp_path, postgres, url=url)
    assert code == 2
    assert "ses" not in sentence
    assert "ses" not in without_password(url)


@pytest.mark.parametrize(
    "change, words",
    [
        ("ALTER ROLE reader NOLOGIN", "may not log in, so grant it LOGIN"),
        ("REVOKE CONNECT ON DATABASE clinic FROM reader", "may not connect to it, so grant it CONNECT"),
    ],
)
def test_roles_that_may_not_connect_are_told_so(
    change: str, words: str, tmp_path: Path, postgres: Server, reader: str
) -> None:
    postgres.do(change)
    assert words in run(tmp_path, postgres, 'table = "care.people"', url=reader)[1]


@pytest.mark.parametrize(
    "asked",
    [
        "SELECT id, age, sex, (now() AT TIME ZONE ('zone' || sex))::text AS note FROM sixty",
        "SELECT id, age, sex, ('x' || id)::regclass::text AS note FROM sixty",
        "SELECT id, age, sex, ('x' || id)::regtype::text AS note FROM sixty",
        "SELECT id, note::integer AS age, sex, note FROM sixty",
    ],
)
def test_no_cell_stands_in_what_the_database_says(asked: str, tmp_path: Path, postgres: Server) -> None:
    code, sentence, _ = run(tmp_path, postgres, f'query = "{asked}"')
    assert code == 2
    assert "The database cannot give these rows" in sentence
    assert not any(mark in sentence for mark in ("note ", "x0", "zone", '"'))


def test_a_password_may_come_from_outside(
    tmp_path: Path, postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"postgresql://postgres@127.0.0.1:{postgres.port}/postgres"
    assert "password" in run(tmp_path, postgres, url=url)[1]
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    assert run(tmp_path, postgres, url=url)[0] == 0


@pytest.mark.parametrize(
    "asked, words",
    [
        ('table = "public.nothing"', "no table 'public.nothing'"),
        ('table = "nothing.sixty"', "no table 'nothing.sixty'"),
        ('table = "other.public.sixty"', "cannot do what the recipe asks for"),
        ('query = "SELECT *, age FROM sixty"', "Two columns of the query are called 'age'"),
        ('query = "SELECT id, age, sex FROM sixty"', "'note'"),
        ('query = "SELECT *, 1 AS more FROM sixty"', "'more'"),
        ('query = "SELECT nothing FROM sixty"', 'column "nothing" does not exist'),
        ('query = "SELECT * FROM nothing"', 'relation "nothing" does not exist'),
        ('query = "SELEC * FROM sixty"', "syntax error"),
        ('query = "SELECT * FROM sixty WHERE age > 1000"', "There are no rows in the query"),
        ('query = "SELECT * FROM sixty) AS t; CREATE TABLE a (b int); SELECT * FROM (SELECT 1"', "multiple commands"),
        ('query = "DELETE FROM sixty RETURNING *"', "syntax error"),
        ("query = \"SELECT 1 AS id, 1 AS age, 'm' AS sex, 'x' AS note FROM sixty\"", "'id' repeats values"),
        ("query = \"SELECT nullif(id, 3) AS id, age, sex, note FROM sixty\"", "'id' has 1 missing cells"),
        ("query = \"SELECT id, age / (age - 20) AS age, sex, note FROM sixty\"", "DivisionByZero"),
        ("query = \"SELECT id, age, sex, '{}'::json AS note FROM sixty\"", "'note' of the query holds json values"),
        ("query = \"SELECT id, age, sex, ARRAY[1] AS note FROM sixty\"", "'note' of the query holds _int4 values"),
        ("query = \"SELECT id, age, sex, now() AS note FROM sixty\"", "'note' of the query holds timestamptz values"),
        ("query = \"SELECT id, 'NaN'::float8 AS age, sex, note FROM sixty\"", "'age' of the query has 60 NaN"),
        ("query = \"SELECT id, age, sex, 'infinity'::date AS note FROM sixty\"", "60 dates outside"),
    ],
)
def test_sources_that_cannot_be_read(asked: str, words: str, tmp_path: Path, postgres: Server) -> None:
    code, sentence, _ = run(tmp_path, postgres, asked)
    assert code == 2, sentence
    assert words in sentence


def test_recipes_that_fit_no_database(tmp_path: Path, postgres: Server) -> None:
    assert "as 'key' under [roles]" in run(tmp_path, postgres, change=('key = "id"', 'identifiers = ["id"]'))[1]
    assert "is made in the database" in _sentence(
        tmp_path, '[source]\npath = "a.csv"\n[roles]\nquasi = ["a"]\n[output]\ntable = "x"\n'
    )
    assert "reads from a database: give its 'url'" in _sentence(
        tmp_path, '[source]\npath = "a.csv"\n[roles]\nquasi = ["a"]\n[engine]\nname = "postgres"\n'
    )
    assert "is in a database" in _sentence(
        tmp_path, '[source]\nurl = "postgresql://x"\ntable = "a"\n[roles]\nquasi = ["a"]\n'
    )
    assert "is in a database" in _sentence(
        tmp_path, '[source]\nurl = "postgresql://x"\ntable = "a"\n[roles]\nquasi = ["a"]\n[engine]\nname = "duckdb"\n'
    )


def _sentence(folder: Path, text: str) -> str:
    recipe = folder / "other.toml"
    recipe.write_text(text)
    with pytest.raises(ShoalError) as caught:
        shoal.run(recipe)
    return str(caught.value)


def test_without_the_driver_the_way_to_get_it_is_told(
    tmp_path: Path, postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    code, sentence, _ = run(tmp_path, postgres)
    assert code == 2
    assert "pip install 'shoal[postgres]'" in sentence


@pytest.fixture
def reader(postgres: Server) -> Iterator[str]:
    """The address of a role that may read one table and make temporary ones."""
    postgres.do(
        "CREATE DATABASE clinic",
        "REVOKE ALL ON DATABASE clinic FROM PUBLIC",
        f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'",
        "GRANT CONNECT, TEMPORARY ON DATABASE clinic TO reader",
    )
    postgres.do(
        "CREATE SCHEMA care",
        "CREATE TABLE care.people AS SELECT i AS id, i % 30 AS age, 'm' AS sex, 'x' AS note, 1 AS secret"
        " FROM generate_series(1, 60) AS i",
        "GRANT USAGE ON SCHEMA care TO reader",
        "GRANT SELECT (id, age, sex, note) ON care.people TO reader",
        database="clinic",
    )
    yield postgres.url("clinic", "reader")
    postgres.do("DROP DATABASE clinic", "DROP ROLE reader")


def test_the_right_to_read_some_columns_suffices(tmp_path: Path, postgres: Server, reader: str) -> None:
    postgres.do("ALTER ROLE reader SET default_transaction_read_only = on")
    code, sentence, files = run(tmp_path, postgres, 'table = "care.people"', url=reader, change=NOTED)
    assert (code, sentence) == (0, "")
    assert b"secret" not in files["manifest.json"]
    assert postgres.rows("SELECT count(*) FROM pg_class WHERE relname IN ('cells', 'coded')", "clinic") == [(0,)]


@pytest.mark.parametrize(
    "taken, asked, words",
    [
        ("REVOKE SELECT (age) ON care.people FROM reader", "", "'reader' may not read the source: grant it SELECT"),
        ("REVOKE USAGE ON SCHEMA care FROM reader", "", "'reader' may not read the source: grant it SELECT"),
        ("REVOKE TEMPORARY ON DATABASE clinic FROM reader", "", "temporary tables in the database 'clinic'"),
        ("SELECT 1", 'table = "care.released"', "'reader' may not make tables in the schema 'care': grant it CREATE"),
        ("SELECT 1", 'table = "nowhere.released"', "has no schema for the table 'nowhere.released'"),
        ("SELECT 1", 'table = "care.people"', "is there already"),
        ("SELECT 1", 'table = "clinic.care.released"', "must be called 'schema.name' or 'name'"),
        ("SELECT 1", 'table = "a b"', "cannot do what the recipe asks for"),
    ],
)
def test_missing_rights_are_named(
    taken: str, asked: str, words: str, tmp_path: Path, postgres: Server, reader: str
) -> None:
    postgres.do(taken, database="clinic")
    code, sentence, _ = run(tmp_path, postgres, 'table = "care.people"', url=reader, output=asked, change=NOTED)
    assert code == 2, sentence
    assert words in sentence


def _changing(server: Server, statement: str, when: str) -> Callable[[str], None]:
    """Progress that changes the database once a step begins."""
    seen: list[str] = []

    def progress(step: str) -> None:
        if step.startswith(when) and not seen:
            server.do(statement)
            seen.append(step)

    return progress


@pytest.mark.parametrize("when", ["reading", "counting", "fetching", "checking"])
def test_a_table_that_changes_during_the_run_makes_no_difference(when: str, tmp_path: Path, postgres: Server) -> None:
    expected = run(tmp_path, postgres)[2]
    (tmp_path / "again").mkdir()
    recipe = tmp_path / "again" / "recipe.toml"
    recipe.write_text((tmp_path / "postgres.toml").read_text())
    shoal.run(recipe, progress=_changing(postgres, "DELETE FROM public.sixty WHERE id > 5", when))
    assert postgres.rows("SELECT count(*) FROM public.sixty") == [(6,)]
    folder = tmp_path / "again" / "out-postgres"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == expected


def test_a_table_made_meanwhile_is_not_replaced(tmp_path: Path, postgres: Server) -> None:
    recipe = tmp_path / "recipe.toml"
    text = RECIPE.format(url=postgres.url(), asked=TABLE) + 'table = "public.late"\n[engine]\nname = "postgres"\n'
    recipe.write_text(text)
    try:
        with pytest.raises(ShoalError, match='relation "late" already exists'):
            shoal.run(recipe, progress=_changing(postgres, "CREATE TABLE public.late (a int)", "checking"))
        assert postgres.rows("SELECT count(*) FROM public.late") == [(0,)]
        assert sorted(path.name for path in tmp_path.iterdir()) == ["recipe.toml"]
    finally:
        postgres.do("DROP TABLE IF EXISTS public.late")


def test_a_lost_connection_leaves_nothing(tmp_path: Path, postgres: Server) -> None:
    recipe = tmp_path / "recipe.toml"
    text = RECIPE.format(url=postgres.url(), asked=TABLE) + 'table = "public.late"\n[engine]\nname = "postgres"\n'
    recipe.write_text(text)
    lost = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'shoal'"
    with pytest.raises(ShoalError, match="connection to the database was lost"):
        shoal.run(recipe, progress=_changing(postgres, lost, "checking"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["recipe.toml"]


def test_a_standby_is_told_to_be_one(tmp_path: Path, postgres: Server) -> None:
    programs = binaries()
    assert programs is not None
    with standby(programs, postgres) as follower:
        assert follower.rows("SELECT count(*) FROM public.sixty") == [(60,)]
        code, sentence, _ = run(tmp_path, follower)
    assert code == 2
    assert "is a standby" in sentence
    assert "use its primary" in sentence


def test_a_table_that_is_not_kept_in_the_end_is_told(
    tmp_path: Path, postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'shoal'"
    publish = write.publish

    def published(*given: Any, then: Any, **named: Any) -> None:
        def late() -> None:
            postgres.do(lost)
            then()

        publish(*given, then=late, **named)

    monkeypatch.setattr(write, "publish", published)
    recipe = tmp_path / "recipe.toml"
    text = RECIPE.format(url=postgres.url(), asked=TABLE) + 'table = "public.late"\n[engine]\nname = "postgres"\n'
    recipe.write_text(text)
    with pytest.raises(ShoalError, match="in its folder, but nobody knows whether the database kept its table"):
        shoal.run(recipe)
    assert shoal.verify_release(tmp_path / "out").passed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.evidence", "recipe.toml"]


@pytest.mark.parametrize("how", ["done", "not begun", "broken off"])
def test_a_commit_that_is_interrupted_is_done_or_told(
    how: str, tmp_path: Path, postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    commit, times = psycopg.Connection.commit, [0]

    def interrupted(connection: Any) -> None:
        times[0] += 1
        if how == "broken off" and times[0] == 1:
            connection.rollback()
        if how == "done" or times[0] > 1:
            commit(connection)
        if times[0] == 1:
            raise KeyboardInterrupt

    recipe = tmp_path / "recipe.toml"
    text = RECIPE.format(url=postgres.url(), asked=TABLE) + 'table = "public.cut"\n[engine]\nname = "postgres"\n'
    recipe.write_text(text)
    with monkeypatch.context() as patch:
        patch.setattr(psycopg.Connection, "commit", interrupted)
        with pytest.raises((KeyboardInterrupt, ShoalError)) as told:
            shoal.run(recipe)
    kept = how != "broken off"
    assert isinstance(told.value, KeyboardInterrupt) == kept
    assert "did not keep its table (interrupted)" in str(told.value) or kept
    assert postgres.rows("SELECT to_regclass('public.cut') IS NOT NULL") == [(kept,)]
    assert shoal.verify_release(tmp_path / "out").passed
    postgres.do("DROP TABLE IF EXISTS public.cut")


def test_no_value_stands_in_the_log_of_the_server(tmp_path: Path, postgres: Server) -> None:
    rows = ROWS.with_columns(note=pl.format("zanzibar-{}", pl.col("id") % 3), sex=pl.lit("quetzalcoatl"))
    postgres.fill("public.marked", rows, TYPES)
    assert run(tmp_path, postgres, 'table = "public.marked"', output='table = "public.written"')[0] == 0
    assert postgres.rows("SELECT count(*) > 30 FROM public.written") == [(True,)]
    postgres.do("DROP TABLE public.marked", "DROP TABLE public.written")
    log = postgres.log.read_text("utf-8", errors="replace")
    assert "CREATE TEMP TABLE coded" in log
    assert "zanzibar" not in log
    assert "quetzalcoatl" not in log


KILLED = """
import os, signal, sys, shoal
def progress(step):
    if step.startswith(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
shoal.run(sys.argv[1], progress=progress)
"""


def test_a_killed_run_leaves_nothing_and_the_next_completes(tmp_path: Path, postgres: Server) -> None:
    recipe, scratch = tmp_path / "recipe.toml", tmp_path / "scratch"
    scratch.mkdir()
    text = RECIPE.format(url=postgres.url(), asked=TABLE) + 'table = "public.whole"\n[engine]\nname = "postgres"\n'
    recipe.write_text(text + 'scratch = "scratch"\n')
    for step in ("counting", "fetching", "checking", "writing the table"):
        killed = subprocess.run([sys.executable, "-c", KILLED, str(recipe), step], env={**os.environ}, timeout=120)
        assert killed.returncode == -signal.SIGKILL
        assert not (tmp_path / "out").exists()
    assert len(list(scratch.iterdir())) == 1
    assert ("public", "whole") not in tables(postgres)
    shoal.run(recipe)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.evidence", "recipe.toml", "scratch"]
    assert list(scratch.iterdir()) == []
    assert postgres.rows("SELECT count(*) > 30 FROM public.whole") == [(True,)]
    postgres.do("DROP TABLE public.whole")
