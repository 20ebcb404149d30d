"""What the record says in English of failures and alarms, said in the language of a briefing."""

import re

from pydantic import BaseModel

from monitor.domain.causes import Cause, read_cause
from monitor.domain.page import PageErrorCode

_PAGE_ERROR = re.compile(r"(?P<code>[A-Z][A-Za-z]+)(?:/(?P<detail>\w+))?: (?P<message>.*)", re.DOTALL)
_MODEL_FAILURE = re.compile(r"(?P<outcome>[a-z]+)(?:_(?P<status>\d{3}))?: (?P<message>.*)", re.DOTALL)
# The figures of a page error: the status that the site answered with, a time-out, a size.
_FIGURE = re.compile(r"\((\d{3})\)|answered (\d{3})\b|\b(\d+(?:\.\d+)? (?:s|MB))\b")
_NUMBER = re.compile(r"\d+")


class CauseWords(BaseModel):
    """The words of one language; `{}` takes a figure, a name, or a cause in these words.

    `pages` is by code, or by code and detail where the detail says more; `models` by the outcome of a call. `values`
    are words that stand for a value, `original` is said of what is none of these and stays as it is on record.
    """

    sentences: dict[Cause, str]
    pages: dict[str, str]
    models: dict[str, str]
    values: dict[str, str]
    original: str
    aside: str

    def said(self, told: str) -> str:
        """A sentence of the record in these words; one that nobody foresaw as it is, marked as the original."""
        if not re.search("[A-Za-z]{2}", told):
            return told
        return self._known(told) or self.original.format(told)

    def _known(self, told: str) -> str | None:
        if found := read_cause(told):
            cause, values = found
            return self.sentences[cause].format(
                *(self.values.get(value) or self._known(value) or value for value in values)
            )
        return self.values.get(told) or self._of_page(told) or self._of_model(told)

    def _of_page(self, told: str) -> str | None:
        found = _PAGE_ERROR.fullmatch(told)
        if found is None or found["code"] not in set(PageErrorCode):
            return None
        words = self.pages.get(f"{found['code']}/{found['detail']}") or self.pages[found["code"]]
        figure = _FIGURE.search(found["message"])
        return self.aside.format(words, next(filter(None, figure.groups()))) if figure else words

    def _of_model(self, told: str) -> str | None:
        found = _MODEL_FAILURE.fullmatch(told)
        words = self.models.get(found["outcome"]) if found else None
        if found is None or words is None:
            return None
        number = found["status"] or next(iter(_NUMBER.findall(found["message"])), "")
        return words.format(number) if number or "{}" not in words else None


CHINESE = CauseWords(
    sentences={
        Cause.NOTHING_READ: "没有一个栏目能够读取：{}",
        Cause.NOTHING_THERE: "没有一个栏目能够读取。",
        Cause.NO_LIST: "页面上找不到列表",
        Cause.NO_TEXT: "页面没有正文",
        Cause.NO_ARTICLE_DATE: "打不开正文，查不到日期：{}",
        Cause.CUT_SHORT: "读到{}为止",
        Cause.AGENT_CUT_SHORT: "模型读取中断：{}",
        Cause.LEFT_BY_AGENT: "模型漏下 {} 条范围内的条目，已按规则补收",
        Cause.NO_LINKS: "模型没有指出页面上的栏目，改按规则选取",
        Cause.NO_NUMBERS: "模型的回答里没有可用的序号",
        Cause.NEWEST_FIRST: "模型的回答里没有可用的序号，改按日期排列",
        Cause.NO_SENTENCE: "没有一句能与条目核对上",
        Cause.EXTRACT: "模型的摘要未被采用，改为摘录：{}",
        Cause.EMPTY: "没有内容",
        Cause.TOO_SHORT: "过短",
        Cause.TOO_LONG: "过长",
        Cause.TITLE_AGAIN: "只是重复标题",
        Cause.WEB_ADDRESS: "含有网址",
        Cause.NOT_ON_PAGE: "原文中没有 {}",
        Cause.DOWNLOAD: "文件 {} 下载失败：{}",
        Cause.DOCUMENT_OLD: "文件 {} 是旧格式 {}，不读取；可找其 {} 版本",
        Cause.DOCUMENT_KIND: "文件 {} 的格式不能读取",
        Cause.DOCUMENT_EMPTY: "文件 {} 里没有文字，可能是图片",
        Cause.DOCUMENT_LARGE: "文件 {} 超过 {} MB，不读取",
        Cause.DOCUMENT_SLOW: "文件 {} 在 {} 秒内没有读完",
        Cause.DOCUMENT_BROKEN: "文件 {} 读不出来：{}",
        Cause.ROBOTS: "robots.txt 读不出来：{}",
        Cause.LIST_GONE: "原来约有 {} 条的列表已找不到",
        Cause.LIST_FELL: "列表由约 {} 条减到 {} 条",
        Cause.DATES_LOST: "旁边有日期的只剩 {} 条（共 {} 条），以往几乎都有",
        Cause.SILENT: "自 {} 起没有新内容，以往约每 {} 天更新一次",
        Cause.GAP: "前几页上没有上次见过的最新内容，中间可能有遗漏；读了 {} 页，{}",
        Cause.NOT_READ: "最近 {} 次都没有读到：{}",
        Cause.BLOCKED_PAGE: "有一个网页不让读取：{}",
        Cause.BLOCKED_PAGES: "有 {} 个网页不让读取：{}",
        Cause.FAILING: "连续 {} 次采集失败：{}",
    },
    pages={
        "InvalidUrl": "网址无效",
        "NotFound": "网页不存在",
        "Timeout": "网站未按时应答",
        "NetworkError": "连接失败",
        "NetworkError/no_browser": "本机没有可用的浏览器",
        "BadGateway": "网站出错",
        "TooLarge": "网页超过大小上限",
        "UnsupportedType": "不是网页",
        "ParseError": "网页无法解析",
        "Forbidden": "该地址不许访问",
        "WebBlocked": "网站拒绝访问",
        "WebBlocked/captcha_required": "网站要求验证码",
        "WebBlocked/http_412": "网站只让浏览器访问",
        "WebBlocked/http_429": "网站认为访问过于频繁",
        "WebBlocked/http_403": "网站拒绝显示此页",
        "WebBlocked/robots": "网站的 robots.txt 不许读取此页",
        "WebBlocked/empty_shell": "网页的脚本没有显示出内容",
    },
    models={
        "timeout": "模型未按时应答",
        "network": "连不上模型",
        "auth": "模型的密钥无效",
        "malformed": "模型服务的应答不合规范",
        "error": "模型调用出错",
        "http": "模型服务返回 HTTP {}",
        "budget": "模型用量已到上限（{} 个词元）",
        "circuit": "模型连续 {} 次调用失败，本次不再调用",
    },
    values={
        "max_pages": "页数上限",
        "max_items": "条数上限",
        "max_turns": "轮次上限",
        "no_tool_call": "没有调用工具",
        "end": "读到了末页",
        "known": "读到了已知内容",
        "early": "读到了范围之外",
        "error": "读取出错",
        "no reason": "原因不明",
    },
    original="{}（原文）",
    aside="{}（{}）",
)
