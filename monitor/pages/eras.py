"""Dates of Asian calendars: numbers written in characters, years of an era, of the Republic of China, of Buddha."""

import datetime as dt
import re
from collections.abc import Iterator

from monitor.pages.calendar import SPACE, DateMatch, match_of, real_date

_DIGIT = dict(zip("〇零○Ｏ一二三四五六七八九正元", (0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 1), strict=True))
_NUMBER = "[〇零○Ｏ一二三四五六七八九十廿卅正元]"
ERA_START = {"令和": 2018, "平成": 1988, "民國": 1911, "民国": 1911, "R": 2018, "H": 1988}
"""The year before the first of each era."""

_BUDDHIST = 543
_END = r"(?!\d|[-/.]\d|[:：]\d)"

_IN_CHARACTERS = re.compile(
    rf"(?P<y>[一二][{''.join(_DIGIT)}]{{3}}|(?<!\d)(?:19|20)\d\d)年(?P<m>{_NUMBER}{{1,3}})月(?P<d>{_NUMBER}{{1,3}})[日号號]"
)
_ERA_IN_CHARACTERS = re.compile(
    rf"(?P<era>令和|平成|民國|民国)(?P<y>{_NUMBER}{{1,4}})年(?P<m>{_NUMBER}{{1,3}})月(?P<d>{_NUMBER}{{1,3}})日"
)
_ERA = re.compile(
    rf"(?P<era>民國|民国|令和|平成|\b[RH](?=\d))?{SPACE}*(?<!\d)(?P<y>\d{{1,3}}|元)"
    rf"(?:{SPACE}*年{SPACE}*(?P<m1>\d{{1,2}}){SPACE}*月{SPACE}*(?P<d1>\d{{1,2}}){SPACE}*日|"
    rf"(?P<sep>[-/.])(?P<m2>\d\d?)(?P=sep)(?P<d2>\d\d?){_END})"
)
_THAI_NAMES = """
มกราคม ม.ค. กุมภาพันธ์ ก.พ. มีนาคม มี.ค. เมษายน เม.ย. พฤษภาคม พ.ค. มิถุนายน มิ.ย.
กรกฎาคม ก.ค. สิงหาคม ส.ค. กันยายน ก.ย. ตุลาคม ต.ค. พฤศจิกายน พ.ย. ธันวาคม ธ.ค.
"""
_THAI_MONTHS = _THAI_NAMES.split()
_THAI = re.compile(
    rf"(?<!\d)(?P<d>\d{{1,2}}){SPACE}*(?P<month>{'|'.join(map(re.escape, _THAI_MONTHS))}){SPACE}*"
    rf"(?:พ\.ศ\.|ค\.ศ\.)?{SPACE}*(?P<y>2[05]\d\d)(?!\d)"
)


def era_dates(text: str, today: dt.date) -> Iterator[DateMatch]:
    """The dates of a text that are written in one of these ways."""
    for found in _IN_CHARACTERS.finditer(text):
        year = int("".join(str(_DIGIT.get(char, char)) for char in found["y"]))
        yield from match_of(found, real_date(year, _number(found["m"]), _number(found["d"]), today))
    for found in _ERA_IN_CHARACTERS.finditer(text):
        year = ERA_START[found["era"]] + _number(found["y"])
        yield from match_of(found, real_date(year, _number(found["m"]), _number(found["d"]), today))
    for found in _ERA.finditer(text):
        month, day = int(found["m1"] or found["m2"]), int(found["d1"] or found["d2"])
        years = 1 if found["y"] == "元" else int(found["y"])
        if found["era"]:
            yield from match_of(found, real_date(ERA_START[found["era"]] + years, month, day, today))
        elif 100 <= years <= today.year - 1911 and (found["d1"] or len(found["m2"]) == 2 == len(found["d2"])):
            # Three digits and no era: only Taiwan writes that.
            yield from match_of(found, real_date(1911 + years, month, day, today))
    for found in _THAI.finditer(text):
        year = int(found["y"])
        month = _THAI_MONTHS.index(found["month"]) // 2 + 1
        yield from match_of(
            found, real_date(year - _BUDDHIST if year > today.year + 1 else year, month, int(found["d"]), today)
        )


def _number(text: str) -> int:
    text = text.replace("廿", "二十").replace("卅", "三十")
    if "十" not in text:
        return int("".join(str(_DIGIT[char]) for char in text))
    tens, _, ones = text.partition("十")
    return _DIGIT.get(tens, 1) * 10 + _DIGIT.get(ones, 0)
