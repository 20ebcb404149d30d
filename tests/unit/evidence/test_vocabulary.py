"""What texts are about."""

from monitor.evidence.vocabulary import is_chinese, likeness, shared, words_of


def test_words_are_pairs_of_characters_and_latin_words_that_say_something() -> None:
    assert words_of("新型储能 and the Storage SYSTEMS of 2026") == {"新型", "型储", "储能", "storage", "system"}


def test_shares_and_likeness() -> None:
    one, other = words_of("新型储能规模"), words_of("新型储能")
    assert shared(other, one) == 1.0
    assert shared(one, other) == 3 / 5
    assert likeness(one, other) == 2 * 3 / 8
    assert shared(frozenset(), one) == likeness(frozenset(), frozenset()) == 0.0


def test_a_chinese_text_with_latin_names_in_it_is_chinese() -> None:
    assert is_chinese("欧盟CBAM将于2026年实施")
    assert not is_chinese("The 储能 market grew in 2026")
