"""Models that carry messages are written in the reader's language, and read back as codes."""

from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel


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
