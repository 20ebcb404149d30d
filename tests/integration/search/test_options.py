"""What each service is asked: the query, how much of it, and the options that it has."""

import asyncio
import datetime as dt
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from monitor.search.contract import DateRange, Recency, SearchQuery

SPAN = DateRange(start=dt.date(2026, 11, 1), end=dt.date(2026, 11, 15))


@pytest.fixture
def asked(searching: Any, services: dict[str, Any], site: Any, send: Any, result: Any) -> Callable[..., Any]:
    """The question that a service gets, as a mapping, with its headers."""

    async def question(name: str, limit: int = 7, **options: Any) -> tuple[dict[str, Any], dict[str, str]]:
        service = services[name]
        searching.asked_at(
            name, site.on(service.path, send(service.build_response([result("A", "https://a.example/", "")])))
        )
        await searching.found(name, text="光伏 装机", limit=limit, **options)
        last = site.asked[-1]
        assert (last.method == "POST") == (name in ("ddg_html", "bocha", "tavily"))
        if "json" in last.headers.get("content-type", ""):
            return json.loads(last.body), last.headers
        form = last.body.decode() if last.body else urlsplit(last.path).query
        return {key: values[0] for key, values in parse_qs(form, keep_blank_values=True).items()}, last.headers

    return question


async def test_duckduckgo(asked: Any) -> None:
    plain, headers = await asked("ddg_html")
    assert plain == {"q": "光伏 装机", "b": "", "kl": "wt-wt"}
    assert headers["referer"].endswith("/")
    assert headers["sec-fetch-mode"] == "navigate"
    assert headers["cookie"] == "kl=wt-wt"
    full, headers = await asked("ddg_html", lang="zh", time_range=Recency.WEEK, site_filter="gov.cn")
    assert full == {"q": "光伏 装机 site:gov.cn", "b": "", "kl": "cn-zh", "df": "w"}
    assert headers["cookie"] == "kl=cn-zh; df=w"
    assert (await asked("ddg_html", time_range=SPAN))[0]["df"] == "2026-11-01..2026-11-15"
    regions = {
        "zh-TW": "tw-tzh",
        "zh-Hant": "tw-tzh",
        "en": "us-en",
        "en-GB": "uk-en",
        "de": "de-de",
        "de-AT": "at-de",
        "ja": "jp-jp",
        "sw": "wt-wt",
    }
    assert {lang: (await asked("ddg_html", lang=lang))[0]["kl"] for lang in regions} == regions


async def test_duckduckgo_page_by_page(
    searching: Any, services: dict[str, Any], site: Any, send: Any, result: Any
) -> None:
    service = services["ddg_html"]
    pages = [[result(f"{n}", f"https://a.example/{n}", "") for n in range(at, at + 10)] for at in (0, 10, 20)]

    def page(one: Any) -> Any:
        number = service.get_page_number(one)
        return send(service.build_response(pages[number - 1], page=number, has_more=True))

    searching.asked_at("ddg_html", site.on(service.path, page))
    assert len((await searching.found("ddg_html", limit=15, time_range=Recency.DAY)).items) == 15
    assert len(site.asked) == 2
    second = {name: values[0] for name, values in parse_qs(site.asked[1].body.decode(), keep_blank_values=True).items()}
    assert second == {
        "q": "echo",
        "s": "10",
        "nextParams": "",
        "dc": "11",
        "v": "l",
        "o": "json",
        "api": "d.js",
        "vqd": "4-123",
        "kl": "wt-wt",
        "df": "d",
    }


async def test_a_later_page_that_fails_leaves_the_first_and_an_error(
    searching: Any, services: dict[str, Any], site: Any, send: Any, reply: Any, result: Any
) -> None:
    for name in ("ddg_html", "baidu_html", "searxng"):
        service = services[name]
        first = service.build_response([result(f"{n}", f"https://a.example/{n}", "") for n in range(10)], has_more=True)
        answers = [send(first), reply("", 403)]
        searching.asked_at(name, site.on(service.path, lambda _, answers=answers: answers.pop(0)))
        found = await searching.found(name, limit=20)
        assert len(found.items) == 10
        assert len(found.errors) == 1


async def test_baidu(asked: Any) -> None:
    assert (await asked("baidu_html"))[0] == {"wd": "光伏 装机", "rn": "10", "pn": "0"}
    full, _ = await asked("baidu_html", time_range=SPAN, site_filter="gov.cn", lang="zh")
    assert full["wd"] == "光伏 装机 site:gov.cn"
    assert full["gpc"] == "stf=1793462400,1794758399|stftype=1"  # midnight to midnight in China
    assert (await asked("baidu_html", time_range=Recency.DAY))[0]["gpc"] == "stf=1795104000,1795276799|stftype=1"


async def test_searxng(asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, headers = await asked("searxng")
    assert plain == {"q": "光伏 装机", "format": "json", "pageno": "1"}
    assert headers["authorization"] == "Bearer key-of-SEARXNG_API_KEY"
    full, _ = await asked("searxng", lang="zh-CN", time_range=Recency.MONTH, site_filter="gov.cn")
    assert full == {**plain, "q": "光伏 装机 site:gov.cn", "language": "zh-CN", "time_range": "month"}
    assert (await asked("searxng", time_range=SPAN))[0]["time_range"] == "month"
    long_ago = DateRange(start=dt.date(2001, 1, 1))
    assert "time_range" not in (await asked("searxng", time_range=long_ago))[0]
    assert "time_range" not in (await asked("searxng", time_range=DateRange(end=dt.date(2026, 1, 1))))[0]
    monkeypatch.delenv("SEARXNG_API_KEY")
    assert "authorization" not in (await asked("searxng"))[1]


async def test_searxng_leaves_out_what_lies_outside_the_days(
    searching: Any, services: dict[str, Any], site: Any, send: Any, result: Any
) -> None:
    days = [None, dt.date(2026, 11, 1), dt.date(2026, 11, 16), dt.date(2026, 10, 31)]
    results = [result(str(day), f"https://a.example/{day}", "", day) for day in days]
    searching.asked_at("searxng", site.on("/search", send(services["searxng"].build_response(results))))
    found = await searching.found("searxng", time_range=SPAN, limit=3)
    assert [item.title for item in found.items] == ["None", "2026-11-01"]


async def test_bocha(asked: Any) -> None:
    plain, headers = await asked("bocha")
    assert plain == {"query": "光伏 装机", "freshness": "noLimit", "summary": False, "count": 7}
    assert headers["authorization"] == "Bearer key-of-BOCHA_API_KEY"
    full, _ = await asked("bocha", limit=20, time_range=Recency.YEAR, site_filter="gov.cn", lang="zh")
    assert full == {**plain, "count": 20, "freshness": "oneYear", "include": "gov.cn"}
    assert (await asked("bocha", need_summary=True))[0]["summary"] is True
    assert (await asked("bocha", time_range=SPAN))[0]["freshness"] == "2026-11-01..2026-11-15"
    one_day = DateRange(start=SPAN.start, end=SPAN.start)
    assert (await asked("bocha", time_range=one_day))[0]["freshness"] == "2026-11-01"


async def test_brave(asked: Any) -> None:
    plain, headers = await asked("brave")
    assert plain == {"q": "光伏 装机", "count": "7"}
    assert headers["x-subscription-token"] == "key-of-BRAVE_API_KEY"
    full, _ = await asked("brave", limit=20, lang="zh-TW", time_range=Recency.DAY, site_filter="gov.tw")
    assert full == {
        "q": "光伏 装机 site:gov.tw",
        "count": "20",
        "search_lang": "zh-hant",
        "country": "TW",
        "freshness": "pd",
    }
    assert (await asked("brave", time_range=SPAN))[0]["freshness"] == "2026-11-01to2026-11-15"
    open_end = DateRange(start=dt.date(2026, 11, 1))
    assert (await asked("brave", time_range=open_end))[0]["freshness"] == "2026-11-01to2026-11-21"
    assert {lang: (await asked("brave", lang=lang))[0]["search_lang"] for lang in ("zh", "ja", "en-GB", "de-AT")} == {
        "zh": "zh-hans",
        "ja": "jp",
        "en-GB": "en-gb",
        "de-AT": "de",
    }


async def test_tavily(asked: Any) -> None:
    plain, headers = await asked("tavily")
    assert (plain["query"], plain["max_results"], plain["search_depth"]) == ("光伏 装机", 7, "basic")
    assert headers["authorization"] == "Bearer key-of-TAVILY_API_KEY"
    full, _ = await asked("tavily", time_range=Recency.WEEK, site_filter="gov.cn")
    assert (full["time_range"], full["include_domains"]) == ("week", ["gov.cn"])
    dated, _ = await asked("tavily", time_range=SPAN)
    assert (dated["start_date"], dated["end_date"]) == ("2026-11-01", "2026-11-15")
    assert "time_range" not in dated
    deep, _ = await asked("tavily", depth="advanced")
    assert deep["search_depth"] == "advanced"
    asked_for = {name: value for name, value in (plain | deep).items() if name.startswith("include_")}
    assert asked_for == dict.fromkeys(("include_answer", "include_raw_content", "include_images"), False), (
        "what nothing reads is not paid for"
    )


async def test_what_a_service_has_no_option_for_changes_nothing_in_its_question(asked: Any) -> None:
    for name in ("ddg_html", "baidu_html", "searxng", "bocha", "brave"):
        assert (await asked(name, depth="advanced"))[0] == (await asked(name))[0], name


async def test_a_base_url_may_hold_the_path_already_and_a_key_another_name(
    searching: Any, services: dict[str, Any], site: Any, send: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "mine")
    site.on("/v1/web-search", send(services["bocha"].build_response([])))
    searching.settings["backends"] = {"bocha": {"base_url": site.url("/v1"), "api_key_env": "MY_KEY"}}
    assert (await searching.found("bocha")).errors == []
    assert site.asked[0].path == "/v1/web-search"
    assert site.asked[0].headers["authorization"] == "Bearer mine"
    site.on("/searx/search", send(services["searxng"].build_response([])))
    searching.settings["backends"] = {"searxng": {"base_url": site.url("/searx/")}}
    assert (await searching.found("searxng")).errors == []


async def test_the_proxy_and_the_user_agent_of_the_network_are_used(
    searching: Any, service: Any, site: Any, send: Any, result: Any
) -> None:
    site.on(service.path, send(service.build_response([result("A", "https://a.example/", "")])))
    through_proxy = service.build_response([result("Through the proxy", "https://a.example/", "")])
    site.on(f"http://8.8.8.8{service.path}", send(through_proxy))
    searching.asked_at(service.name, "http://8.8.8.8/")
    network = {"proxy": f"http://{site.host}", "user_agent": "Tester/1", "allowed_private_hosts": [site.host]}
    found = await searching.open(network=network).build_search([service.name]).search(SearchQuery(text="x"), 3)
    assert [item.title for item in found.items] == ["Through the proxy"]
    assert site.asked[0].headers["user-agent"] == "Tester/1"


async def test_a_later_page_that_is_late_leaves_the_first_and_an_error(
    searching: Any, services: dict[str, Any], site: Any, send: Any, result: Any
) -> None:
    service = services["baidu_html"]
    first = send(service.build_response([result(f"{n}", f"https://a.example/{n}", "") for n in range(10)]))

    async def never(writer: asyncio.StreamWriter) -> None:
        del writer
        await asyncio.Event().wait()

    searching.asked_at(
        "baidu_html", site.on(service.path, lambda entry: first if service.get_page_number(entry) == 1 else never)
    )
    found = await searching.found("baidu_html", limit=20, budget_ms=2000)
    assert len(found.items) == 10
    assert [error.type for error in found.errors] == ["Timeout"]
