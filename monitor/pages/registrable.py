"""Whose host it is: the part of a host name that somebody registered."""

from urllib.parse import urlsplit

# Names under which people register: gov.cn is nobody's, sample.gov.cn is. The full list has thousands of entries that
# change; these second-level words cover the sites of governments and companies.
_SHARED = frozenset(
    {"com", "net", "org", "gov", "edu", "ac", "co", "or", "go", "ne", "gob", "gouv", "gv", "mil", "govt", "gc"}
)


def registrable_host(url: str) -> str:
    """The registrable part of a host: `sample.gov.cn` for `zfxxgk.sample.gov.cn`; an address stands for itself."""
    host = (urlsplit(url).hostname or "").lower()
    labels = host.split(".")
    if ":" in host or all(label.isdigit() for label in labels) or len(labels) <= 2:
        return host
    take = 3 if len(labels[-1]) == 2 and labels[-2] in _SHARED else 2
    return ".".join(labels[-take:])


def same_site(url: str, other: str) -> bool:
    """Whether two urls lie on hosts of one registrant."""
    return registrable_host(url) == registrable_host(other)
