"""Decodes pages: which encoding the bytes are really in, whatever the page declares."""

import codecs
import re
from collections import Counter

import webencodings

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))

# Labels that pages carry and the Encoding Standard does not have.
_NAME_BY_LABEL = {
    **dict.fromkeys(("gb-2312", "euc-cn", "cp936", "hz-gb-2312"), "gb18030"),
    **dict.fromkeys(("big-5", "cp950"), "big5"),
    **dict.fromkeys(("ks_c_5601", "cp949", "x-windows-949"), "euc-kr"),
    "cp932": "shift_jis",
    "eucjp": "euc-jp",
    "latin-1": "windows-1252",
    "cp874": "windows-874",
}
# What a page without a usable declaration is in, by the language that it names.
_ENCODING_BY_LANGUAGE = {
    **dict.fromkeys(("pl", "cs", "sk", "hu", "sl", "hr", "ro"), "windows-1250"),
    **dict.fromkeys(("ru", "uk", "bg", "be", "sr", "mk"), "windows-1251"),
    "el": "windows-1253",
    "tr": "windows-1254",
    "he": "windows-1255",
    **dict.fromkeys(("ar", "fa"), "windows-1256"),
    **dict.fromkeys(("et", "lv", "lt"), "windows-1257"),
    "vi": "windows-1258",
    "th": "windows-874",
}

_LANGUAGE = re.compile(rb"<html[^>]{0,400}?\slang\s*=\s*[\"']?([a-z]{2})", re.IGNORECASE)
_JAPANESE_ESCAPES = (b"\x1b$@", b"\x1b$B")
_SINGLE_BYTE = re.compile(r"^(windows-125\d|windows-874|iso-8859-\d+|koi8-[ru]|(?:x-)?mac[\w-]+|ibm866)$")
_META_CHARSET = re.compile(rb"<meta[^>]{0,400}?charset\s{0,9}=\s{0,9}[\"']?\s{0,9}([\w:.-]+)", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"^\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w:.-]+)", re.IGNORECASE)
_HTTP_CHARSET = re.compile(r"charset\s{0,9}=\s{0,9}[\"']?\s{0,9}([\w:.-]+)", re.IGNORECASE)
_NON_ASCII = re.compile(r"[^\x00-\x7f]")
_NON_ASCII_BYTE = re.compile(rb"[\x80-\xff]")
# Korean first: its syllables look like common Chinese characters, the reverse is never true.
_CANDIDATE_ENCODINGS = ("euc-kr", "gb18030", "big5", "euc-jp", "shift_jis")
_JAPANESE = ("euc-jp", "shift_jis", "iso-2022-jp")
# The codec, and the lead bytes of everyday characters in it.
_EVERYDAY_CHINESE = ("gb2312", range(0xB0, 0xD8))
_EVERYDAY_CHARS = {
    **dict.fromkeys(_JAPANESE, ("euc_jp", range(0xB0, 0xD0))),
    "euc-kr": ("euc_kr", range(0xB0, 0xC9)),
    "big5": ("big5", range(0xA4, 0xC7)),
}
_MAX_SAMPLE_BYTES = 60_000


def decode(body: bytes, content_type: str | None) -> tuple[str, str]:
    """Return the text of a page and the name of its real encoding; never raises.

    Declarations are tried in the order in which browsers trust them, but each must decode the bytes without an error.
    Without a usable one the East Asian encodings are compared by how common the characters are that they would give.
    """
    for mark, name in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace"), name
    if any(mark in body for mark in _JAPANESE_ESCAPES):
        return body.decode("iso2022_jp", "replace"), "iso-2022-jp"
    # A text with non-ASCII bytes that is valid UTF-8 is UTF-8: no other encoding gives that by chance.
    if (text := _decode_valid(body, "utf-8")) is not None:
        return text, "utf-8"
    name = _choose_encoding(body, _list_declared_encodings(body, content_type))
    return body.decode(_get_codec(name), "replace"), name


def _choose_encoding(body: bytes, declared: list[str]) -> str:
    sample = body[:_MAX_SAMPLE_BYTES]
    # Nobody writes these by mistake, as many write iso-8859-1.
    if declared and _SINGLE_BYTE.match(declared[0]) and declared[0] != "windows-1252":
        return declared[0]
    multibyte = [name for name in declared if not _SINGLE_BYTE.match(name)]
    for name in multibyte:
        if name != "utf-8" and _decode_valid(body, name) is not None and _measure_commonness(sample, name) > 0.5:
            return name
    text = sample.decode("utf-8", "replace")
    if text.isascii() or text.count("\ufffd") / sum(char > "\x7f" for char in text) < 0.02:
        return "utf-8"
    guesses = (*_CANDIDATE_ENCODINGS, *(name for name in multibyte if name != "utf-8"))
    best = max(guesses, key=lambda name: round(_measure_commonness(sample, name), 2))
    if _measure_commonness(sample, best) > 0.7:
        return best
    named = _LANGUAGE.search(sample)
    if named and (by_language := _ENCODING_BY_LANGUAGE.get(named[1].decode().lower())):
        return by_language
    # Non-ASCII bytes come in whole words in Cyrillic, one by one in Western languages.
    high = len(_NON_ASCII_BYTE.findall(sample))
    is_cyrillic = high > 20 and len(b"".join(re.findall(rb"[\xc0-\xff]{3,}", sample))) > 0.6 * high
    return next((name for name in declared if name != "utf-8"), "windows-1251" if is_cyrillic else "windows-1252")


def _list_declared_encodings(body: bytes, content_type: str | None) -> list[str]:
    in_header = _HTTP_CHARSET.search(content_type or "")
    in_page = (pattern.search(body[:4096]) for pattern in (_XML_ENCODING, _META_CHARSET))
    labels = [in_header[1]] if in_header else []
    labels += [found[1].decode("ascii", "replace") for found in in_page if found]
    return list(dict.fromkeys(filter(None, map(_normalize_label, labels))))


def _normalize_label(label: str) -> str | None:
    """Return the name of the encoding that browsers take a label for; None for one that they do not know."""
    label = label.strip().lower()
    encoding = webencodings.lookup(_NAME_BY_LABEL.get(label, label))
    if encoding is None or encoding.name in ("replacement", "x-user-defined"):
        return None
    return "gb18030" if encoding.name == "gbk" else encoding.name


def _get_codec(name: str) -> str:
    """Return Python's codec for an encoding, the superset that is really written under its name."""
    encoding = webencodings.lookup(name)
    return encoding.codec_info.name if encoding else name


def _decode_valid(body: bytes, name: str) -> str | None:
    """Return the text of bytes that decode without an error, without a character that is cut off at the very end."""
    try:
        return codecs.getincrementaldecoder(_get_codec(name))("strict").decode(body, final=False)
    except (UnicodeError, LookupError):
        return None


def _measure_commonness(sample: bytes, name: str) -> float:
    """Share of everyday characters among those that are not ASCII, 0 to 1: only the right encoding gives many."""
    odd = _NON_ASCII.findall(sample.decode(_get_codec(name), "replace"))
    return sum(count for char, count in Counter(odd).items() if _is_common(char, name)) / len(odd) if odd[1:] else 0.0


def _is_common(char: str, name: str) -> bool:
    if "\u3000" <= char <= "\u3015" or "\uff01" <= char <= "\uff5e" or char in "—…“”‘’·":
        return True
    if not "\u3400" <= char <= "\ud7a3":
        return name in _JAPANESE and "\u3040" <= char <= "\u30ff"
    codec, lead_bytes = _EVERYDAY_CHARS.get(name, _EVERYDAY_CHINESE)
    return char.encode(codec, "replace")[0] in lead_bytes
