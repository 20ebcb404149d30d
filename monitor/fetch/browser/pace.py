"""How long the pages of a site took until their lists stood still, so that what never ends is not waited for again."""

from collections import Counter, OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, field

from monitor.urls import get_host

MAX_SETTLE_S = 10.0  # a page that is never at rest is taken as it is then
_MAX_RESTLESS_S = 8.0  # and one whose list is there
_MIN_RESTLESS_S = 2.0
_DECAY = 0.9  # of the longest time with each page, so that one slow hour is forgotten
_MAX_VAIN_WAITS = 2
_VAIN_WAIT_S = 1.0
_MAX_SITES = 2_000
_MAX_ENDPOINTS = 50
_POLL_ANSWERS = 3  # of one endpoint, while the list stands still
_POLL_S = 1.0


@dataclass
class _Pace:
    longest_s: float = 0.0
    vain_waits: int = 0
    restless: set[str] = field(default_factory=set)
    polled: set[str] = field(default_factory=set)


class SitePace:
    """What the process has learned about the pages of each host; the least recently used hosts are forgotten.

    A bound is shortened only where a page's list is there, and only for requests that outlasted the whole wait on an
    earlier page of the host. Such a request still has twice the time that the host's lists took.
    """

    def __init__(self) -> None:
        self._paces: OrderedDict[str, _Pace] = OrderedDict()

    def compute_limit_s(self, url: str, pending: Collection[str], *, has_list: bool) -> float:
        """Return the seconds, counted from the document, after which a page that requests on is taken as it is."""
        if not has_list:
            return MAX_SETTLE_S
        pace = self._get(get_host(url))
        if pending and pace.restless.issuperset(pending):
            return min(_MAX_RESTLESS_S, max(_MIN_RESTLESS_S, 2 * pace.longest_s))
        return _MAX_RESTLESS_S

    def compute_timer_limit_s(self, url: str) -> float:
        """Return how long a page without its list is waited for as long as timers run that may bring it."""
        pace = self._get_folder(url)
        return MAX_SETTLE_S if pace.vain_waits < _MAX_VAIN_WAITS else max(_VAIN_WAIT_S, 2 * pace.longest_s)

    def is_polled(self, url: str, endpoint: str) -> bool:
        """Whether an earlier page of the host requested this again and again, and its list stood still."""
        return endpoint in self._get(get_host(url)).polled

    def note_polled(self, url: str, endpoints: Collection[str]) -> None:
        pace = self._get(get_host(url))
        if len(pace.polled) + len(endpoints) <= _MAX_ENDPOINTS:
            pace.polled.update(endpoints)

    def note(self, url: str, *, settled_s: float, answered: Collection[str], pending: Collection[str]) -> None:
        """Note a page: when its list last changed, which endpoints answered, and which never came to an end."""
        pace = self._get(get_host(url))
        pace.longest_s = max(_DECAY * pace.longest_s, settled_s)
        pace.restless.difference_update(set(answered) - set(pending))
        if len(pace.restless) + len(pending) <= _MAX_ENDPOINTS:
            pace.restless.update(pending)

    def note_timers(self, url: str, *, brought_after_s: float | None) -> None:
        """Note when the last timer brought something that a page without its list was waited for; None: none did."""
        pace = self._get_folder(url)
        if brought_after_s is None:
            pace.vain_waits += 1
        else:
            pace.vain_waits, pace.longest_s = 0, max(pace.longest_s, brought_after_s)

    def _get_folder(self, url: str) -> _Pace:
        return self._get(url.split("?", maxsplit=1)[0].rpartition("/")[0])

    def _get(self, place: str) -> _Pace:
        pace = self._paces.setdefault(place, _Pace())
        self._paces.move_to_end(place)
        if len(self._paces) > _MAX_SITES:
            self._paces.popitem(last=False)
        return pace


class PageWatch:
    """Decides how long one page is waited for, by what is seen of it from time to time; `started` is its document."""

    def __init__(self, pace: SitePace, url: str, *, started: float, deadline: float) -> None:
        self._pace = pace
        self._url = url
        self._started = started
        self._extended = started
        self._scrolls = 0
        self._deadline = deadline
        self._changed = started
        self._rows: str | None = None
        self._answers: Counter[str] = Counter()
        self._has_waited = False
        self._brought_after_s: float | None = None
        self.timer_s: float | None = None
        self.until = min(deadline, started + MAX_SETTLE_S)

    def is_settled(
        self,
        *,
        now: float,
        rows: str,
        has_list: bool,
        scrolls: int,
        is_awaited: bool,
        late_s: float | None,
        pending: Collection[str],
        answers: Counter[str],
    ) -> bool:
        """Return whether the page is taken as it is; if not, wait for requests, or for `timer_s` if that is set.

        `rows` changes with the page's list, `late_s` is when a timer runs out that may bring it. `pending` and
        `answers` are endpoints: those that the browser waits for, and how often each has answered. `is_awaited`: the
        page has not got an answer that the browser may have. With each of its `scrolls` a list has as much time as it
        had at first.
        """
        is_changed = rows != self._rows
        if self.timer_s is not None and is_changed:
            self._brought_after_s = now - self._started
        self.timer_s = None
        if is_changed:
            self._rows, self._changed, self._answers = rows, now, answers.copy()
        if scrolls > self._scrolls:
            self._scrolls, self._extended = scrolls, now
        limit_s = self._pace.compute_limit_s(self._url, pending, has_list=has_list)
        self.until = min(self._deadline, self._extended + limit_s)
        if pending:
            return now >= self.until or (has_list and self._is_polling(now, pending, answers))
        if is_awaited:
            return now >= self.until
        timers_until = self._started + self._pace.compute_timer_limit_s(self._url)
        if late_s is not None and now + late_s < min(self.until, timers_until):
            self.timer_s, self._has_waited = late_s, True
        return self.timer_s is None

    def note(self, *, pending: Collection[str], answers: Counter[str]) -> None:
        """Remember the page for those that follow from its host."""
        if self._has_waited:
            self._pace.note_timers(self._url, brought_after_s=self._brought_after_s)
        self._pace.note(self._url, settled_s=self._changed - self._started, answered=answers, pending=pending)

    def _is_polling(self, now: float, pending: Collection[str], answers: Counter[str]) -> bool:
        """Whether all that is pending has answered several times without a change of the list; once, if it is known."""
        counts = {name: answers[name] - self._answers[name] for name in pending}
        if all(count >= 1 and self._pace.is_polled(self._url, name) for name, count in counts.items()):
            return True
        if now - self._changed < _POLL_S or min(counts.values()) < _POLL_ANSWERS:
            return False
        self._pace.note_polled(self._url, pending)
        return True
