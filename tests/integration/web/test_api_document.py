"""The OpenAPI document: nothing in it is without words, and each of its examples is answered as it is written."""

import re
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from jsonschema import Draft202012Validator

from monitor.bootstrap import open_app
from monitor.config.model import Settings
from monitor.web.app import create_web_app
from monitor.web.openapi import EXAMPLE_NAME, JsonObject, list_operations, load_exchanges, load_glossary
from tests.integration.web.exchanges import VARYING, Exchanger, open_example_service, sign_in

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass
class Example:
    """A service that has what the examples name, its document, and who sends them."""

    document: JsonObject
    exchanger: Exchanger


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def document(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> JsonObject:
    folder = tmp_path_factory.mktemp("document")
    settings = Settings(data_dir=folder, database_url=f"sqlite:///{shutil.copy(sqlite_template, folder)}")
    async with open_app(settings) as app:
        found: JsonObject = create_web_app(app).openapi()
    return found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def example(
    tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path, document: JsonObject
) -> AsyncIterator[Example]:
    folder = tmp_path_factory.mktemp("examples")
    shutil.copy(sqlite_template, folder / "monitor.db")
    async with AsyncExitStack() as stack:
        app, aliases = await stack.enter_async_context(open_example_service(folder))
        transport = httpx.ASGITransport(app=create_web_app(app), raise_app_exceptions=False)
        client = httpx.AsyncClient(transport=transport, base_url="http://monitor.example")
        await stack.enter_async_context(client)
        yield Example(document, Exchanger(client, aliases | await sign_in(client, app)))


async def test_every_operation_says_what_it_does_under_a_name_of_its_own(document: JsonObject) -> None:
    operations = list(list_operations(document))
    tags = {tag["name"] for tag in document["tags"] if tag["description"]}
    names = [operation.id for operation in operations]
    assert len(set(names)) == len(names)
    for operation in operations:
        described = operation.described
        assert described.get("summary"), operation.id
        assert described.get("description"), f"{operation.id} has no docstring"
        assert tags.issuperset(described["tags"]), operation.id
        assert operation.path.startswith(("/api/v1/", "/feeds/", "/healthz", "/readyz", "/metrics"))


async def test_every_parameter_and_field_says_what_it_means(document: JsonObject) -> None:
    lacking = [
        f"{operation.id}.{parameter['name']}"
        for operation in list_operations(document)
        for parameter in operation.described.get("parameters", ())
        if not parameter["description"]
    ]
    for name, schema in document["components"]["schemas"].items():
        lacking += [name] if not schema["description"] else []
        lacking += [
            f"{name}.{field}" for field, part in schema.get("properties", {}).items() if not part["description"]
        ]
    assert not lacking, "describe them in the code, or in monitor/web/api/glossary.toml"


async def test_the_glossary_says_nothing_of_what_is_not_there(document: JsonObject) -> None:
    glossary = load_glossary()
    used = {name: schema["description"] for name, schema in document["components"]["schemas"].items()}
    fields = set()
    for owner, name, text in _list_described(document):
        fields |= {(f"{owner}.{name}", text), (name, text)}
    assert not [name for name, text in glossary["schemas"].items() if used.get(name) != text]
    assert not [name for name, text in glossary["fields"].items() if (name, text) not in fields]
    assert glossary["tags"].keys() == {tag["name"] for tag in document["tags"]}


def _list_described(document: JsonObject) -> Iterator[tuple[str, str, str]]:
    for name, schema in document["components"]["schemas"].items():
        yield from ((name, field, part["description"]) for field, part in schema.get("properties", {}).items())
    for operation in list_operations(document):
        for parameter in operation.described.get("parameters", ()):
            yield operation.id, parameter["name"], parameter["description"]


async def test_every_body_and_answer_has_an_example_that_fits_its_schema(document: JsonObject) -> None:
    exchanges, wrong = load_exchanges(), []
    names = {operation.id for operation in list_operations(document)}
    assert exchanges.keys() == names, "monitor/web/api/examples.json; tests/integration/web/exchanges.py writes it"
    for operation in list_operations(document):
        contents = dict(operation.described.get("requestBody", {}).get("content", {}))
        answered = exchanges[operation.id]
        if answered.media_type is not None:
            answers = operation.described["responses"][str(answered.status)]["content"]
            contents[""] = answers[answered.media_type]
        with_example = [content for content in contents.values() if EXAMPLE_NAME in content.get("examples", {})]
        assert len(with_example) == bool(contents) * (1 + ("" in contents and len(contents) > 1)), operation.id
        for content in with_example:
            schema = {**content.get("schema", {}), "components": document["components"]}
            validator = Draft202012Validator(schema)
            value = content["examples"][EXAMPLE_NAME]["value"]
            wrong += [(operation.id, error.json_path, error.message[:200]) for error in validator.iter_errors(value)]
    assert not wrong


async def test_every_example_is_answered_as_it_is_written(example: Example) -> None:
    operations = {operation.id: operation for operation in list_operations(example.document)}
    wrong: list[Any] = []
    for name, written in load_exchanges().items():
        answer = await example.exchanger.send(operations[name])
        media_type, body = example.exchanger.read(answer)
        if (answer.status_code, media_type) != (written.status, written.media_type):
            wrong.append((name, answer.status_code, media_type, str(body)[:300]))
            continue
        differences = list(example.exchanger.compare(written.response, body))
        if name in VARYING:
            assert body.keys() == written.response.keys()
        else:
            wrong += [(name, difference[:300]) for difference in differences]
    assert not wrong, "\n".join(map(str, wrong))


async def test_a_path_without_the_version_answers_the_same_and_names_the_one_that_takes_its_place(
    example: Example,
) -> None:
    client = example.exchanger.client
    old, new = await client.get("/api/topics?limit=1"), await client.get("/api/v1/topics?limit=1")
    assert (old.status_code, old.json()) == (new.status_code, new.json())
    assert re.fullmatch(r"@\d+", old.headers["Deprecation"])
    assert '</api/v1/topics>; rel="successor-version"' in old.headers["Link"]
    assert "Deprecation" not in new.headers
    assert (await client.get("/api/nothing")).json()["code"] == "request.no_such_address"


@pytest.mark.parametrize(
    "path", ["/api/openapi.json", "/api/v1/items?limit=1", "/api/v1/briefings", "/feeds/items.atom"]
)
async def test_who_has_the_answer_already_gets_304_and_no_body(example: Example, path: str) -> None:
    first = await example.exchanger.client.get(path)
    again = await example.exchanger.client.get(path, headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["ETag"] == first.headers["ETag"]
    other = await example.exchanger.client.get(path, headers={"If-None-Match": 'W/"other"'})
    assert (other.status_code, other.content) == (200, first.content)


async def test_a_problem_names_every_field_and_its_type_is_a_page_that_explains_it(example: Example) -> None:
    client = example.exchanger.client
    answer = await client.get("/api/v1/items?limit=0&tier=9&since=yesterday")
    problem = answer.json()
    assert answer.status_code == 422
    assert {error["field"] for error in problem["errors"]} == {"limit", "tier.0", "since"}
    assert all(error["code"] and error["detail"] for error in problem["errors"])
    page = await client.get(problem["type"])
    assert page.status_code == 200
    assert problem["code"] in page.text


async def test_the_pages_of_the_api_show_every_operation_with_its_example(example: Example) -> None:
    client = example.exchanger.client
    index = (await client.get("/api/docs")).text
    assert [
        operation.id for operation in list_operations(example.document) if f"/api/docs/{operation.id}" not in index
    ] == []
    for name in ("get_item", "create_source", "verify_statements", "import_sources", "stream_run_events"):
        page = await client.get(f"/api/docs/{name}")
        assert page.status_code == 200, name
        assert load_exchanges()[name].response is None or "<pre" in page.text
