"""The order of day and month that the country of a host is known for."""

import pytest

from monitor.dates import infer_order


@pytest.mark.parametrize(
    "url", ["https://www.sample.gov/news/", "http://courts.state.xx.us/list", "https://a.sample.mil"]
)
def test_hosts_of_the_united_states_put_the_month_first(url: str) -> None:
    assert infer_order(url) == "mdy"


@pytest.mark.parametrize("url", ["https://www.sample.gov.uk/", "https://sample.de/x", "https://www.sample.gob.mx/"])
def test_hosts_of_other_countries_put_the_day_first(url: str) -> None:
    assert infer_order(url) == "dmy"


@pytest.mark.parametrize(
    "url",
    ["https://sample.org/", "https://www.sample.com/us/", "https://sample.gc.ca/", "http://192.0.2.7/", "file:///x"],
)
def test_a_host_without_a_known_custom_settles_nothing(url: str) -> None:
    assert infer_order(url) is None


@pytest.mark.parametrize("language", ["de-CH", "pt_BR", "EL"])
def test_the_language_of_a_page_settles_what_its_host_does_not(language: str) -> None:
    assert infer_order("https://sample.org/", language) == "dmy"
    assert infer_order("https://sample.gov/", language) == "mdy"


def test_english_is_written_in_both_orders() -> None:
    assert infer_order("https://sample.org/", "en") is None
