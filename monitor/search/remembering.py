"""Answers that serve again: the same query to the same backend is asked once within their lifetime."""

import datetime as dt
import json
from hashlib import sha256

from pydantic import TypeAdapter

from monitor.domain.searches import SearchAnswer
from monitor.domain.searching import Findings, SearchQuery
from monitor.ports import Clock, SearchBackend
from monitor.store.searches import Searches
from monitor.store.sessions import storable

_FINDINGS = TypeAdapter(Findings)
_OF_THE_REQUEST = {"trace_id", "budget_ms"}  # they name and bound a request, and change nothing in its answer


class RememberingBackend:
    """Another backend, its whole answers kept (`ports.SearchBackend`); errors and parts of answers are not.

    `address` is where that backend asks: an answer of one place is none of another.
    """

    def __init__(
        self, backend: SearchBackend, *, address: str, answers: Searches, lifetime: dt.timedelta, clock: Clock
    ) -> None:
        self._backend = backend
        self._address = address
        self._answers = answers
        self._lifetime = lifetime
        self._clock = clock

    @property
    def name(self) -> str:
        """The name of the other backend."""
        return self._backend.name

    async def search(self, query: SearchQuery, limit: int) -> Findings:
        """What was found within the lifetime, else what is found now."""
        key = self.key(query, limit)
        kept = await self._answers.answer(key, not_before=self._clock.now() - self._lifetime)
        if kept is not None:
            return _FINDINGS.validate_python(kept)
        findings = await self._backend.search(query, limit)
        if findings.cut_short is None:
            now = self._clock.now()
            told = json.loads(storable(json.dumps(_FINDINGS.dump_python(findings, mode="json"), ensure_ascii=False)))
            answer = SearchAnswer(key=key, at=now, findings=told)
            await self._answers.keep(answer, not_before=now - self._lifetime)
        return findings

    def key(self, query: SearchQuery, limit: int) -> str:
        """What an answer is kept under: everything that changes it."""
        asked = query.model_dump(mode="json", exclude=_OF_THE_REQUEST)
        document = [self.name, self._address, limit, asked]
        return sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
