"""How public bodies write the numbers of their documents in Chinese, and which words beside a number are not of it."""

import re

_HAN = "[\u4e00-\u9fff]"
_YEAR = r"(?:(?:19|20)\d\d|[一二][〇零○九][〇零○一二三四五六七八九]{2})"
_OPEN, _CLOSE = r"[〔\[({]", r"[〕\])}]"
_COUNT = r"(?:\d{1,4}|[〇零○一二三四五六七八九十百]{1,6})"
_SERIAL = r"[A-Za-z]{0,3}\d{1,8}(?:[-—–之]\d{1,6})?"
_SERIES = (
    # 发改能源规〔2026〕418号, 晋矿安监罚〔2026〕3-017号
    rf"(?:{_HAN}|[A-Za-z]){{1,16}}(?:\s?\({_HAN}{{1,6}}\))?\s?{_OPEN}\s?{_YEAR}\s?年?\s?{_CLOSE}\s?(?:第\s?)?{_SERIAL}\s?号",
    # (2026)京73民初1234号
    rf"{_OPEN}\s?{_YEAR}\s?{_CLOSE}\s?{_HAN}{{1,2}}\d{{0,6}}{_HAN}{{1,6}}(?:第\s?)?\d{{1,7}}\s?号",
    # 公告2026年第3号, 2026年第14号公告
    rf"(?:公告|通告|令|决定)?\s?{_YEAR}\s?年\s?第\s?{_COUNT}\s?号(?:公告|令|通告)?",
    # 国务院令第812号, 证监会令【第231号】
    rf"(?:(?:(?![年月日以第]){_HAN}){{2,20}})?令\s?(?:{_OPEN}{_YEAR}年?{_CLOSE})?\s?[(\[]?\s?(?:第\s?)?{_COUNT}\s?号",
    # 农业农村部公告第912号
    r"(?:公告|通告)\s?第\s?\d{1,4}\s?号",
    # 沪环罚字第12号, 金管銀國字第11502715221號
    rf"{_HAN}{{1,12}}字\s?第\s?\d{{1,12}}\s?号",
    rf"{_YEAR}\s?年\s?{_HAN}{{1,4}}字\s?第\s?\d{{1,4}}\s?号",
    # 第17/2026號法律, 第011/2015-DSB/AMCM號通告
    r"第\s?\d{1,4}(?:/[A-Z]{1,3})?/(?:19|20)\d\d(?:-[A-Z]{1,6}(?:/[A-Z]{1,6})?)?\s?号",
    r"第\s?\d{1,4}/(?:19|20)\d\d(?:-|/)[A-Z]{1,6}\s?号",
    # 〔2026〕12号 under the name of the body, 〔十四届〕第63号
    rf"(?<!{_HAN}){_OPEN}(?:{_YEAR}|{_HAN}{{1,4}}届){_CLOSE}\s?(?:第\s?)?\d{{1,5}}\s?号",
    rf"(?<!{_HAN})第\s?(?:\d{{1,12}}|[〇零○一二三四五六七八九十百]{{1,6}})\s?号(?!修正|令|文|公报|法律副刊|副刊)",
    rf"(?<=[\s府委部局院会])第\s?{_COUNT}\s?号令",
    # GB 18581—2026, DB11/T 1203—2015, T/CEC 12.3-2026
    r"(?<![A-Za-z0-9/])(?:T/[A-Z]{2,8}|[A-Z]{2,5}\d{0,6})(?:/[A-Z]{1,2})?\s?\d{1,6}(?:\.\d{1,3}){0,2}\s?[—–-]\s?(?:19|20)\d\d(?![\d-])",
)
CHINESE_NUMBER = re.compile("|".join(_SERIES))
_FILE_LABEL = (
    r"(?:发文字号|发布文号|公文文号|文\s?号|发文文号|公告文号|通告文号|文书号|(?:行政处罚)?决定书?文书?号"
    r"|档(?:案编)?号)"
)
_LABEL = (
    r"(?:文件编号|文件号|公告编号|公告号码?|通告编号|通告号码|通函编号|通知编号|(?:行政处罚)?决定书编号"
    r"|编\s?号|参考编号|参考档号)"
)
CHINESE_LABEL = re.compile(
    r"(?:^|[\n\s\[|>；;])(?:本[局署会司部处]|我们的?)?"
    rf"(?:(?:{_FILE_LABEL}|{_LABEL})\s?[:|\]][\s:]{{0,3}}|{_FILE_LABEL}[\s\n]{{1,3}})(?P<value>[^\n]{{2,60}})"
)
NUMBER_AT_END = re.compile(
    rf"(?:公告|通告|通知|办法|规定|决定|意见|批复|令|函)\s?\((?P<number>{CHINESE_NUMBER.pattern})\)$"
)
_BESIDE = re.compile(
    r"^(?:公告|通告|决定)(?=\d)|(?<=[号號])(?:公告|通告)$|^[\u4e00-\u9fff]{2,20}(?=令\s?[第〔(\[（【［])"
    r"|(?<=令)\s?[(\[（【［](?=第)"
)


def trim_number(written: str) -> str:
    """Return a number without the body and the kind that stand beside it: 国务院令第812号, 公告2026年第3号."""
    return _BESIDE.sub("", written)
