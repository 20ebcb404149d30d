"""A list stays what it is when its page is written in another way: what is seen in it may not get worse."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.labelled_pages import LabelledPage, read_corpus, read_fixtures
from benchmarks.metamorphic import ChangeFigures, choose_pages, measure
from benchmarks.page_changes import CHANGES, tidy

HOME = Path(__file__).resolve().parents[3]
CORPUS = HOME.parent / "shared" / "corpus"
MAX_FALL = 0.01

# What does not hold yet: by how much a figure falls at most. A row goes when its fall is within MAX_FALL.
FIXTURE_FALLS: dict[tuple[str, str], float] = {
    ("dates_removed", "undated"): 0.012,
    ("one_row", "f1"): 0.021,
    ("one_row", "title"): 0.044,
    ("one_row", "date_exact"): 0.029,
    ("tables_to_divs", "f1"): 0.017,
    ("two_lists", "f1"): 0.023,
    ("two_lists", "title"): 0.019,
}
CORPUS_FALLS: dict[tuple[str, str], float] = {
    ("dates_fr", "date_exact"): 0.1,
    ("tables_to_divs", "f1"): 0.018,
    ("tables_to_divs", "date_exact"): 0.046,
    ("one_row", "f1"): 0.099,
    ("one_row", "title"): 0.044,
}


def measured(pages: Sequence[LabelledPage]) -> dict[str, ChangeFigures]:
    return {figures.change: figures for figures in measure(pages)}


@pytest.fixture(scope="module")
def of_fixtures() -> dict[str, ChangeFigures]:
    return measured(choose_pages(list(read_fixtures(HOME / "fixtures" / "pages")), 90))


@pytest.fixture(scope="module")
def of_corpus() -> dict[str, ChangeFigures]:
    if not (CORPUS / "manifest.csv").exists():
        pytest.skip("the corpus of real pages is not beside this repository")
    return measured(choose_pages(list(read_corpus(CORPUS)), 24))


def list_excess(figures: ChangeFigures, known: dict[tuple[str, str], float]) -> list[str]:
    return [
        f"{name} falls by {fall}, at most {limit} was known"
        for name, fall in figures.list_falls().items()
        if fall > (limit := max(MAX_FALL, known.get((figures.change, name), 0.0)))
    ]


@pytest.mark.parametrize("change", CHANGES)
def test_a_list_is_seen_as_before_in_a_changed_fixture(change: str, of_fixtures: dict[str, ChangeFigures]) -> None:
    assert of_fixtures[change].pages >= 8
    assert not list_excess(of_fixtures[change], FIXTURE_FALLS)


@pytest.mark.parametrize("change", CHANGES)
def test_a_list_is_seen_as_before_in_a_changed_real_page(change: str, of_corpus: dict[str, ChangeFigures]) -> None:
    assert of_corpus[change].pages >= 2
    assert not list_excess(of_corpus[change], CORPUS_FALLS)


def test_a_changed_page_is_another_page_with_the_same_number_of_items_or_those_that_the_change_says() -> None:
    page = next(page for page in read_fixtures(HOME / "fixtures" / "pages") if page.id == "fixture-list-span-date")
    counts = {"one_row": 1, "two_lists": 2 * len(page.items)}
    for name, change in CHANGES.items():
        changed = change(page)
        if changed is None:
            assert name == "tables_to_divs"
            continue
        assert changed.body != tidy(page).body
        assert len(changed.items) == counts.get(name, len(page.items))
