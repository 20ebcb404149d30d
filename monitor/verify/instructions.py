"""Detects prompt injection, text of a page that is addressed to a language model, by a fixed list of patterns."""

import re
import unicodedata

from monitor.extract.sentences import split_sentences

_WRITE = (
    r"(?:write|say|state|cite|quote|mention|report|conclude|claim|recommend|link|answer|reply|respond|output|print)"
)
_TEXT = r"(?:answer|summary|response|reply|output|report)"
_TOOLS = (
    r"\b(?:basic_search_news|deep_search_news|search_news_\w+|search_images_for_news|search_tool|search_query|"
    r"paragraph_latest_state|evidenceRefs|browse_page|save_results?(?:_batch)?)\b"
)

_ENGLISH = rf"""
    \b (?:ignore|disregard|forget|override|bypass|do\snot\sfollow) \b .{{0,40}} \b (?:instructions?|rules?|prompts?|
        guidelines?|directions?|directives|above|previous|prior|earlier) \b
    | \b (?:previous|prior|above|original|new|updated|following|system|hidden|your) \s
        (?:instructions?|prompts?|directives?) \b
    | (?-i: \b (?:SYSTEM|ASSISTANT|DEVELOPER) ) \s?:
    | \b (?:note|message|attention|notice|instructions?) \s (?:to|for) \s (?:the\s|any\s|all\s)?
        (?:ai|llms?|bots?|agents?|(?:language\s|ai\s)?models?|(?:ai\s)?assistants?|chatbots?) \b
    | \b (?:ai|llm|language) \s (?:models?|assistants?|agents?) \b .{{0,30}} \b reading\sthis \b
    | \b as\san\s (?:ai|llm|language\smodel) \b
    | \b (?:ai|llm)s? \s (?:assistants?|agents?|readers?|chatbots?|bots?|crawlers?) \b .{{0,20}}
        \b (?:should|must|shall) \b .{{0,12}} \b (?:{_WRITE}|use|call|include) \b
    | \b (?:ai|llm|language) \s (?:models?|systems?) \b .{{0,20}} \b (?:should|must|shall) \s (?:{_WRITE}) \b
    | \b (?:ai|llm)s? \s (?:assistants?|agents?|readers?|models?|systems?|bots?) \s are \s (?:kindly\s)?
        (?:asked|requested|instructed|told) \b
    | \b you \s (?:are|must|should|shall|will) \s (?:now\b|from\snow\son\b|an?\s(?:ai|assistant|helpful|language)|
        (?:only|always|instead)\b|(?:{_WRITE}|use|call)\b)
    | \b (?:write|say|state|cite|include|add|insert|point) \b .{{0,60}} \b (?:in|into|to) \s (?:your|the) \s
        (?:answer|summary|response|final\sreport) \b
    | \b (?:your|the) \s (?:answer|summary|final\s{_TEXT}) \s (?:must|should|shall|will) \b
    | \b (?:make\ssure|ensure) \s (?:that\s)? (?:in\s)? your \s (?:final\s)? {_TEXT} \b
    | \b cite \b .{{0,30}} https?:
"""

_MODEL = "(?:AI|人工智能|大?语言模型|大模型|智能体|助手|机器人)"
_SAY = "(?:输出|回答|回复|返回|写上?|写入|写道|写明|引用|注明|标注|声明|宣称|提及)"

_CHINESE = rf"""
    (?:忽略|无视|忽视|不要理会|不必理会|无需理会|不要遵守|忘记|忘掉|抛开|放弃|绕过|覆盖|取代) .{{0,12}}
        (?:指示|指令|要求|提示词?|规则|设定|说明|命令|上文|上述|以上|之前|前面|先前)
    | (?:系统|开发者|管理员) (?:提示词?|消息|指令|命令|通知) \s*:
    | (?:你|您) (?:现在|从现在起|必须|应当?|需要|只能|只需|务必)? (?:是|扮演|作为|要|把|将)? .{{0,8}} {_MODEL}
    | (?:致|告|给) (?:各位)? {_MODEL}
    | 作为 (?:一个|一名)? {_MODEL} (?:助手|模型)? [,、] | {_MODEL} (?:助手|模型|程序)? (?:请|们?(?:在)?(?:读|看)到)
    | (?:AI|大?语言模型|大模型|智能体|助手) (?:应当?|必须|须|务必|需)
        (?:(?:将|把).{{0,12}}(?:工具|检索|搜索|来源)|{_SAY}|使用|调用|切换)
    | (?:你|您)的? (?:必须|务必|只能|只需|应当?|需要|要)? 在? (?:报告|回答|答案|摘要|总结|结论) (?:中|里|只|必须|应)
    | (?:请|务必) (?:务必)? 在? (?:本|该|此)? (?:报告|摘要|正文|回答|答案|结论|总结) .{{0,6}} {_SAY}
    | (?:必须|务必|请) 写入 (?:报告|摘要|正文|结论)
    | (?:撰写|生成|输出) (?:本|该|此)? (?:报告|摘要|回答|答案|结论) 时 .{{0,6}} (?:应|必须|务必|请|须|要)
    | 请 (?:务必)? (?:引用|提及|输出) | 请务必 {_SAY}
    | (?:请|务必|必须|只|仅|直接|改为|一律) (?:在.{{0,10}})? (?:{_SAY}|总结为|调用|使用|访问|打开)
        (?:以下|下列|下面|如下|这|该|此|本)? (?:一?[句段个条])?
        (?:话|内容|文字|句子|网址|网站|链接|地址|网页|工具|结论) (?:[:“"]|https?|作为|即可|$)
    | (?:摘要|回答|答案|总结) (?:中|里)? (?:必须|务必|只能|一律)
    | 引用 .{{0,20}} https?: | 引用 .{{0,80}} 作为 (?:唯一)? 的? (?:来源|出处|依据)
"""

_FORMATS = rf"""
    <\|?/?(?:im_start|im_end|system|assistant|user|endoftext|think)\b | \[/?(?:INST|SYS)\] | <<SYS>>
    | \#\#\# \s* (?:instruction|system)
    | <{{3}} | >{{3}}
    | !?\[[^\]]{{0,200}}\]\(https?:
    | {_TOOLS}
"""

_BEGINNINGS = rf"""
    \W* (?: (?:system|assistant|developer|user|human|ai|llm) \s*
        (?:message|prompt|note|override|instructions?)? \s* [:>\]]
    | (?:系统|助手|用户|开发者) \s*:
    | (?:请|务必|必须|现在|只需|改为|直接|立即)+ .{{0,6}} (?:{_SAY}|调用) \W* [:“"]
    | [\[(]?\d{{1,3}}[\])] \s [^|]{{0,200}} \|
    | (?:(?:please|now|instead|then|always|only|and|just),?\s)* (?:
        (?:write|say|reply|respond|output|print|cite|quote|repeat|append|insert) \b [^.]{{0,40}}? [:"“]
        | (?:{_WRITE}|append|insert|include|add|repeat|call|use|visit|open|fetch) \b [^.]{{0,40}}?
            (?:\b(?:that|exactly|verbatim|instead|the\sfollowing|this\s(?:sentence|url|link|page|source|tool)|
            as\s(?:the|a|your|our)\s(?:only\s)?(?:source|answer|summary|conclusion)|in\syour\s{_TEXT}|
            the\s(?:tool|query))\b|https?:|www\.) ) )
"""

_INJECTION = re.compile(f"{_ENGLISH}|{_CHINESE}|{_FORMATS}", re.IGNORECASE | re.VERBOSE)
_INJECTION_AT_START = re.compile(_BEGINNINGS, re.IGNORECASE | re.VERBOSE)
_AS_SOURCE = re.compile(r"(?:列为|作为).{0,6}(?:来源|出处)")
_LAST_ADDRESS = re.compile(r"https?:\S+", re.IGNORECASE)
_MAX_ADDRESS_CHARS, _MAX_WORDS_CHARS = 300, 12
_INVISIBLE_CHARS = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


def is_prompt_injection(text: str) -> bool:
    """Whether a sentence, or a sentence of a paragraph, is an instruction to a language model."""
    plain = _INVISIBLE_CHARS.sub("", unicodedata.normalize("NFKC", text))
    if _INJECTION.search(plain) is not None or _names_address_as_source(plain):
        return True
    return any(map(_INJECTION_AT_START.match, split_sentences(plain)))


def _names_address_as_source(text: str) -> bool:
    """Whether an address stands before 列为来源 or 作为出处, with at most a few words between."""
    for found in _AS_SOURCE.finditer(text):
        before = text[max(0, found.start() - _MAX_ADDRESS_CHARS) : found.start()]
        address = _LAST_ADDRESS.match(before, max(before.rfind("http"), before.rfind("HTTP"), 0))
        if address is not None and len(before) - address.end() <= _MAX_WORDS_CHARS:
            return True
    return False


def list_safe_lines(text: str) -> list[str]:
    """Return the lines of a text, unchanged, without empty ones and those with an instruction to a language model."""
    return [line for line in text.splitlines() if line.strip() and not is_prompt_injection(line)]
