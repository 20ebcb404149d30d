"""The OpenAPI document: what FastAPI derives of the code, with the words and the examples that the code does not hold.

`api/glossary.toml` says what fields and parameters mean. `api/examples.json` has an exchange of each operation; a test
sends each of them to a running service and compares the answer.
"""

import copy
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, JsonValue

from monitor.web.idempotency import HEADER, KEY_PATTERN
from monitor.web.problems import ProblemSchema, build_problem_responses

JsonObject = dict[str, Any]
EXAMPLE_NAME = "example"
_FOLDER = Path(__file__).parent / "api"
_EXAMPLES_FILE = _FOLDER / "examples.json"
_GLOSSARY_FILE = _FOLDER / "glossary.toml"
_SUFFIXES = {"_code": "The code of `{}`.", "_args": "The arguments of the code of `{}`."}
_CAMEL_SUFFIXES = {"Code": "The code of `{}`.", "Args": "The arguments of the code of `{}`."}
_REFERENCE = re.compile(r'"#/components/schemas/([^"]+)"')
_IDEMPOTENCY_PARAMETER: JsonObject = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "schema": {"type": "string", "pattern": KEY_PATTERN},
    "description": "Made up by you, as a UUID: what is sent again with it within 24 hours is not done again.",
}
_METHODS = ("get", "put", "post", "delete", "patch")


class ExampleExchange(BaseModel, extra="forbid"):
    """A request and its answer, as the document shows them.

    Parameters and body that are not given are those of the examples in the code. `media_type` and `response` are null
    where the answer is empty or no text.
    """

    parameters: dict[str, JsonValue] = Field(default_factory=dict)
    body: JsonValue = None
    body_type: str = "application/json"
    status: int
    media_type: str | None = None
    response: JsonValue = None


@dataclass(frozen=True)
class Operation:
    """An operation of the document: its path, method, and what the document says of it."""

    path: str
    method: str
    described: JsonObject

    @property
    def id(self) -> str:
        return str(self.described["operationId"])


@cache
def load_exchanges() -> dict[str, ExampleExchange]:
    """Return an exchange of each operation, in the order in which they can be sent."""
    written = json.loads(_EXAMPLES_FILE.read_text("utf-8"))
    return {name: ExampleExchange.model_validate(exchange) for name, exchange in written.items()}


@cache
def load_glossary() -> dict[str, dict[str, str]]:
    return tomllib.loads(_GLOSSARY_FILE.read_text("utf-8"))


def list_operations(document: JsonObject) -> Iterator[Operation]:
    for path, methods in document["paths"].items():
        for method, described in methods.items():
            if method in _METHODS:
                yield Operation(path, method, described)


def complete_document(derived: JsonObject) -> JsonObject:
    """Return the document of FastAPI with tags, descriptions and examples; what has a description keeps it."""
    document = copy.deepcopy(derived)
    components = document["components"]["schemas"]
    components.update(_build_problem_schemas())
    _drop_unused(document)
    glossary = load_glossary()
    used = {tag for operation in list_operations(document) for tag in operation.described["tags"]}
    document["tags"] = [{"name": tag, "description": text} for tag, text in glossary["tags"].items() if tag in used]
    for name, schema in components.items():
        schema.setdefault("description", glossary["schemas"].get(name, ""))
        for field, described in schema.get("properties", {}).items():
            described.setdefault("description", _describe(name, field, glossary["fields"]))
    exchanges = load_exchanges()
    for operation in list_operations(document):
        _complete_operation(operation, glossary["fields"])
        if operation.id in exchanges:
            _add_exchange(operation, exchanges[operation.id], components)
    return document


def _build_problem_schemas() -> JsonObject:
    schema = ProblemSchema.model_json_schema(ref_template="#/components/schemas/{model}")
    return {**schema.pop("$defs", {}), ProblemSchema.__name__: schema}


def _drop_unused(document: JsonObject) -> None:
    """Drop the components that nothing refers to: FastAPI lists models that others write in another form."""
    components = document["components"]["schemas"]
    waiting, used = set(_REFERENCE.findall(json.dumps(document["paths"]))), set()
    while waiting:
        used |= waiting
        waiting = {name for found in waiting for name in _REFERENCE.findall(json.dumps(components[found]))} - used
    for name in components.keys() - used:
        del components[name]


def _describe(owner: str, name: str, fields: Mapping[str, str]) -> str:
    """Return what a field of this owner, a schema or an operation, means; empty where nothing says so."""
    found = fields.get(f"{owner}.{name}") or fields.get(name)
    if found:
        return found
    for suffix, sentence in (*_SUFFIXES.items(), *_CAMEL_SUFFIXES.items()):
        if name.endswith(suffix):
            return sentence.format(name.removesuffix(suffix))
    return ""


def _complete_operation(operation: Operation, fields: Mapping[str, str]) -> None:
    if operation.method == "post":
        operation.described.setdefault("parameters", []).append(copy.deepcopy(_IDEMPOTENCY_PARAMETER))
        for status, response in build_problem_responses(400, 409, 422).items():  # as web/idempotency.py answers
            operation.described["responses"].setdefault(str(status), response)
    for parameter in operation.described.get("parameters", ()):
        own = parameter["schema"].pop("description", "")
        parameter["description"] = (
            own or parameter.get("description") or _describe(operation.id, parameter["name"], fields)
        )


def _add_exchange(operation: Operation, exchange: ExampleExchange, components: JsonObject) -> None:
    """Write an exchange into an operation, every part of it under the same name."""
    described = operation.described
    for parameter in described.get("parameters", ()):
        own = parameter["schema"].pop("examples", None)
        name = parameter["name"]
        if name in exchange.parameters:
            parameter["examples"] = {EXAMPLE_NAME: {"value": exchange.parameters[name]}}
        elif parameter["in"] == "path" and own:
            parameter["examples"] = {EXAMPLE_NAME: {"value": own[0]}}
    content = described.get("requestBody", {}).get("content", {})
    if content:
        body = content[exchange.body_type]
        value = exchange.body if exchange.body is not None else _find_example(body["schema"], components)
        if value is not None:
            body["examples"] = {EXAMPLE_NAME: {"value": value}}
    if exchange.media_type is not None:
        answer = described["responses"][str(exchange.status)]["content"][exchange.media_type]
        answer["examples"] = {EXAMPLE_NAME: {"value": exchange.response}}


def _find_example(schema: JsonObject, components: JsonObject) -> Any:
    """Return the first example of a schema, of its fields where it has none itself; None without any."""
    while "$ref" in schema:
        schema = components[schema["$ref"].rpartition("/")[2]]
    if schema.get("examples"):
        return schema["examples"][0]
    if "anyOf" in schema:
        return next((found for part in schema["anyOf"] if (found := _find_example(part, components)) is not None), None)
    given = {name: part["examples"][0] for name, part in schema.get("properties", {}).items() if part.get("examples")}
    return given or None
