"""What texts are about."""

from monitor.verify.prose import compute_dice_similarity, compute_overlap, extract_words, is_chinese


def test_words_are_pairs_of_characters_and_latin_words_that_say_something() -> None:
    assert extract_words("新型储能 and the Storage SYSTEMS of 2026") == {"新型", "型储", "储能", "storage", "system"}


def test_shares_and_likeness() -> None:
    one, other = extract_words("新型储能规模"), extract_words("新型储能")
    assert compute_overlap(other, one) == 1.0
    assert compute_overlap(one, other) == 3 / 5
    assert compute_dice_similarity(one, other) == 2 * 3 / 8
    assert compute_overlap(frozenset(), one) == compute_dice_similarity(frozenset(), frozenset()) == 0.0


def test_a_chinese_text_with_latin_names_in_it_is_chinese() -> None:
    assert is_chinese("欧盟CBAM将于2026年实施")
    assert not is_chinese("The 储能 market grew in 2026")
