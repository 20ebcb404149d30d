"""Tokens with limits over HTTP: from where, how often, for which teams; what the pages say of them."""

from typing import Any

import httpx
import pytest

from monitor.services.audit import COMMAND_LINE
from monitor.services.tokens import TokenLimits
from tests.integration.web.conftest import Desk


@pytest.fixture
def desk_settings() -> Any:
    """Behind a proxy that says who asks."""
    return lambda settings: settings.model_copy(
        update={"web": settings.web.model_copy(update={"trusted_proxies": ["127.0.0.1"]})}
    )


async def program(desk: Desk, **limits: Any) -> httpx.AsyncClient:
    token = await desk.app.tokens.create("robot", "admin", limits=TokenLimits(**limits), by=COMMAND_LINE)
    return await desk.client(headers={"Authorization": f"Bearer {token}", "Accept-Language": "en"})


async def test_a_token_is_refused_elsewhere_and_the_audit_says_so_once(desk: Desk) -> None:
    client = await program(desk, networks=["10.1.0.0/16"])
    at_home, elsewhere = {"x-forwarded-for": "10.1.2.3"}, {"x-forwarded-for": "10.2.0.1"}
    assert (await client.get("/api/v1/me", headers=at_home)).status_code == 200
    for path in ("/api/v1/me", "/feeds/items.atom", "/items", "/mcp", "/metrics"):
        refused = await client.get(path, headers=elsewhere)
        assert (path, refused.status_code) in ((path, 403), ("/mcp", 404))
    assert (await client.get("/api/v1/me", headers=elsewhere)).json()["code"] == "token.other_address"
    forged = {"x-forwarded-for": "10.1.2.3, 10.2.0.1"}  # the first part is what the client wrote there
    assert (await client.get("/api/v1/me", headers=forged)).status_code == 403
    large = await client.post("/api/v1/research/documents", content=b"x" * 5_000_000, headers=elsewhere)
    assert large.status_code == 413
    (entry,) = await desk.app.audit.list_entries(action="token.refused")
    assert (entry.person, entry.address) == ("robot", "10.2.0.1")


async def test_what_may_cost_money_is_counted_and_refused_for_the_rest_of_the_day(desk: Desk) -> None:
    client = await program(desk, daily_limit=2)
    statement = {"title": "t", "page": "The fee is 5 yuan.", "sentence": "The fee is 5 yuan."}
    assert (await client.get("/api/v1/items")).status_code == 200
    assert (await client.post("/api/v1/runs", json={"sources": ["none"]})).status_code == 404
    assert (await client.post("/api/v1/verify", json=statement)).status_code == 200
    for path, sent in (("/api/v1/runs", {"sources": ["none"]}), ("/api/v1/verify", statement)):
        refused = await client.post(path, json=sent)
        assert (refused.status_code, refused.json()["code"]) == (429, "token.daily_limit_reached")
        assert 0 < int(refused.headers["retry-after"]) <= 86_401
    assert (await client.post("/api/v1/runs/none/cancel")).status_code == 404, "stopping is free"
    assert (await client.get("/api/v1/items")).status_code == 200
    assert (await client.get("/sources")).status_code == 403, "no way around it by the pages"
    (token,) = (await client.get("/api/v1/tokens")).json()["tokens"]
    assert (token["daily_limit"], token["used_today"]) == (2, 2)
    made = await client.post("/api/v1/tokens", json={"name": "free"})
    assert (made.status_code, made.json()["code"]) == (400, "token.maker_is_limited")


async def test_limits_are_set_on_the_page_and_by_the_api(desk: Desk) -> None:
    await desk.app.teams.create("energy", by=COMMAND_LINE)
    admin = await desk.sign_in("admin", language="en")
    sent = {"name": "a", "role": "reader", "networks": "10.0.0.1, 192.0.2.0/24", "daily_limit": "5", "team": "energy"}
    page = await admin.post("/settings/tokens", sent)
    assert page.status_code == 200
    assert "from 10.0.0.1/32, 192.0.2.0/24" in page.text
    assert "0 of 5 requests today" in page.text
    wrong = await admin.post("/account/tokens", sent | {"name": "b", "daily_limit": "many"})
    assert (wrong.status_code, "from 1 to" in wrong.text) == (400, True)
    body = {"name": "c", "networks": ["2001:db8::/32"], "teams": ["energy"], "daily_limit": 7}
    assert (await admin.send("POST", "/api/v1/me/tokens", json=body)).status_code == 201
    tokens = {token["name"]: token for token in (await admin.get("/api/v1/tokens")).json()["tokens"]}
    assert {name: tokens["c"][name] for name in body} == body
    assert (tokens["a"]["teams"], tokens["a"]["daily_limit"]) == (["energy"], 5)
    unknown = await admin.send("POST", "/api/v1/tokens", json={"name": "d", "teams": ["nobody"]})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "team.not_found")
