"""JSON Schemas of answers, for servers that hold a model to one; what is not required of all is left to the parser."""

from collections.abc import Mapping

from pydantic import JsonValue

TEXT: Mapping[str, JsonValue] = {"type": "string"}
INTEGER: Mapping[str, JsonValue] = {"type": "integer"}
ANY_OBJECT: Mapping[str, JsonValue] = {"type": "object"}
"""An object of which more cannot be said: it is asked for in JSON mode."""


def describe_object(**properties: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {
        "type": "object",
        "properties": {name: dict(schema) for name, schema in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }


def describe_list(element: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {"type": "array", "items": dict(element)}


TEXT_LIST = describe_list(TEXT)
