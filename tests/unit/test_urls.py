"""Which site a URL belongs to, by the Public Suffix List."""

import pytest

from monitor.urls import get_registrable_domain, is_same_site


@pytest.mark.parametrize(
    ("url", "domain"),
    [
        ("https://zfxxgk.sample.gov.cn/a", "sample.gov.cn"),
        ("https://www.city.osaka.lg.jp/", "osaka.lg.jp"),
        ("https://www.mof.go.jp/english/", "mof.go.jp"),
        ("https://ec.europa.eu/x", "europa.eu"),
        ("https://WWW.Sample.COM./", "sample.com"),
        ("https://team.github.io/", "team.github.io"),
        ("https://www.gov.cn/", "www.gov.cn"),
        ("https://gov.cn/", "gov.cn"),
        ("https://a.b.sample.example/", "sample.example"),
        ("http://127.0.0.1:8080/", "127.0.0.1"),
        ("http://[::1]:8080/", "::1"),
        ("http://localhost:8080/", "localhost"),
        ("no url", ""),
    ],
)
def test_a_registrable_domain_is_what_one_registrant_holds(url: str, domain: str) -> None:
    assert get_registrable_domain(url) == domain


def test_two_cities_under_one_suffix_are_two_sites() -> None:
    assert not is_same_site("https://www.city.osaka.lg.jp/", "https://www.pref.kyoto.lg.jp/")
    assert is_same_site("https://www.city.osaka.lg.jp/", "https://data.city.osaka.lg.jp/")
