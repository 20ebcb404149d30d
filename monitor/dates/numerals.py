"""Numbers as Chinese and English documents write them: digits, Chinese numerals, and mixtures of both."""

import re
from fractions import Fraction

CHINESE_DIGITS = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"〇": 0}
ZERO_SIGNS = "〇零○◯ＯOΟ"
"""What people write for a zero among Chinese numerals: the character, circles, and letters that look like one."""

_DATE_DIGITS = CHINESE_DIGITS | dict.fromkeys(ZERO_SIGNS, 0) | {"正": 1, "元": 1}
_CHINESE_TENS = str.maketrans({"廿": "二十", "卅": "三十"})
DIGIT_CHARS = "一二三四五六七八九" + ZERO_SIGNS
NUMERAL_CHARS = DIGIT_CHARS + "十廿卅百正元"
_DIGITS = CHINESE_DIGITS | {"两": 2}
_SMALL_SCALES = {"十": 10, "百": 100, "千": 1000}
_LARGE_SCALES = {"万": 10**4, "亿": 10**8}
_ARABIC = re.compile(r"\d+(?:[.,]\d+)*")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?")
_MAX_CHARS = 40  # what is longer counts nothing: a serial number, or an attack on the arithmetic
_CHINESE_DECIMAL = re.compile(r"(?P<whole>[^点]+)点(?P<digits>[〇零一二三四五六七八九]+)(?P<scale>[百千万亿]*)")

_ENGLISH_ONES = """
one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
nineteen
"""
_ENGLISH_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
ENGLISH_WORDS = {word: number for number, word in enumerate(_ENGLISH_ONES.split(), start=1)} | {
    word: 10 * number for number, word in enumerate(_ENGLISH_TENS.split(), start=2)
}
ENGLISH_SCALES = (
    {"hundred": 10**2}
    | dict.fromkeys(("thousand", "k"), 10**3)
    | dict.fromkeys(("million", "mn", "m"), 10**6)
    | dict.fromkeys(("billion", "bn"), 10**9)
    | dict.fromkeys(("trillion", "tn", "trn"), 10**12)
)


def parse_date_numeral(written: str) -> int | None:
    """Return the value of a number below a thousand or of a year in single digits; None where it is none."""
    if written.isdecimal():
        return int(written)
    rest = written.translate(_CHINESE_TENS)
    total = 0
    for sign, size in (("百", 100), ("十", 10)):
        count, found, behind = rest.partition(sign)
        if found:
            if len(count.lstrip(ZERO_SIGNS)) > 1:
                return None
            total += size * (_DATE_DIGITS.get(count.lstrip(ZERO_SIGNS), 1))
            rest = behind
    digits = [_DATE_DIGITS.get(char) for char in rest]
    if None in digits or (total and len(rest.lstrip(ZERO_SIGNS)) > 1):
        return None
    return total + int("".join(map(str, digits)) or "0")


def parse_arabic_number(written: str) -> Fraction | None:
    """The value of a number in digits, 3.2 for `3,2`; None where dots and commas make none, as in a version 1.2.3."""
    if len(written) > _MAX_CHARS:
        return None
    if _THOUSANDS.fullmatch(written):
        is_continental = written.count(".") > 1
        plain = written.replace(".", "").replace(",", ".") if is_continental else written.replace(",", "")
        return Fraction(plain)
    if re.fullmatch(r"\d+(?:[.,]\d+)?", written):
        return Fraction(written.replace(",", "."))
    return None


def parse_numeral(written: str) -> Fraction | None:
    """The value of a run of digits, Chinese numerals and scales: 1.5亿, 一亿五千万, 3万5千, 三点二, 二〇二六.

    None where the run is a word and no number: 十四五, 三五, 万, 千万. A run of bare Chinese digits is a number
    only as people write years and codes: four of them, or with a zero among them.
    """
    run = re.sub(r"[多余来\s]", "", written)
    if len(run) > _MAX_CHARS:
        return None
    point = _CHINESE_DECIMAL.fullmatch(run)
    if point:
        return _parse_chinese_decimal(point["whole"], point["digits"], point["scale"])
    if re.fullmatch(r"[〇零一二三四五六七八九]{2,}", run):
        is_code = len(run) == 4 or ("〇" in run or "零" in run)
        return Fraction("".join(str(_DIGITS[char]) for char in run)) if is_code else None
    if "点" in run or not re.search(r"[\d〇零一二两三四五六七八九十]", run):
        return None
    return _sum_scales(run)


def parse_english_number(tens_or_ones: str, ones: str | None) -> Fraction:
    """The value of a number word below a hundred: `twenty` and `five`, or `eleven` alone."""
    value = ENGLISH_WORDS[tens_or_ones.lower()]
    return Fraction(value + (ENGLISH_WORDS[ones.lower()] if ones else 0))


def _parse_chinese_decimal(whole: str, digits: str, scale: str) -> Fraction | None:
    value = parse_numeral(whole) if whole not in ("零", "〇") else Fraction(0)
    if value is None:
        return None
    decimals = "".join(str(_DIGITS[char]) for char in digits)
    value += Fraction(int(decimals), 10 ** len(decimals))
    for char in scale:
        value *= (_SMALL_SCALES | _LARGE_SCALES)[char]
    return value


def _sum_scales(run: str) -> Fraction | None:
    # Classic reading: `pending` waits for its scale, `section` is what is below the next 万 or 亿.
    total, section, pending = Fraction(0), Fraction(0), None
    has_gap = False
    position = 0
    while position < len(run):
        digits = _ARABIC.match(run, position)
        char = run[position]
        position = digits.end() if digits else position + 1
        if digits or (char in _DIGITS and char not in "〇零"):
            if pending is not None:
                return None
            pending = parse_arabic_number(digits[0]) if digits else Fraction(_DIGITS[char])
            if pending is None:
                return None
        elif char in "〇零":
            has_gap = True
        elif char in _SMALL_SCALES:
            section += (Fraction(1) if pending is None else pending) * _SMALL_SCALES[char]
            pending, has_gap = None, False
        else:
            below = section + (pending or 0)
            if char == "亿":
                total = (total + below) * _LARGE_SCALES[char]
            else:
                total += below * _LARGE_SCALES[char]
            section, pending, has_gap = Fraction(0), None, False
    is_colloquial = pending is not None and run[-1] in _DIGITS and re.search(r"[百千万亿].$", run) and not has_gap
    return None if is_colloquial else total + section + (pending or 0)
