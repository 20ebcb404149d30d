"""Messages and pydantic: models that carry them, and what pydantic refuses as one."""

import re
from contextvars import ContextVar
from typing import Any, ClassVar, get_args

from pydantic import BaseModel, SerializationInfo, SerializerFunctionWrapHandler, model_serializer, model_validator
from pydantic_core import ErrorDetails

from monitor.i18n.catalogue import has_message, render
from monitor.i18n.message import Message

LANGUAGE = "language"
"""The key of pydantic's serialisation context for the language of the words; without it, `reader_language`."""

reader_language: ContextVar[str] = ContextVar("reader_language", default="en")
"""The language of the request that is being answered: FastAPI serialises answers and passes no context."""

_CODE_SCHEMA = {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}
_ARGS_SCHEMA = {"anyOf": [{"type": "object", "additionalProperties": True}, {"type": "null"}], "default": None}


class MessageModel(BaseModel):
    """A model some of whose fields are a `Message`, or a `Message | None`.

    `model_dump(context={"language": "zh"})` writes such a field `x` as `x` (its sentence), `x_code` and `x_args`;
    validation reads the message back from the latter two, and takes a sentence without a code as other text.
    """

    message_fields: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        cls.message_fields = tuple(
            name
            for name, field in cls.model_fields.items()
            if field.annotation is Message or Message in get_args(field.annotation)
        )

    @model_serializer(mode="wrap")
    def _write_messages(self, handler: SerializerFunctionWrapHandler, info: SerializationInfo):  # type: ignore[no-untyped-def]
        data = handler(self)
        language = (info.context or {}).get(LANGUAGE) or reader_language.get()
        for name in self.message_fields:
            value = getattr(self, name)
            if isinstance(value, Message) and name in data:
                code, args = self._get_keys(name, is_alias=bool(info.by_alias))
                dumped = value.to_json()
                data |= {name: render(value, language), code: dumped["code"], args: dumped["args"]}
        return data

    @model_validator(mode="before")
    @classmethod
    def _read_messages(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        read = dict(data)
        for name in cls.message_fields:
            code, args = (read.pop(key, None) for key in cls._get_keys(name))
            if code is not None:
                read[name] = Message.from_json({"code": code, "args": args})
            elif isinstance(read.get(name), str):
                read[name] = Message.other(read[name]) if read[name] else None
        return read

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: Any) -> dict[str, Any]:
        """Describe the fields as they are written: a sentence, with code and arguments beside it."""
        written: dict[str, Any] = handler(core_schema)
        properties = handler.resolve_ref_schema(written).get("properties", {})
        for name in cls.message_fields:
            if name in properties:
                is_required = cls.model_fields[name].annotation is Message
                sentence = {"type": "string"} if is_required else {"anyOf": [{"type": "string"}, {"type": "null"}]}
                kept = {
                    key: properties[name][key]
                    for key in ("title", "description", "examples")
                    if key in properties[name]
                }
                properties[name] = kept | sentence
                code, args = cls._get_keys(name, is_alias=True)
                properties[code], properties[args] = dict(_CODE_SCHEMA), dict(_ARGS_SCHEMA)
        return written

    @classmethod
    def _get_keys(cls, name: str, *, is_alias: bool = False) -> tuple[str, str]:
        """Return the names beside a message's: `reason_code`, or `reasonCode` where names go out in camel case."""
        to_alias = cls.model_config.get("alias_generator") if is_alias else None
        names = f"{name}_code", f"{name}_args"
        return (to_alias(names[0]), to_alias(names[1])) if callable(to_alias) else names


_LIMITS = ("ge", "gt", "le", "lt", "min_length", "max_length", "multiple_of", "expected", "pattern")


def describe_validation_error(error: ErrorDetails) -> Message:
    """Return what is wrong with a value, without its place.

    A validator of ours raises `PydanticCustomError(code, "", args)` or `ValueError(code)`; what pydantic finds by
    itself is `validation.<type>`, or `validation.invalid` for a type that the catalogue lacks.
    """
    context = error.get("ctx", {})
    if has_message("en", error["type"]):
        return Message(error["type"], dict(context))
    raised = context.get("error")
    if isinstance(raised, ValueError):
        return Message(str(raised)) if has_message("en", str(raised)) else Message.other(str(raised))
    code = f"validation.{error['type']}"
    if not has_message("en", code):
        return Message("validation.invalid")
    args = {name: _to_plain(context[name]) for name in _LIMITS if name in context}
    if "expected" in args:  # pydantic joins the values to one English phrase
        args["expected"] = re.findall(r"'([^']*)'", args["expected"])
    return Message(code, args)


def _to_plain(limit: Any) -> Any:
    """Return 2 for 2.0: a limit of a float field is shown as people write it."""
    return int(limit) if isinstance(limit, float) and limit.is_integer() else limit
