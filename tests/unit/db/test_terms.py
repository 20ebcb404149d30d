"""Terms and queries: what is cut from a text, and what is found again."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.db.terms import TextQuery, extract_terms, fold_text
from monitor.errors import UsageError


def test_a_run_without_spaces_gives_its_pairs_and_its_characters() -> None:
    assert extract_terms("光伏发电") == {"光", "伏", "发", "电", "光伏", "伏发", "发电"}
    assert extract_terms("可再生能\n 源") >= {"能源"}
    assert extract_terms("カーボン 탄소") >= {"カー", "ーボ", "ボン", "탄소"}


def test_latin_words_and_numbers_stand_as_they_are_in_one_case_and_width() -> None:
    assert extract_terms("GDP增长５.2%，Île-de-France_x") == {
        "gdp",
        "增",
        "长",
        "增长",
        "5",
        "2",
        "île",
        "de",
        "france",
        "x",
        ":5:2",
        ":2:île",
        ":île:de",
        ":de:france",
        ":france:x",
    }
    assert extract_terms("\u2f24小") == {"大", "小", "大小"}
    assert max(map(len, extract_terms("a" * 500))) == 64


@settings(max_examples=200)
@given(st.text())
def test_folding_moves_nothing_and_terms_hold_letters_and_digits_only(text: str) -> None:
    assert len(fold_text(text)) == len(text)
    assert all(term.replace(":", "").isalnum() or not term.isascii() for term in extract_terms(text))
    assert not any(set(term) & set(' "\n\x00') for term in extract_terms(text))


@settings(max_examples=200)
@given(before=st.text(max_size=5), word=st.text("光伏储能aB1 -", min_size=1, max_size=6), after=st.text(max_size=5))
def test_the_terms_of_a_query_are_terms_of_every_text_in_which_its_pattern_is_seen(
    before: str, word: str, after: str
) -> None:
    text = before + word + after
    for clause in TextQuery.parse(f'"{word}"').clauses:
        if clause.pattern.search(fold_text(text)):
            assert set(clause.terms) <= extract_terms(text)


@settings(max_examples=200)
@given(
    before=st.text("光伏储aB1 \n\u2f24\u0130\uff21", max_size=5),
    word=st.text("光伏储大能aAB1 -", min_size=1, max_size=6),
    after=st.text("光伏储aB1 \n\uff41", max_size=5),
    spread=st.sampled_from(["", "\n", " "]),
)
def test_a_quick_look_never_misses_a_text_in_which_the_query_stands(
    before: str, word: str, after: str, spread: str
) -> None:
    text = before + spread.join(word) + after
    query = TextQuery.parse(f'"{word}"')
    stands = all(clause.pattern.search(fold_text(text)) for clause in query.clauses)
    assert not (stands and query.is_missing_in(text))
    reported = [
        clause
        for clause in query.clauses
        if clause not in query.unverified_clauses and set(clause.terms) <= extract_terms(text)
    ]
    assert all(clause.pattern.search(fold_text(text)) for clause in reported)


def test_a_quick_look_tells_what_is_not_there() -> None:
    assert TextQuery.parse("光伏储能").is_missing_in("光伏、伏储、储能")
    assert TextQuery.parse('"carbon market price"').is_missing_in("Carbon price")
    assert not TextQuery.parse("大储能").is_missing_in("\u2f24储能"), "a wide form has to be folded first"


def test_words_are_parted_by_spaces_and_signs_and_quotes_keep_them_together() -> None:
    query = TextQuery.parse("光伏，储能 “碳 市场” gas-fired")
    assert [clause.terms for clause in query.clauses] == [("碳市", "市场"), ("光伏",), ("储能",), (":gas:fired",)]
    assert query.needed == 4


@pytest.mark.parametrize("text", ["", " ", '"', '""', "，。", "\x00", "*()", "😀"])
def test_what_holds_no_word_asks_for_nothing(text: str) -> None:
    assert TextQuery.parse(text).clauses == ()
    assert TextQuery.parse(text).loosen().clauses == ()


def test_a_word_is_seen_whole_and_characters_across_a_line_end() -> None:
    gas, solar = TextQuery.parse("gas 光伏").clauses
    assert not gas.pattern.search(fold_text("gasoline biogas"))
    assert gas.pattern.search(fold_text("天然气Gas价格"))
    assert solar.pattern.search("分布式光\n　伏")
    assert not solar.pattern.search("光，伏")


def test_a_loosened_query_leaves_out_what_joins_words() -> None:
    loose = TextQuery.parse("what is the 光伏补贴的最新政策是什么").loosen()
    assert ["".join(clause.terms) for clause in loose.clauses] == ["光伏", "伏补", "补贴", "最新", "新政", "政策"]
    assert loose.needed == 2


def test_a_query_that_is_too_long_is_refused_with_a_sentence() -> None:
    with pytest.raises(UsageError, match="10000 characters; at most 1000"):
        TextQuery.parse("光" * 10_000)
