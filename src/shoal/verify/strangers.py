"""Whether a released cell names anybody: identifiers of any row, in any column.

Whole identifiers are looked for by their words, in any spelling and order; numbers by their digits; and of names also
single words, as far as they are rare. What many people share names nobody, and a word that stands in many more cells
than rows have it in an identifier is vocabulary. All of it is by hash joins of words: linear in the text.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import polars as pl

from shoal.verify.folded import joined_words, number_key, numbers, plain_texts, words
from shoal.verify.types import Check

# A value that more people have names nobody: five of a small table, one in a thousand of a large one.
_FEW, _SHARE = 5, 1000
_LONGEST, _GROUPED, _TURNS, _LEAST_KEY = 8, 12, 4, 5
# A name has three letters or more; in scripts whose letters are words or syllables, two.
_NAME = r"^\p{L}{3,}|^[\p{Han}\p{Hiragana}\p{Katakana}]{2}"
_LETTERED_OR_DATE = r"\p{L}|^\d{4}-\d\d-\d\d(?:\s|$)|^\d\d?[./]\d\d?[./]\d{4}(?:\s|$)"
# Chance: equal numbers and words happen. A word is vocabulary above this, and numbers meet by accident up to this.
_BASE, _FACTOR = 3, 3
_UNLIKELY = 1e-3
_NEARLY_ALL, _SEVERAL, _MANY = 0.9, 3, 0.02
# Free text: cells of so many words that nobody else has, at least so many and that share of the rows.
_TEXT_WORDS, _TEXT_CELLS, _TEXT_SHARE = 3, 10, 0.05


def check_anybody(tables: Sequence[pl.DataFrame], hidden: Sequence[pl.Series], people: pl.Series | None) -> Check:
    """No cell of any table holds a whole identifier of anybody.

    Parameters
    ----------
    tables
        What would be published.
    hidden
        Identifier columns of all input rows.
    people
        Whose row each is; None where every row is a person.
    """
    problems = []
    looked = [(one.name, _whole(one, people), _numbers(one, people)) for one in hidden]
    for column in [column for table in tables for column in table.get_columns()] if hidden else []:
        cells = _distinct(column)
        tokens = cells.with_row_index("cell").select("cell", "rows", word=words(pl.col("text"))).explode("word")
        tokens = tokens.drop_nulls("word")
        found = cells.select("rows", key=numbers(pl.col("text"))).explode("key").drop_nulls("key")
        for name, keys, digits in looked:
            held = _holding(tokens, keys) + _numbered(found, digits, column)
            if held:
                problems.append(f"{held:,} cells of '{column.name}' hold somebody's '{name}'")
    detail = f"Identifiers are left in the release: {'; '.join(problems)}." if problems else (
        "No identifier of any row stands in a cell."
    )  # fmt: skip
    return Check(name="identifiers of anybody", passed=not problems, detail=detail)


def check_words(
    columns: Sequence[pl.Series], own: Sequence[pl.Series], hidden: Sequence[pl.Series], people: pl.Series | None,
    accepted: Collection[str],
) -> list[Check]:  # fmt: skip
    """One check a column that holds words of names, which ``W-NAMES:column`` accepts: some names are words as well.

    Parameters
    ----------
    columns
        Columns that are published as they were read.
    own
        Identifiers of the same rows, column by column as ``hidden``, which has them for all input rows.
    """
    found = []
    texts = [column for column in columns if column.dtype == pl.String]
    names = [one for one in zip(own, hidden, strict=True) if one[0].dtype == pl.String] if texts else []
    looked = [(one.name, _row_words(_local(mine)), _rare_words(one, people)) for mine, one in names]
    for column in texts:
        said = _row_words(column)
        problems = []
        for name, mine, rare in looked:
            rows = _named(said, mine, rare, column.len())
            if rows:
                problems.append(f"{rows:,} cells of '{column.name}' hold a word of somebody's '{name}'")
        code = f"W-NAMES:{column.name}"
        if problems:
            accepts = f", which {code} accepts" if code in accepted else ""
            detail = f"{'; '.join(problems)}{accepts}."
            found.append(Check(name=f"names in {column.name}", passed=code in accepted, detail=detail, code=code))
    return found


def check_texts(columns: Sequence[pl.Series], accepted: Collection[str]) -> list[Check]:
    """One check a column of free text, which may say anything about anybody and needs ``W-TEXT:column``."""
    found = []
    for column in columns:
        if column.dtype != pl.String:
            continue
        alone = _distinct(column).filter(pl.col("rows") == 1)["text"]
        count = alone.filter(alone.str.count_matches(r"\p{Han}{2}|\p{L}{2,}") >= _TEXT_WORDS).len()
        if count < max(_TEXT_CELLS, _TEXT_SHARE * column.len()):
            continue
        code = f"W-TEXT:{column.name}"
        accepts = f", which {code} accepts" if code in accepted else ""
        detail = f"'{column.name}' looks like free text, {count:,} cells of it unlike any other{accepts}."
        found.append(Check(name=f"free text in {column.name}", passed=code in accepted, detail=detail, code=code))
    return found


def _distinct(column: pl.Series) -> pl.DataFrame:
    """Different cells and the rows of each."""
    texts = _without_fraction(column) if column.dtype.is_numeric() else plain_texts(column)
    return texts.to_frame("text").drop_nulls().group_by("text").agg(rows=pl.len()).sort("text")


def _without_fraction(column: pl.Series) -> pl.Series:
    """Numbers as text; whole ones without the fraction that a float shows."""
    return column.cast(pl.String).str.replace(r"\.0$", "")


def _values(identifier: pl.Series, people: pl.Series | None) -> pl.Series:
    """Different identifiers that few people have."""
    texts = _without_fraction(identifier) if identifier.dtype.is_numeric() else plain_texts(identifier)
    frame = pl.DataFrame({"text": texts} | ({} if people is None else {"who": people})).drop_nulls("text")
    who = pl.len() if people is None else pl.col("who").n_unique()
    return frame.group_by("text").agg(who=who).filter(pl.col("who") <= _limit(identifier, people))["text"]


def _limit(identifier: pl.Series, people: pl.Series | None) -> int:
    return max(_FEW, (len(identifier) if people is None else people.n_unique()) // _SHARE)


def _whole(identifier: pl.Series, people: pl.Series | None) -> pl.DataFrame:
    """Keys of identifiers with letters: their words run together, begun with any of them; of mail, the name as well."""
    if identifier.dtype.is_numeric() or identifier.dtype.is_temporal():
        return pl.DataFrame(schema={"key": pl.String, "first": pl.String, "size": pl.UInt32})
    texts = _values(identifier, people)
    local = texts.filter(texts.str.contains("@")).str.split("@").list.first()
    frame = pl.concat([texts, local]).to_frame("text").select(words=words(pl.col("text")).list.head(_LONGEST))
    # One word of letters is left to the words: as a name it may be one of the language, too.
    frame = frame.with_columns(size=pl.col("words").list.len()).filter(pl.col("size") > 1)
    turned = [
        frame.filter(pl.col("size") > turn).with_columns(
            words=pl.concat_list(pl.col("words").list.slice(turn), pl.col("words").list.head(turn))
        )
        for turn in range(_TURNS)
    ]
    keys = pl.concat(turned).select(
        key=pl.col("words").list.join(""), first=pl.col("words").list.first(), size=pl.col("size")
    )
    lettered = pl.col("key").str.contains(r"\p{L}") & (pl.col("key").str.len_chars() >= _LEAST_KEY)
    return keys.filter(lettered).unique("key")


def _holding(tokens: pl.DataFrame, keys: pl.DataFrame) -> int:
    """Rows whose cell holds a key as words in a row."""
    found = [tokens.join(keys, left_on="word", right_on="key", how="semi").select("cell", "rows")]
    starts = tokens.with_row_index("at").join(keys, left_on="word", right_on="first", how="semi")
    runs = starts.rename({"word": "key"})
    # A cell may part what the identifier writes as one: numbers of accounts and insurances come in groups.
    for step in range(1, _GROUPED):
        runs = runs.filter(pl.col("at") + step < tokens.height)
        beside = tokens.select("cell", "word")[(runs["at"] + step).to_list()]
        runs = runs.with_columns(key=runs["key"] + beside["word"]).filter(beside["cell"] == runs["cell"])
        found.append(runs.join(keys, on="key", how="semi").select("cell", "rows"))
    return int(pl.concat(found).unique("cell")["rows"].sum())


def _numbers(identifier: pl.Series, people: pl.Series | None) -> pl.DataFrame:
    """Digits of identifiers that are long numbers."""
    if identifier.dtype.is_temporal():
        return pl.DataFrame(schema={"key": pl.String})
    values = _values(identifier, people).to_frame("text")
    digits = values.filter(~pl.col("text").str.contains(_LETTERED_OR_DATE))
    return digits.select(key=number_key(pl.col("text"))).drop_nulls().unique()


def _numbered(found: pl.DataFrame, digits: pl.DataFrame, column: pl.Series) -> int:
    """Rows whose cell holds a long number of an identifier, 0 where chance explains it."""
    met = found.join(digits, on="key", how="semi")
    if not met.height:
        return 0
    candidates, hits = found["key"].n_unique(), met["key"].n_unique()
    # Numbers that run on hold everything between their ends: a few of them in a column prove nothing.
    telling = hits >= _MANY * digits.height or not _run_on(digits)
    if hits >= _SEVERAL and hits >= _NEARLY_ALL * candidates and telling:
        return int(met["rows"].sum())
    if column.dtype.is_numeric():
        span = float(column.max() - column.min()) + 1.0  # type: ignore[operator, arg-type]
        expected = candidates * digits.height / span
    else:
        size = pl.col("key").str.len_chars().alias("size")
        lengths = found.unique("key").group_by(size).len().join(digits.group_by(size).len("given"), on="size")
        expected = float((lengths["len"] * lengths["given"] / 10.0 ** lengths["size"]).sum())
    # Neither spreads evenly, so that chance may well be a few times what it would be if they did.
    unlikely = hits > _FACTOR * expected and _tail(hits, expected) < _UNLIKELY
    return int(met["rows"].sum()) if unlikely else 0


def _run_on(digits: pl.DataFrame) -> bool:
    """Whether most numbers between the smallest and the largest are somebody's, as of those given one after another."""
    whole = digits["key"].cast(pl.Int64, strict=False).drop_nulls().to_numpy()
    return bool(whole.size) and whole.size > 0.5 * (int(whole.max()) - int(whole.min()) + 1)


def _tail(hits: int, expected: float) -> float:
    """Chance of at least so many hits where so many are expected (Poisson, bounded from above after Chernoff)."""
    if hits <= expected:
        return 1.0
    exact = -math.expm1(-expected)
    return exact if hits == 1 else math.exp(hits - expected + hits * math.log(expected / hits)) if expected else 0.0


def _named(said: pl.DataFrame, mine: pl.DataFrame, rare: pl.DataFrame, rows: int) -> int:
    """Rows with a rare word of a name, or those with one of their own where they are more than chance."""
    heard = said.join(rare, on="word", how="inner")
    often = heard.group_by("word").agg(cells=pl.len(), given=pl.col("given").first())
    names = often.filter(pl.col("cells") <= _BASE + _FACTOR * pl.col("given"))
    strangers = heard.join(names, on="word", how="semi")["row"].n_unique()
    here = said.join(mine, on=["row", "word"], how="semi")["row"].n_unique()
    if not here:
        return strangers
    next_one = mine.with_columns(row=((pl.col("row") + 1) % rows).cast(pl.UInt32))
    chance = said.join(next_one, on=["row", "word"], how="semi")["row"].n_unique()
    return max(strangers, here) if here > _BASE + _FACTOR * chance else strangers


def _rare_words(identifier: pl.Series, people: pl.Series | None) -> pl.DataFrame:
    """Words of names that few people have, and the rows of each."""
    each = _row_words(_local(identifier))
    who = pl.len()
    if people is not None:
        each = each.with_columns(who=people.gather(each["row"]))
        who = pl.col("who").n_unique()
    found = each.group_by("word").agg(given=pl.len(), who=who)
    return found.filter(pl.col("who") <= _limit(identifier, people)).select("word", "given")


def _local(identifier: pl.Series) -> pl.Series:
    """Of addresses of mail the part before the @, the rest being nobody's."""
    return plain_texts(identifier).str.replace(r"@\S*", " ")


def _row_words(column: pl.Series) -> pl.DataFrame:
    """Row and word, each pair once, of words long enough to be a name."""
    texts = plain_texts(column).to_frame("text").with_row_index("row").drop_nulls("text")
    text = pl.col("text")
    spelt = words(text).list.set_union(joined_words(text))
    cells = texts.select(text.unique()).with_columns(word=spelt)
    pairs = texts.join(cells, on="text", how="inner").select("row", "word").explode("word").drop_nulls("word")
    return pairs.filter(pl.col("word").str.contains(_NAME))
