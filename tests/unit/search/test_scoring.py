import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from monitor.config.model import RetrievalSettings, WeightSettings
from monitor.search.bundles.scoring import (
    UNKNOWN_AUTHORITY,
    AuthorityTable,
    ResultScorer,
    ResultScores,
    compute_freshness,
    compute_relevance,
)

TODAY = dt.date(2026, 11, 21)


def scoring(*weights: float, **settings: object) -> ResultScorer:
    given = dict(zip(("relevance", "freshness", "authority"), weights, strict=False))
    return ResultScorer(WeightSettings(**given), RetrievalSettings(**settings))


def test_the_scores_are_those_that_the_documentation_reckons() -> None:
    scores = scoring().score_result(
        "光伏 补贴",
        rank=3,
        title="光伏发电补贴办法",
        text="",
        url="https://www.nea.gov.cn/a",
        today=TODAY,
        published_on=TODAY - dt.timedelta(days=45),
    )
    assert scores == ResultScores(relevance=0.9167, freshness=0.7071, authority=1.0, final=0.8914)


@pytest.mark.parametrize(("rank", "place"), [(1, 1.0), (2, 0.9091), (11, 0.5), (21, 1 / 3)])
def test_without_a_word_the_place_in_the_search_decides_alone(rank: int, place: float) -> None:
    assert compute_relevance("？", rank=rank, title="x", text="y") == pytest.approx(place, abs=1e-4)


def test_the_title_counts_more_than_the_text() -> None:
    in_title = compute_relevance("光伏", rank=1, title="光伏", text="")
    in_text = compute_relevance("光伏", rank=1, title="", text="光伏")
    nowhere = compute_relevance("光伏", rank=1, title="", text="")
    assert (in_title, in_text, nowhere) == (1.0, 0.75, 0.5)


@pytest.mark.parametrize(
    ("age_days", "freshness"), [(0, 1.0), (30, 0.5), (60, 0.25), (-1, 1.0), (-2, 0.5), (None, 0.5), (700_000, 0.0)]
)
def test_freshness_halves_and_a_date_that_cannot_be_is_none(age_days: int | None, freshness: float) -> None:
    published = None if age_days is None else TODAY - dt.timedelta(days=age_days)
    assert compute_freshness(published, today=TODAY, half_life_days=30) == pytest.approx(freshness, abs=1e-6)


@pytest.mark.parametrize(
    ("url", "score"),
    [
        ("https://www.gov.cn/a", 1.0),
        ("http://zfxxgk.nea.gov.cn:8080/", 1.0),
        ("https://www.sec.gov", 1.0),
        ("https://www.bmwk.bund.de/x", 1.0),
        ("https://eur-lex.europa.eu/", 1.0),
        ("https://www.meti.go.jp/", 1.0),
        ("https://www.fca.org.uk/news", 1.0),
        ("https://www.pku.edu.cn/", 0.8),
        ("https://www.ox.ac.uk/", 0.8),
        ("https://zhuanlan.zhihu.com/p/1", 0.2),
        ("https://example.com/gov.cn", UNKNOWN_AUTHORITY),
        ("https://notgov.cn/", UNKNOWN_AUTHORITY),
        ("https://gov.de/", UNKNOWN_AUTHORITY),
        ("https://www.gov.cn.example.com/", UNKNOWN_AUTHORITY),
        ("https://user@gov.cn@example.com/", UNKNOWN_AUTHORITY),
        ("https://WWW.GOV.CN./", 1.0),
        ("no url", UNKNOWN_AUTHORITY),
        ("http://[", UNKNOWN_AUTHORITY),
        ("http://[::1]/", UNKNOWN_AUTHORITY),
    ],
)
def test_who_speaks_with_authority(url: str, score: float) -> None:
    assert AuthorityTable({}).score(url) == score


def test_the_administrators_lines_come_first_and_the_longest_domain_decides() -> None:
    table = AuthorityTable({"Gov.cn": 0.7, "news.gov.cn": 0.1, "example.org": 0.9, ".xn--p1ai": 0.3})
    assert [table.score(f"https://{host}/") for host in ("a.gov.cn", "b.news.gov.cn", "example.org", "x.xn--p1ai")] == [
        0.7,
        0.1,
        0.9,
        0.3,
    ]
    assert table.score("https://www.gov.uk/") == 1.0


@pytest.mark.parametrize(
    "weights", [{"relevance": 0, "freshness": 0, "authority": 0}, {"relevance": -1}, {"freshness": float("inf")}]
)
def test_weights_that_weigh_nothing_are_refused(weights: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        WeightSettings(**weights)


@pytest.mark.parametrize(
    "settings",
    [{"half_life_days": 0}, {"authority": {"a.org": 1.1}}, {"authority": {"https://a.org": 1}}, {"authority": {"": 1}}],
)
def test_settings_that_cannot_be_meant_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        RetrievalSettings(**settings)


def test_only_the_relation_of_the_weights_matters() -> None:
    facts = {"rank": 2, "title": "光伏", "text": "", "url": "https://a.gov.cn/", "published_on": None, "today": TODAY}
    assert scoring(6, 2, 2).score_result("光伏", **facts) == scoring().score_result("光伏", **facts)
    assert scoring(0, 0, 5).score_result("光伏", **facts).final == 1.0
    assert scoring(0, 0, 5e-324).score_result("光伏", **facts).final == 1.0


WEIGHT = st.floats(0, 1e6)


@given(
    st.tuples(WEIGHT, WEIGHT, WEIGHT).filter(sum),
    st.floats(1e-3, 1e6),
    st.text(max_size=20),
    st.integers(1, 10**6),
    st.text(max_size=20),
    st.text(max_size=40),
    st.text(max_size=30),
    st.none() | st.dates(),
    st.dates(),
)
def test_every_score_lies_between_0_and_1(weights, half_life, query, rank, title, text, host, published, today) -> None:
    scores = scoring(*weights, half_life_days=half_life).score_result(
        query, rank=rank, title=title, text=text, url=f"https://{host}/", published_on=published, today=today
    )
    for score in (scores.relevance, scores.freshness, scores.authority, scores.final):
        assert 0 <= score <= 1
    low, high = sorted((scores.relevance, scores.freshness, scores.authority))[::2]
    assert low - 1e-4 <= scores.final <= high + 1e-4
