"""What the program says is in the reader's language: refusals of the API, and pages that show them."""

import re
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser

from monitor.i18n.catalogue import load_catalogue

REFUSALS = (
    ("GET", "/api/v1/items/999999", None),
    ("GET", "/api/v1/items?limit=0", None),
    ("GET", "/api/v1/items?cursor=x", None),
    ("GET", "/api/v1/items?since=yesterday", None),
    ("GET", "/api/v1/items?hidden=x", None),
    ("GET", "/api/v1/sources/999999", None),
    ("GET", "/api/v1/runs/nothing", None),
    ("GET", "/api/nothing", None),
    ("DELETE", "/api/v1/sources", None),
    ("GET", "/api/v1/research/nothing", None),
    ("GET", "/api/v1/briefings/999999", None),
    ("GET", "/api/v1/people/nobody", None),
    ("POST", "/api/v1/people", {"name": "<b>", "role": "reader"}),
    ("POST", "/api/v1/people", {"name": "a", "role": "king", "more": 1}),
    ("POST", "/api/v1/sources", {"name": "x", "url": "nowhere"}),
    ("POST", "/api/v1/sources", {"name": "x", "url": "https://a.example/", "schedule": "whenever"}),
    ("POST", "/api/v1/sources", {"name": "x", "url": "https://a.example/", "timezone": "Mars/Base"}),
    ("POST", "/api/v1/sources/bulk", {"ids": [], "action": "tag"}),
    ("POST", "/api/v1/briefings", {"days": 0}),
    ("POST", "/api/v1/briefings", {"day": "soon"}),
    ("POST", "/api/v1/briefings", {"sources": ["nowhere"]}),
    ("POST", "/api/v1/briefings/999999/send", {"target": "nowhere"}),
    ("POST", "/api/v1/research", {"query": " "}),
    ("POST", "/api/v1/research", {"query": "x", "options": {"models": {"dream": "x"}}}),
    ("POST", "/api/v1/research", {"query": "x"}),
    ("PATCH", "/api/v1/settings", {"llm.top_p": "seven"}),
    ("PATCH", "/api/v1/settings", {"no.such": 1}),
    ("DELETE", "/api/v1/settings/llm.model", None),
    ("PUT", "/api/v1/prompts/no.such.prompt", {"text": ""}),
    ("PUT", "/api/v1/targets/a%20b", {"url": "gopher://x"}),
    ("POST", "/api/v1/deliveries/nothing/retry", None),
    ("PUT", "/api/v1/me/password", {"old": "x", "new": "x"}),
)
PAGES = (
    "/items?q=。",
    "/briefings/now?source=nowhere",
    "/nothing",
    "/items/999999",
    "/runs/nothing",
    "/sources/999999",
)

# Names of fields, addresses and commands stay as they are in either language.
PLAIN = re.compile(r"https?://\S+|`[^`]*`|[\w.]*[._][\w.]*|[A-Z][\w/-]*|“[^”]*”")


def says_english(text: str) -> bool:
    return re.search(r"(?:\b[A-Za-z][a-z]*[ ,:]+){3}", PLAIN.sub("", text)) is not None


def says_chinese(text: str) -> bool:
    return re.search(r"[\u4e00-\u9fff]", text) is not None


@pytest.mark.parametrize("language", ["zh", "en"])
async def test_a_refusal_of_the_api_is_in_the_language_that_was_asked_for(desk: Any, language: str) -> None:
    admin = await desk.sign_in("admin", language=language)
    wrong = []
    for method, path, body in REFUSALS:
        answer = await admin.send(method, path, json=body)
        problem = answer.json()
        assert answer.status_code >= 400, (method, path)
        assert set(problem) == {"type", "title", "status", "detail", "code", "args", "errors"}, (method, path)
        said = f"{problem['title']} {problem['detail']}"
        is_right = not says_chinese(said) if language == "en" else says_chinese(said) and not says_english(said)
        if not is_right or (problem["code"] not in load_catalogue("en") and problem["code"] != "other"):
            wrong.append((method, path, problem))
    assert not wrong


async def test_without_a_language_the_api_answers_in_english(desk: Any) -> None:
    program = await desk.program("reader")
    problem = (await program.get("/api/v1/items/999999")).json()
    assert not says_chinese(problem["title"] + problem["detail"])


@pytest.mark.parametrize("language", ["zh", "en"])
async def test_a_page_that_refuses_does_so_in_its_language(desk: Any, language: str) -> None:
    admin = await desk.sign_in("admin", language=language)
    for path in PAGES:
        answer = await admin.get(path)
        main = LexborHTMLParser(answer.text).css_first("main")
        said = " ".join(node.text() for node in main.css(".trouble, .warning, .lead"))
        assert said, path
        assert says_chinese(said) is (language == "zh"), (path, said)
        assert language == "en" or not says_english(said), (path, said)
