"""What the program says is in the reader's language: refusals of the API, and pages that show them."""

import re
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser

from monitor.i18n.catalogue import load_catalogue

REFUSALS = (
    ("GET", "/api/items/999999", None),
    ("GET", "/api/items?limit=0", None),
    ("GET", "/api/items?cursor=x", None),
    ("GET", "/api/items?since=yesterday", None),
    ("GET", "/api/items?hidden=x", None),
    ("GET", "/api/sources/999999", None),
    ("GET", "/api/runs/nothing", None),
    ("GET", "/api/nothing", None),
    ("DELETE", "/api/sources", None),
    ("GET", "/api/research/nothing", None),
    ("GET", "/api/briefings/999999", None),
    ("GET", "/api/people/nobody", None),
    ("POST", "/api/people", {"name": "<b>", "role": "reader"}),
    ("POST", "/api/people", {"name": "a", "role": "king", "more": 1}),
    ("POST", "/api/sources", {"name": "x", "url": "nowhere"}),
    ("POST", "/api/sources", {"name": "x", "url": "https://a.example/", "schedule": "whenever"}),
    ("POST", "/api/sources", {"name": "x", "url": "https://a.example/", "timezone": "Mars/Base"}),
    ("POST", "/api/sources/bulk", {"ids": [], "action": "tag"}),
    ("POST", "/api/briefings", {"days": 0}),
    ("POST", "/api/briefings", {"day": "soon"}),
    ("POST", "/api/briefings", {"sources": ["nowhere"]}),
    ("POST", "/api/briefings/999999/send", {"target": "nowhere"}),
    ("POST", "/api/research", {"query": " "}),
    ("POST", "/api/research", {"query": "x", "options": {"models": {"dream": "x"}}}),
    ("POST", "/api/research", {"query": "x"}),
    ("PATCH", "/api/settings", {"llm.top_p": "seven"}),
    ("PATCH", "/api/settings", {"no.such": 1}),
    ("DELETE", "/api/settings/llm.model", None),
    ("PUT", "/api/prompts/no.such.prompt", {"text": ""}),
    ("PUT", "/api/targets/a%20b", {"url": "gopher://x"}),
    ("POST", "/api/deliveries/nothing/retry", None),
    ("PUT", "/api/me/password", {"old": "x", "new": "x"}),
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
        assert set(problem) == {"title", "status", "detail", "code", "args"}, (method, path)
        said = f"{problem['title']} {problem['detail']}"
        is_right = not says_chinese(said) if language == "en" else says_chinese(said) and not says_english(said)
        if not is_right or (problem["code"] not in load_catalogue("en") and problem["code"] != "other"):
            wrong.append((method, path, problem))
    assert not wrong


async def test_without_a_language_the_api_answers_in_english(desk: Any) -> None:
    program = await desk.program("reader")
    problem = (await program.get("/api/items/999999")).json()
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
