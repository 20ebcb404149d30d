"""Vectors of texts: what a server answers, in the form in which they are stored and compared."""

import math
import sys
from array import array
from dataclasses import dataclass
from operator import mul

from pydantic import BaseModel, Field, ValidationError

from monitor.errors import ModelFailed
from monitor.llm.wire import UsagePayload


class _VectorPayload(BaseModel):
    index: int | None = None
    embedding: list[float] = Field(min_length=1)


class _EmbeddingPayload(BaseModel):
    data: list[_VectorPayload]
    usage: UsagePayload | None = None


@dataclass(frozen=True)
class EmbeddingAnswer:
    """Vectors of length 1; `prompt_tokens` is 0 where the server does not count."""

    vectors: list["Vector"]
    prompt_tokens: int


@dataclass(frozen=True)
class Vector:
    """A vector of length 1, and the signs of its numbers as one whole number, bit by bit."""

    values: "array[float]"

    @classmethod
    def normalise(cls, values: list[float]) -> "Vector":
        """Return the vector in length 1; `ValueError` for one without a direction."""
        length = math.sqrt(math.fsum(value * value for value in values))
        if not math.isfinite(length) or not length:
            raise ValueError("a vector needs a direction")
        return cls(array("f", [value / length for value in values]))

    @classmethod
    def from_bytes(cls, stored: bytes) -> "Vector":
        values = array("f", stored)
        if sys.byteorder == "big":
            values.byteswap()
        return cls(values)

    def to_bytes(self) -> bytes:
        values = array("f", self.values)
        if sys.byteorder == "big":
            values.byteswap()
        return values.tobytes()

    @property
    def signs(self) -> int:
        return int("".join("1" if value > 0 else "0" for value in self.values), 2)

    def compute_similarity(self, other: "Vector") -> float:
        """Return the cosine of the angle between the two."""
        return float(sum(map(mul, self.values, other.values)))


def parse_embeddings(body: bytes, *, count: int) -> EmbeddingAnswer:
    """Parse a server's answer to so many texts; raise `ModelFailed` for an invalid one."""
    try:
        answer = _EmbeddingPayload.model_validate_json(body)
        numbered = {entry.index if entry.index is not None else place: entry for place, entry in enumerate(answer.data)}
        vectors = [Vector.normalise(numbered[place].embedding) for place in range(count)]
    except (ValidationError, ValueError, KeyError) as error:
        raise ModelFailed("llm.no_embeddings", outcome="malformed") from error
    return EmbeddingAnswer(vectors, (answer.usage or UsagePayload()).prompt_tokens)
