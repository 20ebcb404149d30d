"""How long the pages of a site took until their lists stood still, so that what never ends is not waited for again."""

from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, field

from monitor.urls import get_host

MAX_SETTLE_S = 10.0  # a page that is never at rest is taken as it is then
_MAX_RESTLESS_S = 8.0  # and one whose list is there
_MIN_RESTLESS_S = 2.0
_MAX_VAIN_WAITS = 2
_VAIN_WAIT_S = 1.0
_MAX_SITES = 2_000
_MAX_ENDPOINTS = 50


@dataclass
class _Pace:
    longest_s: float = 0.0
    vain_waits: int = 0
    restless: set[str] = field(default_factory=set)


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
        """Return how long a timer may run for which a page without its list is waited for."""
        pace = self._get_folder(url)
        return MAX_SETTLE_S if pace.vain_waits < _MAX_VAIN_WAITS else max(_VAIN_WAIT_S, 2 * pace.longest_s)

    def note(self, url: str, *, settled_s: float, answered: Collection[str], pending: Collection[str]) -> None:
        """Note a page: when its list last changed, which endpoints answered, and which never came to an end."""
        pace = self._get(get_host(url))
        pace.longest_s = max(pace.longest_s, settled_s)
        pace.restless.difference_update(set(answered) - set(pending))
        if len(pace.restless) + len(pending) <= _MAX_ENDPOINTS:
            pace.restless.update(pending)

    def note_timer(self, url: str, *, was_vain: bool) -> None:
        """Note whether waiting for a timer brought a page's list, or anything."""
        pace = self._get_folder(url)
        pace.vain_waits = pace.vain_waits + 1 if was_vain else 0

    def _get_folder(self, url: str) -> _Pace:
        return self._get(url.split("?")[0].rpartition("/")[0])

    def _get(self, place: str) -> _Pace:
        pace = self._paces.setdefault(place, _Pace())
        self._paces.move_to_end(place)
        if len(self._paces) > _MAX_SITES:
            self._paces.popitem(last=False)
        return pace
