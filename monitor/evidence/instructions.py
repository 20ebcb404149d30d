"""Text of a page that speaks to a language model instead of to people.

A stated list of patterns and no judgement: what they miss is bounded by the other checks, what they take too much of
is a sentence that is not quoted. The whole paragraph goes, for an order is often given in one sentence and carried out
in the next.
"""

import re

from monitor.evidence.sentences import split_sentences

_PLEASE = r"^\W*(?:(?:please|now|instead|then|always|only|and|just),?\s)*"
_ENGLISH = (
    (
        r"\b(?:ignore|disregard|forget|override|bypass|do not follow)\b.{0,40}"
        r"\b(?:instructions?|rules?|prompts?|guidelines?|directions?|directives|above|previous|prior|earlier)\b"
    ),
    r"\b(?:previous|prior|above|original|new|updated|following|system|hidden|your)\s(?:instructions?|prompts?|directives?)\b",
    r"^\W*(?:system|assistant|developer|user|human|ai|llm)\s*(?:message|prompt|note|override|instructions?)?\s*[:：>\]]",
    (
        r"\b(?:note|message|attention|notice|instructions?)\s(?:to|for)\s(?:the\s|any\s|all\s)?(?:ai|llms?|bots?|agents?|"
        r"(?:language\s|ai\s)?models?|(?:ai\s)?assistants?|chatbots?)\b"
    ),
    r"\b(?:ai|llm|language)\s(?:models?|assistants?|agents?)\b.{0,30}\breading\sthis\b|\bas\san\s(?:ai|llm|language\smodel)\b",
    (
        r"\byou\s(?:are|must|should|shall|will)\s(?:now\b|from now on\b|an?\s(?:ai|assistant|helpful|language)|"
        r"(?:only|always|instead)\b|(?:cite|quote|write|say|state|reply|respond|answer|output|print|link|use|call|report)\b)"
    ),
    rf"{_PLEASE}(?:write|say|reply|respond|output|print|cite|quote|repeat|append|insert)\b[^.]{{0,40}}?[:：\"“]",
    (
        rf"{_PLEASE}(?:write|say|state|reply|respond|answer|output|print|cite|quote|claim|conclude|report|append|insert|include|"
        r"add|mention|repeat|call|use|visit|open|fetch)\b[^.]{0,40}?(?:\b(?:that|exactly|verbatim|instead|the\sfollowing|"
        r"this\s(?:sentence|url|link|page|source|tool)|as\s(?:the|a|your|our)\s(?:only\s)?(?:source|answer|summary|conclusion)|"
        r"in\syour\s(?:answer|report|summary)|the\s(?:tool|query))\b|https?:|www\.)"
    ),
    (
        r"\b(?:write|say|state|cite|include|add|insert)\b.{0,60}\b(?:in|into|to)\s(?:your|the)\s(?:answer|summary|response|"
        r"final\sreport)\b|\b(?:your|the)\s(?:answer|summary|final\sreport)\s(?:must|should|shall|will)\b"
    ),
)
_CHINESE = (
    (
        r"(?:忽略|无视|忽视|不要理会|不必理会|无需理会|不要遵守|忘记|忘掉|抛开|放弃|绕过|覆盖|取代).{0,12}"
        r"(?:指示|指令|要求|提示词?|规则|设定|说明|命令|上文|上述|以上|之前|前面|先前)"
    ),
    r"(?:系统|开发者|管理员)(?:提示词?|消息|指令|命令|通知)\s*[:：]|^\W*(?:系统|助手|用户|开发者)\s*[:：]",
    (
        r"(?:你|您)(?:现在|从现在起|必须|应当?|需要|只能|只需|务必)?(?:是|扮演|作为|要|把|将)?.{0,8}"
        r"(?:AI|人工智能|语言模型|大模型|智能体|助手|机器人)|(?:致|告|给)(?:各位)?(?:AI|人工智能|语言模型|大模型|智能体|助手|机器人)"
    ),
    r"(?:AI|人工智能|语言模型|大模型|智能体|助手|机器人)(?:助手|模型|程序)?(?:请|们?(?:在)?(?:读|看)到)",
    r"(?:你|您)(?:的)?(?:必须|务必|只能|只需|应当?|需要|要)?(?:在)?(?:报告|回答|答案|摘要|总结|结论)(?:中|里|只|必须|应)",
    (
        r"(?:请|务必|必须|只|仅|直接|改为|一律)(?:在.{0,10})?(?:输出|回答|回复|返回|写上?|写道|引用|注明|声明|宣称|总结为|调用|使用|访问|打开)"
        r"(?:以下|下列|下面|如下|这|该|此|本)?(?:一?[句段个条])?(?:话|内容|文字|句子|网址|网站|链接|地址|网页|工具|结论)(?:[:：“\"]|https?|作为|即可|$)"
    ),
    r"(?:摘要|回答|答案|总结)(?:中|里)?(?:必须|务必|只能|一律)",
    r"^\W*(?:请|务必|必须|现在|只需|改为|直接|立即)+.{0,6}(?:输出|回答|回复|返回|写上?|写道|引用|注明|声明|宣称|调用)\W*[:：“\"]",
)
_FORMATS = (
    r"<\|?/?(?:im_start|im_end|system|assistant|user|endoftext)\b|\[/?(?:INST|SYS)\]|<<SYS>>|###\s*(?:instruction|system)",
    r"<{3}|>{3}",
    (
        r"\b(?:basic_search_news|deep_search_news|search_news_\w+|search_images_for_news|search_tool|search_query|"
        r"paragraph_latest_state|evidenceRefs|browse_page|save_results?(?:_batch)?)\b"
    ),
)
_PATTERNS = re.compile("|".join(f"(?:{one})" for one in (*_ENGLISH, *_CHINESE, *_FORMATS)), re.IGNORECASE)


def reads_as_instruction(sentence: str) -> bool:
    """Whether a sentence reads as an order to a language model."""
    return _PATTERNS.search(sentence) is not None


def sound_lines(text: str) -> list[str]:
    """The paragraphs of a text, a line each, without those in which a sentence reads as an order to a language model.

    Lines that stay are as they were, so that what is cut from one stands in the text.
    """
    return [line for line in text.splitlines() if line.strip() and not is_unsound(line)]


def is_unsound(line: str) -> bool:
    """Whether a sentence of a paragraph reads as an order to a language model."""
    return any(map(reads_as_instruction, split_sentences(line)))
