"""Models that carry messages are written in the reader's language, and read back as codes."""

import copy
import pickle

from pydantic import BaseModel

from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel, reader_language


class Event(MessageModel):
    where: str
    reason: Message | None = None


def test_a_message_goes_out_as_words_with_its_code_and_arguments_beside_them() -> None:
    event = Event(where="a", reason=Message.other("the server said no"))
    assert event.model_dump(mode="json") == {
        "where": "a",
        "reason": "the server said no",
        "reason_code": "other",
        "reason_args": {"text": "the server said no"},
    }


def test_what_was_written_is_read_back_as_the_same_message() -> None:
    event = Event(where="a", reason=Message.of("page.not_read", cause=Message.of("x.y", number=3), names=["a", "b"]))
    assert Event.model_validate_json(event.model_dump_json()) == event


def test_nothing_to_say_stays_nothing() -> None:
    assert Event(where="a").model_dump() == {"where": "a", "reason": None}


def test_a_sentence_of_an_earlier_version_is_kept_as_other_text() -> None:
    assert Event.model_validate({"where": "a", "reason": "gone"}).reason == Message.other("gone")


def test_a_message_is_written_in_the_language_of_the_reader() -> None:
    event = Event(where="a", reason=Message.of("validation.missing"))
    assert event.model_dump(context={"language": "zh"})["reason"] == "必填"
    assert event.model_dump()["reason"] == "field required"
    token = reader_language.set("zh")
    try:
        assert event.model_dump()["reason"] == "必填"
    finally:
        reader_language.reset(token)


def test_the_schema_tells_that_a_message_is_words_code_and_arguments() -> None:
    properties = Event.model_json_schema(mode="serialization")["properties"]
    assert set(properties) == {"where", "reason", "reason_code", "reason_args"}
    assert properties["reason"]["anyOf"] == [{"type": "string"}, {"type": "null"}]


def test_a_dumped_message_stays_one_until_it_becomes_json() -> None:
    class Kept(BaseModel):
        reason: Message | None = None

    inner = Message.of("page.not_read", cause=Message.of("x.y", number=3), names=["a", "b"])
    assert Kept(reason=inner).model_dump() == {"reason": inner}
    assert Kept.model_validate_json(Kept(reason=inner).model_dump_json()).reason == inner
    assert copy.deepcopy(inner) == pickle.loads(pickle.dumps(inner)) == inner  # noqa: S301
