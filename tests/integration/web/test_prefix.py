"""Behind a proxy that shows the service under a path: nothing leads out of it."""

import datetime as dt
import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from fastapi.routing import iter_route_contexts
from selectolax.lexbor import LexborHTMLParser

from monitor.config.model import Settings
from monitor.db.tables.collection import Item, Run
from monitor.services.audit import COMMAND_LINE
from monitor.web.middleware import get_url_prefix
from tests.integration.web.conftest import PASSWORD
from tests.integration.web.researches import put

ADDRESS = "https://desk.example/monitor"
PREFIX = get_url_prefix(ADDRESS)
ATTRIBUTES = (
    "href",
    "src",
    "action",
    "formaction",
    "data-url",
    "data-events",
    "data-notes",
    "poster",
    "srcset",
    "content",
)
FOR_PROGRAMS = ("/api", "/feeds", "/metrics", "/healthz", "/readyz")
ELSEWHERE = ("#", "http://", "https://", "data:", "mailto:")
HERE = {"name": "admin", "run_id": "run-1", "task_id": "research-1", "note_index": "0"}
NOON = dt.datetime(2026, 2, 3, 4, tzinfo=dt.UTC)


@pytest.fixture
def desk_settings() -> Callable[[Settings], Settings]:
    return lambda settings: settings.model_copy(update={"web": settings.web.model_copy(update={"public_url": ADDRESS})})


@pytest.fixture
async def admin(desk: Any) -> Any:
    """An administrator at a desk that has one of everything."""
    source = await desk.app.sources.add({"name": "示例部", "url": "https://example.gov/"}, by=COMMAND_LINE)
    await desk.app.store.runs.create(Run(id="run-1", source_id=source.id, source=source.name, planned_at=NOON))
    await desk.app.store.items.save_all(
        [
            Item(
                source_id=source.id,
                source=source.name,
                run_id="run-1",
                section="政策",
                title="储能通知",
                first_seen=NOON,
                url="https://example.gov/1.html",
                url_key="https://example.gov/1.html",
                date=dt.date(2026, 2, 3),
            )
        ]
    )
    await put(desk.app, "research-1", at=NOON)
    await desk.app.people.add("admin", "admin", by=COMMAND_LINE)
    await desk.app.people.set_password("admin", PASSWORD, by=COMMAND_LINE)
    client = await desk.client()
    client.base_url = "https://desk.example"
    answer = await client.post(f"{PREFIX}/sign-in", data={"name": "admin", "password": PASSWORD})
    assert answer.headers["location"] == f"{PREFIX}/"
    return client


def pages_of(desk: Any) -> list[str]:
    """The address of every page: what a person opens, with the one thing of each kind that is there."""
    paths = {
        route.path
        for route in iter_route_contexts(desk.web.routes)
        if route.methods and "GET" in route.methods and not route.path.startswith(FOR_PROGRAMS)
    }
    return sorted(re.sub(r"\{([^}:]+)[^}]*\}", lambda found: HERE.get(found[1], "1"), path) for path in paths)


def leads(page: httpx.Response) -> Iterator[str]:
    """Every address of ours in a page."""
    for node in LexborHTMLParser(page.text).css("*"):
        for name, value in node.attributes.items():
            if (
                name not in ATTRIBUTES
                or not value
                or value.startswith(("#", "http://", "https://", "data:", "mailto:"))
            ):
                continue
            if name != "content":
                yield value
            elif found := re.search(r"url=(.+)", value):
                yield found[1].strip("'\" ")


async def test_nothing_on_any_page_leads_out_of_the_prefix(desk: Any, admin: httpx.AsyncClient) -> None:
    wrong, seen = [], 0
    for path in pages_of(desk):
        page = await admin.get(f"{PREFIX}{path}")
        found = [page.headers["location"]] if page.is_redirect else []
        if page.headers.get("content-type", "").startswith("text/html"):
            found += leads(page)
        seen += len(found)
        wrong += [(path, page.status_code, lead) for lead in found if not is_within(lead)]
        cookies = page.headers.get_list("set-cookie")
        wrong += [(path, header) for header in cookies if f"Path={PREFIX};" not in f"{header};"]
        if page.status_code >= 500:
            wrong.append((path, page.status_code))
    assert not wrong
    assert seen > 100


def is_within(lead: str) -> bool:
    """An address under the prefix, or one that is relative to the page's own."""
    own = lead.removeprefix("javascript:void%28location.href%3D%22https%3A//desk.example")  # the bookmark
    own = own.removeprefix("https://desk.example")
    return own == PREFIX or own.startswith((f"{PREFIX}/", f"{PREFIX}?", "?"))


@pytest.mark.parametrize("is_kept", [True, False], ids=["the proxy leaves the path", "the proxy takes the path away"])
async def test_either_kind_of_proxy_reaches_pages_assets_and_the_api(admin: httpx.AsyncClient, is_kept: bool) -> None:
    before = PREFIX if is_kept else ""
    # The cookie belongs to the path that the browser sees: it is handed over as the proxy would.
    cookie = {"cookie": "; ".join(f"{cookie.name}={cookie.value}" for cookie in admin.cookies.jar)}
    page = await admin.get(f"{before}/account", headers=cookie)
    assert page.status_code == 200
    asset = LexborHTMLParser(page.text).css_first("link[rel=stylesheet]").attributes["href"]
    assert asset.startswith(f"{PREFIX}/static/")
    assert (await admin.get(asset.removeprefix(PREFIX) if not is_kept else asset)).status_code == 200
    assert (await admin.get(f"{before}/api/v1/me", headers=cookie)).json()["name"] == "admin"
    schema = (await admin.get(f"{before}/api/openapi.json")).json()
    assert schema["servers"] == [{"url": PREFIX}]
    stranger = httpx.AsyncClient(transport=admin._transport, base_url=admin.base_url)
    answer = await stranger.get(f"{before}/account?x=1")
    assert answer.headers["location"] == f"{PREFIX}/sign-in?next=%2Faccount%3Fx%3D1"
