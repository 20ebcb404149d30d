"""The bodies and places that the judge of statements knows by name, with their short forms, Chinese and English.

The table is `gazetteer.txt` beside this file; reading it and compiling its patterns takes 50 ms, once, at first use.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files

_TABLE_FILE = "gazetteer.txt"
_SECTION = re.compile(r"\[(\w+)(?: (\w+))?\]")
_COUNTRY_CODE = re.compile(r"([A-Z]{2}): ")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F) if chr(code - 0xFEE0).isalnum()}
_FOLDED_CHARS = str.maketrans(
    {**{chr(wide): chr(char) for wide, char in _WIDE.items()}, "’": "'", "\xa0": " ", "•": "·"}
)

Trie = dict[str, "Trie"]


class NameKind(StrEnum):
    ORGANISATION = "organisation"
    PLACE = "place"
    PERSON = "person"
    PRODUCT = "product"


@dataclass(frozen=True, slots=True, eq=False)
class KnownName:
    """A body or place: its forms, the longest Chinese one first; words of a page that imply it; and where it belongs.

    `home` is the code of the country of a body or place, or the first form of the larger place of a city.
    """

    kind: NameKind
    forms: tuple[str, ...]
    hints: tuple[str, ...]
    home: str
    code: str = ""


@dataclass(frozen=True, slots=True)
class KnownSpan:
    start: int
    end: int
    names: tuple[KnownName, ...]


_FALSE_CONTEXTS = {
    form: re.compile(pattern)
    for form, pattern in {
        "中国": r"[其当集]\|[有家际内]",
        "美国": r"中\|家",
        "日本": r"[\d今当近次即每昨]\||\|[次届报]",
        "加纳": r"[参增追]\|",
        "智利": r"明\|",
        "越南": r"[跨超]\|北",
        "成都": r"[完形构建达变合组]\||\|市圈",
        "海口": r"[出入沿]\|",
        "海南": r"[黄东渤沿南]\||\|[部北]",
        "江西": r"[珠长]\||\|岸",
        "河北": r"[黄淮]\||\|岸",
        "山西": r"\|[路麓]",
        "山东": r"\|路|[中佛]\|",
        "西安": r"[江山广]\|",
        "长春": r"\|[节]",
        "大理": r"\|[石论由]|[重]\|",
        "太原": r"\|[因]",
        "罗马": r"\|[尼]",
        "河内": r"\|[蒙部]",
        "阿里": r"\|[山地]",
        "南通": r"\|过|[指]\|",
        "统计局": r"\|[部限]",
        "人行": r"\|[道横天]|[行]\|",
        "交行": r"[提外]\|",
        "建行": r"\|为|[新在]\|",
        "中行": r"[其集]\||\|[为业政动使]",
        "农行": r"\|为",
        "南网": r"[指]\|",
        "国网": r"[全各中]\||\|[络民站]",
        "环境部": r"\|[分门署]",
        "交通部": r"\|[门分署]",
        "农业部": r"\|[门分署]",
        "财政部": r"\|[门分署]",
        "商务部": r"\|[门分署]",
        "教育部": r"\|[门分署]",
        "水利部": r"\|[门分署]",
        "科技部": r"\|[门分署]",
        "公安部": r"\|[门分署]",
        "民政部": r"\|[门分署]",
        "环境保护部": r"\|[门分署]",
    }.items()
}
"""Characters before and after (`|` is the form itself) between which a form is part of other words."""


def fold_characters(text: str) -> str:
    """Fold full-width letters and digits and typographic apostrophes; every character keeps its place."""
    return text.translate(_FOLDED_CHARS)


def has_chinese(text: str) -> bool:
    return _CHINESE.search(text) is not None


@cache
def load_known_names() -> tuple[KnownName, ...]:
    table = files("monitor.verify").joinpath(_TABLE_FILE).read_text(encoding="utf-8")
    return tuple(_parse_table(table.splitlines()))


def _parse_table(lines: Iterable[str]) -> Iterator[KnownName]:
    section, home = "", ""
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        header = _SECTION.fullmatch(line.strip())
        if header is not None:
            section, home = header[1], header[2] or ""
            continue
        code = _COUNTRY_CODE.match(line)
        chinese, english, further = (field.split(",") for field in line[code.end() if code else 0 :].split("|"))
        forms = tuple(form.strip() for form in (*chinese, *english) if form.strip())
        hints = tuple(hint.strip() for hint in further if hint.strip())
        if section == "city":
            yield KnownName(NameKind.PLACE, forms, (), hints[0] if hints else "")
        else:
            kind = NameKind.ORGANISATION if section == "organisation" else NameKind.PLACE
            yield KnownName(kind, forms, hints, home, code[1] if code else "")


@cache
def _index_forms() -> dict[str, tuple[KnownName, ...]]:
    index: dict[str, tuple[KnownName, ...]] = {}
    for name in load_known_names():
        for form in name.forms:
            index[form] = (*index.get(form, ()), name)
    return index


def get_known_names(form: str) -> tuple[KnownName, ...]:
    """Return what a form may stand for, letter case apart from acronyms aside; several share CMA."""
    index = _index_forms()
    return index.get(form) or index.get(_index_folded_forms().get(form.casefold(), ""), ())


@cache
def _index_folded_forms() -> dict[str, str]:
    return {form.casefold(): form for form in _index_forms() if " " in form}


@cache
def get_place_names() -> frozenset[str]:
    return frozenset(form for name in load_known_names() if name.kind is NameKind.PLACE for form in name.forms)


@cache
def get_demonyms() -> frozenset[str]:
    """Return the adjectives of countries in lower case, with their plurals: they name nothing alone."""
    hints = {hint.casefold() for name in load_known_names() if name.code for hint in name.hints if hint.isascii()}
    adjectives = {hint for hint in hints if hint.endswith(("n", "ish", "ese", "ch", "k", "i", "ss"))}
    return frozenset(adjectives | {f"{adjective}s" for adjective in adjectives})


@cache
def get_name_pattern() -> re.Pattern[str]:
    """Return the pattern of all forms, the longest at each position; Latin ones as whole words."""
    chinese = [form for form in _index_forms() if _CHINESE.match(form)]
    english = [form for form in _index_forms() if not _CHINESE.match(form)]
    latin = rf"(?<![A-Za-z0-9À-ÿ_])(?:{_build_trie_pattern(english)})(?![A-Za-z0-9À-ÿ_])"
    return re.compile(rf"{_build_trie_pattern(chinese)}|{latin}")


def find_known_spans(text: str) -> Iterator[KnownSpan]:
    """Yield where the text has a form of a known name, without overlaps, the longest form at each position."""
    pattern = get_name_pattern()
    index = _index_forms()
    position = 0
    while (match := pattern.search(text, position)) is not None:
        guard = _FALSE_CONTEXTS.get(match[0])
        if guard is not None and guard.search(_get_context(text, match.start(), match.end())):
            position = match.start() + 1
            continue
        yield KnownSpan(match.start(), match.end(), index[match[0]])
        position = match.end()


def _get_context(text: str, start: int, end: int) -> str:
    return f"{text[start - 1 : start] if start else ''}|{text[end : end + 1]}"


def _build_trie_pattern(forms: Iterable[str]) -> str:
    trie: Trie = {}
    for form in forms:
        node = trie
        for char in form:
            node = node.setdefault(char, {})
        node[""] = {}
    return _render_trie(trie)


def _render_trie(node: Trie) -> str:
    branches = [re.escape(char) + _render_trie(child) for char, child in node.items() if char]
    if not branches:
        return ""
    pattern = branches[0] if len(branches) == 1 and "" not in node else f"(?:{'|'.join(branches)})"
    return f"{pattern}?" if "" in node else pattern
