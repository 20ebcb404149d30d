"""Sentences that repeat what the model was told."""

import pytest

from monitor.verify.echoes import EchoDetector, find_prompt_mark

WORDING = (
    "Sum up the article below in two or three whole sentences, with figures and dates exactly as the text writes them."
)
RULES = "Focus on storage subsidies; ignore personnel"
TITLE = "Board adopts a rule on storage safety and on the separation of units"
PAGE = "Every operator has to keep figures and dates exactly as the text writes them and as the law asks of operators."
ECHOES = EchoDetector([WORDING, RULES], title=TITLE, text=PAGE, examples=["Westmere repeals its 2019 scheme."])


@pytest.mark.parametrize(
    "sentence",
    [
        "I will sum up the article below in two or three whole sentences, with figures.",
        "The administrator wrote: focus on storage subsidies, ignore personnel.",
        "“Board adopts a rule on storage safety and on the separation of units.”",
        "Westmere repeals its 2019 scheme.",
    ],
)
def test_words_of_the_prompt_the_wishes_the_title_and_the_examples_are_found(sentence: str) -> None:
    assert ECHOES.find(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "",
        "The board adopts a rule on storage safety.",
        "Operators have to keep figures and dates exactly as the text writes them and as the law asks.",
        "Storage subsidies end in 2027.",
        "The board sums up in two or three sentences what it heard.",
    ],
)
def test_other_sentences_are_left_alone(sentence: str) -> None:
    assert ECHOES.find(sentence) is None


@pytest.mark.parametrize(
    "text", ["a\n正文：\nb", "**标题:** x", "Text: x", "x PAGE>>> y", "<<<PAGE", "The administrator asks: x"]
)
def test_fences_and_labels_of_a_prompt_are_found(text: str) -> None:
    assert find_prompt_mark(text)


@pytest.mark.parametrize("text", ["会议的标题：两件事之一。", "In the text: nothing.", "a << b"])
def test_the_same_words_within_a_sentence_are_no_labels(text: str) -> None:
    assert find_prompt_mark(text) is None
