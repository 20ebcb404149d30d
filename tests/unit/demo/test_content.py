"""The wording and placing of a sample site's items."""

import datetime as dt

import pytest

from monitor.demo.content import fill_placeholders, find_site_folder, read_site
from monitor.errors import UsageError

WEDNESDAY = dt.date(2027, 1, 6)


def test_a_text_prints_days_relative_to_its_own_date() -> None:
    assert fill_placeholders("截至{date:-10}，{day}起", WEDNESDAY) == "截至2026年12月27日，1月6日起"


def test_a_january_text_reports_on_december_of_the_year_before() -> None:
    assert (
        fill_placeholders("{data_year}年{data_month}月份，{next_year}年计划", WEDNESDAY) == "2026年12月份，2028年计划"
    )


def test_a_site_that_does_not_exist_is_refused_with_the_names_of_those_that_do() -> None:
    with pytest.raises(UsageError, match=r"'nowhere'.*ministry"):
        find_site_folder("nowhere")


def test_every_document_that_an_item_names_lies_in_the_folder() -> None:
    folder = find_site_folder("ministry")
    _, items = read_site(folder)
    named = {document.file for texts in items.values() for text in texts for document in text.attachments}
    named |= {text.document for texts in items.values() for text in texts if text.document}
    assert named == {path.name for path in (folder / "files").iterdir()}
