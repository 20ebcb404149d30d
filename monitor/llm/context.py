"""How long a prompt is in tokens, whether the server read all of it, and how it is made to fit."""

from collections.abc import Sequence

from pydantic import BaseModel

from monitor.llm.chat import ChatMessage

_ASCII_TOKENS = 1 / 4.0
_OTHER_TOKENS = 1 / 1.5
_PRIOR_WEIGHT = 250_000.0
"""How firmly the usual tokens of a character hold against what was measured: as so many characters, squared."""
_MIN_MEASURED = 3
_MIN_JUDGED_TOKENS = 1000
_MIN_LACK = 1 / 8
_MIN_JUDGES, _LONGER = 6, 1.25
_MIN_SHARE_UNMEASURED = 0.4
_LEFT_OUT = "\n[… 中间部分已省略 / the middle was left out …]\n"
_MIN_MESSAGE_CHARS = 400


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text for servers that do not count: 4 Latin or 1.5 other characters each."""
    ascii_chars, other_chars = count_chars(text)
    return round(ascii_chars * _ASCII_TOKENS + other_chars * _OTHER_TOKENS)


def count_chars(text: str) -> tuple[int, int]:
    """Return the number of ASCII and of other characters."""
    ascii_chars = len(text.encode("ascii", "ignore"))
    return ascii_chars, len(text) - ascii_chars


class Calibration(BaseModel):
    """What earlier prompts of a model say of its tokens: the sums of a least-squares fit over two kinds of characters.

    `widest` is the largest part by which a prompt lay below what those before it let expect.
    """

    prompts: int = 0
    ascii_squares: float = 0.0
    other_squares: float = 0.0
    products: float = 0.0
    ascii_tokens: float = 0.0
    other_tokens: float = 0.0
    widest: float = 0.0
    longest_tokens: int = 0

    def add(self, ascii_chars: int, other_chars: int, tokens: int) -> None:
        if self.prompts >= _MIN_MEASURED:
            self.widest = max(self.widest, 1 - tokens / max(self.predict(ascii_chars, other_chars), 1))
        self.prompts += 1
        self.ascii_squares += ascii_chars**2
        self.other_squares += other_chars**2
        self.products += ascii_chars * other_chars
        self.ascii_tokens += ascii_chars * tokens
        self.other_tokens += other_chars * tokens
        self.longest_tokens = max(self.longest_tokens, tokens)

    def get_rates(self) -> tuple[float, float]:
        """Return the tokens of an ASCII and of another character: as measured, near the usual ones where little is."""
        a, b, c = self.ascii_squares + _PRIOR_WEIGHT, self.products, self.other_squares + _PRIOR_WEIGHT
        d = self.ascii_tokens + _PRIOR_WEIGHT * _ASCII_TOKENS
        e = self.other_tokens + _PRIOR_WEIGHT * _OTHER_TOKENS
        determinant = a * c - b * b
        rates = ((d * c - e * b) / determinant, (a * e - b * d) / determinant)
        return max(rates[0], 0.05), max(rates[1], 0.1)

    def predict(self, ascii_chars: int, other_chars: int) -> float:
        ascii_rate, other_rate = self.get_rates()
        return ascii_chars * ascii_rate + other_chars * other_rate

    def is_cut(self, ascii_chars: int, other_chars: int, tokens: int) -> bool:
        """Return whether a count of tokens is an eighth less than this prompt has by what was measured before.

        Only a prompt a quarter longer than all before it is judged, and what it lacks has to be twice of what any of
        these lacked. Without enough of them, less than four tenths of the usual count is a cut.
        """
        expected = self.predict(ascii_chars, other_chars)
        if expected < _MIN_JUDGED_TOKENS or tokens <= 0:
            return False
        if self.prompts < _MIN_JUDGES:
            return tokens < _MIN_SHARE_UNMEASURED * (ascii_chars * _ASCII_TOKENS + other_chars * _OTHER_TOKENS)
        is_longest = expected > _LONGER * self.longest_tokens
        return is_longest and 1 - tokens / expected > max(_MIN_LACK, 2 * self.widest)


def count_message_chars(messages: Sequence[ChatMessage], more: str = "") -> tuple[int, int]:
    """Return the ASCII and other characters of messages, and of what else the prompt holds."""
    texts = [more]
    for message in messages:
        texts += [message.content, *(call.name + call.arguments for call in message.tool_calls)]
        if message.extra or any(call.extra for call in message.tool_calls):
            texts.append(message.model_dump_json(include={"extra": True, "tool_calls": {"__all__": {"extra"}}}))
    counts = [count_chars(text) for text in texts]
    return sum(ascii_chars for ascii_chars, _ in counts), sum(other_chars for _, other_chars in counts)


def fit_messages(messages: Sequence[ChatMessage], chars: int) -> list[ChatMessage]:
    """Return the messages with at most so many characters: the middles of the longest are left out.

    What a prompt asks stands at its beginning and its end. The thoughts that go back with answers stay whole, and no
    message becomes shorter than 400 characters.
    """
    fitted = list(messages)
    while (excess := sum(message.size_chars for message in fitted) - chars) > 0:
        place = max(range(len(fitted)), key=lambda index: len(fitted[index].content))
        content = fitted[place].content
        others = sorted((len(message.content) for message in fitted), reverse=True)[1:2] or [0]
        target = max(len(content) - excess, min(others[0], len(content) - 200), _MIN_MESSAGE_CHARS)
        if len(content) - target < len(_LEFT_OUT):
            break
        half = (target - len(_LEFT_OUT)) // 2
        shortened = content[:half] + _LEFT_OUT + content[len(content) - half :]
        fitted[place] = fitted[place].model_copy(update={"content": shortened})
    return fitted
