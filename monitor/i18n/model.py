"""Pydantic models that carry messages: `reason` goes out as words, `reason_code` and `reason_args` beside it."""

from contextvars import ContextVar
from typing import Any

from pydantic import (
    BaseModel,
    GetJsonSchemaHandler,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from monitor.i18n.catalogue import render
from monitor.i18n.message import Message

LANGUAGE = "language"
"""The key of pydantic's serialisation context for the language of the words; without it, `reader_language`."""

reader_language: ContextVar[str] = ContextVar("reader_language", default="en")
"""The language of the request that is being answered: FastAPI serialises answers and passes no context."""


class MessageModel(BaseModel):
    """A model some of whose fields are a `Message` or None.

    `model_dump(context={"language": "zh"})` writes such a field `x` as `x` (its sentence), `x_code` and `x_args`;
    validation reads the message back from the latter two, and takes a sentence without a code as other text.
    """

    @model_serializer(mode="wrap")
    def _write_messages(self, handler: SerializerFunctionWrapHandler, info: SerializationInfo):  # type: ignore[no-untyped-def]
        data = handler(self)
        language = (info.context or {}).get(LANGUAGE) or reader_language.get()
        for name in type(self).model_fields:
            value = getattr(self, name)
            if isinstance(value, Message) and name in data:
                dumped = value.to_json()
                data |= {name: render(value, language), f"{name}_code": dumped["code"], f"{name}_args": dumped["args"]}
        return data

    @model_validator(mode="before")
    @classmethod
    def _read_messages(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        read = dict(data)
        for name in cls._list_message_fields():
            code, args = read.pop(f"{name}_code", None), read.pop(f"{name}_args", None)
            if code is not None:
                read[name] = Message.from_json({"code": code, "args": args})
            elif isinstance(read.get(name), str):
                read[name] = Message.other(read[name]) if read[name] else None
        return read

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        described = handler(schema)
        properties = handler.resolve_ref_schema(described).get("properties", {})
        for name in cls._list_message_fields():
            title = properties.get(name, {}).get("title", name)
            properties[name] = {"title": title, "anyOf": [{"type": "string"}, {"type": "null"}]}
            properties[f"{name}_code"] = {"type": "string", "description": f"The code of `{name}`, where there is one."}
            properties[f"{name}_args"] = {"type": "object", "description": f"The arguments of `{name}`."}
        return described

    @classmethod
    def _list_message_fields(cls) -> list[str]:
        return [name for name, field in cls.model_fields.items() if "Message" in str(field.annotation)]
