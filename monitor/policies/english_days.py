"""The rules by which English documents state their days."""

import datetime as dt
import re
from collections.abc import Iterator, Sequence

from monitor.policies.day_mentions import add_period, read_count
from monitor.policies.day_rules import HANDED_IN, DayReading, StatedDay
from monitor.policies.document_text import DAY, Sentence
from monitor.vocabulary import DeadlineKind

_D = rf"(?P<day>{DAY})"
_CLOCK = (
    r"(?:\d{1,2}h\d\d|\d{1,2}(?:[:.]\d\d)?\s?(?:a\.?m\.?|p\.?m\.?)?"
    r"(?:\s?\(?(?:[A-Z]{2,5}|[A-Z][a-z]+(?:\s[A-Z][a-z]+)?\s[Tt]ime|local\stime)\)?)?|noon|midday|midnight"
    r"|(?:the\s)?close\sof\s(?:business|play)|COB|(?:the\s)?end\sof\s(?:business|the\sday)|23:59|(?:5|11)\so'clock)"
)
_AT = rf"(?:(?:at\s|by\s)?{_CLOCK},?\s?(?:\([A-Z]{{2,5}}\)\s)?(?:on\s)?)?(?:on\s)?(?:the\s)?"
_BY = re.compile(
    rf"\b(?:by|before|until|till|(?:no|not)\slater\sthan|on\sor\sbefore|prior\sto|through"
    rf"|up\sto(?:\sand\sincluding)?|within|in\stime\sfor|required\s(?:on\sand\safter|from"
    rf"|beginning(?:\son)?))\s{_AT}{_D}",
    re.IGNORECASE,
)
_COMPLIANCE = re.compile(
    rf"\b(?:compliance|transition(?:al)?|grace|implementation|phase-in)\s(?:dates?|deadlines?"
    rf"|periods?)\b[^.;{DAY[1:-1]}]{{0,100}}?"
    rf"(?:\b(?:is|are|of|on|to|until|ends?|expires?)\s|:\s?){_AT}{_D}",
    re.IGNORECASE,
)
_NOT_UNTIL = re.compile(
    rf"\b(?:do(?:es)?|shall|will|need|is|are)\snot\s(?:have\sto\s|need\sto\s|required\sto\s)?(?:apply|comply"
    rf"|be\srequired|bind|be\senforced)\b[^.;{DAY[1:-1]}]{{0,40}}?"
    rf"\b(?:until|before)\s{_D}",
    re.IGNORECASE,
)
_CLOSE = re.compile(
    rf"\b(?:shuts?|clos(?:es?|ing|ed)|deadlines?|due(?:\sdates?)?|ends?|ending|end\sdate|extended|open\suntil|cut-?off"
    rf"|postponed|moved)\b(?P<between>[^.;{DAY[1:-1]}]{{0,90}}?)(?:\b(?:is|are|on|at|by|to|until|for|from|:|now"
    rf"|of|will\sbe)\s|:\s?|\s|\(){_AT}{_D}",
    re.IGNORECASE,
)
_MOVED = re.compile(rf"\bfrom\s{_AT}(?P<old>{DAY}),?\s(?:to|until)\s{_AT}{_D}", re.IGNORECASE)
_RANGE = re.compile(rf"{DAY}\s?(?:to|until|through|[-–—])\s?{_AT}{_D}", re.IGNORECASE)

_FORCE = (
    r"(?:(?:tak(?:es?|ing|en)|took)\seffect|(?:com(?:es?|ing)|came)\sinto\s(?:effect|force|operation)"
    r"|(?:be\s)?(?:brought"
    r"|put)\sinto\s(?:effect|force|operation)|"
    r"enter(?:s|ing|ed)?\sinto\s(?:force|effect)|entry\sinto\s(?:force|effect|application)"
    r"|go(?:es)?\sinto\s(?:effect|force)|becom(?:es?|ing)\s(?:effective|applicable|operative|law|mandatory)|"
    r"(?:is|are|be|was|were)\s(?:in\sforce|effective|applicable|operative)|\bin\sforce|effective|commenc(?:es?"
    r"|ing|ement)|appl(?:y|ies|icable)|"
    r"(?:shall|will)\sapply|with\seffect|start(?:s|ing)?\sto\sapply|operative|in\seffect|starts?|begins?"
    r"|implement(?:ed|ation))"
)
_IN_FORCE = (
    re.compile(
        rf"(?P<verb>\b{_FORCE})(?:\sdates?)?(?P<between>[^.;{DAY[1:-1]}]{{0,60}}?)(?:\b(?:on|from|as\sof"
        rf"|beginning(?:\son)?|starting(?:\son|\sfrom)?|is|be|to|at|after|with|with\seffect\sfrom|since)\s|:\s?"
        rf"|\s?[-–—]+\s?|\s|\()(?:(?:00[:.]01|12[:.]01\sa\.?m\.?|midnight|0[:.]00)\s?(?:on\s)?)?(?:the\s)?{_D}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?:from|on|as\sof|effective"
        rf"|beginning)\s(?:the\s)?{_D},?\s(?P<between>(?:(?!and\b)[a-z'-]+\s){{0,8}}?)(?P<verb>will\sapply"
        rf"|shall\sapply|apply|applies|takes?\seffect|comes?\sinto\s(?:force|effect|operation)"
        rf"|enters?\sinto\sforce|become\seffective|will\scome\sinto\s(?:force|effect|operation)"
        rf"|will\stake\seffect)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"{_D}\s(?P<between>)(?P<verb>is\sthe\s(?:effective|commencement|start)\sdate|effective\sdate"
        rf"|as\sthe\seffective\sdate)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?P<verb>effective\sdate|commencement\sdate|date\sof\seffect|date\sof\scommencement"
        rf"|implementation\sdate|start\sdate|in\sforce\sdate"
        rf"|application\sdate)s?\b(?P<between>[^.;{DAY[1:-1]}]{{0,60}}?){_D}",
        re.IGNORECASE,
    ),
)
_EFFECTIVE_AT_ONCE = re.compile(
    rf"\b(?P<verb>withdrawn|revoked|repealed|rescinded|cancelled)(?P<between>)\swith\s{_D}", re.IGNORECASE
)
_DAY_OF_FORCE = re.compile(
    rf"{_D},?\s(?:being\s)?(?:the\s|as\sthe\s)?(?:date|day)\son\swhich\s(?P<between>(?:[a-z]+\s){{1,4}}?)"
    rf"(?P<verb>becomes?\seffective|takes?\seffect|comes?\sinto\s(?:effect|force|operation)|commences?)",
    re.IGNORECASE,
)
_BEGINS = re.compile(
    rf"\b(?P<verb>appl(?:y|ies)|effective)\b(?P<between>[^.;]{{0,60}}?\b(?:periods?"
    rf"|years?)\s(?:that\s)?(?:begin(?:ning)?|starting|commencing)\son\sor\safter)\s{_D}",
    re.IGNORECASE,
)
_FROM_DAY = re.compile(
    rf"^(?:[-•*–·▪]\s|\(?\w{{1,3}}[.)]\s)?(?:From|As of|With effect from|Effective|Starting"
    rf"|Beginning(?:\son)?)\s{_D},?\s(?P<between>)(?P<verb>[^.;]{{3,160}}?\b(?:must|shall|may|will|is|are|also"
    rf"|covers?|appl(?:y|ies))\b)"
)
_FORBIDS = re.compile(
    rf"\b(?:will|shall)\s(?:then\s)?be(?:come)?\s(?P<verb>illegal|banned|prohibited|unlawful|mandatory|compulsory"
    rf"|required)\b"
    rf"(?P<between>[^.;]{{0,80}}?)\s(?:from|as\sof|on)\s{_D}",
    re.IGNORECASE,
)
_RUNS = re.compile(
    rf"\b(?:runs?|lasts?|operates?|continues?)\sfor\s(?:a\speriod\sof\s)?(?P<n>\d{{1,3}}"
    rf"|[a-z]{{3,9}})\s(?P<unit>years?|months?|weeks?)\s(?:from|starting|beginning)\s(?:on\s)?{_D}",
    re.IGNORECASE,
)
_VALID = (
    re.compile(
        rf"\b(?:(?:this|the)\s(?:[a-z]+\s)?(?:pilot|trial|sandbox|scheme|instrument|order|notice|regulations?"
        rf"|measures?)|it)\b"
        rf"[^.;]{{0,60}}?\b(?:ends?|closes|is\s(?:repealed|revoked)|stops?"
        rf"|finish(?:es)?)(?P<between>)\s(?:on\s)?(?:at\sthe\s(?:start|end|close)\sof\s)?{_D}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?:authori[sz]ed|permitted|exempt(?:ed)?|suspended"
        rf"|waived)\b(?P<between>[^.;{DAY[1:-1]}]{{0,40}}?)\s(?:through|until)\s{_AT}{_D}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\bextend(?:s|ed|ing)?\b(?P<between>[^.;]{{0,60}}?\b(?:relief|waiver|exemption|order|pilot|sandbox"
        rf"|scheme|measures?|rules?|guidance|instrument|authori[sz]ation)\b[^.;]{{0,40}}?)\s(?:to|until"
        rf"|through)\s{_D}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?:expir(?:es?|y|ing|ation)|sunsets?|laps(?:es?|ing)|ceas(?:es?|ing)\s(?:to\s(?:have\seffect|apply"
        rf"|be\sin\sforce|be\seffective)|on|operation|effect)|valid|remains?\sin\s(?:force|effect|operation)"
        rf"|continues?\sin\s(?:force|effect)|(?:in\s(?:force|effect)|effective|appl(?:y|ies))\suntil|runs?\suntil"
        rf"|terminat(?:es?|ion))\b(?P<between>[^.;{DAY[1:-1]}]{{0,50}}?)(?:on|until|through|to|at|is|:"
        rf"|by)?\s?{_AT}{_D}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?:in\s(?:force|effect)|effective|appl(?:y|ies)|runs?|valid)\s(?P<between>)(?:from\s)?{DAY}\s?(?:to"
        rf"|until|through|[-–—])\s?{_D}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?:[Tt]his|[Ii]t|[Tt]hese)\s(?:[a-z]{{3,14}}\s)?(?:will\s)?(?:is|are|be|stands?)\s(?:repealed|revoked"
        rf"|withdrawn)(?P<between>)\s(?:on|from|with\seffect\sfrom)\s{_D}",
        re.IGNORECASE,
    ),
)
_COMMENT = re.compile(
    r"\bcomment|\brespon[ds]|\bfeedback|\bviews?\b|\bconsultation\b(?!\spaper\s[A-Z0-9])|\brepresentations?\b"
    r"|\bobjections?\b|\bsubmissions?\b|\bwritten\b|\bhave\syour\ssay|\bcall\sfor\s(?:evidence|input)"
    r"|\bfeed\s?back|\binput\b|\bremarks\b|\breply\b|\breplies\b|\banswers?\b",
    re.IGNORECASE,
)
_STRONG_COMMENT = re.compile(
    r"\b(?:send|submit)\s(?:us\s)?(?:their|your)\sremarks\b|\bcomment(?:s|ing|\speriod|er)?\b|\bfeedback\b"
    r"|\bconsultation\s(?:closes|ends|period|runs|is\sopen"
    r"|will\s(?:close|end)|deadline|closing)|\bviews\b|\bresponses?\s(?:to\sth|should|must|are|by|due|deadline)"
    r"|\brepresentations\b|\brespond\b",
    re.IGNORECASE,
)
_APPLY = re.compile(
    r"\bappl(?:y|ications?|icants?|ying)\b(?!\s(?:to|from|the\srule))|\bbids?\b|\btenders?\b|\bnominat"
    r"|\bregist(?:er|ration)|\bexpressions?\sof\sinterest|\bproposals?\b|\bgrant\b|\benrol|\bsubmit\b"
    r"|\bsubmissions?\b|\bfile\b|\bfilings?\b|\b(?:to|can|may)\sbe\s(?:submitted|filed|lodged|sent)\b"
    r"|\breports?\s(?:are\s)?due|\bwindow\sfor\srequests|\brequests\sfor\b|\bnotify\b|\bsend\b|\bentries\b",
    re.IGNORECASE,
)
_APPLY_NOUN = re.compile(
    r"\b(?:applications?|applicants?|bids?|tenders?|nominations?|forms\b.{1,60}\blodged|expressions?\sof\sinterest"
    r"|grants?"
    r"|registrations?|entries|proposals?)\b",
    re.IGNORECASE,
)
_COMPLY = re.compile(
    r"\bcompl(?:y|iance|iant)|\bmust\b|\bshall\b|\brequired\b|\bshould\b|\btransition|\bensure|\bin\splace\b"
    r"|\bmeet\b|\bremediat|\badopt\b|\bphase[d\s-]|\bhave\suntil\b|\bneed\sto\b|\bobliged|\btranspos"
    r"|\bgrace\speriod|\bcease\b|\bretrofit",
    re.IGNORECASE,
)
_DUTY = re.compile(
    r"\bmust\b|\bshall\b|\brequired\s(?:to|by)\b|\bhave\suntil\b|\bneed\sto\b|\bobliged\b|\bcompl(?:y|iance"
    r"|iant)\b|\A\s?(?:\(\w{1,3}\)\s)?(?:Replace|Inspect|Install|Remove|Comply|Complete|Ensure|Provide|Report|Update"
    r"|Label|Stop)\b"
    r"|\b(?:is|are)\sexpected\sto\s(?!(?:take|come|enter|apply|be\s(?!compliant)|start|publish|begin|grow|rise|fall"
    r"|reach|last|cost))|\bexpected\sto\s(?:comply|be\scompliant|have)|\btransition|\bshould\b|\bgrace\speriod",
    re.IGNORECASE,
)
_GOAL = re.compile(
    r"\btargets?\b|\bgoals?\b|\baims?\b|\bambition|\bexpect(?:s|ed)?\sto\s(?:submit|send|hold|launch|publish|reach"
    r"|consult|take|come"
    r"|enter|issue|finali[sz]e|make|be\sin)|\bplans?\sto\b|\bintends?\b|\bforecast|\bproject(?:ed|ion)"
    r"|\bshould\sbe\s(?:out|ready|published|available)\b|\bprojects?\s(?:must|should)\s(?:start|end|finish|run|begin)"
    r"|\blikely\b|\bwill\s(?:publish|issue|consult|announce|report|review|consider|set\sout|finali[sz]e|make\sa"
    r"|decide)|\bwe\s(?:will|expect|aim|plan|intend|hope)\b|\bGDP\b|\bper\scent\sby\b|\bnet\szero\b|\banticipat",
    re.IGNORECASE,
)
_EVENT = re.compile(
    r"\bmeeting|\bhearing|\bworkshop|\bwebinar|\bconference|\bseminar|\bforum\b|\bevent\b|\broundtable|\bspeech"
    r"|\bsummit|\bround-?table",
    re.IGNORECASE,
)
_HEARSAY = re.compile(
    r"\bexpect(?:s|ed)?\b|\banticipat|\blikely\b|\bmay\b|\bmight\b|\bcould\b|\bplans?\sto\b|\baims?\sto\b"
    r"|\bintends?\b|\bproposed\s(?:effective|implementation|commencement|start)|\btarget(?:ed|ing)?\b"
    r"|\bscheduled\sto\sbe\smade|\bif\sapproved|\bsubject\sto\b|\bwould\b|\bprovisional|\bindicative",
    re.IGNORECASE,
)
_PAST_FORCE = re.compile(
    r"\b(?:took|came|entered|went|became|has|have|had|been|since|applied|commenced)\b", re.IGNORECASE
)
_MAX_NEWS_DAYS = 3
_RUNNING = re.compile(r"\b(?:the|this)\s(?:[a-z]+\s)?(?:pilot|trial|sandbox|scheme)\s(?:will\s)?\Z", re.IGNORECASE)
_NO_START = re.compile(r"start|begin|implement", re.IGNORECASE)
_ENDS = re.compile(r"\b(?:until|before|by|no later than|end|expire)\b", re.IGNORECASE)
_ENDED = re.compile(r"\b(?:repealed|revoked|rescinded|withdrawn|cancelled|superseded|replaced)\b", re.IGNORECASE)
_PAPERS = re.compile(r"\bapplications?\b|\bconsultation\b|\bfor\scomments\b", re.IGNORECASE)
_PROPOSED = re.compile(
    r"\b(?:expect|anticipat|likely|could|might|would|intend|plan|aim|propos|provisional|indicative)", re.IGNORECASE
)
_OTHER_SUBJECT = re.compile(
    r"\b(?:Act|Regulations?|Directive|Ordinance|Order|Code|Treaty"
    r"|Agreement)\b(?:\s\([^()]{1,30}\))?(?:\s(?:No\.\s)?[\d/]{1,9})?,?\s(?:which|that|as)\b",
    re.IGNORECASE,
)
_PERIOD_OF_FIGURES = re.compile(
    r"\b(?:quarter|months?|year|period|week|half)\s(?:ended|ending|to)\b|\bas\s(?:of|at)\b|\brose\b|\bfell\b"
    r"|\bincreased\b|\bdecreased\b|\bcompared\b|\bper\scent\b|\btotall?ed\b",
    re.IGNORECASE,
)
_BULLET = re.compile(r"\s?(?:[-•*–·▪]|\(?[a-z0-9]{1,3}[.)])\s")
_SUBJECT = re.compile(
    r"(?:^|[.;:,]\s|\b(?:and|while|but|whereas)\s)(?:the\s|all\s|any\s"
    r"|existing\s(?=existing))?(?P<subject>(?:(?!must|shall|will|should|are|is|have|has|may|need|can"
    r"|to\b)[A-Za-z][\w'’/-]*\s){1,8}?)(?:must|shall|will|should|are|is|have|has|need)\b[^;]{0,160}$",
    re.IGNORECASE,
)
_GENERAL_SUBJECT = re.compile(
    r"^(?:th(?:e|is|ese|ose)\s)?(?:(?:final|new|amended|revised|interim|proposed|updated)\s)*(?:rules?"
    r"|regulations?|orders?|guidance|guidelines?|directive|notice|circular|act|policy|instrument|requirements?"
    r"|amendments?|standard|changes?|comments?|responses?|consultation|submissions?|it|they|you|we|firms?"
    r"|applications?|interested\sparties|all\sfirms|decision|code|statement|deadline|closing\sdate|scheme"
    r"|measures?|provisions?|determination|bylaw|by-law)\s*$",
    re.IGNORECASE,
)


def find_stated_days(sentences: Sequence[Sentence], reading: DayReading) -> Iterator[StatedDay]:
    """Yield the days that the sentences of a document state of it, in no order."""
    for place, sentence in enumerate(sentences):
        if not sentence.days:
            continue
        context = sentences[place - 1].text if place and sentences[place - 1].line >= sentence.line - 1 else ""
        if _BULLET.match(sentence.text):
            context = next(
                (lead.text for lead in reversed(sentences[max(0, place - 12) : place]) if lead.text.endswith(":")),
                context,
            )
        taken: set[str] = set()
        for kind, found in () if reading.is_news else _match_validity(sentence, reading):
            taken.add(found["day"])
            if stated := _state(sentence, kind, found, reading.published_on):
                yield stated
        for kind, found in _match_due(sentence, context, reading, taken):
            if stated := _state(sentence, kind, found, reading.published_on):
                yield stated
        if runs := _RUNS.search(sentence.masked):
            yield from _state_run(sentence, runs)


def _state_run(sentence: Sentence, runs: re.Match[str]) -> Iterator[StatedDay]:
    """Yield both ends of what runs for 18 months from 1 March 2027."""
    first = sentence.get_day(runs["day"]).day
    end = add_period(first, read_count(runs["n"]), runs["unit"])
    if first is None or end is None or end == first:
        return
    span = (sentence.start, sentence.end)
    yield StatedDay(DeadlineKind.IN_FORCE, first, "", *span)
    yield StatedDay(DeadlineKind.VALID_UNTIL, end - dt.timedelta(days=1), "", *span)


def _state(
    sentence: Sentence, kind: DeadlineKind, found: re.Match[str], published_on: dt.date | None
) -> StatedDay | None:
    day = sentence.get_day(found["day"]).day
    is_past = day and published_on and kind in HANDED_IN and day < published_on
    if day is None or is_past:
        return None
    subject = "" if kind is DeadlineKind.COMMENTS_UNTIL else _find_subject(sentence.masked, found.start())
    return StatedDay(kind, day, subject, sentence.start, sentence.end)


def _match_validity(sentence: Sentence, reading: DayReading) -> Iterator[tuple[DeadlineKind, re.Match[str]]]:
    masked = sentence.masked
    seen: set[str] = set()
    for kind, patterns in (
        (DeadlineKind.VALID_UNTIL, _VALID),
        (DeadlineKind.IN_FORCE, (*_IN_FORCE, _EFFECTIVE_AT_ONCE, _DAY_OF_FORCE, _BEGINS, _FROM_DAY, _FORBIDS)),
    ):
        for pattern in patterns:
            for found in pattern.finditer(masked):
                if found["day"] in seen or not _is_own(sentence, found, reading, kind):
                    continue
                seen.add(found["day"])
                yield kind, found


def _is_own(sentence: Sentence, found: re.Match[str], reading: DayReading, kind: DeadlineKind) -> bool:
    """Whether a validity is said of the document itself, not of another one, and as certain."""
    masked, between = sentence.masked, found["between"]
    clause = re.split(r"[;.]\s", masked[max(0, found.start() - 160) : found.start()])[-1]
    if kind is DeadlineKind.IN_FORCE:
        is_start = _NO_START.match(found["verb"]) and not _RUNNING.search(clause[-30:])
        if is_start or _ENDS.search(found[0]) or _PAPERS.search(clause[-80:] + found[0]):
            return False
        if _EVENT.search(clause[-80:] + found[0]) or _ENDED.search(clause[-60:]):
            return False
        is_past = _PAST_FORCE.search(clause[-40:] + found["verb"] + between)
        if is_past and not reading.explains and not _is_news_of_today(sentence, found, reading):
            return False
    is_past_end = re.search(r"\b(?:had|was|were|been|due|not)\b", clause[-24:], re.IGNORECASE)
    if kind is DeadlineKind.VALID_UNTIL and is_past_end:
        return False
    doubt = _PROPOSED if reading.asks_comments else _HEARSAY
    if doubt.search(clause[-60:] + between) and kind is DeadlineKind.IN_FORCE:
        return False
    return not _OTHER_SUBJECT.search(clause)


def _is_news_of_today(sentence: Sentence, found: re.Match[str], reading: DayReading) -> bool:
    """Whether what came into force did so about the day of publication: it is what the page is about."""
    day = sentence.get_day(found["day"]).day
    return bool(day and reading.published_on and abs((day - reading.published_on).days) <= _MAX_NEWS_DAYS)


def _match_due(
    sentence: Sentence, context: str, reading: DayReading, taken: set[str]
) -> Iterator[tuple[DeadlineKind, re.Match[str]]]:
    masked = sentence.masked
    for pattern in (_MOVED, _NOT_UNTIL, _COMPLIANCE, _BY, _CLOSE, _RANGE):
        for found in pattern.finditer(masked):
            if pattern is _MOVED:
                taken.add(found["old"])
            if found["day"] in taken:
                continue
            kind = _classify_due(masked, found, pattern, context, reading)
            if kind is not None and not (reading.is_news and kind is DeadlineKind.COMPLY_BY):
                taken.add(found["day"])
                yield kind, found


def _classify_due(
    masked: str, found: re.Match[str], pattern: re.Pattern[str], context: str, reading: DayReading
) -> DeadlineKind | None:
    """Return what is due by a day, by the words of its clause."""
    ahead, behind = _cut_clause(masked, found, is_range=pattern is _RANGE)
    whole = ahead + found[0] + behind
    lead = context if context.endswith(":") else ""
    if pattern is _NOT_UNTIL and not reading.asks_comments:
        return DeadlineKind.COMPLY_BY
    if _is_no_deadline(ahead, found[0], whole, context) or (reading.is_news and _EVENT.search(masked)):
        return None
    if reading.is_order:
        is_due = _DUTY.search(whole + lead) or re.search(r"\bwill:\Z", lead) or re.search(r"\bordered\b", whole)
        return DeadlineKind.COMPLY_BY if is_due and pattern is not _RANGE else None
    is_about_compliance = pattern is _MOVED and re.search(r"\bcompliance\b|\bcomply\b", ahead, re.IGNORECASE)
    if pattern is _COMPLIANCE or is_about_compliance:
        return DeadlineKind.COMPLY_BY
    if pattern is _MOVED and not _MOVES.search(ahead):
        return None
    if paper := _classify_paper(ahead, whole, pattern, context, reading):
        return paper
    if pattern is _CLOSE and _OPENS.search(masked[: found.start()]):
        return DeadlineKind.APPLY_BY
    return None if pattern is _RANGE else _classify_duty(whole, whole + lead)


def _classify_paper(
    ahead: str, whole: str, pattern: re.Pattern[str], context: str, reading: DayReading
) -> DeadlineKind | None:
    """Return whether applications or comments are due by a day, or an act that only speaks of them."""
    is_act = _OTHER_ACT.search(whole) and not reading.asks_comments
    if not is_act and _APPLY_NOUN.search(whole) and not (reading.asks_comments and _COMMENT.search(whole)):
        is_window = re.search(r"open|from|window|between", ahead, re.IGNORECASE)
        return DeadlineKind.APPLY_BY if pattern is not _RANGE or is_window else None
    is_asked = reading.asks_comments and (_COMMENT.search(whole + context) or pattern is _CLOSE)
    if _STRONG_COMMENT.search(whole) or is_asked:
        return DeadlineKind.COMMENTS_UNTIL
    is_duty = is_act and pattern is not _RANGE and _DUTY.search(whole)
    return DeadlineKind.COMPLY_BY if is_duty else None


_MOVES = re.compile(r"extend|mov|postpon|defer|chang|delay|push|shift", re.IGNORECASE)


def _classify_duty(whole: str, with_lead: str) -> DeadlineKind | None:
    """Return whether something is to be done or handed in by a day; None where it is neither."""
    if _DUTY.search(with_lead):
        if _APPLY_TO.search(whole):
            return DeadlineKind.APPLY_BY
        is_paper = re.search(
            r"\bsubmit(?:ted)?\b|\bfiled?\b|\blodged?\b|\breach\sthe\b|\barrive\b", whole, re.IGNORECASE
        )
        is_act = re.search(r"\bcompl|\bensure|\bmeet|\bimplement", whole, re.IGNORECASE)
        return DeadlineKind.APPLY_BY if is_paper and not is_act else DeadlineKind.COMPLY_BY
    if _APPLY.search(whole):
        return DeadlineKind.APPLY_BY
    return DeadlineKind.COMPLY_BY if re.search(r"\bcompliance\b|\btransition", whole, re.IGNORECASE) else None


def _cut_clause(masked: str, found: re.Match[str], *, is_range: bool) -> tuple[str, str]:
    """Return the words ahead of a day and behind it, up to a semicolon or another day."""
    start = masked.rfind(";", 0, found.start()) + 1
    stop = masked.find(";", found.end())
    behind = _ANY_DAY.split(masked[found.end() : stop if stop > 0 else len(masked)])[0][:120]
    ahead = masked[start : found.start()]
    return (ahead if is_range else _ANY_DAY.split(ahead)[-1]), behind


def _is_no_deadline(ahead: str, found: str, whole: str, context: str) -> bool:
    """Whether a day is that of a figure, of a plan of the body itself, of an event, or of what is over."""
    is_duty = _DUTY.search(whole + (context if context.endswith(":") else ""))
    is_paper = re.search(r"\bcomments?\b|\bresponses?\b|\bsubmissions?\b|\bfeedback\b", whole, re.IGNORECASE)
    if _PERIOD_OF_FIGURES.search(ahead[-60:]) and not is_duty:
        return True
    if _GOAL.search(whole) and not (is_paper or re.search(r"\b(?:must|shall)\b", whole, re.IGNORECASE)):
        return True
    if _OF_PROJECT.search(whole):
        return True
    if _ATTEND.search(whole) and _EVENT.search(context + whole):
        return True
    if _EVENT.search(whole) and not (is_duty or is_paper):
        return True
    if _WAS_DUE.search(ahead[-60:]) or _NEVER_BEFORE.search(ahead + found) or _MADE_BEFORE.search(ahead + found):
        return True
    if _ORIGINALLY.search(ahead[-90:]):
        return not _EXTENDED.search(ahead)
    return bool(_OVER.search(whole) and not _STILL_DUE.search(whole))


_OPENS = re.compile(
    rf"\b(?:applications?|bids?|tenders?|nominations?|registrations?|entries"
    rf"|competition)\s(?:will\s)?opens?\b[^.;]{{0,30}}{DAY}",
    re.IGNORECASE,
)
_OF_PROJECT = re.compile(r"\bprojects?\s(?:must|should|may|can)\s(?:start|end|finish|run|begin)", re.IGNORECASE)
_OTHER_ACT = re.compile(
    r"\b(?:shall|must)\s(?!(?:be\s)?(?:submit|lodge|file|reach|arrive|receive|sent|send|made|make|apply|complete"
    r"|return|deliver|register"
    r"|clos|include))",
    re.IGNORECASE,
)
_ATTEND = re.compile(r"\bregist|\battend|\bRSVP\b|\bspeak", re.IGNORECASE)
_WAS_DUE = re.compile(r"\bwas\s(?:originally\s)?(?:scheduled|due|open|to)\b|\bwere\sdue\b|\bhad\sbeen\b", re.IGNORECASE)
_NEVER_BEFORE = re.compile(rf"\bnot\b[^.;]{{0,50}}\s(?:before|until|prior\sto)\s(?:the\s)?{DAY}\Z", re.IGNORECASE)
_MADE_BEFORE = re.compile(
    rf"(?<!\bbe\s)(?<!\bbeen\s)(?<!\bare\s)(?<!\bis\s)(?<!\bbe\sfully\s)\b(?:let|made|built|sold|begun|granted|issued"
    rf"|placed|entered"
    rf"|registered|installed|licensed|commenced|manufactured|imported|marketed|born|opened|incurred|acquired|signed"
    rf"|concluded)(?:\s(?:into|on\sthe\smarket|in\sservice))?\s(?:on\sor\s)?(?:before|prior\sto)\s(?:the\s)?{DAY}\Z",
    re.IGNORECASE,
)
_ORIGINALLY = re.compile(r"\boriginal|\bpreviously\b", re.IGNORECASE)
_EXTENDED = re.compile(r"\bextended\b|\bmoved\b|\bpostponed\b", re.IGNORECASE)
_ANY_DAY = re.compile(DAY)
_OVER = re.compile(r"\b(?:received|closed|ended|was|were|ran)\b", re.IGNORECASE)
_STILL_DUE = re.compile(r"\b(?:must|should|shall|may|to|can|will)\b|\bextended\b|\bpostponed\b", re.IGNORECASE)
_APPLY_TO = re.compile(
    r"\bappl(?:y|ications?)\b(?!\s(?:the|these|this|to))|\bnominat|\bbids?\b|\btender", re.IGNORECASE
)


def is_uncertain(sentence: Sentence, start: int, reading: DayReading) -> bool:
    """Whether the day at `start` is only hoped for or expected; a draft proposes all that it says."""
    clause = re.split(r"[;.]\s", sentence.text[max(0, start - 160) : start])[-1]
    return not reading.asks_comments and bool(_HEARSAY.search(clause[-60:]))


def find_subject(sentence: Sentence, place: int) -> str:
    """Return what a day of a sentence holds for, by its place, where its clause names something but the document."""
    before = sentence.mask_before(place)
    return _find_subject(before, len(before))


def _find_subject(masked: str, start: int) -> str:
    """Return what a day holds for, where the sentence names something other than the document; else nothing."""
    head = masked[max(0, start - 200) : start]
    found = _SUBJECT.search(re.split(DAY, head)[-1])
    if not found:
        return ""
    subject = found["subject"].strip()
    return "" if _GENERAL_SUBJECT.match(subject) or len(subject) > 60 else subject
