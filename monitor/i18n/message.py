"""A message to a person before it is words: a code with arguments.

Errors, reasons, alarms and events are kept, sent and logged in this form. A face (page, API, command) renders them in
its reader's language with `monitor.i18n.catalogue.render`; nothing ever parses a rendered sentence.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Self

OTHER = "other"
"""The code of words that we did not write ourselves, such as a server's own complaint: `{text}`."""


class Message:
    """A code of the catalogue, as `source.not_found`, with its arguments: JSON scalars, messages, or lists of these.

    Immutable. No dataclass, because Pydantic would dump one to a dictionary, and with it the messages inside.
    """

    __slots__ = ("args", "code")

    code: str
    args: Mapping[str, Any]

    def __init__(self, code: str, args: Mapping[str, Any] | None = None) -> None:
        object.__setattr__(self, "code", code)
        object.__setattr__(self, "args", dict(args or {}))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a message cannot be changed: {name}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code, self.args)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and (self.code, self.args) == (other.code, other.args)

    def __hash__(self) -> int:
        return hash(self.code)  # the arguments may be lists

    def __repr__(self) -> str:
        return f"Message({self.code!r}, {self.args!r})"

    @classmethod
    def of(cls, code: str, /, **args: Any) -> Self:
        return cls(code, args)

    @classmethod
    def other(cls, text: str) -> Self:
        return cls(OTHER, {"text": text})

    def to_json(self) -> dict[str, Any]:
        """Return `{"code", "args"}`, with messages among the arguments in the same form."""
        return {"code": self.code, "args": {name: _dump(value) for name, value in self.args.items()}}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote; an object without a code is kept as other text."""
        code = value.get("code")
        if not isinstance(code, str):
            return cls(OTHER, {"text": str(dict(value))})
        return cls(code, {name: _load(arg) for name, arg in dict(value.get("args") or {}).items()})

    def walk(self) -> Iterator["Message"]:
        """Yield the message and all that stand among its arguments, the outer ones first."""
        yield self
        for value in self.args.values():
            for inner in value if isinstance(value, list | tuple) else [value]:
                if isinstance(inner, Message):
                    yield from inner.walk()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Let a model's field hold a message; JSON has it as `to_json` writes it."""
        from pydantic_core import core_schema

        write = core_schema.plain_serializer_function_ser_schema(cls.to_json, when_used="json")
        return core_schema.no_info_plain_validator_function(cls._validate, serialization=write)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, Any]:
        properties = {"code": {"type": "string"}, "args": {"type": "object"}}
        return {"type": "object", "properties": properties, "required": ["code", "args"]}

    @classmethod
    def _validate(cls, value: Any) -> "Message":
        if isinstance(value, Message):
            return value
        if isinstance(value, Mapping):
            return cls.from_json(value)
        if isinstance(value, str):  # written before messages had codes
            return cls.other(value)
        raise ValueError("a message is an object with a code and args")

    def __str__(self) -> str:
        inner = " ".join(f"{name}={value!s}" for name, value in self.args.items())
        return f"{self.code} {inner}".rstrip()


def _dump(value: Any) -> Any:
    if isinstance(value, Message):
        return value.to_json()
    if isinstance(value, list | tuple | set | frozenset):
        return [_dump(entry) for entry in value]
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def _load(value: Any) -> Any:
    if isinstance(value, Mapping):
        return Message.from_json(value)
    if isinstance(value, list):
        return [_load(entry) for entry in value]
    return value
