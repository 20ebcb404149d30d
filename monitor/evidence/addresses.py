"""What a url names, apart from what a site adds to it for each visit."""

import re
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from monitor.domain.urls import url_key

_SESSION = re.compile(r";jsessionid=[^/?#]*", re.IGNORECASE)
_PASSING = re.compile(
    r"_|t|ts|v|r|rnd|rand(?:om)?|time(?:stamp)?|sid|session_?(?:id)?|phpsessid|token|csrf\w*|sign(?:ature)?|nonce|"
    r"expires?|key|auth\w*|x-\w+(?:-\w+)*",
    re.IGNORECASE,
)


def address_of(url: str) -> str:
    """The key of what a url names: of its query only what names something, no session, no hour, no signature."""
    parts = urlsplit(_SESSION.sub("", url))
    query = [(name, value) for name, value in parse_qsl(parts.query) if not _PASSING.fullmatch(name)]
    return url_key(parts._replace(query=urlencode(query)).geturl())


def file_name_of(url: str) -> str:
    """The last part of the path, with the query's naming fields; empty where the path ends in a slash."""
    parts = urlsplit(_SESSION.sub("", url))
    query = sorted(value for name, value in parse_qsl(parts.query) if not _PASSING.fullmatch(name))
    return "?".join([unquote(parts.path).rsplit("/", 1)[-1], *query])


def is_home(url: str) -> bool:
    """Whether a url names the first page of a site."""
    return not re.sub(r"/(?:index|default|home|main)(?:\.\w{2,5})?$", "/", urlsplit(url).path).strip("/")
