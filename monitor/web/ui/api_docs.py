"""The pages of the API: its operations, one of them with its examples, and what a code of a problem means.

They are made of the OpenAPI document, work without a script, and can be read before signing in, as the document can.
"""

import asyncio
import json
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response

from monitor.i18n.catalogue import LANGUAGES, load_catalogue
from monitor.web.auth import load_principal
from monitor.web.middleware import API_DOCS_PATH, Problem
from monitor.web.openapi import EXAMPLE_NAME, JsonObject, Operation, list_operations
from monitor.web.ui.rendering import Renderer

OperationId = Annotated[str, Path(max_length=80, pattern="^[a-z_]+$")]
ProblemCode = Annotated[str, Path(max_length=80, pattern="^[a-z0-9_.]+$")]

router = APIRouter(prefix=API_DOCS_PATH)


@dataclass(frozen=True)
class FieldRow:
    """A parameter or a field, as a table of the page has it."""

    name: str
    place: str
    type: str
    is_required: bool
    description: str


@router.get("")
async def show_index(request: Request, renderer: Renderer) -> Response:
    """Show all operations by their tags."""
    await load_principal(request)
    document = await asyncio.to_thread(request.app.openapi)  # the first time takes seconds
    operations = list(list_operations(document))
    groups = [(tag, [each for each in operations if tag["name"] in each.described["tags"]]) for tag in document["tags"]]
    return renderer.render("api/index.html", document=document, groups=groups)


@router.get("/{operation_id}")
async def show_operation(request: Request, renderer: Renderer, operation_id: OperationId) -> Response:
    """Show what an operation takes and answers, with an example."""
    await load_principal(request)
    document = await asyncio.to_thread(request.app.openapi)  # the first time takes seconds
    operation = next((each for each in list_operations(document) if each.id == operation_id), None)
    if operation is None:
        raise Problem(404, "request.no_such_address")
    body = operation.described.get("requestBody", {}).get("content", {})
    answers = [
        (status, answer["description"], answer.get("content", {}))
        for status, answer in sorted(operation.described["responses"].items())
    ]
    return renderer.render(
        "api/operation.html",
        operation=operation,
        parameters=[_build_parameter_row(parameter) for parameter in operation.described.get("parameters", ())],
        body_fields=[row for content in body.values() for row in _build_field_rows(content["schema"], document)],
        answers=[(status, text, _list_answer_fields(content, document)) for status, text, content in answers],
        example=_build_example(operation),
    )


@router.get("/problems/{code}")
async def show_problem(request: Request, renderer: Renderer, code: ProblemCode) -> Response:
    """Show the words of a code, which the `type` of a problem leads to."""
    await load_principal(request)
    if code not in load_catalogue("en"):
        raise Problem(404, "request.no_such_address")
    sentences = {language: load_catalogue(language)[code][0] for language in LANGUAGES}
    return renderer.render("api/problem.html", code=code, sentences=sentences)


def _build_parameter_row(parameter: JsonObject) -> FieldRow:
    return FieldRow(
        parameter["name"],
        parameter["in"],
        _describe_type(parameter["schema"]),
        parameter.get("required", False),
        parameter["description"],
    )


def _list_answer_fields(content: JsonObject, document: JsonObject) -> list[FieldRow]:
    """Return the fields of a JSON answer; problems have the same everywhere and are not listed."""
    return _build_field_rows(content.get("application/json", {}).get("schema", {}), document)


def _build_field_rows(schema: JsonObject, document: JsonObject) -> list[FieldRow]:
    named = schema.get("$ref") or schema.get("items", {}).get("$ref", "")
    shape = document["components"]["schemas"].get(named.rpartition("/")[2], schema)
    required = shape.get("required", ())
    return [
        FieldRow(name, "", _describe_type(field), name in required, field["description"])
        for name, field in shape.get("properties", {}).items()
    ]


def _describe_type(schema: JsonObject) -> str:
    """Return a type in a few words, as `string (date)`, `ItemSchema[]` or `integer | null`."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_describe_type(part) for part in schema["anyOf"]))
    if schema.get("type") == "array":
        return f"{_describe_type(schema.get('items', {}))}[]"
    kind = str(schema.get("type", "any"))
    return f"{kind} ({schema['format']})" if "format" in schema else kind


def _build_example(operation: Operation) -> tuple[str, str]:
    """Return the example's request and answer as text; an answer without a body is empty."""
    described, path, query = operation.described, operation.path, []
    for parameter in described.get("parameters", ()):
        value = parameter.get("examples", {}).get(EXAMPLE_NAME, {}).get("value")
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", str(value))
        elif value is not None:
            query += [f"{parameter['name']}={each}" for each in (value if isinstance(value, list) else [value])]
    lines = [f"{operation.method.upper()} {path}{'?' if query else ''}{'&'.join(query)}"]
    sent = [_format_example(content) for content in described.get("requestBody", {}).get("content", {}).values()]
    answered = [
        text
        for response in described["responses"].values()
        for content in response.get("content", {}).values()
        if (text := _format_example(content))
    ]
    return "\n\n".join([*lines, *filter(None, sent)]), "\n\n".join(answered)


def _format_example(content: JsonObject) -> str:
    if EXAMPLE_NAME not in content.get("examples", {}):
        return ""
    value: Any = content["examples"][EXAMPLE_NAME]["value"]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
